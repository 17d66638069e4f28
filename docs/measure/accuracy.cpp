// Errors against the formula in long double: by position, and as shares of what is promised.

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <span>

#include "arithmetic.hpp"
#include "elements.hpp"
#include "random.hpp"
#include "report.hpp"

namespace rw = ropewalk;

namespace measure {
namespace {

using reference::Real;
using reference::Turn;

constexpr std::size_t kDim = 128, kPairs = kDim / 2, kHeads = 16, kTokens = 64;

// cos and sin of (whole + fraction) ω, |fraction| < 1, ω <= 1: the fraction's angle is good to 2^-64, and
// is added by the addition formulas.
Turn exact_turn(double omega, std::int64_t position, double fraction) {
  const Turn whole = reference::turn(omega, position);
  const Real angle = static_cast<Real>(fraction) * static_cast<Real>(omega);
  const Real c = std::cos(angle), s = std::sin(angle);
  return {whole.cos * c - whole.sin * s, whole.sin * c + whole.cos * s};
}

// The ways of making cos and sin.
enum Way : std::uint8_t { kRopewalk, kFloatTable, kBf16Table, kF16Table, kFloatAngles, kWays };
constexpr std::array kColumns = {"ropewalk", "float32 table", "bf16 table", "f16 table",
                                 "float32 angles"};

struct Row {
  float cos, sin;
};

Row row_of(Way way, const Turn& exact, double omega, double position) {
  const auto c = static_cast<double>(exact.cos), s = static_cast<double>(exact.sin);
  switch (way) {
    case kFloatTable: return {static_cast<float>(exact.cos), static_cast<float>(exact.sin)};
    case kBf16Table:
      return {static_cast<float>(reference::from_bf16(reference::to_bf16(c))),
              static_cast<float>(reference::from_bf16(reference::to_bf16(s)))};
    case kF16Table:
      return {static_cast<float>(reference::from_f16(reference::to_f16(c))),
              static_cast<float>(reference::from_f16(reference::to_f16(s)))};
    default: {
      const float angle = static_cast<float>(position) * static_cast<float>(omega);
      return {std::cos(angle), std::sin(angle)};
    }
  }
}

// Of a' and b', against hypot(a, b).
Real error_of(float a, float b, const Turn& exact, float new_a, float new_b) {
  const Real x = a, y = b;
  const Real error_a = new_a - (x * exact.cos - y * exact.sin);
  const Real error_b = new_b - (x * exact.sin + y * exact.cos);
  return std::max(std::abs(error_a), std::abs(error_b)) / std::hypot(x, y);
}

// The largest errors at up to 64 positions, the last of them last + fraction.
std::array<Real, kWays> worst_errors(const rw::Rope& rope, std::int64_t last, double fraction) {
  const auto tokens = std::min<std::size_t>(kTokens, static_cast<std::size_t>(last));
  const std::int64_t first = last - static_cast<std::int64_t>(tokens) + 1;
  std::vector<std::int64_t> whole(tokens);
  std::vector<double> real(tokens);
  for (std::size_t t = 0; t < tokens; ++t) {
    whole[t] = first + static_cast<std::int64_t>(t);
    real[t] = static_cast<double>(whole[t]) + fraction;
  }
  Random random(static_cast<std::uint64_t>(last));
  const std::vector<float> x = random.normals(tokens * kHeads * kDim);
  std::vector<float> out = x;
  rw::rotate(rope,
             rw::TensorView::bthd(out.data(), {1, static_cast<std::int64_t>(tokens), kHeads, kDim}),
             fraction == 0 ? rw::Positions::ids(std::span<const std::int64_t>(whole))
                           : rw::Positions::ids(std::span<const double>(real)));
  std::array<Real, kWays> worst{};
  for (std::size_t t = 0; t < tokens; ++t) {
    for (std::size_t i = 0; i < kPairs; ++i) {
      const double omega = rope.frequencies()[i];
      const Turn exact = exact_turn(omega, whole[t], real[t] - static_cast<double>(whole[t]));
      std::array<Row, kWays> rows{};
      for (const Way way : {kFloatTable, kBf16Table, kF16Table, kFloatAngles}) {
        rows[way] = row_of(way, exact, omega, real[t]);
      }
      for (std::size_t h = 0; h < kHeads; ++h) {
        const std::size_t at = (t * kHeads + h) * kDim + i;
        const float a = x[at], b = x[at + kPairs];
        worst[kRopewalk] =
            std::max(worst[kRopewalk], error_of(a, b, exact, out[at], out[at + kPairs]));
        for (std::size_t way = kFloatTable; way < kWays; ++way) {
          const auto [c, s] = rows[way];
          worst[way] = std::max(worst[way], error_of(a, b, exact, a * c - b * s, a * s + b * c));
        }
      }
    }
  }
  return worst;
}

void by_position(const char* table, double base, double fraction) {
  const rw::Rope rope(rw::Spec({.head_dim = kDim, .base = base}));
  for (const std::int64_t last : {10LL, 100LL, 1000LL, 10000LL, 100000LL, 1000000LL, 10000000LL,
                                  100000000LL, 1000000000LL, 4294967296LL}) {
    const auto worst = worst_errors(rope, last, fraction);
    std::string row = whole(static_cast<double>(last));
    if (fraction != 0) row += fixed(fraction, 1).substr(1);
    for (std::size_t way = 0; way < kWays; ++way) {
      cell(table, row, kColumns[way], way == kRopewalk ? Kind::kFactor : Kind::kClose,
           short_form(static_cast<double>(worst[way])));
    }
    cell(table, row, "size", Kind::kExact, bytes(static_cast<double>(last) * kDim * sizeof(float)));
  }
}

// ---- The promise ----

// How much of the promise's first term is used: what an error is beyond half an ulp of its type, as a
// share of (2^-21, or 2^-50 + |p| 2^-62) h.
Real worst_share(const rw::Rope& rope, rw::DType dtype, rw::Target target,
                 std::span<const std::int64_t> positions) {
  const auto tokens = static_cast<std::int64_t>(positions.size());
  const rw::Dims shape = {1, tokens, kHeads, kDim};
  const auto x = rw::testing::random_elements(dtype, rw::testing::count_of(shape), 6, 3);
  rw::testing::Elements out(x);
  rw::rotate(rope, rw::testing::view(out, shape), rw::Positions::ids(positions),
             {.target = target});
  const reference::Type type = rw::testing::type_of(dtype);
  const Real m = rope.attention_factor();
  Real worst = 0;
  for (std::size_t t = 0; t < positions.size(); ++t) {
    Real term = 0x1p-21L;
    const Real distance = std::abs(static_cast<Real>(positions[t]));
    if (dtype == rw::DType::kF64) term = 0x1p-50L + distance * 0x1p-62L;
    for (std::size_t i = 0; i < kPairs; ++i) {
      const Turn exact = reference::turn(rope.frequencies()[i], positions[t]);
      for (std::size_t h = 0; h < kHeads; ++h) {
        const std::size_t at = (t * kHeads + h) * kDim + i;
        const Real a = x[at], b = x[at + kPairs], length = m * std::hypot(a, b);
        const auto see = [&](Real wanted, Real given) {
          const Real half =
              std::max(reference::half_ulp(wanted, type), reference::half_ulp(given, type));
          worst = std::max(worst, (std::abs(given - wanted) - half) / (term * length));
        };
        see(m * (a * exact.cos - b * exact.sin), out[at]);
        see(m * (a * exact.sin + b * exact.cos), out[at + kPairs]);
      }
    }
  }
  return worst;
}

// 2^k - 1, 2^k, 2^k + 1 up to 2^32, and a random one of each size; half of them negative.
std::vector<std::int64_t> positions_of_all_sizes() {
  Random random(7);
  std::vector<std::int64_t> positions = {0};
  for (int k = 0; k < 32; ++k) {
    const std::int64_t power = std::int64_t{1} << k;
    for (const std::int64_t p :
         {power - 1, -power, power + 1, static_cast<std::int64_t>(random.bits() >> (64 - 1 - k))}) {
      positions.push_back(p);
    }
  }
  positions.push_back(std::int64_t{1} << 32);
  return positions;
}

void share(const char* row, rw::DType dtype, std::span<const std::int64_t> positions) {
  for (const Arithmetic& arithmetic : arithmetics()) {
    Real worst = 0;
    for (const double m : {1.0, 1.2772588722239781}) {
      if (!arithmetic.target) continue;
      const rw::Rope rope(rw::Spec({.head_dim = kDim, .attention_factor = m}));
      worst = std::max(worst, worst_share(rope, dtype, *arithmetic.target, positions));
    }
    cell("shares", row, arithmetic.name, Kind::kFactor,
         arithmetic.target ? fixed(static_cast<double>(worst), 2) : "");
  }
}

void shares() {
  const auto all = positions_of_all_sizes();
  std::vector<std::int64_t> near;
  std::copy_if(all.begin(), all.end(), std::back_inserter(near),
               [](std::int64_t p) { return std::abs(p) <= 1024; });
  figure("shares positions", Kind::kExact, std::to_string(all.size()));
  share("f32", rw::DType::kF32, all);
  share("bf16", rw::DType::kBf16, all);
  share("f16", rw::DType::kF16, all);
  share("f64, up to position 1024", rw::DType::kF64, near);
  share("f64", rw::DType::kF64, all);
}

// The first position that a type cannot hold.
void lost_positions() {
  const auto first_lost = [](auto holds) {
    std::int64_t position = 0;
    while (holds(static_cast<double>(position))) ++position;
    return whole(static_cast<double>(position));
  };
  figure("lost bf16", Kind::kExact,
         first_lost([](double p) { return reference::from_bf16(reference::to_bf16(p)) == p; }));
  figure("lost f16", Kind::kExact,
         first_lost([](double p) { return reference::from_f16(reference::to_f16(p)) == p; }));
  figure("lost f32", Kind::kExact,
         first_lost([](double p) { return static_cast<double>(static_cast<float>(p)) == p; }));
}

// What the promise does not count: ω in double against ω of the formula.
void frequencies() {
  Real worst = 0, angle = 0;
  for (const double base : {10000.0, 500000.0}) {
    const rw::Rope rope(rw::Spec({.head_dim = kDim, .base = base}));
    for (std::size_t i = 0; i < kPairs; ++i) {
      const Real exact = reference::frequency(base, i, kDim);
      const Real off = std::abs(static_cast<Real>(rope.frequencies()[i]) - exact);
      worst = std::max(worst, off / exact);
      angle = std::max(angle, off * 0x1p32L);
    }
  }
  figure("frequency error", Kind::kFactor, short_form(static_cast<double>(worst)));
  figure("frequency angle", Kind::kFactor, short_form(static_cast<double>(angle)));
}

}  // namespace

void measure_accuracy() {
  by_position("accuracy 10000", 10000, 0);
  by_position("accuracy 500000", 500000, 0);
  by_position("accuracy real", 10000, 0.3);
  shares();
  frequencies();
  lost_positions();
}

}  // namespace measure
