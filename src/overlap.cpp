#include "overlap.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace ropewalk {
namespace {

using Wide = __int128;  // differences of indices times strides, added up: no overflow to think of

// Is there a choice of k[d] in low[d] .. high[d] with Σ k[d] stride[d] = difference? Then two
// elements, at indices k apart, coincide. Dimensions are walked from the largest stride to the
// smallest; what the smaller ones can still reach leaves few k to try.
class Search {
 public:
  struct Dimension {
    Wide stride, low, high;
  };

  void add(const Dimension& dimension) { dimensions_[count_++] = dimension; }

  // Gives up and says yes after so many tries: strides that no tensor of a program has.
  bool finds(Wide difference, bool all_zero_counts) {
    for (std::size_t d = 0; d < count_; ++d) {
      Dimension& dimension = dimensions_[d];
      if (dimension.stride >= 0) continue;
      dimension = {-dimension.stride, -dimension.high, -dimension.low};
    }
    std::sort(dimensions_.begin(), dimensions_.begin() + static_cast<std::ptrdiff_t>(count_),
              [](const Dimension& a, const Dimension& b) { return a.stride > b.stride; });
    all_zero_counts_ = all_zero_counts;
    return walk(0, difference, false);
  }

 private:
  static Wide floor_divide(Wide a, Wide b) { return a / b - (a % b != 0 && a < 0 ? 1 : 0); }

  bool walk(std::size_t d, Wide difference, bool any_nonzero) {
    if (d == count_ || d == dimensions_.size())
      return difference == 0 && (any_nonzero || all_zero_counts_);
    const Dimension& here = dimensions_[d];
    Wide rest_low = 0, rest_high = 0;
    for (std::size_t e = d + 1; e < count_; ++e) {
      rest_low += dimensions_[e].low * dimensions_[e].stride;
      rest_high += dimensions_[e].high * dimensions_[e].stride;
    }
    Wide low = here.low, high = here.high;
    if (here.stride != 0) {
      low = std::max(low, -floor_divide(rest_high - difference, here.stride));
      high = std::min(high, floor_divide(difference - rest_low, here.stride));
    }
    for (Wide k = low; k <= high; ++k) {
      if (++tries_ > kMaxTries) return true;
      if (walk(d + 1, difference - k * here.stride, any_nonzero || k != 0)) return true;
    }
    return false;
  }

  static constexpr int kMaxTries = 4096;
  std::array<Dimension, 4> dimensions_{};
  std::size_t count_ = 0;
  int tries_ = 0;
  bool all_zero_counts_ = true;
};

std::uintptr_t address(const ViewRef& view) { return reinterpret_cast<std::uintptr_t>(view.data); }

}  // namespace

bool byte_range(const ViewRef& view, Bytes& bytes) noexcept {
  bytes = {address(view), address(view)};
  if (is_empty(view)) return true;
  std::int64_t low = 0, high = 0;  // in elements, from the first
  bool is_too_far = false;
  for (std::size_t d = 0; d < 4; ++d) {
    std::int64_t reach = 0;
    is_too_far |= __builtin_mul_overflow(view.shape[d] - 1, view.strides[d], &reach);
    std::int64_t& side = reach < 0 ? low : high;
    is_too_far |= __builtin_add_overflow(side, reach, &side);
  }
  const auto size = static_cast<std::int64_t>(size_of(view.dtype));
  is_too_far |= __builtin_mul_overflow(low, size, &low);
  is_too_far |= __builtin_mul_overflow(high, size, &high);
  is_too_far |= __builtin_add_overflow(high, size, &high);
  bytes.first += static_cast<std::uintptr_t>(low);
  bytes.end += static_cast<std::uintptr_t>(high);
  return !is_too_far && bytes.first <= address(view) && bytes.end > address(view);
}

bool may_overlap(const ViewRef& a, const ViewRef& b) noexcept {
  if (is_empty(a) || is_empty(b)) return false;
  Bytes a_bytes{}, b_bytes{};
  if (!byte_range(a, a_bytes) || !byte_range(b, b_bytes)) return true;
  if (!meet(a_bytes, b_bytes)) return false;

  const auto size = static_cast<Wide>(size_of(a.dtype));
  const Wide bytes = static_cast<Wide>(address(b)) - static_cast<Wide>(address(a));
  if (size_of(b.dtype) != size_of(a.dtype) || bytes % size != 0) return true;
  Search search;
  for (std::size_t d = 0; d < 4; ++d) {
    const bool a_moves = a.shape[d] > 1, b_moves = b.shape[d] > 1;
    if (a_moves && b_moves && a.strides[d] != b.strides[d]) return true;
    search.add({a_moves ? a.strides[d] : b.strides[d], -(b.shape[d] - 1), a.shape[d] - 1});
  }
  return search.finds(bytes / size, true);
}

bool may_overlap(const ViewRef& a, std::span<const std::byte> b) noexcept {
  if (is_empty(a) || b.empty()) return false;
  Bytes bytes{};
  if (!byte_range(a, bytes)) return true;
  const auto first = reinterpret_cast<std::uintptr_t>(b.data());
  return meet(bytes, {first, first + b.size()});
}

namespace {

// Whether each stride is larger than all that the smaller ones reach together, as in any tensor that
// a program lays out: then no two elements meet.
bool is_nested(const ViewRef& view) noexcept {
  std::array<std::pair<std::int64_t, std::int64_t>, 4> dimensions;  // |stride|, reach in elements
  std::size_t count = 0;
  for (std::size_t d = 0; d < 4; ++d) {
    const std::int64_t steps = view.shape[d] - 1;
    if (steps == 0) continue;
    const std::int64_t stride = std::abs(view.strides[d]);
    std::size_t at = count++;
    for (; at > 0 && dimensions[at - 1].first > stride; --at) dimensions[at] = dimensions[at - 1];
    dimensions[at] = {stride, steps * stride};
  }
  std::int64_t reach = 0;
  for (std::size_t d = 0; d < count; ++d) {
    if (dimensions[d].first <= reach) return false;
    reach += dimensions[d].second;
  }
  return true;
}

}  // namespace

bool may_overlap_itself(const ViewRef& view) noexcept {
  if (is_empty(view) || is_nested(view)) return false;
  Search search;
  for (std::size_t d = 0; d < 4; ++d) {
    const std::int64_t reach = view.shape[d] - 1;
    if (reach > 0) search.add({view.strides[d], -reach, reach});
  }
  return search.finds(0, false);
}

}  // namespace ropewalk
