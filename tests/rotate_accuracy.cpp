// The accuracy promise: every element of every result, against the formula in long double.

#include <gtest/gtest.h>

#include <algorithm>

#include "elements.hpp"

namespace ropewalk::testing {
namespace {

// 0, 1, 2^k - 1, 2^k, 2^k + 1 up to 2^32, some round ones, random ones, and the negatives of all.
std::vector<std::int64_t> positions_to_try(std::uint64_t seed) {
  std::vector<std::int64_t> positions = {0, 1, 100000, 131071, 1048575, 10000000};
  for (int k = 1; k <= 32; ++k) {
    for (const int more : {-1, 0, 1}) {
      const std::int64_t position = (std::int64_t{1} << k) + more;
      if (position <= std::int64_t{1} << 32) positions.push_back(position);
    }
  }
  std::mt19937_64 random(seed);
  for (int k = 1; k <= 32; ++k) {
    positions.push_back(static_cast<std::int64_t>(random() >> (64 - k)));
  }
  const std::size_t count = positions.size();
  for (std::size_t i = 0; i < count; ++i) positions.push_back(-positions[i]);
  return positions;
}

struct Case {
  DType dtype;
  Pairing pairing;
};

class Accuracy : public ::testing::TestWithParam<Case> {};

// One element against the promise. Returns the share of the allowed error that was used.
double share(DType dtype, reference::Real exact, float given, reference::Real hypot_m,
             std::int64_t p) {
  const int bits = mantissa_bits(dtype);
  if (dtype == DType::kBf16 && given == 0 && std::abs(exact) < 0x1p-126L) return 0;  // may flush
  const reference::Real allowed = reference::allowed_error(hypot_m, p, exact, given, bits);
  return static_cast<double>(std::abs(given - exact) / allowed);
}

// Rotates one head per position on the target and returns the largest share of the allowed error.
double worst_share(const Rope& rope, const Elements& x, std::span<const std::int64_t> positions,
                   std::span<const reference::Turn> turns, Target target) {
  const Spec& spec = rope.spec();
  const auto dim = static_cast<std::size_t>(spec.head_dim());
  const auto rotary = static_cast<std::size_t>(spec.rotary_dim());
  const Dims shape = {1, static_cast<std::int64_t>(positions.size()), 1, spec.head_dim()};
  Elements out(x);
  rotate(rope, view(out, shape), Positions::ids(positions), {.target = target});

  const reference::Real m = rope.attention_factor();
  double worst = 0;
  for (std::size_t t = 0; t < positions.size(); ++t) {
    for (std::size_t i = 0; i < rotary / 2; ++i) {
      const auto [a, b] = reference::pair(spec.pairing() == Pairing::kHalves, i, rotary);
      const reference::Turn& turn = turns[t * (rotary / 2) + i];
      const reference::Real x_a = x[t * dim + a], x_b = x[t * dim + b];
      const reference::Real hypot_m = m * std::hypot(x_a, x_b);
      const double share_a = share(x.dtype(), m * (x_a * turn.cos - x_b * turn.sin),
                                   out[t * dim + a], hypot_m, positions[t]);
      const double share_b = share(x.dtype(), m * (x_a * turn.sin + x_b * turn.cos),
                                   out[t * dim + b], hypot_m, positions[t]);
      worst = std::max({worst, share_a, share_b});
    }
    for (std::size_t e = rotary; e < dim; ++e) {
      EXPECT_EQ(out.bits(t * dim + e), x.bits(t * dim + e)) << "past rotary_dim";
    }
  }
  return worst;
}

std::vector<reference::Turn> turns_of(const Rope& rope, std::span<const std::int64_t> positions) {
  std::vector<reference::Turn> turns;
  for (const std::int64_t p : positions) {
    for (const double omega : rope.frequencies()) turns.push_back(reference::turn(omega, p));
  }
  return turns;
}

void expect_promise(const Rope& rope, DType dtype, std::span<const std::int64_t> positions,
                    double spread, std::uint64_t seed) {
  const auto turns = turns_of(rope, positions);
  const auto dim = static_cast<std::size_t>(rope.spec().head_dim());
  const Elements x = random_elements(dtype, positions.size() * dim, seed, spread);
  for (const Target target : supported_targets()) {
    EXPECT_LE(worst_share(rope, x, positions, turns, target), 1.0)
        << name(target) << ", rotary_dim " << rope.spec().rotary_dim() << ", m "
        << rope.attention_factor();
  }
}

TEST_P(Accuracy, holds_for_every_rotary_dim_to_256_at_every_power_of_two) {
  const auto [dtype, pairing] = GetParam();
  for (std::int64_t rotary_dim = 2; rotary_dim <= 256; rotary_dim += 2) {
    const Rope rope(Spec({.head_dim = rotary_dim + rotary_dim % 3,
                          .rotary_dim = rotary_dim,
                          .pairing = pairing,
                          .base = rotary_dim % 4 == 0 ? 500000.0 : 10000.0}));
    const auto seed = static_cast<std::uint64_t>(rotary_dim);
    expect_promise(rope, dtype, positions_to_try(seed), 3, seed);
  }
}

TEST_P(Accuracy, holds_with_an_attention_factor) {
  const auto [dtype, pairing] = GetParam();
  for (const double m : {0.1, 1.2772588722239781, 3.7, 0x1p-60, 0x1.8p60}) {
    const Rope rope(
        Spec({.head_dim = 100, .rotary_dim = 96, .pairing = pairing, .attention_factor = m}));
    expect_promise(rope, dtype, positions_to_try(7), 3, 11);
  }
}

TEST_P(Accuracy, holds_where_a_pair_is_tiny_or_huge_or_lopsided) {
  const auto [dtype, pairing] = GetParam();
  const Rope rope(Spec({.head_dim = 128, .pairing = pairing}));
  expect_promise(rope, dtype, positions_to_try(8), 60, 12);
  for (const float scale : {0x1p-149f, 0x1p-130f, 0x1p-126f, 0x1p-124f, 0x1p126f}) {
    const auto positions = positions_to_try(9);
    const auto turns = turns_of(rope, positions);
    Elements x = random_elements(dtype, positions.size() * 128, 13, 0.5);
    for (std::size_t i = 0; i < x.size(); ++i) x.set(i, x[i] * scale);
    for (const Target target : supported_targets()) {
      EXPECT_LE(worst_share(rope, x, positions, turns, target), 1.0) << name(target) << scale;
    }
  }
}

TEST_P(Accuracy, holds_for_explicit_frequencies_of_any_size_and_sign) {
  const auto [dtype, pairing] = GetParam();
  std::mt19937_64 random(3);
  std::vector<double> omega = {0, 1, -1, 6.283185307179586, 1e6, -4294967295.5, 1e-9, 1e-300};
  while (omega.size() < 40) {
    omega.push_back(std::ldexp(std::uniform_real_distribution<double>(-1, 1)(random),
                               static_cast<int>(random() % 64) - 32));
  }
  const Rope rope(Spec({.head_dim = 80, .pairing = pairing, .frequencies = omega}));
  expect_promise(rope, dtype, positions_to_try(10), 3, 14);
}

TEST_P(Accuracy, holds_for_heads_longer_than_one_row_of_angles) {
  const auto [dtype, pairing] = GetParam();
  const Rope rope(Spec({.head_dim = 2600, .rotary_dim = 2594, .pairing = pairing}));
  const std::vector<std::int64_t> positions = {0, 1, -7, 4096, 1 << 30};
  expect_promise(rope, dtype, positions, 3, 15);
}

TEST_P(Accuracy, beyond_2_to_the_32_the_bound_grows_with_the_position_and_holds) {
  const auto [dtype, pairing] = GetParam();
  const Rope rope(Spec({.head_dim = 64, .pairing = pairing}));
  const std::vector<std::int64_t> positions = {(std::int64_t{1} << 33) - 1,
                                               -(std::int64_t{1} << 33)};
  expect_promise(rope, dtype, positions, 3, 16);
}

INSTANTIATE_TEST_SUITE_P(
    DTypesAndPairings, Accuracy,
    ::testing::Values(Case{DType::kF32, Pairing::kHalves}, Case{DType::kF32, Pairing::kAdjacent},
                      Case{DType::kBf16, Pairing::kHalves}, Case{DType::kBf16, Pairing::kAdjacent}),
    [](const auto& test) {
      return std::string(name(test.param.dtype)) + "_" + std::string(name(test.param.pairing));
    });

}  // namespace
}  // namespace ropewalk::testing
