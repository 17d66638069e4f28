// Three forms of the same rotation, each computed here in double and held against ropewalk:
//
//   1  a matrix of 2 x 2 blocks times x                  (Su et al. 2021, "RoFormer", equation 15)
//   2  x * cos + partner(x) * sin, element by element    (equation 34; "rotate_half")
//   3  complex numbers: z e^(√-1 angle)                  (equation 12)
//
// The papers' pictures show the pairing `adjacent`; with `halves` the same pairs stand elsewhere.

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <random>
#include <ropewalk/ropewalk.hpp>
#include <vector>

namespace rw = ropewalk;

constexpr std::size_t kHeadDim = 64, kPairs = kHeadDim / 2;

using Row = std::vector<double>;

// Where the elements of pair i stand: adjacent (0, 1), (2, 3) ... or halves (0, 32), (1, 33) ...
struct Places {
  std::size_t a, b;
};
Places places(rw::Pairing pairing, std::size_t i) {
  return pairing == rw::Pairing::kAdjacent ? Places{2 * i, 2 * i + 1} : Places{i, i + kPairs};
}

// position x base^(-2 i / head_dim), radians: one angle for each PAIR i.
double angle(std::int64_t position, std::size_t i) {
  return static_cast<double>(position) *
         std::pow(10000.0, -2.0 * static_cast<double>(i) / kHeadDim);
}

// ---- Form 1 ----
//
//   adjacent, 2 pairs       c0 -s0  .  .           halves       c0  . -s0  .
//                           s0  c0  .  .                         . c1   . -s1
//                            .  . c1 -s1                        s0  .  c0  .
//                            .  . s1  c1                         . s1   .  c1
Row by_matrix(rw::Pairing pairing, const Row& x, std::int64_t position) {
  std::vector<Row> matrix(kHeadDim, Row(kHeadDim));
  for (std::size_t i = 0; i < kPairs; ++i) {
    const auto [a, b] = places(pairing, i);
    matrix[a][a] = matrix[b][b] = std::cos(angle(position, i));
    matrix[b][a] = std::sin(angle(position, i));
    matrix[a][b] = -matrix[b][a];
  }
  Row y(kHeadDim);
  for (std::size_t row = 0; row < kHeadDim; ++row) {
    for (std::size_t j = 0; j < kHeadDim; ++j) y[row] += matrix[row][j] * x[j];
  }
  return y;
}

// ---- Form 2 ----
//
//   adjacent   x = x0  x1  x2  x3    partner(x) = -x1  x0 -x3  x2    cos = c0 c0 c1 c1
//   halves     x = x0  x1  x2  x3    partner(x) = -x2 -x3  x0  x1    cos = c0 c1 c0 c1
Row by_elements(rw::Pairing pairing, const Row& x, std::int64_t position) {
  Row partner(kHeadDim), cos(kHeadDim), sin(kHeadDim), y(kHeadDim);
  for (std::size_t i = 0; i < kPairs; ++i) {
    const auto [a, b] = places(pairing, i);
    partner[a] = -x[b];
    partner[b] = x[a];
    cos[a] = cos[b] = std::cos(angle(position, i));
    sin[a] = sin[b] = std::sin(angle(position, i));
  }
  for (std::size_t j = 0; j < kHeadDim; ++j) y[j] = x[j] * cos[j] + partner[j] * sin[j];
  return y;
}

// ---- Form 3 ----

Row by_complex_numbers(rw::Pairing pairing, const Row& x, std::int64_t position) {
  Row y(kHeadDim);
  for (std::size_t i = 0; i < kPairs; ++i) {
    const auto [a, b] = places(pairing, i);
    const auto z = std::complex<double>(x[a], x[b]) * std::polar(1.0, angle(position, i));
    y[a] = z.real();
    y[b] = z.imag();
  }
  return y;
}

// ---- ropewalk ----

std::vector<float> by_ropewalk(rw::Pairing pairing, std::vector<float> x, std::int64_t position) {
  const rw::Rope rope(rw::Spec({.head_dim = kHeadDim, .pairing = pairing}));  // base 10000
  rw::rotate(rope, rw::TensorView::bthd(x.data(), {1, 1, 1, kHeadDim}),
             rw::Positions::from(position));
  return x;
}

// The largest error of an element, as a share of what is allowed. ropewalk promises
//
//   |error| <= 2^-21 hypot(a, b) + half an ulp of the element
//
// against the exact rotation. The forms above are not exact: pow is off by an ulp and the plan's
// frequency by as much, the product with the position is rounded: 2.5 x 2^-52 of an angle that is
// position radians or less. cos, sin, two products and a sum are another 5 x 2^-52 or less.
double share_of_allowed(rw::Pairing pairing, const Row& x, const std::vector<float>& given,
                        const Row& form, std::int64_t position) {
  const double own_error = (2.5 * static_cast<double>(position) + 5) * 0x1p-52;
  double worst = 0;
  for (std::size_t i = 0; i < kPairs; ++i) {
    const auto [a, b] = places(pairing, i);
    for (const std::size_t j : {a, b}) {
      const float size = std::abs(given[j]);
      const double half_ulp = (double{std::nextafter(size, INFINITY)} - double{size}) / 2;
      const double allowed = (0x1p-21 + own_error) * std::hypot(x[a], x[b]) + half_ulp;
      const double share = std::abs(double{given[j]} - form[j]) / allowed;
      if (std::isnan(share)) return share;
      worst = std::max(worst, share);
    }
  }
  return worst;
}

int main() {
  // Random numbers between -1 and 1, the same on every machine.
  std::mt19937 bits(1);
  std::vector<float> head(kHeadDim);
  for (float& number : head) number = static_cast<float>(bits()) * 0x1p-31F - 1.0F;
  const Row x(head.begin(), head.end());

  std::printf("largest difference from ropewalk, as a share of what is allowed\n");
  std::printf("%-9s %9s %9s %9s %9s\n", "pairing", "position", "matrix", "elements", "complex");
  int failed = 0;
  for (const auto pairing : {rw::Pairing::kAdjacent, rw::Pairing::kHalves}) {
    for (const std::int64_t position : {0, 1, 17, 4096, 131'072, 1'000'000}) {
      const std::vector<float> given = by_ropewalk(pairing, head, position);
      const auto share = [&](const Row& form) {
        return share_of_allowed(pairing, x, given, form, position);
      };
      const double matrix = share(by_matrix(pairing, x, position));
      const double elements = share(by_elements(pairing, x, position));
      const double complex = share(by_complex_numbers(pairing, x, position));
      const bool ok = matrix <= 1 && elements <= 1 && complex <= 1;
      std::printf("%-9s %9lld %9.3f %9.3f %9.3f  %s\n", rw::name(pairing).data(),
                  static_cast<long long>(position), matrix, elements, complex,
                  ok ? "ok" : "FAILED");
      failed |= ok ? 0 : 1;
    }
  }
  return failed;
}
