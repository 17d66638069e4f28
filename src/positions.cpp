#include <algorithm>
#include <cmath>
#include <limits>
#include <ropewalk/error.hpp>
#include <ropewalk/positions.hpp>
#include <string>

#include "message.hpp"

namespace ropewalk {
namespace {

using Shape = Positions::Shape;

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

template <class Id>
Shape flat(std::span<const Id> ids) {
  return {1, 1, static_cast<std::int64_t>(ids.size())};
}

template <class... Parts>
[[noreturn]] void refuse(ErrorCode code, const Parts&... parts) {
  throw Error(code, message(parts...));
}

void check_range(std::int64_t start, std::int64_t tokens) {
  if (tokens > 0 && start > kLargest - (tokens - 1)) {
    refuse(ErrorCode::kInvalidArgument, "positions from ", start, " for ", tokens,
           " tokens go beyond the largest 64-bit integer");
  }
}

template <class Id>
void copy_ids(const void* ids, std::int64_t first, std::span<std::int64_t> whole) noexcept {
  const Id* source = static_cast<const Id*>(ids) + first;
  for (std::size_t t = 0; t < whole.size(); ++t) whole[t] = source[t];
}

// n = rint(p) and p - n are exact.
template <class Id>
void split_ids(const void* ids, std::int64_t first, std::span<std::int64_t> whole,
               std::span<double> fractions) noexcept {
  const Id* source = static_cast<const Id*>(ids) + first;
  for (std::size_t t = 0; t < whole.size(); ++t) {
    const double p = source[t];
    const double n = std::rint(p);
    whole[t] = static_cast<std::int64_t>(n);
    fractions[t] = p - n;
  }
}

void count_on(std::int64_t from, std::span<std::int64_t> whole) noexcept {
  auto next = static_cast<std::uint64_t>(from);  // what follows the last may be beyond int64
  for (std::int64_t& position : whole) position = static_cast<std::int64_t>(next++);
}

void check_slice(std::int64_t tokens, std::int64_t ranks, std::int64_t rank, std::int64_t slices,
                 std::int64_t start) {
  if (ranks < 1 || ranks > kLargest / 2) {
    refuse(ErrorCode::kInvalidArgument, "ranks ", ranks, " is not at least 1");
  }
  if (rank < 0 || rank >= ranks) {
    refuse(ErrorCode::kInvalidArgument, "rank ", rank, " is not between 0 and ", ranks - 1);
  }
  if (tokens < 0 || tokens % (ranks * slices) != 0) {
    refuse(ErrorCode::kInvalidArgument, "tokens ", tokens, " is not a multiple of ", ranks * slices,
           " for ", ranks, " ranks");
  }
  check_range(start, tokens);
}

}  // namespace

Positions Positions::starts(std::span<const std::int64_t> starts) noexcept {
  return Positions::starts(starts, kUnknown);
}

Positions Positions::starts(std::span<const std::int64_t> starts, std::int64_t tokens) noexcept {
  Positions result(Kind::kStarts, nullptr, {1, static_cast<std::int64_t>(starts.size()), tokens});
  result.starts_ = starts;
  return result;
}

Positions Positions::ids(const std::int32_t* ids, const Shape& shape) noexcept {
  return {Kind::kInt32, ids, shape};
}
Positions Positions::ids(const std::int64_t* ids, const Shape& shape) noexcept {
  return {Kind::kInt64, ids, shape};
}
Positions Positions::ids(const float* ids, const Shape& shape) noexcept {
  return {Kind::kF32, ids, shape};
}
Positions Positions::ids(const double* ids, const Shape& shape) noexcept {
  return {Kind::kF64, ids, shape};
}
Positions Positions::ids(const std::int32_t* ids, std::int64_t batch,
                         std::int64_t tokens) noexcept {
  return Positions::ids(ids, Shape{1, batch, tokens});
}
Positions Positions::ids(const std::int64_t* ids, std::int64_t batch,
                         std::int64_t tokens) noexcept {
  return Positions::ids(ids, Shape{1, batch, tokens});
}

Positions Positions::ids(std::span<const std::int32_t> ids) noexcept {
  Positions result = Positions::ids(ids.data(), flat(ids));
  result.is_flat_ = true;
  return result;
}
Positions Positions::ids(std::span<const std::int64_t> ids) noexcept {
  Positions result = Positions::ids(ids.data(), flat(ids));
  result.is_flat_ = true;
  return result;
}
Positions Positions::ids(std::span<const float> ids) noexcept {
  Positions result = Positions::ids(ids.data(), flat(ids));
  result.is_flat_ = true;
  return result;
}
Positions Positions::ids(std::span<const double> ids) noexcept {
  Positions result = Positions::ids(ids.data(), flat(ids));
  result.is_flat_ = true;
  return result;
}

template <class Length>
Positions Positions::packed_as(Kind kind, std::span<const Length> lengths,
                               std::span<const std::int64_t> starts) noexcept {
  Positions result(kind, lengths.data(), {1, 1, lengths.empty() ? 0 : lengths.back()});
  result.count_ = static_cast<std::int64_t>(lengths.size());
  result.starts_ = starts;
  return result;
}

Positions Positions::packed(std::span<const std::int32_t> lengths,
                            std::span<const std::int64_t> starts) noexcept {
  return packed_as(Kind::kPacked32, lengths, starts);
}
Positions Positions::packed(std::span<const std::int64_t> lengths,
                            std::span<const std::int64_t> starts) noexcept {
  return packed_as(Kind::kPacked64, lengths, starts);
}

Positions Positions::contiguous(std::int64_t tokens, std::int64_t ranks, std::int64_t rank,
                                std::int64_t start) {
  check_slice(tokens, ranks, rank, 1, start);
  return from(start + tokens / ranks * rank, tokens / ranks);
}

Positions Positions::zigzag(std::int64_t tokens, std::int64_t ranks, std::int64_t rank,
                            std::int64_t start) {
  check_slice(tokens, ranks, rank, 2, start);
  const std::int64_t slice = tokens / (2 * ranks);
  Positions result(Kind::kSlices, nullptr, {1, 1, 2 * slice});
  result.start_ = start + slice * rank;
  result.second_ = start + slice * (2 * ranks - 1 - rank);
  result.count_ = slice;
  return result;
}

// ---- Checks ----

void Positions::check_shape(std::int64_t batch, std::int64_t tokens, std::size_t axes) const {
  const bool has_ids = element_size() != 0 && !is_packed();
  const bool tokens_fit = shape_.tokens == tokens || (shape_.tokens == kUnknown && !has_ids);
  const auto mismatch = [](const auto&... parts) { refuse(ErrorCode::kShapeMismatch, parts...); };
  if (kind_ == Kind::kStarts && shape_.batch != batch) {
    mismatch("positions have ", shape_.batch, " starts, the tensor has batch ", batch,
             ": want one for each sequence");
  }
  if (!has_ids && !tokens_fit) {
    mismatch(is_packed() ? "packed lengths end at " : "positions are for ", shape_.tokens,
             is_packed() ? "" : " tokens", ", the tensor has ", tokens,
             is_packed() ? " tokens" : "");
  }
  if (has_ids && (!tokens_fit || (shape_.batch != 1 && shape_.batch != batch) || shape_.axes < 1)) {
    const std::string given =
        is_flat_ ? message("[", shape_.tokens, "]")
        : shape_.axes == 1
            ? message("[", shape_.batch, ", ", shape_.tokens, "]")
            : message("[", shape_.axes, ", ", shape_.batch, ", ", shape_.tokens, "]");
    mismatch("positions have shape ", given, "; a tensor of batch ", batch, " and ", tokens,
             " tokens wants [", tokens, "]",
             batch == 1 ? message(" or [1, ", tokens, "]")
                        : message(", [1, ", tokens, "] or [", batch, ", ", tokens, "]"),
             ", with several axes first if need be");
  }
  if (shape_.axes > 1 && static_cast<std::size_t>(shape_.axes) < axes) {
    refuse(ErrorCode::kShapeMismatch, "positions have ", shape_.axes, " axes, the rope wants ",
           axes);
  }
  if (!has_ids) return;
  auto bytes = static_cast<std::int64_t>(element_size());
  for (const std::int64_t size : {shape_.axes, shape_.batch, shape_.tokens}) {
    if (__builtin_mul_overflow(bytes, size, &bytes)) {
      refuse(ErrorCode::kInvalidArgument, "positions of shape [", shape_.axes, ", ", shape_.batch,
             ", ", shape_.tokens, "] are larger than the memory");
    }
  }
}

void Positions::check_starts(std::int64_t batch, std::int64_t tokens) const {
  for (std::int64_t b = 0; b < batch; ++b) {
    check_range(starts_[static_cast<std::size_t>(b)], tokens);
  }
}

template <class Length>
void Positions::check_packed(std::int64_t batch, std::int64_t tokens, std::size_t axes) const {
  const std::span lengths(static_cast<const Length*>(ids_), static_cast<std::size_t>(count_));
  if (lengths[0] != 0) {
    refuse(ErrorCode::kInvalidArgument, "packed lengths are cumulative: they must begin with 0");
  }
  if (!starts_.empty() && starts_.size() != lengths.size() - 1) {
    refuse(ErrorCode::kShapeMismatch, "packed starts has ", starts_.size(), " values, ",
           lengths.size(), " cumulative lengths want ", lengths.size() - 1);
  }
  for (std::size_t s = 1; s < lengths.size(); ++s) {
    if (lengths[s] < lengths[s - 1]) {
      refuse(ErrorCode::kInvalidArgument, "packed lengths are cumulative: lengths[", s,
             "] = ", lengths[s], " is less than lengths[", s - 1, "] = ", lengths[s - 1]);
    }
    if (!starts_.empty()) {
      check_range(starts_[s - 1], lengths[s] - lengths[s - 1]);
    }
  }
  check_shape(batch, tokens, axes);
}

template <class Real>
void Positions::check_real() const {
  const std::int64_t count = shape_.axes * shape_.batch * shape_.tokens;
  for (std::int64_t i = 0; i < count; ++i) {
    const Real p = static_cast<const Real*>(ids_)[i];
    if (!(std::abs(p) < Real{0x1p63})) {
      refuse(ErrorCode::kInvalidArgument, "positions[", i, "] is ", p,
             ", want a finite number between -2^63 and 2^63");
    }
  }
}

void Positions::check_ids() const {
  if (ids_ == nullptr) refuse(ErrorCode::kInvalidArgument, "positions are null");
  if (reinterpret_cast<std::uintptr_t>(ids_) % element_size() != 0) {
    refuse(ErrorCode::kInvalidArgument, "positions begin at an address that is no multiple of ",
           element_size());
  }
}

void Positions::check(std::int64_t batch, std::int64_t tokens, std::size_t axes) const {
  if (kind_ == Kind::kStart && shape_.tokens == kUnknown && batch > 0) {  // those of most calls
    return check_range(start_, tokens);
  }
  if (is_packed() && count_ > 0) {  // first: their last value is what their shape is made of
    check_ids();
    return kind_ == Kind::kPacked32 ? check_packed<std::int32_t>(batch, tokens, axes)
                                    : check_packed<std::int64_t>(batch, tokens, axes);
  }
  check_shape(batch, tokens, axes);
  if (batch == 0 || tokens == 0) return;
  if (element_size() != 0) check_ids();
  switch (kind_) {
    case Kind::kStart: return check_range(start_, tokens);
    case Kind::kStarts: return check_starts(batch, tokens);
    case Kind::kF32: return check_real<float>();
    case Kind::kF64: return check_real<double>();
    case Kind::kPacked32:  // empty, as the tensor is
    case Kind::kPacked64:
    case Kind::kInt32:
    case Kind::kInt64:
    case Kind::kSlices: return;
  }
}

// ---- Reading ----

template <class Length>
void Positions::copy_packed(std::int64_t first, std::span<std::int64_t> whole) const noexcept {
  const std::span lengths(static_cast<const Length*>(ids_), static_cast<std::size_t>(count_));
  // The last sequence that begins at or before `first`: empty ones before it are skipped.
  auto next = std::upper_bound(lengths.begin(), lengths.end(), first);
  for (std::size_t done = 0; done < whole.size();) {
    const auto s = static_cast<std::size_t>(next - lengths.begin() - 1);
    const std::int64_t token = first + static_cast<std::int64_t>(done);
    const auto count = std::min(static_cast<std::size_t>(*next - token), whole.size() - done);
    count_on((starts_.empty() ? 0 : starts_[s]) + (token - lengths[s]), whole.subspan(done, count));
    done += count;
    ++next;
  }
}

void Positions::copy(std::size_t axis, std::int64_t b, std::int64_t first,
                     std::span<std::int64_t> whole, std::span<double> fractions) const noexcept {
  const std::int64_t plane = shape_.axes > 1 ? static_cast<std::int64_t>(axis) : 0;
  const std::int64_t row = plane * shape_.batch + (shape_.batch > 1 ? b : 0);
  const std::int64_t offset = shape_.tokens == kUnknown ? 0 : row * shape_.tokens + first;
  switch (kind_) {
    case Kind::kStart: return count_on(start_ + first, whole);
    case Kind::kStarts: return count_on(starts_[static_cast<std::size_t>(b)] + first, whole);
    case Kind::kInt32: return copy_ids<std::int32_t>(ids_, offset, whole);
    case Kind::kInt64: return copy_ids<std::int64_t>(ids_, offset, whole);
    case Kind::kF32: return split_ids<float>(ids_, offset, whole, fractions);
    case Kind::kF64: return split_ids<double>(ids_, offset, whole, fractions);
    case Kind::kPacked32: return copy_packed<std::int32_t>(first, whole);
    case Kind::kPacked64: return copy_packed<std::int64_t>(first, whole);
    case Kind::kSlices: {
      const auto in_first = static_cast<std::size_t>(
          std::clamp<std::int64_t>(count_ - first, 0, static_cast<std::int64_t>(whole.size())));
      count_on(start_ + first, whole.first(in_first));
      if (in_first < whole.size()) {
        count_on(second_ + (first + static_cast<std::int64_t>(in_first) - count_),
                 whole.subspan(in_first));
      }
      return;
    }
  }
}

bool Positions::is_per_sequence() const noexcept {
  return kind_ == Kind::kStarts || shape_.batch != 1;
}

std::size_t Positions::element_size() const noexcept {
  static constexpr std::uint8_t kSizes[] = {0, 0, 4, 8, 4, 8, 4, 8, 0};  // by Kind
  return kSizes[static_cast<std::size_t>(kind_)];
}

std::array<std::span<const std::byte>, 2> Positions::memory() const noexcept {
  std::int64_t count = is_packed() ? count_ : 0;
  if (element_size() != 0 && !is_packed()) count = shape_.axes * shape_.batch * shape_.tokens;
  const std::size_t bytes = static_cast<std::size_t>(count) * element_size();
  return {std::span(static_cast<const std::byte*>(ids_), bytes), std::as_bytes(starts_)};
}

}  // namespace ropewalk
