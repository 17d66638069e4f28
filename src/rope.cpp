#include <algorithm>
#include <cmath>
#include <ropewalk/rope.hpp>
#include <utility>

namespace ropewalk {
namespace {

// 2π = kTwoPiHigh + kTwoPiLow to 107 bits.
constexpr double kTwoPiHigh = 0x1.921fb54442d18p+2;
constexpr double kTwoPiLow = 0x1.1a62633145c07p-52;

// The kernels read turns in whole vectors, from any pair on; see Rope::Plan.
constexpr std::size_t kSlack = 16;

}  // namespace

// The quotient ω / 2π in two doubles. (One double is off by 5e-7 rad at position 2^32.)
Rope::Ratio ratio_from(double radians) noexcept {
  const double high = radians / kTwoPiHigh;
  return {high, (std::fma(-high, kTwoPiHigh, radians) - high * kTwoPiLow) / kTwoPiHigh};
}

// Its fraction in two steps, so that nothing but the last rounding is lost: 0.5000 of a unit for
// |ω| < 2^32.
std::uint64_t turn_from(const Rope::Ratio& ratio) noexcept {
  const double y = (ratio.high - std::rint(ratio.high)) * 0x1p64;  // exact, |y| <= 2^63
  const double whole = std::trunc(y);
  const double rest = (y - whole) + ratio.low * 0x1p64;
  const auto high = whole < 0x1p63 ? static_cast<std::int64_t>(whole) : INT64_MIN;  // 2^63 wraps
  return static_cast<std::uint64_t>(high) + static_cast<std::uint64_t>(std::llrint(rest));
}

Rope::Rope(const Spec& spec, std::optional<std::int64_t> length) {
  Frequencies made = ropewalk::frequencies(spec, length);
  std::vector<Ratio> ratios;
  std::vector<std::uint64_t> turns;
  for (const double omega : made.radians) {
    ratios.push_back(ratio_from(spec.clockwise() ? -omega : omega));
    turns.push_back(turn_from(ratios.back()));
  }
  turns.resize((turns.size() + 2 * kSlack - 1) / kSlack * kSlack);
  std::size_t axes = 1;
  for (const std::uint8_t axis : spec.axis_of_pair()) {
    axes = std::max(axes, std::size_t{axis} + 1);
  }
  plan_ = std::make_shared<const Plan>(
      Plan{spec, std::move(made), std::move(turns), std::move(ratios), axes});
}

}  // namespace ropewalk
