// Writes GGUF files by their specification, and shares nothing with src/.

#ifndef ROPEWALK_TESTS_GGUF_FILES_HPP_
#define ROPEWALK_TESTS_GGUF_FILES_HPP_

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace ropewalk::testing {

// An integer or a float, its lowest byte first.
template <class Number>
std::string bytes_of(Number number) {
  std::string bytes(sizeof(Number), '\0');
  std::memcpy(bytes.data(), &number, sizeof(Number));
  return bytes;
}

// A string as it stands in a file, behind its length.
inline std::string gguf_string(std::string_view text) {
  return bytes_of(std::uint64_t{text.size()}) + std::string(text);
}

class GgufFile {
 public:
  enum Type : std::uint32_t {
    kU8,
    kI8,
    kU16,
    kI16,
    kU32,
    kI32,
    kF32,
    kBool,
    kString,
    kArray,
    kU64,
    kI64,
    kF64
  };

  // A key with the bytes of its value, whatever they are.
  GgufFile& raw(std::string_view key, std::uint32_t type, std::string_view value) {
    keys_ += gguf_string(key) + bytes_of(type) + std::string(value);
    ++key_count_;
    return *this;
  }
  GgufFile& u32(std::string_view key, std::uint32_t value) {
    return raw(key, kU32, bytes_of(value));
  }
  GgufFile& f32(std::string_view key, float value) { return raw(key, kF32, bytes_of(value)); }
  GgufFile& boolean(std::string_view key, bool value) {
    return raw(key, kBool, std::string(1, value ? '\1' : '\0'));
  }
  GgufFile& string(std::string_view key, std::string_view value) {
    return raw(key, kString, gguf_string(value));
  }
  GgufFile& i32s(std::string_view key, const std::vector<std::int32_t>& values) {
    std::string bytes = bytes_of(std::uint32_t{kI32}) + bytes_of(std::uint64_t{values.size()});
    for (const std::int32_t value : values) bytes += bytes_of(value);
    return raw(key, kArray, bytes);
  }
  GgufFile& f32s(std::string_view key, const std::vector<float>& values) {
    std::string bytes = bytes_of(std::uint32_t{kF32}) + bytes_of(std::uint64_t{values.size()});
    for (const float value : values) bytes += bytes_of(value);
    return raw(key, kArray, bytes);
  }
  GgufFile& bools(std::string_view key, const std::vector<bool>& values) {
    std::string bytes = bytes_of(std::uint32_t{kBool}) + bytes_of(std::uint64_t{values.size()});
    for (const bool value : values) bytes += value ? '\1' : '\0';
    return raw(key, kArray, bytes);
  }
  GgufFile& strings(std::string_view key, std::size_t count, std::string_view each) {
    std::string bytes = bytes_of(std::uint32_t{kString}) + bytes_of(std::uint64_t{count});
    for (std::size_t i = 0; i < count; ++i) bytes += gguf_string(each);
    return raw(key, kArray, bytes);
  }

  // A tensor of this type (0 is F32, 1 is F16) with these bytes.
  GgufFile& tensor(std::string_view name, std::uint32_t type,
                   const std::vector<std::uint64_t>& dimensions, std::string_view data) {
    tensors_ += gguf_string(name) + bytes_of(static_cast<std::uint32_t>(dimensions.size()));
    for (const std::uint64_t size : dimensions) tensors_ += bytes_of(size);
    tensors_ += bytes_of(type) + bytes_of(std::uint64_t{data_.size()});
    data_ += data;
    data_.resize((data_.size() + alignment_ - 1) / alignment_ * alignment_);
    ++tensor_count_;
    return *this;
  }
  GgufFile& floats(std::string_view name, const std::vector<float>& values) {
    std::string data;
    for (const float value : values) data += bytes_of(value);
    return tensor(name, 0, {values.size()}, data);
  }
  // To be called before tensors are added; writes the key, too.
  GgufFile& alignment(std::uint32_t bytes) {
    alignment_ = bytes;
    return u32("general.alignment", bytes);
  }

  // The file as it is on a disk.
  [[nodiscard]] std::string bytes(std::uint32_t version = 3) const {
    std::string file = "GGUF" + bytes_of(version) + bytes_of(tensor_count_) + bytes_of(key_count_) +
                       keys_ + tensors_;
    file.resize((file.size() + alignment_ - 1) / alignment_ * alignment_);
    return file + data_;
  }

 private:
  std::string keys_, tensors_, data_;
  std::uint64_t key_count_ = 0, tensor_count_ = 0;
  std::size_t alignment_ = 32;
};

}  // namespace ropewalk::testing

#endif  // ROPEWALK_TESTS_GGUF_FILES_HPP_
