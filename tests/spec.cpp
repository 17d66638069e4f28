#include <gtest/gtest.h>

#include <limits>

#include "elements.hpp"

namespace ropewalk::testing {
namespace {

std::string refusal(SpecFields fields) {
  return error_of([&] { Spec spec(std::move(fields)); });
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(Spec, fills_in_what_was_left_out) {
  const Spec spec({.head_dim = 128});
  EXPECT_EQ(spec.head_dim(), 128);
  EXPECT_EQ(spec.rotary_dim(), 128);
  EXPECT_EQ(spec.pairing(), Pairing::kHalves);
  EXPECT_EQ(spec.base(), 10000.0);
  EXPECT_EQ(spec.scaling(), Scaling{});
  EXPECT_FALSE(spec.frequencies());
  EXPECT_FALSE(spec.attention_factor());
}

TEST(Spec, refuses_sizes_that_cannot_be_and_names_both_numbers) {
  EXPECT_EQ(refusal({.head_dim = 128, .rotary_dim = 130}),
            "rotary_dim 130 is larger than head_dim 128");
  EXPECT_EQ(refusal({.head_dim = 128, .rotary_dim = 0}),
            "rotary_dim 0 is not an even number from 2 to head_dim 128");
  EXPECT_EQ(refusal({.head_dim = 128, .rotary_dim = -2}),
            "rotary_dim -2 is not an even number from 2 to head_dim 128");
  EXPECT_EQ(refusal({.head_dim = 64, .rotary_dim = 19}),
            "rotary_dim 19 is not an even number from 2 to head_dim 64");
  EXPECT_EQ(refusal({.head_dim = 65}),
            "head_dim 65 is odd: give a rotary_dim, an even number of elements to rotate");
  EXPECT_EQ(refusal({.head_dim = 0}), "head_dim 0 is not between 1 and 1048576");
  EXPECT_EQ(refusal({.head_dim = -4}), "head_dim -4 is not between 1 and 1048576");
  EXPECT_EQ(refusal({.head_dim = 5000000000}), "head_dim 5000000000 is not between 1 and 1048576");
}

TEST(Spec, takes_an_odd_head_with_an_even_window) {
  EXPECT_EQ(Spec({.head_dim = 65, .rotary_dim = 64}).rotary_dim(), 64);
}

TEST(Spec, refuses_a_base_that_makes_no_frequencies) {
  for (const double base : {0.0, -10000.0, kNan, kInf, 1e-12}) {
    EXPECT_NE(refusal({.head_dim = 8, .base = base}).find("base "), std::string::npos) << base;
  }
  EXPECT_EQ(refusal({.head_dim = 8, .base = 0.0}),
            "base 0 is not a finite number of at least 2^-30");
}

TEST(Spec, refuses_explicit_frequencies_that_do_not_fit) {
  EXPECT_EQ(refusal({.head_dim = 8, .frequencies = {{1, 2, 3}}}),
            "frequencies has 3 values, rotary_dim 8 wants 4");
  EXPECT_EQ(refusal({.head_dim = 8, .base = 1e4, .frequencies = {{1, 2, 3, 4}}}),
            "base 10000 beside frequencies: give one or the other");
  EXPECT_EQ(refusal({.head_dim = 8, .scaling = Scaling{}, .frequencies = {{1, 2, 3, 4}}}),
            "scaling default beside frequencies: give one or the other");
  EXPECT_EQ(refusal({.head_dim = 4, .frequencies = {{1, kNan}}}),
            "frequencies[1] is nan, want a number between -2^32 and 2^32");
  EXPECT_EQ(refusal({.head_dim = 4, .frequencies = {{0x1p32, 0}}}),
            "frequencies[0] is 4294967296, want a number between -2^32 and 2^32");
}

TEST(Spec, frequencies_may_be_zero_or_negative) {
  EXPECT_EQ(refusal({.head_dim = 4, .frequencies = {{0.0, -3.5}}}), "");
}

TEST(Spec, refuses_an_attention_factor_that_is_no_positive_number) {
  for (const double m : {0.0, -1.0, kNan, kInf, 1e-40, 1e40}) {
    EXPECT_NE(refusal({.head_dim = 8, .attention_factor = m}).find("attention_factor "),
              std::string::npos)
        << m;
  }
}

TEST(Spec, a_scaling_has_the_fields_of_its_type_and_no_others) {
  using Type = Scaling::Type;
  EXPECT_EQ(refusal({.head_dim = 8, .scaling = Scaling{.type = Type::kLinear}}),
            "scaling type linear wants a factor");
  EXPECT_EQ(refusal({.head_dim = 8, .scaling = Scaling{.factor = 2}}),
            "scaling type default takes no factor, got 2");
  EXPECT_EQ(refusal({.head_dim = 8, .scaling = Scaling{.type = Type::kLinear, .factor = 0.5}}),
            "scaling factor 0.5 is not a finite number of at least 1");
  EXPECT_EQ(refusal({.head_dim = 8, .scaling = Scaling{.type = Type::kLinear, .factor = 8}}), "");
}

}  // namespace
}  // namespace ropewalk::testing
