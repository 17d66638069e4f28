#include <gtest/gtest.h>

#include "elements.hpp"

namespace ropewalk::testing {
namespace {

TEST(Frequencies, the_plain_rule_is_the_formula_to_the_last_bit_of_a_double) {
  for (const double base : {10000.0, 500000.0, 1e6, 1e7, 2.0, 1.0, 0.001}) {
    for (std::int64_t d = 2; d <= 256; d += 2) {
      const auto omega =
          frequencies(Spec({.head_dim = 256, .rotary_dim = d, .base = base})).radians;
      ASSERT_EQ(omega.size(), static_cast<std::size_t>(d / 2));
      for (std::size_t i = 0; i < omega.size(); ++i) {
        const auto exact = reference::frequency(base, i, static_cast<std::size_t>(d));
        EXPECT_LE(std::abs(omega[i] - exact), 0x1p-52L * exact) << base << " " << d << " " << i;
      }
    }
  }
}

TEST(Frequencies, the_exponent_is_over_rotary_dim_not_head_dim) {
  EXPECT_NEAR(frequencies(Spec({.head_dim = 8, .rotary_dim = 4})).radians[1], 0.01, 1e-17);
}

TEST(Frequencies, linear_divides_by_its_factor) {
  const Scaling scaling{.type = Scaling::Type::kLinear, .factor = 8.0};
  const auto plain = frequencies(Spec({.head_dim = 64})).radians;
  const auto scaled = frequencies(Spec({.head_dim = 64, .scaling = scaling})).radians;
  for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_EQ(scaled[i], plain[i] / 8);
}

TEST(Frequencies, every_part_of_a_window_starts_again) {
  const auto whole = frequencies(Spec({.head_dim = 24, .window_parts = 3})).radians;
  const auto part = frequencies(Spec({.head_dim = 8})).radians;
  ASSERT_EQ(whole.size(), 12u);
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(whole[i], part[i % 4]);
}

TEST(Frequencies, explicit_ones_come_back_as_they_are) {
  const std::vector<double> given = {1.5, -0.25, 0.0, 6.283185307179586};
  EXPECT_EQ(frequencies(Spec({.head_dim = 8, .frequencies = given})).radians, given);
}

TEST(Frequencies, the_attention_factor_is_1_unless_given) {
  EXPECT_EQ(frequencies(Spec({.head_dim = 8})).attention_factor, 1.0);
  EXPECT_EQ(frequencies(Spec({.head_dim = 8, .attention_factor = 1.25})).attention_factor, 1.25);
}

}  // namespace
}  // namespace ropewalk::testing
