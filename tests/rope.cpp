#include <gtest/gtest.h>

#include <numbers>

#include "elements.hpp"

namespace ropewalk::testing {
namespace {

using Wide = unsigned __int128;

// 1 / 2π, 320 bits after the point (0.15915494309189533...), the most significant first.
constexpr std::uint64_t kTurnsPerRadian[] = {0x28BE60DB9391054A, 0x7F09D5F47D4D3770,
                                             0x36D8A5664F10E410, 0x7F9458EAF7AEF158,
                                             0x6DC91B8E909374B8};

// frac(ω / 2π) 2^64 by integers alone: ω is an integer times a power of two, and its product with
// 1 / 2π is taken in full. The result has 64 bits before the point of the unit, and 64 behind.
Wide exact_turn(double omega) {
  int exponent = 0;
  const double fraction = std::frexp(std::abs(omega), &exponent);
  const auto mantissa = static_cast<std::uint64_t>(std::ldexp(fraction, 53));
  const int shift = exponent - 53;  // ω = mantissa 2^shift
  // product = mantissa x kTurnsPerRadian: words[0] before the point, five behind it.
  std::uint64_t words[6] = {};
  Wide carry = 0;
  for (int w = 4; w >= 0; --w) {
    const Wide product = static_cast<Wide>(mantissa) * kTurnsPerRadian[w] + carry;
    words[w + 1] = static_cast<std::uint64_t>(product);
    carry = product >> 64;
  }
  words[0] = static_cast<std::uint64_t>(carry);
  // The 128 bits behind the point after shifting.
  const auto bit = [&](int place) -> Wide {  // place 0: the first behind the point
    const int at = 64 + place + shift;
    if (at < 0 || at >= 384) return 0;
    return words[at / 64] >> (63 - at % 64) & 1;
  };
  Wide result = 0;
  for (int place = 0; place < 128; ++place) result = result << 1 | bit(place);
  return omega < 0 ? -result : result;
}

// How far turn_from is from the exact fraction, in its units.
double units_off(double omega) {
  const Wide given = static_cast<Wide>(turn_from(ratio_from(omega))) << 64;
  const auto difference = static_cast<__int128>(given - exact_turn(omega));
  return std::abs(static_cast<double>(difference)) * 0x1p-64;
}

TEST(Rope, the_constant_of_this_test_is_1_over_2_pi) {
  EXPECT_NEAR(std::ldexp(static_cast<double>(kTurnsPerRadian[0]), -64), 1 / (2 * std::numbers::pi),
              1e-17);
}

TEST(Rope, turns_are_correctly_rounded_up_to_frequencies_of_2_to_the_32) {
  std::mt19937_64 random(1);
  double worst = 0;
  for (int n = 0; n < 200000; ++n) {
    const double mantissa = std::uniform_real_distribution<double>(-2, 2)(random);
    worst = std::max(worst, units_off(std::ldexp(mantissa, static_cast<int>(random() % 60) - 29)));
  }
  for (const double omega : {0.0, 1.0, 6.0, 6.283185307179586, 3.141592653589793, 1e6,
                             4294967295.9999995, -4294967295.9999995, 1e-19, 1e-300}) {
    worst = std::max(worst, units_off(omega));
  }
  EXPECT_LE(worst, 0.5001);
}

TEST(Rope, a_turn_of_a_negative_frequency_is_the_opposite_turn) {
  for (const double omega : {1.0, 0.001, 123456.789}) {
    EXPECT_EQ(turn_from(ratio_from(-omega)), 0 - turn_from(ratio_from(omega)));
  }
}

TEST(Rope, clockwise_is_the_opposite_turn) {
  const Rope plain(Spec({.head_dim = 16})), clockwise(Spec({.head_dim = 16, .clockwise = true}));
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(clockwise.turns()[i], 0 - plain.turns()[i]);
    EXPECT_EQ(clockwise.frequencies()[i], plain.frequencies()[i]);
  }
}

TEST(Rope, has_as_many_axes_as_its_pairs_name) {
  EXPECT_EQ(Rope(Spec({.head_dim = 8})).axes(), 1u);
  EXPECT_EQ(Rope(Spec({.head_dim = 8, .axis_of_pair = {{0, 2, 1, 0}}})).axes(), 3u);
}

TEST(Rope, is_complete_when_made_and_cheap_to_copy) {
  const Rope rope(Spec({.head_dim = 128, .rotary_dim = 96, .attention_factor = 1.5}));
  EXPECT_EQ(rope.spec().head_dim(), 128);
  EXPECT_EQ(rope.frequencies().size(), 48u);
  EXPECT_EQ(rope.turns().size(), 48u);
  EXPECT_EQ(rope.attention_factor(), 1.5);
  const Rope copy = rope;  // NOLINT: the copy is the point
  EXPECT_EQ(copy.turns().data(), rope.turns().data());
}

}  // namespace
}  // namespace ropewalk::testing
