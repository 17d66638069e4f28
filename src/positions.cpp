#include <limits>
#include <ropewalk/error.hpp>
#include <ropewalk/positions.hpp>

#include "message.hpp"

namespace ropewalk {
namespace {

template <class Id>
void copy_ids(const void* ids, std::int64_t first, std::span<std::int64_t> out) noexcept {
  const Id* source = static_cast<const Id*>(ids) + first;
  for (std::size_t t = 0; t < out.size(); ++t) out[t] = source[t];
}

}  // namespace

Positions Positions::from(std::int64_t start) noexcept {
  return {Kind::kStart, nullptr, kNoBatch, 0, start};
}

Positions Positions::ids(std::span<const std::int32_t> ids) noexcept {
  return {Kind::kInt32, ids.data(), kNoBatch, static_cast<std::int64_t>(ids.size()), 0};
}

Positions Positions::ids(std::span<const std::int64_t> ids) noexcept {
  return {Kind::kInt64, ids.data(), kNoBatch, static_cast<std::int64_t>(ids.size()), 0};
}

Positions Positions::ids(const std::int32_t* ids, std::int64_t batch,
                         std::int64_t tokens) noexcept {
  return {Kind::kInt32, ids, batch, tokens, 0};
}

Positions Positions::ids(const std::int64_t* ids, std::int64_t batch,
                         std::int64_t tokens) noexcept {
  return {Kind::kInt64, ids, batch, tokens, 0};
}

void Positions::check(std::int64_t batch, std::int64_t tokens) const {
  if (kind_ == Kind::kStart) {
    if (tokens > 0 && start_ > std::numeric_limits<std::int64_t>::max() - (tokens - 1)) {
      throw Error(ErrorCode::kInvalidArgument,
                  message("positions from ", start_, " for ", tokens,
                          " tokens go beyond the largest 64-bit integer"));
    }
    return;
  }
  const bool is_flat = batch_ == kNoBatch;
  const bool batch_fits = is_flat || batch_ == 1 || batch_ == batch;
  if (!batch_fits || tokens_ != tokens) {
    const std::string given =
        is_flat ? message("[", tokens_, "]") : message("[", batch_, ", ", tokens_, "]");
    throw Error(
        ErrorCode::kShapeMismatch,
        message("positions have shape ", given, "; a tensor of batch ", batch, " and ", tokens,
                " tokens wants [", tokens, "], [1, ", tokens, "] or [", batch, ", ", tokens, "]"));
  }
  if (ids_ == nullptr && batch_ != 0 && tokens_ != 0 && batch != 0) {
    throw Error(ErrorCode::kInvalidArgument, "positions are null");
  }
}

void Positions::copy(std::int64_t b, std::int64_t first,
                     std::span<std::int64_t> out) const noexcept {
  const std::int64_t offset = (batch_ > 1 ? b * tokens_ : 0) + first;
  switch (kind_) {
    case Kind::kStart:
      for (std::size_t t = 0; t < out.size(); ++t) {
        out[t] = start_ + first + static_cast<std::int64_t>(t);
      }
      return;
    case Kind::kInt32: return copy_ids<std::int32_t>(ids_, offset, out);
    case Kind::kInt64: return copy_ids<std::int64_t>(ids_, offset, out);
  }
}

std::span<const std::byte> Positions::memory() const noexcept {
  if (kind_ == Kind::kStart) return {};
  const auto rows = static_cast<std::size_t>(batch_ == kNoBatch ? 1 : batch_);
  const std::size_t count = rows * static_cast<std::size_t>(tokens_);
  const std::size_t size = kind_ == Kind::kInt32 ? 4 : 8;
  return {static_cast<const std::byte*>(ids_), count * size};
}

}  // namespace ropewalk
