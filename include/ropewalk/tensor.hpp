// Views of tensors that the caller owns: a pointer, a dtype, a shape and strides.
//
// The dimensions of a view always stand in the order [batch, tokens, heads, head_dim].
// How they lie in memory is said by the strides alone:
//
//   layout bthd (most engines)                     layout bhtd (most training code)
//
//   token 0: | head 0 | head 1 | head 2 |          head 0: | token 0 | token 1 | ...
//   token 1: | head 0 | head 1 | head 2 |          head 1: | token 0 | token 1 | ...
//
//   one fused row per token: q and k are two views with the same token stride
//
//   token 0: | q head 0 | q head 1 | k head 0 | v head 0 |
//   token 1: | q head 0 | q head 1 | k head 0 | v head 0 |
//            '------------- token stride ----------------'

#ifndef ROPEWALK_TENSOR_HPP_
#define ROPEWALK_TENSOR_HPP_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ropewalk {

// Element types of tensors.
enum class DType : std::uint8_t {
  kF32,   // IEEE binary32
  kBf16,  // the upper half of an f32: 8 exponent bits, 7 mantissa bits
  kF16,   // IEEE binary16
  kF64,   // IEEE binary64; rotated in double throughout
};
inline constexpr std::size_t kDTypes = 4;

// "f32", "bf16", "f16", "f64".
std::string_view name(DType dtype) noexcept;

namespace internal {
inline constexpr std::uint8_t kSizes[kDTypes] = {4, 2, 2, 8};
}  // namespace internal

// Bytes of one element.
constexpr std::size_t size_of(DType dtype) noexcept {
  return internal::kSizes[static_cast<std::size_t>(dtype)];
}

// Sizes or strides in the order batch, tokens, heads, head_dim.
using Dims = std::array<std::int64_t, 4>;

namespace internal {

// Strides, in elements, of a dense tensor of this shape.
constexpr Dims bthd_strides(const Dims& shape) noexcept {
  const auto row = static_cast<std::uint64_t>(shape[3]);  // unsigned: no overflow here, it is
  const auto token = row * static_cast<std::uint64_t>(shape[2]);  // checked where it matters
  const auto batch = token * static_cast<std::uint64_t>(shape[1]);
  return {static_cast<std::int64_t>(batch), static_cast<std::int64_t>(token),
          static_cast<std::int64_t>(row), 1};
}

constexpr Dims bhtd_strides(const Dims& shape) noexcept {
  const Dims swapped = bthd_strides({shape[0], shape[2], shape[1], shape[3]});
  return {swapped[0], swapped[2], swapped[1], 1};
}

// Void is void or const void.
template <class Void, class Float>
struct BasicTensorView {
  Void* data = nullptr;  // element [0, 0, 0, 0]; may be null when a size is 0
  DType dtype = DType::kF32;
  Dims shape{};    // batch, tokens, heads, head_dim
  Dims strides{};  // in elements, one per dimension of shape

  // A dense tensor laid out [batch, tokens, heads, head_dim]; batch 1 is [tokens, heads, head_dim].
  static BasicTensorView bthd(Void* data, DType dtype, const Dims& shape) noexcept {
    return {data, dtype, shape, bthd_strides(shape)};
  }
  static BasicTensorView bthd(Float* data, const Dims& shape) noexcept {
    return bthd(data, DType::kF32, shape);
  }

  // A dense tensor laid out [batch, heads, tokens, head_dim]. The shape is still given in the
  // order batch, tokens, heads, head_dim.
  static BasicTensorView bhtd(Void* data, DType dtype, const Dims& shape) noexcept {
    return {data, dtype, shape, bhtd_strides(shape)};
  }
  static BasicTensorView bhtd(Float* data, const Dims& shape) noexcept {
    return bhtd(data, DType::kF32, shape);
  }
};

}  // namespace internal

// Memory that will be written.
using TensorView = internal::BasicTensorView<void, float>;

// Memory that is only read. Every TensorView is one.
struct ConstTensorView : internal::BasicTensorView<const void, const float> {
  using Base = internal::BasicTensorView<const void, const float>;
  ConstTensorView() = default;
  ConstTensorView(const Base& view) noexcept : Base(view) {}
  ConstTensorView(const TensorView& view) noexcept
      : Base{view.data, view.dtype, view.shape, view.strides} {}
};

}  // namespace ropewalk

#endif  // ROPEWALK_TENSOR_HPP_
