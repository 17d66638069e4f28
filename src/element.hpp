// One element of a tensor at a time, as a double: for what reads or writes a few. Tensors are
// converted by the kernels. Part of the word `tensor`.

#ifndef ROPEWALK_SRC_ELEMENT_HPP_
#define ROPEWALK_SRC_ELEMENT_HPP_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ropewalk/tensor.hpp>

namespace ropewalk {

inline double from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

// Shifted into place, the exponent lacks 127 - 15; a product with 2^112 adds it, and is exact for
// subnormals too.
inline double from_f16(std::uint16_t bits) {
  const auto magnitude = static_cast<std::uint32_t>(bits & 0x7FFFu);
  float value = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  if (magnitude >= 0x7C00u) value = std::bit_cast<float>(0x7F800000u | (magnitude & 0x3FFu) << 13);
  return (bits & 0x8000u) != 0 ? -value : value;
}

// Element i of dense elements at data.
inline double element_at(const void* data, DType dtype, std::size_t i) {
  const auto load = [&](auto element) {
    std::memcpy(&element, static_cast<const std::byte*>(data) + i * sizeof(element),
                sizeof(element));
    return element;
  };
  switch (dtype) {
    case DType::kF32: return load(float{});
    case DType::kF64: return load(double{});
    case DType::kBf16: return from_bf16(load(std::uint16_t{}));
    case DType::kF16: return from_f16(load(std::uint16_t{}));
  }
  return 0;
}

}  // namespace ropewalk

#endif  // ROPEWALK_SRC_ELEMENT_HPP_
