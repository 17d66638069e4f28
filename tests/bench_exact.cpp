// Results are made of tests/reference.hpp here, so that what checks is checked.

#include "bench/exact.hpp"

#include <gtest/gtest.h>

#include "elements.hpp"

namespace ropewalk::bench {
namespace {

using testing::Elements;

constexpr std::int64_t kHeadDim = 16;
constexpr Dims kShape = {1, 3, 4, kHeadDim};
const std::vector<std::int64_t> kPositions = {7, 999'999, 123'456};

Rope rope(Pairing pairing) { return Rope(Spec({.head_dim = kHeadDim, .pairing = pairing})); }

// The exact rotation, rounded to the dtype.
Elements rotated(const Rope& rope, const Elements& x) {
  Elements y = x;
  const bool is_halves = rope.spec().pairing() == Pairing::kHalves;
  for (std::size_t start = 0; start < x.size(); start += kHeadDim) {
    std::vector<double> head(kHeadDim);
    for (std::size_t i = 0; i < head.size(); ++i) head[i] = x[start + i];
    const std::size_t token = start / (4 * kHeadDim);
    const auto exact = reference::rotate(std::span<const double>(head), rope.frequencies(),
                                         kPositions[token], is_halves);
    for (std::size_t i = 0; i < head.size(); ++i) {
      y.set(start + i, static_cast<double>(exact[i]));
    }
  }
  return y;
}

std::string wrong(const Rope& rope, const Elements& x, const Elements& y) {
  const ExactAngles exact(rope.frequencies(), kPositions);
  return wrong_element(exact, rope.spec().pairing(), testing::view(x, kShape),
                       testing::view(y, kShape));
}

TEST(BenchExact, an_exact_rotation_is_right_and_of_another_pairing_wrong) {
  for (const DType dtype : testing::kAllDTypes) {
    const Elements x = testing::random_elements(dtype, testing::count_of(kShape), 1);
    for (const Pairing pairing : testing::kPairings) {
      EXPECT_EQ(wrong(rope(pairing), x, rotated(rope(pairing), x)), "");
    }
    EXPECT_NE(wrong(rope(Pairing::kHalves), x, rotated(rope(Pairing::kAdjacent), x)), "");
    EXPECT_NE(wrong(rope(Pairing::kHalves), x, x), "");
  }
}

TEST(BenchExact, a_wrong_element_is_found_wherever_it_is) {
  for (const DType dtype : testing::kAllDTypes) {
    const Elements x = testing::random_elements(dtype, testing::count_of(kShape), 4);
    for (const Pairing pairing : testing::kPairings) {
      const Elements y = rotated(rope(pairing), x);
      for (std::size_t i = 0; i < y.size(); ++i) {
        Elements broken = y;
        broken.set(i, y[i] + 0.1 * std::hypot(y[i], 1));
        EXPECT_NE(wrong(rope(pairing), x, broken), "") << i;
      }
    }
  }
}

TEST(BenchExact, one_wrong_element_is_found_and_named) {
  for (const DType dtype : testing::kAllDTypes) {
    const Elements x = testing::random_elements(dtype, testing::count_of(kShape), 2);
    const Rope halves = rope(Pairing::kHalves);
    const Elements y = rotated(halves, x);
    const std::size_t last_head = x.size() - kHeadDim;
    for (const double value : {0.0, std::nan(""), y[last_head + 11] * 1.05}) {
      Elements broken = y;
      broken.set(last_head + 11, value);  // of 16, the second of pair 3
      EXPECT_TRUE(wrong(halves, x, broken)
                      .starts_with("the second element of pair 3 of token 2, head 3, is "));
    }
  }
}

TEST(BenchExact, angles_in_float32_are_wrong_far_out) {
  const Rope halves = rope(Pairing::kHalves);
  const Elements x = testing::random_elements(DType::kF32, testing::count_of(kShape), 3);
  Elements y = rotated(halves, x);
  const std::size_t start = 4 * kHeadDim;  // token 1, at 999999; pair 1
  const float angle = 999'999.0F * static_cast<float>(halves.frequencies()[1]);
  const double c = std::cos(angle), s = std::sin(angle);
  y.set(start + 1, x[start + 1] * c - x[start + 9] * s);
  EXPECT_NE(wrong(halves, x, y), "");
}

TEST(BenchExact, rows_are_compared_with_their_positions) {
  const Rope halves = rope(Pairing::kHalves);
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    Angles angles;
    angles.assign(halves, Positions::ids(kPositions), {.dtype = dtype});
    EXPECT_EQ(wrong_row(ExactAngles(halves.frequencies(), kPositions), angles), "");
    const std::vector<std::int64_t> others = {7, 999'999, 123'457};
    EXPECT_NE(wrong_row(ExactAngles(halves.frequencies(), others), angles), "");
  }
}

}  // namespace
}  // namespace ropewalk::bench
