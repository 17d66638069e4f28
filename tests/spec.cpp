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

// Of 8 elements with this scaling.
std::string scaling_refusal(const Scaling& scaling, double base = 10000) {
  return refusal({.head_dim = 8, .base = base, .scaling = scaling});
}

TEST(Spec, a_scaling_has_the_fields_of_its_type_and_no_others) {
  using Type = Scaling::Type;
  for (const auto& [scaling, why] : std::vector<std::pair<Scaling, std::string>>{
           {{.type = Type::kLinear}, "scaling type linear wants factor"},
           {{.factor = 2}, "scaling type default takes no factor"},
           {{.type = Type::kLinear, .factor = 8}, ""},
           {{.type = Type::kNtk, .factor = 8}, "scaling type ntk takes no factor"},
           {{.type = Type::kNtk, .alpha = 8}, ""},
           {{.type = Type::kDynamic}, "scaling type dynamic wants factor or alpha"},
           {{.type = Type::kDynamic, .factor = 2, .alpha = 2},
            "scaling type dynamic: factor beside alpha"},
           {{.type = Type::kDynamic, .factor = 2},
            "scaling type dynamic: factor and original_max_position_embeddings belong together"},
           {{.type = Type::kDynamic, .alpha = 2, .original_max_position_embeddings = 5},
            "scaling type dynamic: factor and original_max_position_embeddings belong together"},
           {{.type = Type::kDynamic, .factor = 2, .original_max_position_embeddings = 5}, ""},
           {{.type = Type::kDynamicStepwise},
            "scaling type dynamic_stepwise wants original_max_position_embeddings"},
           {{.type = Type::kYarn, .factor = 2},
            "scaling type yarn wants original_max_position_embeddings"},
           {{.type = Type::kYarn, .factor = 2, .original_max_position_embeddings = 5}, ""},
           {{.type = Type::kLlama3, .factor = 2, .original_max_position_embeddings = 5},
            "scaling type llama3 wants low_freq_factor"},
           {{.type = Type::kLlama3,
             .factor = 2,
             .original_max_position_embeddings = 5,
             .low_freq_factor = 1,
             .high_freq_factor = 4},
            ""},
           {{.type = Type::kLongrope,
             .original_max_position_embeddings = 5,
             .short_factor = {{1, 1, 1, 1}},
             .long_factor = {{1, 2, 3, 4}}},
            "scaling type longrope wants a factor, or an attention_factor"},
           {{.type = Type::kLongrope,
             .factor = 4,
             .original_max_position_embeddings = 5,
             .short_factor = {{1, 1, 1, 1}},
             .long_factor = {{1, 2, 3, 4}},
             .short_mscale = 1},
            "scaling type longrope: short_mscale and long_mscale belong together"},
           {{.type = Type::kLongrope,
             .factor = 4,
             .original_max_position_embeddings = 1,
             .short_factor = {{1, 1, 1, 1}},
             .long_factor = {{1, 2, 3, 4}}},
            "scaling original_max_position_embeddings 1 of type longrope: want at least 2"},
           {{.type = Type::kProportional}, ""},
           {{.type = Type::kDivisors, .factor = 2}, "scaling type divisors wants divisors"},
       }) {
    EXPECT_EQ(scaling_refusal(scaling), why);
  }
}

TEST(Spec, the_values_of_a_scaling_are_such_that_its_rule_can_work) {
  using Type = Scaling::Type;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const auto& [scaling, why] : std::vector<std::pair<Scaling, std::string>>{
           {{.type = Type::kLinear, .factor = 0.5},
            "scaling factor 0.5 is not a number from 1 to 2^40"},
           {{.type = Type::kLinear, .factor = nan},
            "scaling factor nan is not a number from 1 to 2^40"},
           {{.type = Type::kNtk, .alpha = 0}, "scaling alpha 0 is not a number from 2^-30 to 2^40"},
           {{.type = Type::kYarn, .factor = 2, .original_max_position_embeddings = 0},
            "scaling original_max_position_embeddings 0 is not an integer from 1 to 2^40"},
           {{.type = Type::kYarn,
             .factor = 2,
             .original_max_position_embeddings = 5,
             .beta_slow = 0},
            "scaling beta_slow 0 is not a number from 2^-100 to 2^100"},
           {{.type = Type::kYarn,
             .factor = 2,
             .original_max_position_embeddings = 5,
             .extrapolation_factor = 1.5},
            "scaling extrapolation_factor 1.5 is not a number from 0 to 1"},
           {{.type = Type::kLlama3,
             .factor = 2,
             .original_max_position_embeddings = 5,
             .low_freq_factor = 4,
             .high_freq_factor = 1},
            "scaling low_freq_factor 4 is larger than high_freq_factor 1"},
           {{.type = Type::kProportional, .rotating_pairs = 5},
            "scaling rotating_pairs 5 is more than the 4 pairs there are"},
           {{.type = Type::kDivisors, .divisors = {{1, 2, 3}}},
            "scaling divisors has 3 values, want 4, the number of pairs"},
           {{.type = Type::kDivisors, .divisors = {{1, 2, 0, 3}}},
            "scaling divisors[2] 0 is not a number from 2^-100 to 2^100"},
       }) {
    EXPECT_EQ(scaling_refusal(scaling), why);
  }
  EXPECT_EQ(scaling_refusal(
                {.type = Type::kYarn, .factor = 2, .original_max_position_embeddings = 5}, 1.0),
            "scaling type yarn wants a base above 1, got 1");
}

TEST(Spec, refuses_an_enum_that_is_none) {
  EXPECT_EQ(refusal({.head_dim = 8, .pairing = static_cast<Pairing>(7)}),
            "pairing number 7 is unknown");
  EXPECT_EQ(refusal({.head_dim = 8, .frequency_rounding = static_cast<FrequencyRounding>(2)}),
            "frequency_rounding number 2 is unknown");
  EXPECT_EQ(refusal({.head_dim = 8, .scaling = Scaling{.type = static_cast<Scaling::Type>(11)}}),
            "scaling type number 11 is unknown");
}

TEST(Spec, the_window_lies_inside_the_head) {
  EXPECT_EQ(Spec({.head_dim = 192, .rotary_offset = 128}).rotary_dim(), 64);
  EXPECT_EQ(refusal({.head_dim = 192, .rotary_dim = 64, .rotary_offset = 130}),
            "rotary_offset 130 + rotary_dim 64 is larger than head_dim 192");
  EXPECT_EQ(refusal({.head_dim = 8, .rotary_offset = -1}),
            "rotary_offset -1 is not between 0 and head_dim 8 - 1");
  EXPECT_EQ(refusal({.head_dim = 8, .rotary_offset = 3}),
            "head_dim 8 - rotary_offset 3 is odd: give a rotary_dim, an even number of elements to "
            "rotate");
}

TEST(Spec, parts_divide_the_pairs) {
  EXPECT_EQ(Spec({.head_dim = 12, .window_parts = 3}).window_parts(), 3);
  EXPECT_EQ(refusal({.head_dim = 12, .window_parts = 4}),
            "window_parts 4 does not divide the 6 pairs of rotary_dim 12");
  EXPECT_EQ(refusal({.head_dim = 12, .window_parts = 0}),
            "window_parts 0 does not divide the 6 pairs of rotary_dim 12");
}

TEST(Spec, another_output_pairing_has_a_limit) {
  const SpecFields fields{.head_dim = 4096, .output_pairing = Pairing::kAdjacent};
  EXPECT_EQ(refusal(fields),
            "output_pairing adjacent for pairing halves and 4096 elements: want at most 2048");
  EXPECT_EQ(refusal({.head_dim = 4096, .output_pairing = Pairing::kHalves}), "");
}

std::vector<int> axes_of(Axes axes, std::int64_t pairs) {
  const Spec spec({.head_dim = 2 * pairs, .axes = std::move(axes)});
  return {spec.axis_of_pair().begin(), spec.axis_of_pair().end()};
}

// From the table of orders of the design, and the models that it names.
TEST(Spec, orders_of_axes_are_those_of_their_models) {
  using Order = Axes::Order;
  EXPECT_EQ(axes_of({{2, 3, 1}}, 6), (std::vector{0, 0, 1, 1, 1, 2}));
  EXPECT_EQ(axes_of({{0, 2, 0, 1}}, 3), (std::vector{1, 1, 3}));

  const std::vector<int> qwen3 = axes_of({{24, 20, 20}, Order::kCycle}, 64);  // thw x 20, then tttt
  const std::vector<int> ggml = axes_of({{24, 20, 20}, Order::kGgmlCycle}, 64);
  for (std::size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(qwen3[i], i < 60 ? static_cast<int>(i % 3) : 0) << i;
    EXPECT_EQ(ggml[i], i == 61 || i == 62 ? 3 : static_cast<int>(i % 3)) << i;
  }
  EXPECT_EQ(Rope(Spec({.head_dim = 128, .axes = Axes{{24, 20, 20}, Order::kGgmlCycle}})).axes(),
            4u);

  const std::vector<int> ernie = axes_of({{20, 22, 22}, Order::kErnie}, 64);
  for (std::size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(ernie[i], i >= 44 ? 0 : i % 2 == 0 ? 1 : 2) << i;
  }

  const std::vector<int> glm = axes_of({{8, 12, 12}, Order::kRoundRobin}, 32);
  // ... thw hhw hhw ww
  const std::vector<int> end(glm.end() - 11, glm.end());
  EXPECT_EQ(end, (std::vector{0, 1, 2, 1, 1, 2, 1, 1, 2, 2, 2}));
  EXPECT_EQ(std::count(glm.begin(), glm.end(), 0), 8);
  EXPECT_EQ(std::count(glm.begin(), glm.end(), 1), 12);
  EXPECT_EQ(std::count(glm.begin(), glm.end(), 2), 12);
}

TEST(Spec, refuses_axes_that_do_not_fit) {
  using Order = Axes::Order;
  const auto refused = [](Axes axes) { return refusal({.head_dim = 16, .axes = std::move(axes)}); };
  EXPECT_EQ(refused({{2, 3, 2}}),
            "axes sections [2, 3, 2] add up to 7, want 8, the number of pairs");
  EXPECT_EQ(refused({{-2, 10}}),
            "axes sections [-2, 10]: -2 is not between 0 and 8, the number of pairs");
  EXPECT_EQ(refused({{}}), "axes order blocks with 0 sections: want 1 to 16");
  EXPECT_EQ(refused({{4, 4}, Order::kGgmlCycle}),
            "axes order ggml_cycle with 2 sections: want 3 to 4");
  EXPECT_EQ(refused({{2, 4, 2}, Order::kErnie}),
            "axes order ernie with sections [2, 4, 2]: the second (h) and the third (w) must be "
            "equal");
  EXPECT_EQ(refusal({.head_dim = 8, .axis_of_pair = {{0, 1}}}),
            "axis_of_pair has 2 values, want 4, the number of pairs");
  EXPECT_EQ(refusal({.head_dim = 4, .axis_of_pair = {{0, 16}}}),
            "axis_of_pair[1] is 16, want 0 to 15");
  EXPECT_EQ(refusal({.head_dim = 4, .axes = Axes{{1, 1}}, .axis_of_pair = {{0, 1}}}),
            "axis_of_pair beside axes: give one or the other");
}

}  // namespace
}  // namespace ropewalk::testing
