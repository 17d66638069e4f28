// Whether views of tensors share memory. Part of the word `tensor`.

#ifndef ROPEWALK_SRC_OVERLAP_HPP_
#define ROPEWALK_SRC_OVERLAP_HPP_

#include <ropewalk/tensor.hpp>
#include <span>

namespace ropewalk {

[[nodiscard]] inline bool is_empty(const ConstTensorView& view) noexcept {
  for (const std::int64_t size : view.shape) {
    if (size == 0) return true;
  }
  return false;
}

// The bytes from a view's lowest to its highest; empty for an empty view. False if they are more
// than an address can say.
[[nodiscard]] bool byte_range(const ConstTensorView& view, std::uintptr_t& first,
                              std::uintptr_t& last_plus_one) noexcept;

// Equal pointer, dtype, shape and strides (strides of dimensions of size 1 do not matter).
[[nodiscard]] bool is_same(const ConstTensorView& a, const ConstTensorView& b) noexcept;

// Whether an element of one shares a byte with an element of the other. Exact for views with the
// same strides; otherwise true as soon as the byte ranges meet. Both passed byte_range().
[[nodiscard]] bool may_overlap(const ConstTensorView& a, const ConstTensorView& b) noexcept;
[[nodiscard]] bool may_overlap(const ConstTensorView& a, std::span<const std::byte> b) noexcept;

// Whether two different elements of one view, which passed byte_range(), share a byte.
[[nodiscard]] bool may_overlap_itself(const ConstTensorView& view) noexcept;

}  // namespace ropewalk

#endif  // ROPEWALK_SRC_OVERLAP_HPP_
