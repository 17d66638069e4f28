#include "bench/exact.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "element.hpp"
#include "message.hpp"

namespace ropewalk::bench {
namespace {

using Real = long double;
constexpr int kSamples = 40;

struct Turn {
  Real cos, sin;
};

// cos and sin of position x ω. ω is split so that both products are exact in long double.
Turn turn(double omega, std::int64_t position) {
  const Real high = static_cast<float>(omega), low = omega - high;
  const Real p = static_cast<Real>(position);
  const Real big = p * high, small = p * low;
  return {std::cos(big) * std::cos(small) - std::sin(big) * std::sin(small),
          std::sin(big) * std::cos(small) + std::cos(big) * std::sin(small)};
}

// The promise but for half an ulp, relative to the length of the pair.
Real promised(DType dtype, std::int64_t position) {
  const Real far = std::abs(static_cast<Real>(position)) * 0x1p-62L;
  return dtype == DType::kF64 ? far + 0x1p-50L : 0x1p-21L;
}

Real half_ulp(Real value, DType dtype) {
  struct Type {
    int mantissa, min_exponent;  // as of frexp
  };
  constexpr Type kTypes[kDTypes] = {{24, -125}, {8, -125}, {11, -13}, {53, -1021}};
  const Type type = kTypes[static_cast<std::size_t>(dtype)];
  int exponent = 0;
  std::frexp(value, &exponent);
  return std::ldexp(Real{1}, std::max(exponent, type.min_exponent) - type.mantissa - 1);
}

// Whether a value is as near to the exact one as is promised for a pair of length h. NaN is not.
bool is_near(double given, Real exact, Real h, DType dtype, std::int64_t position) {
  const Real half = std::max(half_ulp(exact, dtype), half_ulp(given, dtype));
  return std::abs(given - exact) <= promised(dtype, position) * h + half;
}

// The first, the last, and some between, of `count`.
std::vector<std::int64_t> samples_of(std::int64_t count) {
  std::vector<std::int64_t> samples = {0, count - 1};
  std::mt19937_64 random(1);
  std::uniform_int_distribution<std::int64_t> any(0, count - 1);
  while (samples.size() < kSamples) samples.push_back(any(random));
  return samples;
}

std::string wrong(std::string_view what, std::int64_t token, std::int64_t head, std::size_t pair,
                  double given, Real exact) {
  return message(what, " of pair ", pair, " of token ", token, ", head ", head, ", is ", given,
                 ", exactly ", static_cast<double>(exact));
}

// Where element i of a head lies.
double at(const ConstTensorView& view, std::int64_t token, std::int64_t head, std::size_t i) {
  const std::int64_t start = token * view.strides[1] + head * view.strides[2];
  return element_at(view.data, view.dtype, static_cast<std::size_t>(start) + i);
}

}  // namespace

std::string wrong_element(const Rope& rope, const ConstTensorView& x, const ConstTensorView& y,
                          std::span<const std::int64_t> positions) {
  const std::span<const double> omega = rope.frequencies();
  const bool is_halves = rope.spec().pairing() == Pairing::kHalves;
  const std::int64_t heads = x.shape[2];
  for (const std::int64_t sample : samples_of(x.shape[1] * heads)) {
    const std::int64_t token = sample / heads, head = sample % heads;
    const std::int64_t position = positions[static_cast<std::size_t>(token)];
    for (std::size_t i = 0; i < omega.size(); ++i) {
      const std::size_t first = is_halves ? i : 2 * i;
      const std::size_t second = is_halves ? i + omega.size() : 2 * i + 1;
      const Real a = at(x, token, head, first), b = at(x, token, head, second);
      const Turn t = turn(omega[i], position);
      const Real exact_a = a * t.cos - b * t.sin, exact_b = a * t.sin + b * t.cos;
      const double given_a = at(y, token, head, first), given_b = at(y, token, head, second);
      if (!is_near(given_a, exact_a, std::hypot(a, b), x.dtype, position)) {
        return wrong("the first element", token, head, i, given_a, exact_a);
      }
      if (!is_near(given_b, exact_b, std::hypot(a, b), x.dtype, position)) {
        return wrong("the second element", token, head, i, given_b, exact_b);
      }
    }
  }
  return "";
}

std::string wrong_row(const Rope& rope, const Angles& angles,
                      std::span<const std::int64_t> positions) {
  const std::span<const double> omega = rope.frequencies();
  std::vector<double> cos(positions.size() * omega.size()), sin(cos.size());
  angles.read_compact<double>(cos, sin);
  for (const std::int64_t token : samples_of(static_cast<std::int64_t>(positions.size()))) {
    const std::int64_t position = positions[static_cast<std::size_t>(token)];
    for (std::size_t i = 0; i < omega.size(); ++i) {
      const std::size_t at_pair = static_cast<std::size_t>(token) * omega.size() + i;
      const Turn t = turn(omega[i], position);
      if (!is_near(cos[at_pair], t.cos, 1, angles.dtype(), position)) {
        return wrong("the cosine", token, 0, i, cos[at_pair], t.cos);
      }
      if (!is_near(sin[at_pair], t.sin, 1, angles.dtype(), position)) {
        return wrong("the sine", token, 0, i, sin[at_pair], t.sin);
      }
    }
  }
  return "";
}

}  // namespace ropewalk::bench
