// Whether views of tensors share memory. Part of the word `tensor`.

#ifndef ROPEWALK_SRC_OVERLAP_HPP_
#define ROPEWALK_SRC_OVERLAP_HPP_

#include <cstdint>
#include <ropewalk/tensor.hpp>
#include <span>

namespace ropewalk {

// A view as the checks see it: whoever made it keeps the shape and the strides. Strides along
// dimensions of size 1, which are never walked, may be anything.
struct ViewRef {
  const void* data;
  DType dtype;
  const Dims& shape;
  const Dims& strides;

  template <class Void, class Float>
  ViewRef(const internal::BasicTensorView<Void, Float>& view) noexcept  // as any view is one
      : data(view.data), dtype(view.dtype), shape(view.shape), strides(view.strides) {}
};

struct Bytes {
  std::uintptr_t first, end;
};

inline bool is_empty(const ViewRef& view) noexcept {
  return view.shape[0] == 0 || view.shape[1] == 0 || view.shape[2] == 0 || view.shape[3] == 0;
}

// The bytes from a view's lowest to its highest; none of an empty one. False if they are more than an
// address can say.
[[nodiscard]] bool byte_range(const ViewRef& view, Bytes& bytes) noexcept;

// Whether heads lie inside tokens inside sequences, each step forward and beyond all that the smaller
// ones reach together, as in most tensors. Then no two elements meet, and `bytes` are filled in.
inline bool is_plain(const ViewRef& view, Bytes& bytes) noexcept {
  constexpr int kBits = 28;  // so few that no product overflows
  std::int64_t any = 0;
  std::uint64_t reach = 0;  // unsigned: what wraps is found out at the end
  for (std::size_t d = 4; d-- > 0;) {
    const std::uint64_t steps = static_cast<std::uint64_t>(view.shape[d]) - 1;
    const std::int64_t stride = view.strides[d];
    if (steps != 0 && stride <= static_cast<std::int64_t>(reach)) return false;
    any |= static_cast<std::int64_t>(steps) | stride;
    reach += steps * static_cast<std::uint64_t>(stride);
  }
  bytes.first = reinterpret_cast<std::uintptr_t>(view.data);
  bytes.end = bytes.first + (reach + 1) * size_of(view.dtype);
  return any >> kBits == 0 && bytes.end > bytes.first;
}

// Equal pointer, dtype, shape and strides (strides of dimensions of size 1 do not matter).
inline bool is_same(const ViewRef& a, const ViewRef& b) noexcept {
  bool is = a.data == b.data && a.dtype == b.dtype;
  for (std::size_t d = 0; d < 4; ++d) {
    is &= a.shape[d] == b.shape[d] && (a.shape[d] <= 1 || a.strides[d] == b.strides[d]);
  }
  return is;
}

inline bool meet(const Bytes& a, const Bytes& b) noexcept {
  return a.first < b.end && b.first < a.end;
}

// Whether an element of one shares a byte with an element of the other. Exact for views with the
// same strides; otherwise true as soon as the byte ranges meet. Both passed byte_range().
[[nodiscard]] bool may_overlap(const ViewRef& a, const ViewRef& b) noexcept;
[[nodiscard]] bool may_overlap(const ViewRef& a, std::span<const std::byte> b) noexcept;

// Whether two different elements of one view, which passed byte_range(), share a byte.
[[nodiscard]] bool may_overlap_itself(const ViewRef& view) noexcept;

}  // namespace ropewalk

#endif  // ROPEWALK_SRC_OVERLAP_HPP_
