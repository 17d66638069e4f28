#include <gtest/gtest.h>

#include <thread>

#include "elements.hpp"

namespace ropewalk::testing {
namespace {

using Doubles = std::vector<double>;

struct Compact {
  Doubles cos, sin;
};
Compact compact(const Angles& angles) {
  const auto count = static_cast<std::size_t>(angles.batch() * angles.tokens() * angles.pairs());
  Compact result{Doubles(count), Doubles(count)};
  angles.read_compact(std::span(result.cos), std::span(result.sin));
  return result;
}

TEST(Angles, rows_are_cos_and_sin_times_the_attention_factor) {
  const Rope rope(Spec({.head_dim = 16, .attention_factor = 1.25}));
  const std::vector<std::int64_t> ids = {0, 7, -100000};
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    Angles angles;
    angles.assign(rope, Positions::ids(ids), {.dtype = dtype});
    EXPECT_EQ(angles.tokens(), 3);
    EXPECT_EQ(angles.batch(), 1);
    EXPECT_EQ(angles.pairs(), 8);
    const Compact rows = compact(angles);
    for (std::size_t at = 0; at < 24; ++at) {
      const double distance = std::abs(static_cast<double>(ids[at / 8]));
      const double bound = dtype == DType::kF64 ? 1e-15 + distance * 0x1p-61 : 2e-7;
      const auto exact = reference::turn(rope.frequencies()[at % 8], ids[at / 8]);
      EXPECT_NEAR(rows.cos[at], static_cast<double>(1.25L * exact.cos), bound);
      EXPECT_NEAR(rows.sin[at], static_cast<double>(1.25L * exact.sin), bound);
    }
  }
}

TEST(Angles, storage_is_reused) {
  const Rope rope(Spec({.head_dim = 16}));
  Angles angles;
  angles.assign(rope, Positions::from(0, 100));
  angles.assign(rope, Positions::from(5, 2));
  EXPECT_EQ(angles.tokens(), 2);
  const std::vector<std::int64_t> two = {3, 4, 5, 6};
  angles.assign(rope, Positions::ids(two.data(), 2, 2), {.dtype = DType::kF64});
  EXPECT_EQ(angles.batch(), 2);
  EXPECT_EQ(angles.dtype(), DType::kF64);
}

TEST(Angles, read_out_in_three_forms) {
  for (const Pairing pairing : kPairings) {
    const Rope rope(Spec({.head_dim = 8, .pairing = pairing}));
    Angles angles;
    angles.assign(rope, Positions::from(3, 2));
    const Compact rows = compact(angles);
    Doubles cos(16), sin(16), complex(16);
    angles.read_duplicated(std::span(cos), std::span(sin));
    angles.read_complex(std::span(complex));
    for (std::size_t t = 0; t < 2; ++t) {
      for (std::size_t i = 0; i < 4; ++i) {
        const auto [a, b] = reference::pair(pairing == Pairing::kHalves, i, 8);
        for (const std::size_t e : {a, b}) {
          EXPECT_EQ(cos[t * 8 + e], rows.cos[t * 4 + i]);
          EXPECT_EQ(sin[t * 8 + e], rows.sin[t * 4 + i]);
        }
        EXPECT_EQ(complex[(t * 4 + i) * 2], rows.cos[t * 4 + i]);
        EXPECT_EQ(complex[(t * 4 + i) * 2 + 1], rows.sin[t * 4 + i]);
      }
    }
    Doubles small(3);
    EXPECT_EQ(error_of([&] { angles.read_complex(std::span(small)); }),
              "complex has 3 values, want 16");
  }
}

TEST(Angles, factors_multiply_the_rows) {
  const Rope rope(Spec({.head_dim = 8, .attention_factor = 2.0}));
  const Doubles factors = {1, 1.5, 0.25};
  Angles plain, scaled;
  plain.assign(rope, Positions::from(3, 3), {.dtype = DType::kF64});
  scaled.assign(rope, Positions::from(3, 3),
                {.dtype = DType::kF64, .factor = 3, .token_factors = factors});
  const Compact one = compact(plain), other = compact(scaled);
  for (std::size_t at = 0; at < 12; ++at) {
    EXPECT_NEAR(other.cos[at], one.cos[at] * 3 * factors[at / 4], 1e-15);
    EXPECT_NEAR(other.sin[at], one.sin[at] * 3 * factors[at / 4], 1e-15);
  }
  // They are undone with the rest, and the gradient has them too.
  const Elements x = random_elements(DType::kF64, 24, 1);
  Elements y(x);
  rotate(scaled, view(y, {1, 3, 1, 8}));
  unrotate(scaled, view(y, {1, 3, 1, 8}));
  for (std::size_t e = 0; e < 24; ++e) EXPECT_NEAR(y[e], x[e], 1e-14);

  EXPECT_EQ(
      error_of([&] { scaled.assign(rope, Positions::from(0, 2), {.token_factors = factors}); }),
      "token_factors has 3 values, the positions have 2 tokens");
  EXPECT_EQ(error_of([&] { scaled.assign(rope, Positions::from(0, 2), {.factor = 0}); }),
            "factor is 0, want a number from 2^-100 to 2^100");
  EXPECT_EQ(scaled.tokens(), 3) << "the old rows stay";
}

TEST(Angles, as_a_checkpoint_saw_them_are_float_products_rounded) {
  const Rope rope(Spec({.head_dim = 32}));
  const std::vector<std::int64_t> ids = {1857, 1000003};
  for (const DType dtype : {DType::kF32, DType::kBf16, DType::kF16}) {
    Angles angles;
    angles.assign(rope, Positions::ids(ids), {.as_seen_in = dtype});
    const Compact rows = compact(angles);
    for (std::size_t at = 0; at < 32; ++at) {
      const float angle =
          static_cast<float>(ids[at / 16]) * static_cast<float>(rope.frequencies()[at % 16]);
      Elements want(dtype, 2);
      want.set(0, static_cast<float>(std::cos(double{angle})));
      want.set(1, static_cast<float>(std::sin(double{angle})));
      EXPECT_EQ(rows.cos[at], want[0]) << name(dtype);
      EXPECT_EQ(rows.sin[at], want[1]) << name(dtype);
    }
  }
  Angles angles;
  EXPECT_NE(error_of([&] {
              angles.assign(rope, Positions::ids(ids),
                            {.dtype = DType::kF64, .as_seen_in = DType::kF32});
            }),
            "");
}

TEST(Angles, xpos_leaves_only_the_distance_of_query_and_key) {
  const Rope rope(Spec({.head_dim = 8, .pairing = Pairing::kAdjacent}));
  const Elements q = random_elements(DType::kF64, 8, 1), k = random_elements(DType::kF64, 8, 2);
  const auto score = [&](std::int64_t q_at, std::int64_t k_at) {
    Angles of_q, of_k;
    of_q.assign(rope, Positions::from(q_at, 1),
                {.dtype = DType::kF64, .xpos = XPos{XPos::Role::kQuery, 64, 10}});
    of_k.assign(rope, Positions::from(k_at, 1),
                {.dtype = DType::kF64, .xpos = XPos{XPos::Role::kKey, 64, 10}});
    Elements a(q), b(k);
    rotate(of_q, view(a, {1, 1, 1, 8}));
    rotate(of_k, view(b, {1, 1, 1, 8}));
    double sum = 0;
    for (std::size_t e = 0; e < 8; ++e) sum += a[e] * b[e];
    return sum;
  };
  EXPECT_NEAR(score(50, 20), score(1050, 1020), 1e-12);
  // By the formula: ζ_i^(30/64), ζ_i = (2 i + 0.4 d) / 1.4 d.
  double want = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const double zeta = (2 * static_cast<double>(i) + 0.4 * 8) / (1.4 * 8);
    const double angle = 30 * rope.frequencies()[i], c = std::cos(angle), s = std::sin(angle);
    const double x = q[2 * i], y = q[2 * i + 1];
    want +=
        std::pow(zeta, 30.0 / 64) * ((x * c - y * s) * k[2 * i] + (x * s + y * c) * k[2 * i + 1]);
  }
  EXPECT_NEAR(score(50, 20), want, 1e-12);
  Angles angles;
  EXPECT_NE(error_of([&] {
              angles.assign(rope, Positions::from(1000000, 1), {.xpos = XPos{}});
            }).find("choose an origin nearer to it"),
            std::string::npos);
}

// ---- Given rows ----

struct Table {
  std::vector<float> cos, sin;
  [[nodiscard]] GivenRows rows(std::int64_t count, std::int64_t width) const {
    return {cos.data(), sin.data(), DType::kF32, 1, count, width};
  }
};
Table random_table(std::size_t count) {
  std::mt19937_64 random(3);
  std::normal_distribution<float> normal;
  Table table{std::vector<float>(count), std::vector<float>(count)};
  for (std::size_t i = 0; i < count; ++i)
    table.cos[i] = normal(random), table.sin[i] = normal(random);
  return table;
}

TEST(Angles, given_rows_are_applied_as_they_are) {
  const Spec spec({.head_dim = 8});
  const Table table = random_table(8);
  Angles angles;
  angles.assign(spec, table.rows(2, 4));
  const Elements x = random_elements(DType::kF32, 16, 1);
  Elements y(x), back(x);
  rotate(angles, view(y, {1, 2, 1, 8}));
  backward(angles, view(back, {1, 2, 1, 8}));
  for (std::size_t t = 0; t < 2; ++t) {
    for (std::size_t i = 0; i < 4; ++i) {
      const double c = table.cos[t * 4 + i], s = table.sin[t * 4 + i];
      const double a = x[t * 8 + i], b = x[t * 8 + i + 4];
      const double bound = 0x1p-20 * std::hypot(a, b) * std::hypot(c, s);
      EXPECT_NEAR(y[t * 8 + i], a * c - b * s, bound);
      EXPECT_NEAR(y[t * 8 + i + 4], a * s + b * c, bound);
      EXPECT_NEAR(back[t * 8 + i], a * c + b * s, bound);
      EXPECT_NEAR(back[t * 8 + i + 4], b * c - a * s, bound);
    }
  }
  EXPECT_NE(error_of([&] { unrotate(angles, view(y, {1, 2, 1, 8})); }), "");
}

TEST(Angles, a_table_is_picked_by_ids_and_an_id_outside_is_an_error) {
  const Spec spec({.head_dim = 8});
  const Table table = random_table(20);
  const std::vector<std::int32_t> ids = {4, 0, 4};
  Angles angles;
  angles.assign(spec, table.rows(5, 4), Positions::ids(ids));
  const Compact rows = compact(angles);
  for (std::size_t at = 0; at < 12; ++at) {
    EXPECT_EQ(rows.cos[at], table.cos[static_cast<std::size_t>(ids[at / 4]) * 4 + at % 4]);
  }
  for (const std::int32_t bad : {5, -1}) {
    const std::vector<std::int32_t> outside = {0, bad};
    EXPECT_EQ(
        error_of([&] { angles.assign(spec, table.rows(5, 4), Positions::ids(outside)); }),
        "positions[1] is " + std::to_string(bad) + ", the table of cos and sin has rows 0 to 4");
  }
}

TEST(Angles, two_equal_copies_are_one_and_unequal_ones_an_error) {
  const Table table = random_table(4);
  for (const Pairing pairing : kPairings) {
    const Spec spec({.head_dim = 8, .pairing = pairing});
    for (const bool side_by_side : {false, true}) {
      Table twice;
      for (std::size_t e = 0; e < 8; ++e) {
        const std::size_t i = side_by_side ? e / 2 : e % 4;
        twice.cos.push_back(table.cos[i]);
        twice.sin.push_back(table.sin[i]);
      }
      Angles angles;
      angles.assign(spec, twice.rows(1, 8));
      const Compact rows = compact(angles);
      for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(rows.cos[i], table.cos[i]);
      twice.sin[5] += 1;
      EXPECT_EQ(error_of([&] {
                  angles.assign(spec, twice.rows(1, 8));
                }).find("given cos and sin of width 8 are not two equal copies"),
                0u);
    }
  }
}

TEST(Angles, given_rows_of_every_dtype_are_read) {
  const Spec spec({.head_dim = 4});
  for (const DType dtype : kAllDTypes) {
    Elements cos(dtype, 2), sin(dtype, 2);
    cos.set(0, 0.5), cos.set(1, -1.25), sin.set(0, 0x1p-14), sin.set(1, -3);
    Angles angles;
    angles.assign(spec, {cos.data(), sin.data(), dtype, 1, 1, 2});
    const Compact rows = compact(angles);
    EXPECT_EQ(rows.cos, (Doubles{0.5, -1.25}));
    EXPECT_EQ(rows.sin, (Doubles{0x1p-14, -3}));
  }
}

TEST(Angles, refuse_what_does_not_fit) {
  const Rope rope(Spec({.head_dim = 8}));
  Elements x = random_elements(DType::kF32, 24, 1);
  Angles angles;
  EXPECT_EQ(error_of([&] { rotate(angles, view(x, {1, 3, 1, 8})); }),
            "angles have no rows yet: call assign first");
  EXPECT_EQ(error_of([&] { angles.assign(rope, Positions::from(0)); }),
            "positions do not say how many tokens there are: give that number beside the start");
  angles.assign(rope, Positions::from(0, 2));
  EXPECT_EQ(error_of([&] { rotate(angles, view(x, {1, 3, 1, 8})); }),
            "angles are for any batch and 2 tokens, x has batch 1 and 3 tokens");
  Elements wide = random_elements(DType::kF64, 16, 1);
  EXPECT_EQ(error_of([&] { rotate(angles, view(wide, {1, 2, 1, 8})); }),
            "x has dtype f64, the angles have rows of f32: assign them with dtype f64");
  EXPECT_EQ(error_of([&] {
              angles.assign(Spec({.head_dim = 8}),
                            GivenRows{nullptr, nullptr, DType::kF32, 1, 2, 3});
            }),
            "given cos and sin have width 3; rotary_dim 8 wants 4 or 8");
}

TEST(Angles, into_says_that_a_view_is_an_output) {
  const Rope rope(Spec({.head_dim = 8}));
  const Elements x = random_elements(DType::kF32, 8, 1);
  Elements out(x), in_place(x);
  Angles angles;
  angles.assign(rope, Positions::from(9, 1));
  rotate(angles, view(x, {1, 1, 1, 8}), Into{view(out, {1, 1, 1, 8})});
  rotate(angles, view(in_place, {1, 1, 1, 8}));
  EXPECT_TRUE(out == in_place);
}

// For the thread sanitizer: one Rope and one Angles, read by many threads at once.
TEST(Angles, a_rope_and_angles_are_shared_by_threads) {
  const Rope rope(Spec({.head_dim = 64}));
  Angles angles;
  angles.assign(rope, Positions::from(100, 16));
  const Elements x = random_elements(DType::kF32, 16 * 64, 1);
  Elements want(x);
  rotate(rope, view(want, {1, 16, 1, 64}), Positions::from(100));
  std::vector<std::thread> pool;
  std::array<bool, 8> same{};
  for (std::size_t n = 0; n < same.size(); ++n) {
    pool.emplace_back([&, n] {
      same[n] = true;
      for (int run = 0; run < 100; ++run) {
        Elements ready(x), fresh(x);
        rotate(angles, view(ready, {1, 16, 1, 64}));
        const Rope copy = rope;  // NOLINT: its count is shared
        rotate(copy, view(fresh, {1, 16, 1, 64}), Positions::from(100));
        same[n] = same[n] && ready == want && fresh == want;
      }
    });
  }
  for (std::thread& thread : pool) thread.join();
  for (const bool each : same) EXPECT_TRUE(each);
}

}  // namespace
}  // namespace ropewalk::testing
