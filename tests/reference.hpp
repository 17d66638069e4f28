// The formula, plainly, in long double. Shares nothing with src/: this is what every kernel, dtype,
// layout and instruction set is held against.

#ifndef ROPEWALK_TESTS_REFERENCE_HPP_
#define ROPEWALK_TESTS_REFERENCE_HPP_

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
inline float from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

// To nearest even, by comparing the two neighbours; a NaN stays one.
inline std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto down = static_cast<std::uint16_t>(bits >> 16);
  if (std::isnan(value)) return static_cast<std::uint16_t>(down | 0x40);
  const std::uint32_t rest = bits & 0xFFFF;
  const bool up = rest > 0x8000 || (rest == 0x8000 && (down & 1) != 0);
  return static_cast<std::uint16_t>(down + (up ? 1 : 0));
}

// Half of the distance between neighbours of a type with `mantissa_bits` (implicit one included)
// and exponents as a float, around a value.
inline Real half_ulp(Real value, int mantissa_bits) {
  int exponent = 0;
  std::frexp(value, &exponent);  // |value| in [2^(exponent-1), 2^exponent)
  exponent = std::max(exponent, std::numeric_limits<float>::min_exponent);
  return std::ldexp(Real{1}, exponent - mantissa_bits - 1);
}

// The promise, per element: 2^-21 hypot(a, b) m, and |p| 2^-62 hypot m beyond 2^32, plus half an
// ulp of the output type, plus one smallest subnormal where hypot(a, b) m < 2^-125.
inline Real allowed_error(Real hypot_m, std::int64_t p, Real exact, Real given, int mantissa_bits) {
  Real relative = 0x1p-21L;
  const Real distance = std::abs(static_cast<Real>(p));
  if (distance > 0x1p32L) relative += distance * 0x1p-62L;
  Real allowed =
      relative * hypot_m + std::max(half_ulp(exact, mantissa_bits), half_ulp(given, mantissa_bits));
  if (hypot_m < 0x1p-125L) allowed += std::ldexp(Real{1}, -125 - mantissa_bits);
  return allowed;
}

}  // namespace reference

#endif  // ROPEWALK_TESTS_REFERENCE_HPP_
