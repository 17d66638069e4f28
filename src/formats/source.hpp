// source: what a reader of a format reads from: a file, or bytes in memory.

#ifndef ROPEWALK_SRC_FORMATS_SOURCE_HPP_
#define ROPEWALK_SRC_FORMATS_SOURCE_HPP_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <ropewalk/error.hpp>
#include <span>
#include <string_view>

#include "formats/file.hpp"
#include "message.hpp"

namespace ropewalk::formats {

struct Source {
  std::string_view name;  // for messages
  std::uint64_t size;
  std::function<void(std::uint64_t offset, std::span<std::byte> out)> read;

  // What they are made from must outlive them.
  static Source of(const InputFile& file) {
    return {file.path(), file.size(),
            [&file](std::uint64_t offset, std::span<std::byte> out) { file.read(offset, out); }};
  }
  static Source of(std::span<const std::byte> bytes, std::string_view name) {
    return {name, bytes.size(), [bytes](std::uint64_t offset, std::span<std::byte> out) {
              const auto part = bytes.subspan(offset, out.size());
              std::copy(part.begin(), part.end(), out.begin());
            }};
  }

  // It is not what it should be.
  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    throw Error(ErrorCode::kBadFormat, message(name, ": ", parts...));
  }
};

// An unsigned integer, its lowest byte first.
inline std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    number = number << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return number;
}

}  // namespace ropewalk::formats

#endif  // ROPEWALK_SRC_FORMATS_SOURCE_HPP_
