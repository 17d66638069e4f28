// Each form against its source's own formula, written out element by element in long double: which two
// elements of a head turn together, by what, with which axis. The sources stand in vision.hpp.

#include <gtest/gtest.h>

#include <algorithm>
#include <numbers>
#include <set>

#include "elements.hpp"

namespace ropewalk::testing {
namespace {

using reference::Real;

constexpr Real kPi = std::numbers::pi_v<Real>;
constexpr std::int64_t kRow = 0, kColumn = 1;

// Elements a and b of a head turn by the coordinate of an axis times omega.
struct Turned {
  std::int64_t a, b, axis;
  Real omega;
};

// Heads of random numbers at random real positions. What is in no pair must not change at all.
void expect_turns(const Spec& spec, const std::vector<Turned>& turned) {
  const std::int64_t head_dim = spec.head_dim();
  std::int64_t axes = 1;
  std::set<std::int64_t> elements;
  for (const Turned& pair : turned) {
    axes = std::max(axes, pair.axis + 1);
    elements.insert({pair.a, pair.b});
  }
  ASSERT_EQ(elements.size(), 2 * turned.size());
  std::mt19937 random(1);
  std::uniform_real_distribution<double> uniform(-3, 3);
  constexpr std::int64_t kTokens = 5;
  std::vector<double> ids(static_cast<std::size_t>(axes * kTokens));
  for (double& id : ids) id = uniform(random);
  std::vector<double> x(static_cast<std::size_t>(kTokens * head_dim));
  for (double& value : x) value = uniform(random);
  std::vector<double> y = x;
  rotate(Rope(spec),
         TensorView{y.data(), DType::kF64, {1, kTokens, 1, head_dim}, {0, head_dim, head_dim, 1}},
         Positions::ids(ids.data(), {.axes = axes, .batch = 1, .tokens = kTokens}));
  for (std::int64_t t = 0; t < kTokens; ++t) {
    const double* const from = x.data() + t * head_dim;
    const double* const to = y.data() + t * head_dim;
    for (const auto& [a, b, axis, omega] : turned) {
      const Real phi = ids[static_cast<std::size_t>(axis * kTokens + t)] * omega;
      const Real cos = std::cos(phi), sin = std::sin(phi);
      // ω is held as a double: an error of 2^-52 φ, of angles up to 3 x 112 π.
      ASSERT_NEAR(to[a], static_cast<double>(from[a] * cos - from[b] * sin), 2e-12) << a;
      ASSERT_NEAR(to[b], static_cast<double>(from[a] * sin + from[b] * cos), 2e-12) << b;
    }
    for (std::int64_t e = 0; e < head_dim; ++e) {
      if (!elements.contains(e)) {
        ASSERT_EQ(from[e], to[e]) << e;
      }
    }
  }
}

Real plain(Real base, std::int64_t k, std::int64_t width) {
  return std::pow(base, -2 * static_cast<Real>(k) / static_cast<Real>(width));
}

// cat(freqs of one axis, freqs of the other), and rotate_half: element e with element e + D/2.
std::vector<Turned> two_blocks_in_halves(std::int64_t D, std::int64_t first, std::int64_t second,
                                         auto omega) {
  std::vector<Turned> turned;
  for (std::int64_t k = 0; k < D / 4; ++k) {
    turned.push_back({k, k + D / 2, first, omega(k)});
    turned.push_back({D / 4 + k, D / 4 + k + D / 2, second, omega(k)});
  }
  return turned;
}

// The same, with x[0::2] and x[1::2]: elements 2e and 2e + 1.
std::vector<Turned> two_blocks_adjacent(std::int64_t D, std::int64_t first, std::int64_t second,
                                        auto omega) {
  std::vector<Turned> turned;
  for (std::int64_t k = 0; k < D / 4; ++k) {
    turned.push_back({2 * k, 2 * k + 1, first, omega(k)});
    turned.push_back({D / 2 + 2 * k, D / 2 + 2 * k + 1, second, omega(k)});
  }
  return turned;
}

TEST(Vision, qwen_turns_a_quarter_of_the_pairs_by_rows_and_a_quarter_by_columns) {
  const auto omega = [](Real base, std::int64_t D) {
    return [=](std::int64_t k) { return plain(base, k, D / 2); };
  };
  expect_turns(qwen_vision_spec({.head_dim = 80}),
               two_blocks_in_halves(80, kRow, kColumn, omega(10000, 80)));
  expect_turns(qwen_vision_spec({.head_dim = 32, .base = 500.0}),
               two_blocks_in_halves(32, kRow, kColumn, omega(500, 32)));
  expect_turns(step_vision_spec({.head_dim = 96}),
               two_blocks_in_halves(96, kColumn, kRow, omega(10000, 96)));
  expect_turns(eva_spec({.head_dim = 64}),
               two_blocks_adjacent(64, kRow, kColumn, omega(10000, 64)));
  expect_turns(llama4_vision_spec({.head_dim = 88}),
               two_blocks_adjacent(88, kColumn, kRow, omega(10000, 88)));
  expect_turns(sam_spec({.head_dim = 64}),
               two_blocks_adjacent(64, kColumn, kRow, omega(10000, 64)));
}

TEST(Vision, gemma4_pairs_inside_each_half_of_the_head) {
  std::vector<Turned> turned;
  for (std::int64_t k = 0; k < 18; ++k) {
    turned.push_back({k, k + 18, kColumn, plain(100, k, 36)});
    turned.push_back({36 + k, 54 + k, kRow, plain(100, k, 36)});
  }
  expect_turns(gemma4_vision_spec({.head_dim = 72}), turned);
}

TEST(Vision, moonvit_and_efficientloftr_change_the_axis_with_every_pair) {
  std::vector<Turned> columns_first, rows_first;
  for (std::int64_t k = 0; k < 18; ++k) {
    const Real omega = std::pow(Real{10000}, -4 * static_cast<Real>(k) / 72);
    columns_first.push_back({4 * k, 4 * k + 1, kColumn, omega});
    columns_first.push_back({4 * k + 2, 4 * k + 3, kRow, omega});
    rows_first.push_back({4 * k, 4 * k + 1, kRow, omega});
    rows_first.push_back({4 * k + 2, 4 * k + 3, kColumn, omega});
  }
  expect_turns(moonvit_spec({.head_dim = 72}), columns_first);
  expect_turns(efficientloftr_spec({.head_dim = 72}), rows_first);
}

TEST(Vision, moonvit_in_converted_weights_has_halves) {
  std::vector<Turned> turned;
  for (std::int64_t k = 0; k < 18; ++k) {
    turned.push_back({2 * k, 2 * k + 36, kColumn, plain(10000, k, 36)});
    turned.push_back({2 * k + 1, 2 * k + 37, kRow, plain(10000, k, 36)});
  }
  expect_turns(moonvit_spec({.head_dim = 72, .pairing = Pairing::kHalves}), turned);
}

TEST(Vision, pixtral_gives_rows_the_even_frequencies_and_columns_the_odd_ones) {
  std::vector<Turned> halves, adjacent;
  for (std::int64_t k = 0; k < 16; ++k) {
    const Real row = plain(10000, 2 * k, 64), column = plain(10000, 2 * k + 1, 64);
    halves.push_back({k, k + 32, kRow, row});
    halves.push_back({k + 16, k + 48, kColumn, column});
    adjacent.push_back({2 * k, 2 * k + 1, kRow, row});
    adjacent.push_back({32 + 2 * k, 33 + 2 * k, kColumn, column});
  }
  expect_turns(pixtral_spec({.head_dim = 64}), halves);
  expect_turns(pixtral_spec({.head_dim = 64, .pairing = Pairing::kAdjacent}), adjacent);
}

TEST(Vision, minimax_m3_leaves_what_three_axes_leave) {
  std::vector<Turned> turned;  // 80 / 3 / 2 * 2 = 26: 78 elements turn, pairs e and e + 39
  for (std::int64_t axis = 0; axis < 3; ++axis) {
    for (std::int64_t k = 0; k < 13; ++k) {
      turned.push_back({13 * axis + k, 13 * axis + k + 39, axis, plain(10000, k, 26)});
    }
  }
  expect_turns(minimax_m3_vision_spec({.head_dim = 80}), turned);
}

// Axis after axis, each with frequencies of its own.
std::vector<Turned> blocks_adjacent(const std::vector<std::int64_t>& widths,
                                    const std::vector<Real>& bases) {
  std::vector<Turned> turned;
  std::int64_t start = 0;
  for (std::size_t a = 0; a < widths.size(); ++a) {
    for (std::int64_t k = 0; k < widths[a] / 2; ++k) {
      turned.push_back({start + 2 * k, start + 2 * k + 1, static_cast<std::int64_t>(a),
                        plain(bases[a], k, widths[a])});
    }
    start += widths[a];
  }
  return turned;
}

TEST(Vision, generators_give_each_axis_a_block) {
  const std::vector<Real> bases(3, 10000);
  expect_turns(flux_spec({.head_dim = 128}), blocks_adjacent({16, 56, 56}, bases));
  expect_turns(flux_spec({.head_dim = 128, .base = 256.0}),
               blocks_adjacent({16, 56, 56}, {256, 256, 256}));
  expect_turns(flux2_spec({.head_dim = 128}),
               blocks_adjacent({32, 32, 32, 32}, {2000, 2000, 2000, 2000}));
  expect_turns(wan_spec({.head_dim = 128}), blocks_adjacent({44, 42, 42}, bases));
  expect_turns(cogvideox_spec({.head_dim = 64}), blocks_adjacent({16, 24, 24}, bases));
}

TEST(Vision, cosmos_stretches_the_base_of_each_axis) {
  // D 128: t 44, r 42, c 42; scale 2, 1, 1 as published: only time's base changes.
  const Real time = 10000 * std::pow(Real{2}, Real{44} / 42);
  std::vector<Turned> turned;
  std::int64_t pair = 0;
  for (const auto& [axis, width, base] :
       {std::tuple{0, 44, time}, {1, 42, Real{10000}}, {2, 42, Real{10000}}}) {
    for (std::int64_t k = 0; k < width / 2; ++k, ++pair) {
      turned.push_back({pair, pair + 64, axis, plain(base, k, width)});
    }
  }
  expect_turns(cosmos_spec({.head_dim = 128}), turned);
}

TEST(Vision, ltx_turns_by_the_axes_one_after_another_and_lets_the_remainder_stand) {
  std::vector<Turned> turned{{0, 1, 0, 0}};  // 20 mod 6 = 2 elements in front
  for (std::int64_t k = 0; k < 3; ++k) {
    // theta ** linspace(0, 1, 3) = 1, 100, 10000 for theta 10000; 1, 3, 9 for 9
    const Real omega = std::pow(Real{9}, static_cast<Real>(k) / 2) * kPi / 2;
    for (std::int64_t axis = 0; axis < 3; ++axis) {
      const std::int64_t at = 2 + 6 * k + 2 * axis;
      turned.push_back({at, at + 1, axis, omega});
    }
  }
  expect_turns(ltx_spec({.head_dim = 20, .base = 9.0}), turned);
}

TEST(Vision, dinov3_makes_whole_turns) {
  expect_turns(dinov3_spec({.head_dim = 64}),
               two_blocks_in_halves(64, kRow, kColumn, [](std::int64_t k) {
                 return 2 * kPi / std::pow(Real{100}, 2 * static_cast<Real>(k) / 32);
               }));
  // base = max/min; periods = base ** linspace(0, 1, n) / base * max
  expect_turns(dinov3_spec({.head_dim = 64, .min_period = 0.5, .max_period = 40.0}),
               two_blocks_in_halves(64, kRow, kColumn, [](std::int64_t k) {
                 const Real base = Real{40} / Real{0.5};
                 return 2 * kPi / (std::pow(base, static_cast<Real>(k) / 15) / base * 40);
               }));
}

TEST(Vision, pixels_are_bands_from_pi_up_to_half_the_resolution) {
  expect_turns(pixel_spec({.head_dim = 64}),
               two_blocks_adjacent(64, kRow, kColumn, [](std::int64_t k) {
                 // 2 ** linspace(0, log2(224) - 1, 16) * pi
                 return std::exp2((std::log2(Real{224}) - 1) * static_cast<Real>(k) / 15) * kPi;
               }));
  expect_turns(pixel_spec({.head_dim = 64, .max_frequency = 10, .linear = true}),
               two_blocks_adjacent(64, kRow, kColumn, [](std::int64_t k) {
                 return (1 + 4 * static_cast<Real>(k) / 15) * kPi;  // linspace(1, 5, 16) * pi
               }));
  EXPECT_EQ(frequencies(pixel_spec({.head_dim = 4})).radians,
            (std::vector<double>(2, std::numbers::pi)));
}

TEST(Vision, blocks_may_be_anything_that_fits_the_head) {
  std::vector<Turned> turned = blocks_adjacent({4, 8}, {100, 7});
  for (Turned& pair : turned) pair.axis = pair.axis == 0 ? 5 : 2;
  expect_turns(
      axial_spec({.head_dim = 20, .widths = {4, 8}, .axes = {5, 2}, .bases = {100.0, 7.0}}),
      turned);
}

TEST(Vision, frequencies_are_rounded_if_asked) {
  for (const std::string_view form : vision_forms()) {
    const VisionFields fields{.head_dim = 128, .frequency_rounding = FrequencyRounding::kFloat32};
    const std::vector<double> rounded = frequencies(vision_spec(form, fields)).radians;
    const std::vector<double> exact = frequencies(vision_spec(form, {.head_dim = 128})).radians;
    ASSERT_EQ(rounded.size(), exact.size());
    for (std::size_t i = 0; i < exact.size(); ++i) {
      ASSERT_EQ(rounded[i], static_cast<double>(static_cast<float>(exact[i]))) << form;
    }
  }
}

// ---- By name ----

TEST(Vision, every_form_is_known_by_its_name) {
  EXPECT_EQ(vision_forms().size(), 18u);
  EXPECT_TRUE(std::ranges::is_sorted(vision_forms()));
  const auto same = [](const Spec& a, const Spec& b) {
    return frequencies(a).radians == frequencies(b).radians &&
           a.axis_of_pair() == b.axis_of_pair() && a.pairing() == b.pairing() &&
           a.window_parts() == b.window_parts() && a.rotary_dim() == b.rotary_dim();
  };
  const VisionFields fields{.head_dim = 128};
  EXPECT_TRUE(same(vision_spec("moonvit", fields), moonvit_spec(fields)));
  EXPECT_TRUE(same(vision_spec("gemma4_vision", fields), gemma4_vision_spec(fields)));
  EXPECT_TRUE(same(vision_spec("dinov3", fields), dinov3_spec({.head_dim = 128})));
  EXPECT_TRUE(same(vision_spec("cosmos", fields), cosmos_spec({.head_dim = 128})));
  EXPECT_TRUE(same(vision_spec("pixel", fields), pixel_spec({.head_dim = 128})));
  // Names are in the order of their functions: no two forms are the same but for these.
  std::vector<std::pair<std::string_view, std::string_view>> alike;
  const auto forms = vision_forms();
  for (std::size_t i = 0; i < forms.size(); ++i) {
    for (std::size_t j = i + 1; j < forms.size(); ++j) {
      if (same(vision_spec(forms[i], fields), vision_spec(forms[j], fields))) {
        alike.emplace_back(forms[i], forms[j]);
      }
    }
  }
  EXPECT_EQ(alike,
            (std::vector<std::pair<std::string_view, std::string_view>>{{"llama4_vision", "sam"}}));
}

std::string refusal(std::string_view form, const VisionFields& fields) {
  return error_of([&] { vision_spec(form, fields); });
}

TEST(Vision, what_is_no_rotation_by_one_axis_is_refused_by_name_with_the_reason) {
  for (const std::string_view form :
       {"rope_mixed", "vjepa2", "fope", "mochi", "lightglue", "xpos"}) {
    ASSERT_NE(refused_form(form), nullptr) << form;
    try {
      vision_spec(form, {.head_dim = 64});
      ADD_FAILURE() << form;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    }
  }
  EXPECT_EQ(
      refusal("vjepa2", {.head_dim = 64}),
      "vjepa2 is no rotation by one axis per pair: the two elements of a pair get the cosines "
      "of two frequencies, so it is no rotation");
  EXPECT_EQ(refused_form("use_fope")->name, "fope");
  EXPECT_EQ(refused_form("qwen2_vl"), nullptr);
  EXPECT_EQ(refused_form(""), nullptr);
  for (const RefusedForm& form : refused_forms()) {
    EXPECT_FALSE(form.reason.empty() || form.source.empty()) << form.name;
  }
}

TEST(Vision, an_unknown_form_is_refused_with_the_list) {
  EXPECT_EQ(refusal("spiral", {.head_dim = 64}),
            "form spiral is unknown, want one of [cogvideox, cosmos, dinov3, efficientloftr, eva, "
            "flux, flux2, gemma4_vision, llama4_vision, ltx, minimax_m3_vision, moonvit, pixel, "
            "pixtral, qwen_vision, sam, step_vision, wan]");
}

TEST(Vision, a_head_that_does_not_divide_is_refused) {
  for (const std::string_view form :
       {"qwen_vision", "step_vision", "eva", "llama4_vision", "sam", "gemma4_vision", "moonvit",
        "efficientloftr", "pixtral", "dinov3", "pixel"}) {
    for (const std::int64_t head_dim : {-4, 0, 2, 66}) {
      EXPECT_EQ(refusal(form, {.head_dim = head_dim}), std::string(form) + ": head_dim " +
                                                           std::to_string(head_dim) +
                                                           " is not a positive multiple of 4");
    }
  }
  for (const std::string_view form : vision_forms()) {
    EXPECT_NE(refusal(form, {.head_dim = 0}), "") << form;
    EXPECT_NE(refusal(form, {.head_dim = -128}), "") << form;
    EXPECT_NE(refusal(form, {.head_dim = std::int64_t{1} << 40}), "") << form;
  }
  EXPECT_EQ(refusal("flux", {.head_dim = 64}),
            "flux: head_dim 64 is not 128: give the widths to axial_spec");
  EXPECT_EQ(refusal("wan", {.head_dim = 4}),
            "wan: head_dim 4 is less than 6: no pair for some axis");
}

TEST(Vision, fields_that_do_not_fit_are_refused) {
  const auto axial = [](AxialFields fields) { return error_of([&] { axial_spec(fields); }); };
  EXPECT_EQ(axial({.head_dim = 8}), "widths has 0 values, want 1 to 16");
  EXPECT_EQ(axial({.head_dim = 8, .widths = {4, 3}}),
            "widths [4, 3]: want even numbers from 2 that add up to at most head_dim 8");
  EXPECT_EQ(axial({.head_dim = 8, .widths = {4, 6}}),
            "widths [4, 6]: want even numbers from 2 that add up to at most head_dim 8");
  EXPECT_EQ(axial({.head_dim = 8, .widths = {2, 4}, .alternating = true}),
            "widths [2, 4], alternating: want all of them equal");
  EXPECT_EQ(axial({.head_dim = 8, .widths = {4, 4}, .axes = {0}}),
            "axes has 1 values, widths has 2");
  EXPECT_EQ(axial({.head_dim = 8, .widths = {4, 4}, .bases = {1.0, 2.0, 3.0}}),
            "bases has 3 values, want 1 or one for each of the 2 widths");
  EXPECT_EQ(axial({.head_dim = 8, .widths = {4, 4}, .bases = {0.0}}),
            "base 0 is not a finite number of at least 2^-30");
  EXPECT_EQ(axial({.head_dim = 8, .widths = {4, 4}, .axes = {0, 16}}),
            "axis_of_pair[2] is 16, want 0 to 15");
  const auto dinov3 = [](Dinov3Fields fields) { return error_of([&] { dinov3_spec(fields); }); };
  EXPECT_EQ(dinov3({.head_dim = 64, .base = 100.0, .min_period = 1.0, .max_period = 2.0}),
            "dinov3: base 100 beside periods: give one or the other");
  EXPECT_EQ(dinov3({.head_dim = 64, .min_period = 1.0}),
            "dinov3: max_period is missing: want both");
  EXPECT_EQ(dinov3({.head_dim = 64, .min_period = 2.0, .max_period = 1.0}),
            "dinov3: min_period 2, max_period 1: want 0 < min_period <= max_period");
  EXPECT_EQ(error_of([] { pixel_spec({.head_dim = 64, .max_frequency = 0}); }),
            "pixel: max_frequency 0 is not a finite number > 0");
  EXPECT_EQ(error_of([] { cosmos_spec({.head_dim = 64, .scale = {2, -1, 1}}); }),
            "cosmos: scale[1] is -1, want a finite number > 0");
  EXPECT_EQ(error_of([] { cosmos_spec({.head_dim = 6}); }),
            "cosmos: scale[0] is 2 for 2 elements, which have no other than 1");
  EXPECT_EQ(refusal("ltx", {.head_dim = 64, .base = -1.0}),
            "ltx: base -1 is not a finite number > 0");
  EXPECT_EQ(refusal("pixel", {.head_dim = 64, .base = 2.0}),
            "pixel: has no base, its frequencies are in pixels");
}

}  // namespace
}  // namespace ropewalk::testing
