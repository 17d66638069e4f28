// The sum behind the promise: a bound for each step from a position to a rotated pair, in units of
// 2^-24 hypot(a, b) s (2^-53 for f64), of which 8 are promised. And the rows, tried for all phases.

// The polynomials themselves; of the rest of this header nothing is compiled here.
#include "kernels-angles-inl.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <ropewalk/ropewalk.hpp>

#include "arithmetic.hpp"
#include "random.hpp"
#include "reference.hpp"
#include "report.hpp"

namespace rw = ropewalk;

namespace measure {
namespace {

using reference::Real;
constexpr Real kPi = std::numbers::pi_v<Real>;

template <class T>
constexpr reference::Type kType = sizeof(T) == 4 ? reference::kF32 : reference::kF64;
template <class T>
constexpr Real kUnit = sizeof(T) == 4 ? 0x1p-24L : 0x1p-53L;
template <class T>
using Polynomials = ropewalk::kernels::HWY_NAMESPACE::Polynomials<T>;

// ---- The polynomials, on paper ----

// A number and how far its rounded twin may be.
struct Value {
  Real value, error;
};

template <class T>
Value rounded(Value v) {
  return {v.value, v.error + reference::half_ulp(std::abs(v.value) + v.error, kType<T>)};
}
template <class T>
Value product(Value a, Value b) {
  return rounded<T>({a.value * b.value, std::abs(a.value) * b.error + std::abs(b.value) * a.error +
                                            a.error * b.error});
}
// a b + c, rounded once or twice.
template <class T>
Value multiply_add(Value a, Value b, Value c, bool fused) {
  Value both = product<T>(a, b);
  if (fused) {
    both.error = std::abs(a.value) * b.error + std::abs(b.value) * a.error + a.error * b.error;
  }
  return rounded<T>({both.value + c.value, both.error + c.error});
}

template <class T, std::size_t kCount>
Value polynomial(const T (&coefficients)[kCount], Value z, bool fused) {
  Value sum = {coefficients[kCount - 1], 0};
  for (std::size_t j = kCount - 1; j > 0; --j) {
    sum = multiply_add<T>(z, sum, {coefficients[j - 1], 0}, fused);
  }
  return sum;
}

// Largest errors of a row: of cos, of sin, of both as a vector.
struct RowError {
  Real cos = 0, sin = 0, both = 0;
  void see(Real cos_error, Real sin_error) {
    cos = std::max(cos, std::abs(cos_error));
    sin = std::max(sin, std::abs(sin_error));
    both = std::max(both, std::hypot(cos_error, sin_error));
  }
};

struct PolynomialError {
  RowError approximation;  // with the coefficients as they are, without rounding
  RowError bound;          // with the rounding of every operation
};

// The same operations as CosSin of src/kernels-angles-inl.hpp.
template <class T>
PolynomialError polynomial_error(bool fused) {
  using P = Polynomials<T>;
  PolynomialError worst;
  constexpr int kSteps = 1 << 15;
  for (int step = 0; step <= kSteps; ++step) {
    const Value x = {static_cast<Real>(step) / (2 * kSteps), 0};  // quarter turns, 0 to 1/2
    const Value z = product<T>(x, x);
    const Value rest = multiply_add<T>(z, polynomial(P::kSin, z, fused), {P::kSin0Rest, 0}, fused);
    const Value sine = multiply_add<T>(x, {P::kSin0, 0}, product<T>(x, rest), fused);
    const Value cosine = multiply_add<T>(z, polynomial(P::kCos, z, fused), {1, 0}, fused);
    const Real cos_off = std::abs(cosine.value - std::cos(x.value * kPi / 2));
    const Real sin_off = std::abs(sine.value - std::sin(x.value * kPi / 2));
    worst.approximation.see(cos_off, sin_off);
    worst.bound.see(cosine.error + cos_off, sine.error + sin_off);
  }
  return worst;
}

// ---- Rows, tried ----

// cos and sin of n / 2^32 of a turn for n < 2^30, in double, from two tables by the addition formulas.
class EighthTurn {
 public:
  EighthTurn() : high_(kSize), low_(kSize) {
    for (std::size_t n = 0; n < kSize; ++n) {
      const Real unit = 2 * kPi * static_cast<Real>(n) * 0x1p-32L;
      high_[n] = {static_cast<double>(std::cos(unit * kSize)),
                  static_cast<double>(std::sin(unit * kSize))};
      low_[n] = {static_cast<double>(std::cos(unit)), static_cast<double>(std::sin(unit))};
    }
  }
  struct CosSin {
    double cos, sin;
  };
  [[nodiscard]] CosSin at(std::uint64_t n) const {
    const CosSin& h = high_[n / kSize];
    const CosSin& l = low_[n % kSize];
    return {h.cos * l.cos - h.sin * l.sin, h.sin * l.cos + h.cos * l.sin};
  }

 private:
  static constexpr std::size_t kSize = 1 << 15;
  std::vector<CosSin> high_, low_;
};

// Rows of float for the phases n / 2^32, which are the positions n of a pair of 2π 2^-32 radians; 16 such
// pairs, each on an axis of its own, are tried at once. An eighth of a turn either way has all phases:
// beyond, cos and sin change places and signs, exactly.
RowError tried_floats(rw::Target target, std::uint64_t step) {
  constexpr std::size_t kAxes = 16, kTokens = 256, kBlock = kAxes * kTokens;
  std::vector<std::int64_t> axes(kAxes);
  std::iota(axes.begin(), axes.end(), 0);
  const std::vector<double> omega(kAxes, 0x1.921fb54442d18p+2 * 0x1p-32);
  const rw::Rope rope(rw::Spec({.head_dim = 32, .frequencies = omega, .axis_of_pair = axes}));
  if (rope.turns()[0] != std::uint64_t{1} << 32) return {1, 1, 1};  // shows in every figure
  const EighthTurn exact;
  std::vector<std::int64_t> positions(kBlock);  // [axes, 1, tokens]
  std::vector<float> cos(kBlock), sin(kBlock);  // [tokens, pairs]
  rw::Angles angles;
  double worst_cos = 0, worst_sin = 0, worst_square = 0;
  constexpr std::uint64_t kLast = std::uint64_t{1} << 29;
  for (const std::int64_t sign : {1, -1}) {
    for (std::uint64_t n = 0; n <= kLast;) {
      for (auto& position : positions) {
        position = sign * static_cast<std::int64_t>(std::min(n, kLast));
        n += step;
      }
      angles.assign(rope, rw::Positions::ids(positions.data(), {kAxes, 1, kTokens}),
                    {.run = {.target = target}});
      angles.read_compact<float>(cos, sin);
      for (std::size_t at = 0; at < kBlock; ++at) {
        const std::int64_t position = positions[at % kAxes * kTokens + at / kAxes];
        const auto [c, s] = exact.at(static_cast<std::uint64_t>(position * sign));
        const double dc = cos[at] - c, ds = sin[at] - static_cast<double>(sign) * s;
        worst_cos = std::max(worst_cos, std::abs(dc));
        worst_sin = std::max(worst_sin, std::abs(ds));
        worst_square = std::max(worst_square, dc * dc + ds * ds);
      }
    }
  }
  return {worst_cos, worst_sin, std::sqrt(static_cast<Real>(worst_square))};
}

// Rows of double at random phases, of 64 bits each.
RowError tried_doubles(rw::Target target, std::size_t count) {
  const rw::Rope rope(rw::Spec({.head_dim = 2}));
  Random random(8);
  constexpr std::size_t kBlock = 1024;
  std::vector<std::int64_t> positions(kBlock);
  std::vector<double> cos(kBlock), sin(kBlock);
  rw::Angles angles;
  RowError worst;
  for (std::size_t n = 0; n < count; n += kBlock) {
    for (auto& position : positions) position = static_cast<std::int64_t>(random.bits());
    angles.assign(rope, rw::Positions::ids(std::span<const std::int64_t>(positions)),
                  {.dtype = rw::DType::kF64, .run = {.target = target}});
    angles.read_compact<double>(cos, sin);
    for (std::size_t t = 0; t < kBlock; ++t) {
      const std::uint64_t phase = static_cast<std::uint64_t>(positions[t]) * rope.turns()[0];
      const Real angle = 2 * kPi * (static_cast<Real>(static_cast<std::int64_t>(phase)) * 0x1p-64L);
      worst.see(static_cast<Real>(cos[t]) - std::cos(angle),
                static_cast<Real>(sin[t]) - std::sin(angle));
    }
  }
  return worst;
}

// ---- The sums ----

template <class T>
void sum_up(const char* table, const Arithmetic& arithmetic) {
  constexpr bool kIsFloat = sizeof(T) == 4;
  Real sum = 0;
  const auto item = [&](const char* row, Real bound) {
    sum += bound / kUnit<T>;
    cell(table, row, arithmetic.name, Kind::kExact,
         fixed(static_cast<double>(bound / kUnit<T>), 2));
  };
  // In turns; a unit of F is off by 0.502 of 2^-64 at most.
  const Real turn = 0.502L * 0x1p-64L;
  if (kIsFloat) {
    item("turn", turn * 0x1p32L * 2 * kPi);
    item("phase", 0x1p-33L * 2 * kPi);
  } else {
    item("fraction", 0x1p-55L * 2 * kPi);
  }
  item("remainder", reference::half_ulp(0.499L, kType<T>) * kPi / 2);
  item("polynomials", polynomial_error<T>(arithmetic.fused).bound.both);
  item("factor", 2 * kUnit<T>);
  item("products", kUnit<T>);
  if (kIsFloat) item("16 bits", kUnit<T>);
  cell(table, "sum", arithmetic.name, Kind::kExact, fixed(static_cast<double>(sum), 1));
}

template <class T, class Try>
void tried(const char* table, const Arithmetic& arithmetic, Try rows_of) {
  const RowError error = arithmetic.target ? rows_of(*arithmetic.target) : RowError{};
  const auto see = [&](const char* row, Real value) {
    cell(table, row, arithmetic.name, Kind::kFactor,
         arithmetic.target ? fixed(static_cast<double>(value / kUnit<T>), 2) : "");
  };
  see("cos", error.cos);
  see("sin", error.sin);
  see("both, as a vector", error.both);
}

void approximations() {
  const PolynomialError narrow = polynomial_error<float>(true);
  const PolynomialError wide = polynomial_error<double>(true);
  figure("approximation f32", Kind::kExact,
         short_form(
             static_cast<double>(std::max(narrow.approximation.cos, narrow.approximation.sin))));
  figure("approximation f64", Kind::kExact,
         short_form(static_cast<double>(std::max(wide.approximation.cos, wide.approximation.sin))));
  figure("turn at 2^32", Kind::kExact,
         short_form(static_cast<double>(0.502L * 0x1p-32L * 2 * kPi)));
  figure("phase", Kind::kExact, short_form(static_cast<double>(0x1p-33L * 2 * kPi)));
  figure("turn exponent", Kind::kExact, fixed(std::log2(0.502 * 2 * std::numbers::pi) - 64, 2));
}

}  // namespace

void measure_budget(bool quick) {
  approximations();
  for (const Arithmetic& arithmetic : arithmetics()) {
    sum_up<float>("budget f32", arithmetic);
    sum_up<double>("budget f64", arithmetic);
    tried<float>("tried f32", arithmetic,
                 [&](rw::Target target) { return tried_floats(target, quick ? 1021 : 1); });
    tried<double>("tried f64", arithmetic, [&](rw::Target target) {
      return tried_doubles(target, std::size_t{1} << (quick ? 18 : 22));
    });
  }
}

}  // namespace measure
