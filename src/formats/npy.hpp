// npy: the header of NumPy's array files, versions 1.0, 2.0 and 3.0.
//
//   \x93NUMPY  major minor  length of dict  {'descr': '<f4', 'fortran_order': False, ...}\n  data
//   6 bytes    1     1      2 or 4 bytes
//
// (numpy.lib.format in NumPy's documentation.)

#ifndef ROPEWALK_SRC_FORMATS_NPY_HPP_
#define ROPEWALK_SRC_FORMATS_NPY_HPP_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/file.hpp"

namespace ropewalk::formats {

struct NpyHeader {
  std::string descr;                // "<f4"
  std::vector<std::int64_t> shape;  // empty for a scalar
  std::string bytes;                // all that precedes the data, as it stands in the file: an
                                    // output of the same shape and dtype begins with the same
  std::uint64_t data_bytes = 0;     // what follows; the file has exactly these

  [[nodiscard]] std::uint64_t data_offset() const noexcept { return bytes.size(); }
};

// The header of a file that holds an array in C order of one of these dtypes, and nothing else.
// Throws Error (kBadFormat) naming the file, what it holds and what to do.
NpyHeader read_npy_header(const InputFile& file, std::initializer_list<std::string_view> descrs);

// The same for a file in memory; the name is for messages.
NpyHeader parse_npy_header(std::span<const std::byte> file, std::string_view name,
                           std::initializer_list<std::string_view> descrs);

}  // namespace ropewalk::formats

#endif  // ROPEWALK_SRC_FORMATS_NPY_HPP_
