// gguf: the metadata of ggml's model files, versions 2 and 3, and of their tensors those asked for.
//
//   "GGUF"  version  tensors  keys   key type value   key ...   name shape type offset   name ...   data
//   4 bytes 4        8        8      \__ of the keys ________/  \__ of the tensors _________/
//
// (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md.) Little-endian files only. What lies
// between is read in blocks and once; long values are passed over without being stored, above all the
// tokenizer's hundred thousands of strings; the data of other tensors is not touched.

#ifndef ROPEWALK_SRC_FORMATS_GGUF_HPP_
#define ROPEWALK_SRC_FORMATS_GGUF_HPP_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "formats/source.hpp"

namespace ropewalk::formats {

// A number of a file, exactly: an integer of either sign, a real one, or a truth value.
using GgufNumber = std::variant<bool, std::uint64_t, std::int64_t, double>;

// A value that was passed over: too long to be anything that is asked for here.
struct GgufSkipped {
  std::uint64_t length = 0;  // of an array, its elements; of a string, its bytes
};

using GgufValue = std::variant<GgufSkipped, bool, std::uint64_t, std::int64_t, double, std::string,
                               std::vector<GgufNumber>>;

struct Gguf {
  std::map<std::string, GgufValue, std::less<>> keys;
  std::map<std::string, std::vector<double>, std::less<>> tensors;  // of those asked for, flattened
};

// Arrays of up to this many numbers, and strings of up to this many bytes, are stored.
constexpr std::uint64_t kMaxGgufStored = 4096;

// A string of a file in a message: on one line and not endlessly long.
std::string shown(std::string_view text);

// The metadata, and the data of the tensors of these names, those that there are; they must be F32 or
// F16. Throws Error (kBadFormat, or kUnsupported for a version or a type that is not read) naming the
// file, the key or tensor, what it holds and what to do.
Gguf read_gguf(const Source& source, std::span<const std::string_view> tensors);

}  // namespace ropewalk::formats

#endif  // ROPEWALK_SRC_FORMATS_GGUF_HPP_
