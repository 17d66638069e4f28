#include <cmath>
#include <ropewalk/rope.hpp>

namespace ropewalk {
namespace {

// 2π = kTwoPiHigh + kTwoPiLow to 107 bits.
constexpr double kTwoPiHigh = 0x1.921fb54442d18p+2;
constexpr double kTwoPiLow = 0x1.1a62633145c07p-52;

// The kernels read turns in whole vectors; see Rope::Plan.
constexpr std::size_t kTurnsMultiple = 16;

std::vector<std::uint64_t> turns_from(const std::vector<double>& radians) {
  std::vector<std::uint64_t> turns((radians.size() + kTurnsMultiple - 1) / kTurnsMultiple *
                                   kTurnsMultiple);
  for (std::size_t i = 0; i < radians.size(); ++i) turns[i] = turn_from(radians[i]);
  return turns;
}

}  // namespace

// The quotient ω / 2π in two doubles q1 + q2, then its fraction in two steps, so that nothing but
// the last rounding is lost: 0.5000 of a unit for |ω| < 2^32. (One double is off by 5e-7 rad at
// position 2^32.)
std::uint64_t turn_from(double radians) noexcept {
  const double q1 = radians / kTwoPiHigh;
  const double q2 = (std::fma(-q1, kTwoPiHigh, radians) - q1 * kTwoPiLow) / kTwoPiHigh;
  const double y = (q1 - std::rint(q1)) * 0x1p64;  // exact, |y| <= 2^63
  const double whole = std::trunc(y);
  const double rest = (y - whole) + q2 * 0x1p64;
  const auto high = whole < 0x1p63 ? static_cast<std::int64_t>(whole) : INT64_MIN;  // 2^63 wraps
  return static_cast<std::uint64_t>(high) + static_cast<std::uint64_t>(std::llrint(rest));
}

Rope::Rope(const Spec& spec) {
  Frequencies made = ropewalk::frequencies(spec);
  std::vector<std::uint64_t> turns = turns_from(made.radians);
  plan_ = std::make_shared<const Plan>(Plan{spec, std::move(made), std::move(turns)});
}

}  // namespace ropewalk
