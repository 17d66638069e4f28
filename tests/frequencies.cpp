#include <gtest/gtest.h>

#include <utility>

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

using Type = Scaling::Type;

// Numbers of the rules' originals (float64, to 10 digits): pair -> ω.
struct Golden {
  const char* what;
  SpecFields fields;
  std::vector<std::pair<std::size_t, double>> radians;
  double attention_factor = 1;
  std::optional<std::int64_t> length = {};
};

const std::vector<Golden>& goldens() {
  static const std::vector<Golden> all = {
      {"yarn, gpt-oss",
       {.head_dim = 64,
        .base = 150000.0,
        .scaling = Scaling{.type = Type::kYarn,
                           .factor = 32,
                           .original_max_position_embeddings = 4096,
                           .truncate = false}},
       {{1, 6.890443059e-1},
        {8, 5.081327482e-2},
        {9, 3.170569618e-2},
        {12, 6.794959490e-3},
        {16, 4.564839192e-4},
        {19, 2.639646903e-5},
        {31, 3.023511428e-7}},
       1.3465735902799727},
      {"yarn, the same truncated",
       {.head_dim = 64,
        .base = 150000.0,
        .scaling =
            Scaling{.type = Type::kYarn, .factor = 32, .original_max_position_embeddings = 4096}},
       {{9, 3.162075228e-2}, {12, 7.015713911e-3}, {16, 5.809475019e-4}},
       1.3465735902799727},
      {"yarn, DeepSeek-V3",
       {.head_dim = 64,
        .scaling = Scaling{.type = Type::kYarn,
                           .factor = 40,
                           .original_max_position_embeddings = 4096,
                           .mscale = 1,
                           .mscale_all_dim = 1}},
       {{8, 0.1},
        {12, 2.687936011e-2},
        {16, 5.5e-3},
        {19, 1.370513636e-3},
        {20, 7.905694150e-4},
        {23, 3.333803580e-5},
        {31, 3.333803580e-6}}},
      {"yarn, Kimi-K2: both bounds alike",
       {.head_dim = 64,
        .base = 50000.0,
        .scaling = Scaling{.type = Type::kYarn,
                           .factor = 32,
                           .original_max_position_embeddings = 4096,
                           .beta_fast = 1,
                           .beta_slow = 1,
                           .mscale = 1,
                           .mscale_all_dim = 1}},
       {{19, 1.621759908e-3}, {20, 3.614046774e-5}}},
      {"yarn, Qwen",
       {.head_dim = 128,
        .base = 1e6,
        .scaling =
            Scaling{.type = Type::kYarn, .factor = 4, .original_max_position_embeddings = 32768}},
       {{23, 6.978305849e-3}, {31, 8.029597275e-4}},
       1.1386294361119891},
      {"llama3, Llama 3.1",
       {.head_dim = 128,
        .base = 500000.0,
        .scaling = Scaling{.type = Type::kLlama3,
                           .factor = 8,
                           .original_max_position_embeddings = 8192,
                           .low_freq_factor = 1,
                           .high_freq_factor = 4}},
       {{28, 3.211445995e-3},
        {29, 2.166570764e-3},
        {30, 1.371893568e-3},
        {31, 8.567514129e-4},
        {32, 5.248461610e-4},
        {33, 3.126937504e-4},
        {34, 1.785078128e-4},
        {35, 9.556212354e-5},
        {63, 3.068925989e-7}}},
      {"dynamic, at twice the trained length",
       {.head_dim = 128,
        .scaling =
            Scaling{.type = Type::kDynamic, .factor = 2, .original_max_position_embeddings = 4096}},
       {{1, std::pow(30527.7367488067, -1.0 / 64)}, {63, std::pow(30527.7367488067, -63.0 / 64)}},
       1,
       8192},
      {"dynamic, HunYuan's alpha",
       {.head_dim = 128, .scaling = Scaling{.type = Type::kDynamic, .alpha = 1000}},
       {{1, std::pow(11158839.92507748, -1.0 / 64)}, {63, std::pow(11158839.92507748, -63.0 / 64)}},
       1,
       8192},
  };
  return all;
}

TEST(Frequencies, rules_give_the_numbers_of_their_originals) {
  for (const Golden& golden : goldens()) {
    const Frequencies made = frequencies(Spec(golden.fields), golden.length);
    EXPECT_NEAR(made.attention_factor, golden.attention_factor, 1e-15) << golden.what;
    for (const auto& [pair, omega] : golden.radians) {
      EXPECT_NEAR(made.radians[pair] / omega, 1, 1e-9) << golden.what << ", pair " << pair;
    }
  }
}

// The frequencies of a rule at base 10000 and head_dim 16.
std::vector<double> ruled(const Scaling& scaling, std::optional<std::int64_t> length = {}) {
  return frequencies(Spec({.head_dim = 16, .scaling = scaling}), length).radians;
}

void expect_close(const std::vector<double>& made, const std::vector<double>& wanted) {
  ASSERT_EQ(made.size(), wanted.size());
  for (std::size_t i = 0; i < made.size(); ++i) {
    EXPECT_LE(std::abs(made[i] - wanted[i]), 1e-14 * wanted[i]) << "pair " << i;
  }
}

std::vector<double> plain_with_base(double base) {
  std::vector<double> radians;
  for (std::size_t i = 0; i < 8; ++i) {
    radians.push_back(static_cast<double>(reference::frequency(base, i, 16)));
  }
  return radians;
}

TEST(Frequencies, ntk_divides_the_slowest_by_alpha_and_leaves_the_fastest) {
  const std::vector<double> plain = plain_with_base(10000);
  const std::vector<double> scaled = ruled({.type = Type::kNtk, .alpha = 8});
  EXPECT_EQ(scaled.front(), plain.front());
  EXPECT_NEAR(scaled.back(), plain.back() / 8, 1e-15 * plain.back());
  expect_close(scaled, plain_with_base(10000 * std::pow(8, 16.0 / 14)));
  expect_close(ruled({.type = Type::kDynamic, .alpha = 8}), scaled);
  EXPECT_EQ(frequencies(Spec({.head_dim = 2, .scaling = Scaling{.type = Type::kNtk, .alpha = 8}}))
                .radians,
            std::vector<double>{1.0});
}

TEST(Frequencies, dynamic_is_unscaled_up_to_the_trained_length_and_remembers_nothing) {
  const Spec spec(
      {.head_dim = 16,
       .scaling =
           Scaling{.type = Type::kDynamic, .factor = 4, .original_max_position_embeddings = 2048}});
  EXPECT_TRUE(depends_on_length(spec));
  const std::vector<double> plain = plain_with_base(10000);
  for (const std::int64_t length : {100000, 1, 1024, 2048, 2049, 4096, 2}) {
    const double alpha = std::max(1.0, 4 * static_cast<double>(length) / 2048 - 3);
    expect_close(frequencies(spec, length).radians,
                 plain_with_base(10000 * std::pow(alpha, 16.0 / 14)));
  }
  EXPECT_EQ(frequencies(spec).radians, frequencies(spec, 2048).radians);
  const Rope rope(spec, 4096);
  EXPECT_EQ(std::vector(rope.frequencies().begin(), rope.frequencies().end()),
            frequencies(spec, 4096).radians);
}

TEST(Frequencies, dynamic_stepwise_grows_at_powers_of_two) {
  const Scaling scaling{.type = Type::kDynamicStepwise, .original_max_position_embeddings = 2048};
  for (const auto& [length, alpha] : std::vector<std::pair<std::int64_t, double>>{{1, 1},
                                                                                  {2048, 1},
                                                                                  {2049, 3},
                                                                                  {4096, 3},
                                                                                  {4097, 7},
                                                                                  {8192, 7},
                                                                                  {8193, 15},
                                                                                  {32768, 31}}) {
    expect_close(ruled(scaling, length), plain_with_base(10000 * std::pow(alpha, 16.0 / 14)));
  }
}

TEST(Frequencies, longrope_has_a_list_up_to_the_trained_length_and_one_beyond) {
  const std::vector<double> plain = plain_with_base(10000);
  Scaling scaling{.type = Type::kLongrope,
                  .factor = 32,
                  .original_max_position_embeddings = 4096,
                  .short_factor = {{1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7}},
                  .long_factor = {{1, 2, 4, 8, 16, 32, 64, 128}}};
  std::vector<double> brief = plain, lengthy = plain;
  for (std::size_t i = 0; i < 8; ++i) {
    brief[i] /= (*scaling.short_factor)[i];
    lengthy[i] /= (*scaling.long_factor)[i];
  }
  expect_close(ruled(scaling), brief);
  expect_close(ruled(scaling, 4096), brief);
  expect_close(ruled(scaling, 4097), lengthy);
  const auto m = [&](std::optional<std::int64_t> length) {
    return frequencies(Spec({.head_dim = 16, .scaling = scaling}), length).attention_factor;
  };
  EXPECT_NEAR(m(4096), 1.1902380714238083, 1e-15);
  EXPECT_EQ(m(4097), m(4096));
  scaling.factor = 1;
  EXPECT_EQ(m(4097), 1);
  scaling.attention_factor = 1.25;
  EXPECT_EQ(m(4097), 1.25);
  scaling.short_mscale = 1.5;
  scaling.long_mscale = 1.75;
  EXPECT_EQ(m({}), 1.5);
  EXPECT_EQ(m(4097), 1.75);
}

TEST(Frequencies, proportional_is_over_head_dim_and_the_rest_stands_still) {
  std::vector<double> wanted = plain_with_base(10000);
  for (double& omega : wanted) omega /= 4;
  wanted[6] = wanted[7] = 0;
  const Scaling scaling{.type = Type::kProportional, .factor = 4, .rotating_pairs = 6};
  const std::vector<double> made = ruled(scaling);
  expect_close(made, wanted);
  // A window of 8 of the 16 elements has the first 4 of these frequencies, not its own.
  const auto part =
      frequencies(Spec({.head_dim = 16,
                        .rotary_dim = 8,
                        .scaling = Scaling{.type = Type::kProportional, .factor = 4}}));
  expect_close(part.radians, {wanted.begin(), wanted.begin() + 4});
}

TEST(Frequencies, divisors_divide) {
  std::vector<double> wanted = plain_with_base(10000);
  const std::vector<double> by = {1, 1, 2, 4, 8, 8, 8, 1e30};
  for (std::size_t i = 0; i < 8; ++i) wanted[i] /= 2 * by[i];
  expect_close(ruled({.type = Type::kDivisors, .factor = 2, .divisors = by}), wanted);
}

// ggml's rope_yarn: the divided angle is blended with its factor-th part.
TEST(Frequencies, divisors_divide_beside_yarn) {
  Scaling scaling{.type = Type::kYarn, .factor = 4, .original_max_position_embeddings = 64};
  const std::vector<double> by = {1, 1.5, 2, 4, 8, 8, 16, 1e30};
  scaling.divisors = by;
  const auto pair_of = [](double turns) {
    return 16 * std::log(64 / (turns * 2 * M_PI)) / (2 * std::log(10000.0));
  };
  const double low = std::max(0.0, std::floor(pair_of(32))), high = std::ceil(pair_of(1));
  std::vector<double> wanted = plain_with_base(10000);
  for (std::size_t i = 0; i < 8; ++i) {
    const double extrapolated = wanted[i] / by[i], interpolated = extrapolated / 4;
    const double mix = 1 - std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    wanted[i] = interpolated * (1 - mix) + extrapolated * mix;
  }
  const Frequencies made =
      frequencies(Spec({.head_dim = 16, .rotary_dim = 16, .scaling = scaling}));
  expect_close(made.radians, wanted);
  EXPECT_NEAR(made.attention_factor, 1 + 0.1 * std::log(4.0), 1e-15);
}

TEST(Frequencies, ntk_by_parts_is_plain_then_ntk_then_linear) {
  // Bounds of the original for d = 128, L = 2048: pairs below 20 plain, from 36 linear or ntk.
  const Spec spec(
      {.head_dim = 128,
       .scaling = Scaling{
           .type = Type::kNtkByParts, .factor = 4, .original_max_position_embeddings = 2048}});
  const std::vector<double> made = frequencies(spec).radians;
  const auto correction = [](double turns) {
    return 128 * std::log(2048 / (turns * 2 * M_PI)) / (2 * std::log(10000.0));
  };
  const auto kept = [&](std::size_t i, double fast, double slow) {
    const double low = std::floor(correction(fast)), high = std::ceil(correction(slow));
    return 1 - std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
  };
  for (std::size_t i = 0; i < 64; ++i) {
    const auto base = static_cast<double>(reference::frequency(10000, i, 128));
    const auto ntk =
        static_cast<double>(reference::frequency(10000 * std::pow(4.0L, 128.0L / 126), i, 128));
    const double inner = ntk * kept(i, 1.25, 0.75) + base / 4 * (1 - kept(i, 1.25, 0.75));
    const double wanted = base * kept(i, 16, 2) + inner * (1 - kept(i, 16, 2));
    EXPECT_NEAR(made[i] / wanted, 1, 1e-13) << i;
  }
  EXPECT_EQ(made[0], 1.0);
  EXPECT_NEAR(made[63] * 4 / static_cast<double>(reference::frequency(10000, 63, 128)), 1, 1e-14);
}

TEST(Frequencies, llama3_with_equal_factors_is_a_step) {
  const std::vector<double> plain = plain_with_base(10000);
  const std::vector<double> made = ruled({.type = Type::kLlama3,
                                          .factor = 16,
                                          .original_max_position_embeddings = 8192,
                                          .low_freq_factor = 1,
                                          .high_freq_factor = 1});
  for (std::size_t i = 0; i < 8; ++i) {
    const bool is_fast = 2 * M_PI / plain[i] < 8192;
    EXPECT_NEAR(made[i] / (is_fast ? plain[i] : plain[i] / 16), 1, 1e-14) << i;
  }
}

TEST(Frequencies, yarns_attention_factor_is_the_first_that_is_given) {
  Scaling scaling{.type = Type::kYarn, .factor = 40, .original_max_position_embeddings = 4096};
  const auto m = [&](std::optional<double> of_spec = {}) {
    return frequencies(Spec({.head_dim = 64, .scaling = scaling, .attention_factor = of_spec}))
        .attention_factor;
  };
  EXPECT_NEAR(m(), 1.3688879454113936, 1e-15);
  scaling.mscale = 0.707;  // alone it does not count
  EXPECT_NEAR(m(), 1.3688879454113936, 1e-15);
  scaling.mscale_all_dim = 0;
  EXPECT_NEAR(m(), 1.3688879454113936, 1e-15);
  scaling.mscale_all_dim = 1;
  EXPECT_NEAR(m(), 1.2608037774 / 1.3688879454, 1e-10);
  scaling.attention_factor = 1.5;
  EXPECT_EQ(m(), 1.5);
  EXPECT_EQ(m(2.5), 2.5);
}

TEST(Frequencies, yarns_extrapolation_factor_0_is_linear) {
  std::vector<double> wanted = plain_with_base(10000);
  for (double& omega : wanted) omega /= 8;
  expect_close(ruled({.type = Type::kYarn,
                      .factor = 8,
                      .original_max_position_embeddings = 2048,
                      .extrapolation_factor = 0}),
               wanted);
}

TEST(Frequencies, rounding_to_float32_is_the_last_step) {
  const Scaling scaling{.type = Type::kLinear, .factor = 3};
  const std::vector<double> exact = ruled(scaling);
  const std::vector<double> rounded =
      frequencies(Spec({.head_dim = 16,
                        .scaling = scaling,
                        .frequency_rounding = FrequencyRounding::kFloat32}))
          .radians;
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(rounded[i], static_cast<double>(static_cast<float>(exact[i])));
  }
  EXPECT_NE(rounded, exact);
  EXPECT_EQ(frequencies(Spec({.head_dim = 2,
                              .frequencies = {{0.1}},
                              .frequency_rounding = FrequencyRounding::kFloat32}))
                .radians[0],
            static_cast<double>(0.1F));
}

TEST(Frequencies, a_length_below_1_and_frequencies_beyond_the_limit_are_refused) {
  const auto refused = [](const SpecFields& fields, std::optional<std::int64_t> length) {
    try {
      frequencies(Spec(fields), length);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refused({.head_dim = 8}, 0), "length 0 is less than 1");
  EXPECT_EQ(refused({.head_dim = 8}, -5), "length -5 is less than 1");
  EXPECT_EQ(
      refused({.head_dim = 2, .scaling = Scaling{.type = Type::kDivisors, .divisors = {{0x1p-40}}}},
              {}),
      "the frequency of pair 0, scaling type divisors, is 1099511627776, want less than 2^32");
  EXPECT_NE(refused({.head_dim = 2,
                     .frequencies = {{0x1.ffffffffp31}},
                     .frequency_rounding = FrequencyRounding::kFloat32},
                    {}),
            "");
}

}  // namespace
}  // namespace ropewalk::testing
