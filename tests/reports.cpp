// What users of other implementations reported, as small cases, each with its right answer.

#include <gtest/gtest.h>

#include "elements.hpp"

namespace ropewalk::testing {
namespace {

std::vector<float> rotated(const SpecFields& fields, std::vector<float> x, std::int64_t position,
                           Target target) {
  const auto dim = static_cast<std::int64_t>(x.size());
  rotate(Rope(Spec(fields)), TensorView::bthd(x.data(), {1, 1, 1, dim}), Positions::from(position),
         {.target = target});
  return x;
}

void expect_near(const std::vector<float>& given, const std::vector<double>& wanted) {
  ASSERT_EQ(given.size(), wanted.size());
  for (std::size_t e = 0; e < wanted.size(); ++e) EXPECT_NEAR(given[e], wanted[e], 1e-6) << e;
}

TEST(Reports, the_two_pairings_are_two_different_things) {
  for (const Target target : supported_targets()) {
    expect_near(rotated({.head_dim = 4}, {1, 2, 3, 4}, 1, target),
                {-1.984111, 1.959901, 2.462378, 4.019800});
    expect_near(rotated({.head_dim = 4, .pairing = Pairing::kAdjacent}, {1, 2, 3, 4}, 1, target),
                {-1.142640, 1.922076, 2.959851, 4.029800});
    // Permuting the layout and the result turns one into the other.
    const auto halves = rotated({.head_dim = 4}, {1, 2, 3, 4}, 1, target);
    const auto adjacent =
        rotated({.head_dim = 4, .pairing = Pairing::kAdjacent}, {1, 3, 2, 4}, 1, target);
    EXPECT_EQ(adjacent, (std::vector{halves[0], halves[2], halves[1], halves[3]}));
  }
}

TEST(Reports, scores_are_equal_in_both_pairings) {
  const std::vector<float> q = {1, 2, 3, 4}, k = {0.5, -1, 2, 0.25};
  const auto score = [](const std::vector<float>& a, const std::vector<float>& b) {
    double sum = 0;
    for (std::size_t e = 0; e < a.size(); ++e) sum += static_cast<double>(a[e]) * b[e];
    return sum;
  };
  const auto permute = [](const std::vector<float>& x) {
    return std::vector{x[0], x[2], x[1], x[3]};
  };
  const SpecFields halves{.head_dim = 4}, adjacent{.head_dim = 4, .pairing = Pairing::kAdjacent};
  EXPECT_NEAR(score(rotated(halves, q, 9, Target::kBest), rotated(halves, k, 5, Target::kBest)),
              score(rotated(adjacent, permute(q), 9, Target::kBest),
                    rotated(adjacent, permute(k), 5, Target::kBest)),
              1e-6);
}

TEST(Reports, partial_rotary_takes_exponent_and_partner_from_rotary_dim) {
  for (const Target target : supported_targets()) {
    expect_near(rotated({.head_dim = 8, .rotary_dim = 4}, {1, 2, 3, 4, 5, 6, 7, 8}, 1, target),
                {-1.984111, 1.959901, 2.462378, 4.019800, 5, 6, 7, 8});
  }
}

TEST(Reports, proportional_is_explicit_frequencies_with_zeros) {
  for (const Target target : supported_targets()) {
    expect_near(rotated({.head_dim = 8, .frequencies = {{1, 0.1, 0, 0}}}, {1, 2, 3, 4, 5, 6, 7, 8},
                        1, target),
                {-3.667053, 1.391008, 3, 4, 3.542983, 6.169692, 7, 8});
  }
}

// x = (1, 0) in pair 1 turns into its cos and sin.
TEST(Reports, angles_are_not_formed_in_16_bits) {
  const Rope rope(Spec({.head_dim = 32}));
  for (const Target target : supported_targets()) {
    for (const DType dtype : kAllDTypes) {
      Elements x(dtype, 32);
      x.fill(0);
      x.set(1, 1);
      rotate(rope, view(x, {1, 1, 1, 32}), Positions::from(1857), {.target = target});
      const double unit = size_of(dtype) > 2     ? 1e-6
                          : dtype == DType::kF16 ? 0.31 / 2048
                                                 : 0.31 / 256;
      EXPECT_NEAR(x[1], 0.306693, unit) << name(dtype);
    }
  }
}

TEST(Reports, position_ids_are_not_collapsed_to_16_bits) {
  const Rope rope(Spec({.head_dim = 2}));
  std::vector<std::int64_t> ids;
  for (const std::int64_t p : {257, 259, 2049, 65537}) {
    for (const std::int64_t near : {p - 1, p, p + 1}) ids.push_back(near);
  }
  std::vector<float> x;
  for (std::size_t t = 0; t < ids.size(); ++t) x.insert(x.end(), {1, 0});
  const auto tokens = static_cast<std::int64_t>(ids.size());
  rotate(rope, TensorView::bthd(x.data(), {1, tokens, 1, 2}), Positions::ids(ids));
  for (std::size_t t = 0; t < ids.size(); ++t) {
    EXPECT_NEAR(x[2 * t], std::cos(static_cast<double>(ids[t])), 2e-7) << ids[t];
    EXPECT_NEAR(x[2 * t + 1], std::sin(static_cast<double>(ids[t])), 2e-7) << ids[t];
  }
}

TEST(Reports, long_positions_keep_the_promise) {
  // Float32 angles miss these by 2e-3, 3e-2, 0.4 and everything.
  const Rope rope(Spec({.head_dim = 128}));
  for (const std::int64_t p : {131071LL, 1048575LL, 10000000LL, 2147483648LL}) {
    for (std::size_t i = 0; i < 64; ++i) {
      std::vector<float> x(128);
      x[i] = 1;
      rotate(rope, TensorView::bthd(x.data(), {1, 1, 1, 128}), Positions::from(p));
      const auto exact = reference::turn(rope.frequencies()[i], p);
      EXPECT_NEAR(x[i], static_cast<double>(exact.cos), 0x1p-21 + 0x1p-24) << p;
      EXPECT_NEAR(x[i + 64], static_cast<double>(exact.sin), 0x1p-21 + 0x1p-24) << p;
    }
  }
}

TEST(Reports, a_negative_position_turns_the_other_way) {
  const auto there = rotated({.head_dim = 4}, {1, 0, 0, 0}, 4, Target::kBest);
  const auto back = rotated({.head_dim = 4}, {1, 0, 0, 0}, -4, Target::kBest);
  EXPECT_EQ(back[0], there[0]);
  EXPECT_EQ(back[2], -there[2]);
}

TEST(Reports, left_padded_sequences_go_by_their_own_ids) {
  const std::vector<std::int32_t> ids = {0, 0, 0, 1, 2, 0, 1, 2, 3, 4};
  std::vector<float> x;
  for (std::size_t t = 0; t < ids.size(); ++t) x.insert(x.end(), {1, 0});
  rotate(Rope(Spec({.head_dim = 2})), TensorView::bthd(x.data(), {2, 5, 1, 2}),
         Positions::ids(ids.data(), 2, 5));
  for (std::size_t t = 0; t < ids.size(); ++t) EXPECT_NEAR(x[2 * t], std::cos(ids[t]), 2e-7) << t;
}

TEST(Reports, the_rest_of_a_head_is_copied_out_of_place) {
  const Rope rope(Spec({.head_dim = 8, .rotary_dim = 4}));
  const std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<float> out(8, std::nanf(""));
  rotate(rope, ConstTensorView::bthd(x.data(), {1, 1, 1, 8}), Positions::from(1),
         TensorView::bthd(out.data(), {1, 1, 1, 8}));
  expect_near(out, {-1.984111, 1.959901, 2.462378, 4.019800, 5, 6, 7, 8});
}

TEST(Reports, odd_widths_stay_inside_their_head) {
  for (const std::int64_t d : {2, 6, 10, 48, 72, 80, 96, 112}) {
    for (const Pairing pairing : kPairings) {
      const Rope rope(Spec({.head_dim = d, .pairing = pairing}));
      std::vector<float> x(static_cast<std::size_t>(3 * d), 1);
      rotate(rope, TensorView::bthd(x.data() + d, {1, 1, 1, d}), Positions::from(3));
      for (std::size_t e = 0; e < static_cast<std::size_t>(d); ++e) {
        EXPECT_EQ(x[e], 1);
        EXPECT_EQ(x[e + 2 * static_cast<std::size_t>(d)], 1);
      }
    }
  }
}

TEST(Reports, the_output_has_the_type_and_the_layout_of_the_input) {
  const Rope rope(Spec({.head_dim = 8}));
  const Dims shape = {1, 3, 2, 8};
  for (const DType dtype : kAllDTypes) {
    const Elements x = random_elements(dtype, count_of(shape), 1);
    Elements token_major(dtype, count_of(shape)), head_major(dtype, count_of(shape));
    rotate(rope, ConstTensorView::bhtd(x.data(), dtype, shape), Positions::from(2),
           TensorView::bhtd(head_major.data(), dtype, shape));
    rotate(rope, ConstTensorView::bhtd(x.data(), dtype, shape), Positions::from(2),
           TensorView::bthd(token_major.data(), dtype, shape));
    for (std::size_t t = 0; t < 3; ++t) {
      for (std::size_t h = 0; h < 2; ++h) {
        for (std::size_t e = 0; e < 8; ++e) {
          EXPECT_EQ(head_major.bits((h * 3 + t) * 8 + e), token_major.bits((t * 2 + h) * 8 + e));
        }
      }
    }
  }
}

TEST(Reports, ids_of_all_three_shapes_serve_a_batch) {
  const std::vector<std::int64_t> ids = {3, 1, 2, 3, 1, 2};
  const Rope rope(Spec({.head_dim = 8}));
  const Elements x = random_elements(DType::kF32, 48, 1);
  const auto at = [&](const Positions& positions) {
    Elements y(x);
    rotate(rope, view(y, {2, 3, 1, 8}), positions);
    return y;
  };
  const Elements flat = at(Positions::ids(std::span(ids).first(3)));
  EXPECT_TRUE(flat == at(Positions::ids(ids.data(), 1, 3)));
  EXPECT_TRUE(flat == at(Positions::ids(ids.data(), 2, 3)));
}

TEST(Reports, one_thousand_shifts_of_a_cache_stay_near_the_exact_rotation) {
  const Rope rope(Spec({.head_dim = 64}));
  const Elements k = random_elements(DType::kF32, 64, 1);
  Elements cached(k);
  rotate(rope, view(cached, {1, 1, 1, 64}), Positions::from(5000));
  for (std::int64_t n = 0; n < 1000; ++n) {
    rerotate(rope, rope, view(cached, {1, 1, 1, 64}), Positions::from(5000 - n),
             Positions::from(4999 - n));
  }
  double before = 0, after = 0;
  for (std::size_t i = 0; i < 32; ++i) {
    const auto turn = reference::turn(rope.frequencies()[i], 4000);
    const reference::Real a = k[i], b = k[i + 32];
    const double allowed = 1000 * (0x1p-21 + 0x1p-24) * std::hypot(k[i], k[i + 32]);
    EXPECT_NEAR(cached[i], static_cast<double>(a * turn.cos - b * turn.sin), allowed);
    EXPECT_NEAR(cached[i + 32], static_cast<double>(a * turn.sin + b * turn.cos), allowed);
    before += k[i] * k[i] + k[i + 32] * k[i + 32];
    after += cached[i] * cached[i] + cached[i + 32] * cached[i + 32];
  }
  EXPECT_NEAR(std::sqrt(after / before), 1, 1e-4);
}

TEST(Reports, keys_of_a_short_plan_become_those_of_a_long_one_without_m_again) {
  // Two lists of frequencies and one attention factor: only the angles change.
  const Rope of_short(Spec({.head_dim = 4, .frequencies = {{1, 0.1}}, .attention_factor = 1.19}));
  const Rope of_long(Spec({.head_dim = 4, .frequencies = {{0.9, 0.02}}, .attention_factor = 1.19}));
  const std::vector<double> k = {1, -2, 3, 0.5};
  std::vector<double> cached(k), afresh(k);
  const auto all = [](std::vector<double>& x) {
    return TensorView::bthd(x.data(), DType::kF64, {1, 1, 1, 4});
  };
  rotate(of_short, all(cached), Positions::from(4095));
  rerotate(of_short, of_long, all(cached), Positions::from(4095), Positions::from(4095));
  rotate(of_long, all(afresh), Positions::from(4095));
  for (std::size_t e = 0; e < 4; ++e) EXPECT_NEAR(cached[e], afresh[e], 1e-14);
}

TEST(Reports, zero_tokens_and_empty_packed_sequences_are_nothing) {
  const Rope rope(Spec({.head_dim = 8}));
  const std::vector<std::int32_t> lengths = {0, 0, 0, 4, 4, 8};  // 0, 0, 4, 0, 4
  Elements x = random_elements(DType::kF32, 64, 1);
  Elements alone(x);
  rotate(rope, view(x, {1, 8, 1, 8}), Positions::packed(lengths));
  rotate(rope, view(alone, {2, 4, 1, 8}), Positions::from(0));
  EXPECT_TRUE(x == alone);
  const std::vector<std::int32_t> none = {0, 0, 0};
  EXPECT_NO_THROW(rotate(rope, TensorView::bthd(nullptr, {1, 0, 1, 8}), Positions::packed(none)));
}

TEST(Reports, backward_does_not_forget_m) {
  std::vector<float> g = {1, 0};
  backward(Rope(Spec({.head_dim = 2, .attention_factor = 1.5})),
           TensorView::bthd(g.data(), {1, 1, 1, 2}), Positions::from(1));
  EXPECT_NEAR(g[0], 1.5 * std::cos(1.0), 1e-6);
  EXPECT_NEAR(g[1], -1.5 * std::sin(1.0), 1e-6);
}

}  // namespace
}  // namespace ropewalk::testing
