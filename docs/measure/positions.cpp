// What is told apart by angles, and what a table of them costs.

#include <cmath>
#include <limits>
#include <ropewalk/ropewalk.hpp>

#include "report.hpp"

namespace rw = ropewalk;

namespace measure {
namespace {

constexpr std::int64_t kFarthest = 1048576;

struct Nearest {
  double distance = std::numeric_limits<double>::infinity();
  std::int64_t at = 0;
};

// Two rows of cos and sin of positions p and p + Δ are sqrt(Σ_i 4 sin²(Δ ω_i / 2)) apart, whatever p:
// that is how far the row of Δ is from the row of 0.
Nearest nearest(std::int64_t rotary_dim) {
  const rw::Rope rope(rw::Spec({.head_dim = rotary_dim}));
  const auto pairs = static_cast<std::size_t>(rotary_dim / 2);
  constexpr std::int64_t kBlock = 4096;
  std::vector<double> cos(pairs * kBlock), sin(pairs * kBlock);
  rw::Angles angles;
  Nearest result;
  for (std::int64_t start = 1; start <= kFarthest; start += kBlock) {
    angles.assign(rope, rw::Positions::from(start, kBlock), {.dtype = rw::DType::kF64});
    angles.read_compact<double>(cos, sin);
    for (std::size_t t = 0; t < kBlock; ++t) {
      double square = 0;
      for (std::size_t i = t * pairs; i < (t + 1) * pairs; ++i) {
        square += (1 - cos[i]) * (1 - cos[i]) + sin[i] * sin[i];
      }
      if (std::sqrt(square) < result.distance) {
        result = {std::sqrt(square), start + static_cast<std::int64_t>(t)};
      }
    }
  }
  return result;
}

void tell_apart() {
  figure("nearest farthest", Kind::kExact, whole(static_cast<double>(kFarthest)));
  for (const std::int64_t rotary_dim : {2, 4, 8, 16, 32, 64, 128}) {
    const Nearest found = nearest(rotary_dim);
    const std::string row = std::to_string(rotary_dim / 2);
    const auto pairs = static_cast<double>(rotary_dim / 2);
    cell("nearest", row, "nearest two rows", Kind::kClose,
         found.distance < 0.01 ? short_form(found.distance) : fixed(found.distance, 3));
    cell("nearest", row, "of positions so far apart", Kind::kExact,
         whole(static_cast<double>(found.at)));
    cell("nearest", row, "two rows at random", Kind::kExact, fixed(std::sqrt(2 * pairs), 2));
  }
}

void sizes() {
  constexpr double kPair = 2 * sizeof(float);  // cos and sin
  constexpr double kPairs = 64;
  for (const double positions : {1.0, 4096.0, 131072.0, 1048576.0, 10485760.0}) {
    const double table = positions * kPairs * kPair;
    const std::string row = whole(positions);
    cell("sizes", row, "float32", Kind::kExact, bytes(table));
    cell("sizes", row, "float32, each value twice", Kind::kExact, bytes(2 * table));
    cell("sizes", row, "16 bits", Kind::kExact, bytes(table / 2));
  }
  // ω, τ in two doubles, and its 64 bits.
  figure("sizes plan", Kind::kExact,
         bytes(kPairs * (sizeof(double) + sizeof(rw::Rope::Ratio) + 8)));
}

}  // namespace

void measure_positions() {
  tell_apart();
  sizes();
}

}  // namespace measure
