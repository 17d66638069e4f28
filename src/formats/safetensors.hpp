// safetensors: the header of Hugging Face's tensor files.
//
//   length of JSON   {"__metadata__": {...}, "a": {"dtype": "BF16", "shape": [2, 3],    data
//   8 bytes                                        "data_offsets": [0, 12]}, ...}
//
// (https://github.com/huggingface/safetensors.) Read strictly: the tensors fill the data without
// holes or overlaps, so that what is copied around one of them is known to be the others.

#ifndef ROPEWALK_SRC_FORMATS_SAFETENSORS_HPP_
#define ROPEWALK_SRC_FORMATS_SAFETENSORS_HPP_

#include <cstddef>
#include <cstdint>
#include <ropewalk/tensor.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/file.hpp"

namespace ropewalk::formats {

struct SafetensorsTensor {
  std::string name;
  std::string dtype;                // "BF16"; others than ours may be in a file, too
  std::vector<std::int64_t> shape;  // empty for a scalar
  std::uint64_t offset = 0;         // of its data, from the beginning of the file
  std::uint64_t bytes = 0;
};

// The tensors of a file, in the order of their data. The last ends where the file does. Throws
// Error (kBadFormat) naming the file, what it holds and what to do.
std::vector<SafetensorsTensor> read_safetensors(const InputFile& file);

// The same for a file in memory; the name is for messages.
std::vector<SafetensorsTensor> parse_safetensors(std::span<const std::byte> file,
                                                 std::string_view name);

// The tensor of this name; without a name the only one there is. Throws Error (kInvalidArgument)
// that lists the names.
const SafetensorsTensor& find_tensor(const std::vector<SafetensorsTensor>& tensors,
                                     std::string_view name, std::string_view file);

// Throws Error (kUnsupported) unless it is F32, F16, BF16 or F64.
DType dtype_of(const SafetensorsTensor& tensor, std::string_view file);

}  // namespace ropewalk::formats

#endif  // ROPEWALK_SRC_FORMATS_SAFETENSORS_HPP_
