// The formula, plainly, in long double. Shares nothing with src/: this is what every kernel, dtype,
// layout and instruction set is held against.

#ifndef ROPEWALK_TESTS_REFERENCE_HPP_
#define ROPEWALK_TESTS_REFERENCE_HPP_

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace reference {

using Real = long double;

struct Turn {
  Real cos, sin;
};

// cos and sin of p ω for |p| <= 2^33, to 1e-19. ω is split into float(ω) + rest, so that both
// products with p are exact in 64 bits; the sum of the two angles comes by the addition formulas.
inline Turn turn(double omega, std::int64_t p) {
  const float high = static_cast<float>(omega);
  const Real rest = static_cast<Real>(omega) - static_cast<Real>(high);
  const Real big = static_cast<Real>(p) * static_cast<Real>(high);
  const Real small = static_cast<Real>(p) * rest;
  const Real cos_big = std::cos(big), sin_big = std::sin(big);
  const Real cos_small = std::cos(small), sin_small = std::sin(small);
  return {cos_big * cos_small - sin_big * sin_small, sin_big * cos_small + cos_big * sin_small};
}

// ω_i = base^(-2i/d).
inline Real frequency(Real base, std::size_t i, std::size_t rotary_dim) {
  return std::pow(base, -2 * static_cast<Real>(i) / static_cast<Real>(rotary_dim));
}

// Where the elements of pair i stand in a head.
struct Pair {
  std::size_t a, b;
};

inline Pair halves(std::size_t i, std::size_t rotary_dim) { return {i, i + rotary_dim / 2}; }
inline Pair adjacent(std::size_t i, std::size_t) { return {2 * i, 2 * i + 1}; }
inline Pair pair(bool is_halves, std::size_t i, std::size_t rotary_dim) {
  return is_halves ? halves(i, rotary_dim) : adjacent(i, rotary_dim);
}

// One head at position p; elements past the pairs pass through.
template <class Element>
std::vector<Real> rotate(std::span<const Element> head, std::span<const double> omega,
                         std::int64_t p, bool is_halves, Real m = 1) {
  std::vector<Real> result(head.begin(), head.end());
  const std::size_t rotary_dim = 2 * omega.size();
  for (std::size_t i = 0; i < omega.size(); ++i) {
    const auto [a, b] = pair(is_halves, i, rotary_dim);
    const Turn t = turn(omega[i], p);
    const Real x = head[a], y = head[b];
    result[a] = m * (x * t.cos - y * t.sin);
    result[b] = m * (x * t.sin + y * t.cos);
  }
  return result;
}

// ---- Element types ----

// bf16 is the upper half of a float.
inline double from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

// IEEE binary16: sign, 5 bits of exponent (bias 15), 10 of mantissa.
inline double from_f16(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) {
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  }
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

// A 16-bit type as a sorted list of what it can hold: to nearest even is then a search, the same for
// both types. Bits without the sign, which ascend with the value.
template <double (*kFrom)(std::uint16_t)>
std::uint16_t to_16_bits(double value) {
  const double magnitude = std::abs(value);
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  std::uint16_t infinity = 0x7FFF;
  while (std::isnan(kFrom(infinity))) infinity = static_cast<std::uint16_t>(infinity - 1);
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | (infinity + 64));
  std::uint16_t low = 0, high = infinity;  // from(low) <= magnitude, high beyond
  while (high - low > 1) {
    const auto middle = static_cast<std::uint16_t>((low + high) / 2);
    (kFrom(middle) <= magnitude ? low : high) = middle;
  }
  // Beyond the largest, an infinity stands where the next value would.
  const double next =
      high == infinity ? 2 * kFrom(low) - kFrom(static_cast<std::uint16_t>(low - 1)) : kFrom(high);
  const double below = magnitude - kFrom(low), above = next - magnitude;
  const bool up = std::isinf(magnitude) || below > above || (below == above && (low & 1) != 0);
  return static_cast<std::uint16_t>(sign | (up ? high : low));
}
inline std::uint16_t to_bf16(double value) { return to_16_bits<from_bf16>(value); }
inline std::uint16_t to_f16(double value) { return to_16_bits<from_f16>(value); }

// What an element type is: bits of mantissa (the implicit one included), the exponent of its
// smallest normal number in the convention of frexp.
struct Type {
  int mantissa, min_exponent;
};
inline constexpr Type kF32{24, -125}, kBf16{8, -125}, kF16{11, -13}, kF64{53, -1021};

// Half of the distance between the type's neighbours around a value.
inline Real half_ulp(Real value, Type type) {
  int exponent = 0;
  std::frexp(value, &exponent);  // |value| in [2^(exponent-1), 2^exponent)
  return std::ldexp(Real{1}, std::max(exponent, type.min_exponent) - type.mantissa - 1);
}

// The promise, per element, for h = hypot(a, b) s: 2^-21 h, and |p| 2^-62 h beyond 2^32, plus half an
// ulp of the type, plus one smallest subnormal where h < 2^-125; for f64 (|p| 2^-62 + 2^-50) h, and
// 2^-970.
inline Real allowed_error(Real h, Real distance, Real exact, Real given, Type type) {
  const bool is_f64 = type.mantissa == kF64.mantissa;
  Real relative = is_f64 ? 0x1p-50L : 0x1p-21L;
  if (is_f64 || distance > 0x1p32L) relative += distance * 0x1p-62L;
  Real allowed = relative * h + std::max(half_ulp(exact, type), half_ulp(given, type));
  if (h < (is_f64 ? 0x1p-970L : 0x1p-125L)) {
    allowed += std::ldexp(Real{1}, type.min_exponent - type.mantissa);
  }
  return allowed;
}

}  // namespace reference

#endif  // ROPEWALK_TESTS_REFERENCE_HPP_
