// How ready rows are read, by rotate.

#ifndef ROPEWALK_SRC_ANGLES_HPP_
#define ROPEWALK_SRC_ANGLES_HPP_

#include <array>
#include <cstdint>
#include <ropewalk/angles.hpp>

#include "kernels.hpp"

namespace ropewalk {

// What rotate needs to know of ready rows.
struct AnglesAccess {
  static const std::optional<Spec>& spec(const Angles& angles) { return angles.spec_; }
  static bool is_double(const Angles& angles) { return angles.is_double_; }
  static bool is_turn(const Angles& angles) { return angles.is_turn_; }
  static double scale(const Angles& angles) { return angles.scale_; }
  static std::size_t stride(const Angles& angles) {
    return 2 * kernels::padded(static_cast<std::size_t>(angles.pairs()));
  }
  static std::int64_t row(const Angles& angles, std::int64_t batch, std::int64_t token) {
    return (angles.batch_ == 1 ? 0 : batch) * angles.tokens_ + token;
  }
  // The first cosine of a row.
  static const void* cosines(const Angles& angles, std::int64_t row) {
    const std::size_t offset = static_cast<std::size_t>(row) * stride(angles);
    return angles.is_double_ ? static_cast<const void*>(angles.doubles_.data() + offset)
                             : static_cast<const void*>(angles.floats_.data() + offset);
  }
  static const double* token_scales(const Angles& angles, std::int64_t row) {
    return angles.token_scales_.empty() ? nullptr : angles.token_scales_.data() + row;
  }
  static std::array<std::span<const std::byte>, 2> memory(const Angles& angles) {
    return {std::as_bytes(std::span(angles.floats_)), std::as_bytes(std::span(angles.doubles_))};
  }
};

}  // namespace ropewalk

#endif  // ROPEWALK_SRC_ANGLES_HPP_
