// The kernels by themselves, on every target: angles against the formula, steps against what the
// operations say, bf16 over all patterns.

#include "kernels.hpp"

#include <gtest/gtest.h>

#include <bit>

#include "elements.hpp"

namespace ropewalk::testing {
namespace {

struct Row {
  std::vector<float> cos, sin;
};

Row angles(const kernels::Table& table, const Rope& rope, std::int64_t position) {
  const std::size_t pairs = rope.turns().size(), stride = kernels::padded(pairs);
  std::vector<float> rows(2 * stride);
  table.angles({rope.turns().data(), pairs, static_cast<float>(rope.attention_factor()), &position,
                1, rows.data()});
  return {{rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(pairs)},
          {rows.begin() + static_cast<std::ptrdiff_t>(stride),
           rows.begin() + static_cast<std::ptrdiff_t>(stride + pairs)}};
}

TEST(Kernels, cos_and_sin_are_within_one_in_ten_million_at_every_position) {
  std::mt19937_64 random(1);
  const Rope rope(Spec({.head_dim = 128, .base = 500000.0}));
  for (const Target target : supported_targets()) {
    double worst = 0;
    for (int n = 0; n < 2000; ++n) {
      const auto p = static_cast<std::int64_t>(random() >> (31 + random() % 33));
      const Row row = angles(*kernels::table_for(target), rope, p);
      for (std::size_t i = 0; i < 64; ++i) {
        const auto exact = reference::turn(rope.frequencies()[i], p);
        worst = std::max({worst, std::abs(static_cast<double>(row.cos[i] - exact.cos)),
                          std::abs(static_cast<double>(row.sin[i] - exact.sin))});
      }
    }
    RecordProperty(std::string(name(target)), std::to_string(worst));
    EXPECT_LE(worst, 1e-7) << name(target);
  }
}

TEST(Kernels, the_quarter_turns_are_exact) {
  std::vector<std::uint64_t> turns(kernels::kPadding, std::uint64_t{1} << 62);
  const float cos[] = {1, 0, -1, 0}, sin[] = {0, 1, 0, -1};
  for (const Target target : supported_targets()) {
    for (std::int64_t p = -8; p < 8; ++p) {
      std::vector<float> row(2 * kernels::kPadding);
      kernels::table_for(target)->angles({turns.data(), turns.size(), 1, &p, 1, row.data()});
      for (std::size_t i = 0; i < kernels::kPadding; ++i) {
        EXPECT_EQ(row[i], cos[p & 3]) << name(target) << p;
        EXPECT_EQ(row[kernels::kPadding + i], sin[p & 3]) << name(target) << p;
      }
    }
  }
}

// What a target does with one pair, for given cos and sin: the two products, the first of them
// fused with the difference where the target has the instruction.
struct Turned {
  float a, b;
};
Turned turned(Target target, float a, float b, float c, float s) {
  if (target == Target::kScalar) return {a * c - b * s, b * c + a * s};
  return {std::fma(a, c, -(b * s)), std::fma(b, c, a * s)};
}

TEST(Kernels, a_forced_target_does_the_arithmetic_of_that_target_in_every_lane) {
  for (const Target target : supported_targets()) {
    const kernels::Table& table = *kernels::table_for(target);
    for (const Pairing pairing : kPairings) {
      for (std::int64_t dim = 2; dim <= 160; dim += 2) {
        const Rope rope(Spec({.head_dim = dim, .pairing = pairing, .base = 100.0}));
        const Elements x = random_elements(DType::kF32, static_cast<std::size_t>(dim), 5);
        Elements out(x);
        const std::int64_t p = 12345;
        rotate(rope, view(out, {1, 1, 1, dim}), Positions::from(p), {.target = target});
        const Row row = angles(table, rope, p);
        for (std::size_t i = 0; i < row.cos.size(); ++i) {
          const auto [a, b] = reference::pair(pairing == Pairing::kHalves, i, x.size());
          const Turned want = turned(target, x[a], x[b], row.cos[i], row.sin[i]);
          ASSERT_EQ(out[a], want.a) << name(target) << " " << dim << " pair " << i;
          ASSERT_EQ(out[b], want.b) << name(target) << " " << dim << " pair " << i;
        }
      }
    }
  }
}

// All 65536 patterns in one head's first elements of each pair, second elements zero.
Elements all_patterns(Pairing pairing) {
  Elements x(DType::kBf16, std::size_t{65536} * 2);
  x.fill(0);
  for (std::size_t n = 0; n < 65536; ++n) {  // 512 heads of 128 pairs
    const std::size_t head = n / 128, i = n % 128;
    x.set_bits(head * 256 + reference::pair(pairing == Pairing::kHalves, i, 256).a,
               static_cast<std::uint32_t>(n));
  }
  return x;
}

constexpr Dims kAllPatternsShape = {1, 1, 512, 256};

TEST(Kernels, bf16_widens_exactly_and_comes_back_for_all_patterns) {
  for (const Pairing pairing : kPairings) {
    const Rope rope(Spec({.head_dim = 256, .pairing = pairing}));
    for (const Target target : supported_targets()) {
      const Elements x = all_patterns(pairing);
      Elements out(x);
      rotate(rope, view(out, kAllPatternsShape), Positions::from(0), {.target = target});
      for (std::size_t e = 0; e < x.size(); ++e) {
        if (std::isnan(x[e]) || x[e] == 0) continue;  // NaN: below; -0 may become +0
        const bool subnormal = std::abs(x[e]) < 0x1p-126f;
        if (subnormal && out[e] == 0) continue;  // may be flushed
        ASSERT_EQ(out.bits(e), x.bits(e)) << name(target);
      }
    }
  }
}

TEST(Kernels, bf16_rounds_to_nearest_even_at_ties_and_beside_them) {
  for (const Pairing pairing : kPairings) {
    // x m in float is exact for these m: 8 bits times at most 16. 1 + 2^-8 makes ties in plenty.
    for (const double m : {1 + 0x1p-8, 1 - 0x1p-8, 1 + 0x1p-9, 1 + 0x1p-8 + 0x1p-15,
                           1 + 0x1p-8 - 0x1p-15, 1.5, 0x1.fep0}) {
      const Rope rope(Spec({.head_dim = 256, .pairing = pairing, .attention_factor = m}));
      for (const Target target : supported_targets()) {
        const Elements x = all_patterns(pairing);
        Elements out(x);
        rotate(rope, view(out, kAllPatternsShape), Positions::from(0), {.target = target});
        for (std::size_t e = 0; e < x.size(); ++e) {
          if (!std::isfinite(x[e]) || x[e] == 0) continue;
          const float exact = x[e] * static_cast<float>(m);
          if (std::abs(exact) < 0x1p-126f && out[e] == 0) continue;  // may be flushed
          ASSERT_EQ(out.bits(e), reference::to_bf16(exact)) << name(target) << " " << x[e];
        }
      }
    }
  }
}

TEST(Kernels, an_infinity_or_a_nan_gives_what_the_formula_gives) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  for (const DType dtype : kDTypes) {
    for (const Pairing pairing : kPairings) {
      for (const std::int64_t dim : {2, 6, 16, 40, 128}) {
        const Rope rope(Spec({.head_dim = dim, .pairing = pairing}));
        for (const Target target : supported_targets()) {
          for (const auto& [a_value, b_value] :
               {std::pair{inf, 1.0f}, {1.0f, -inf}, {inf, inf}, {nan, 1.0f}, {1.0f, nan}}) {
            Elements x(dtype, static_cast<std::size_t>(dim));
            for (std::size_t i = 0; i < x.size() / 2; ++i) {
              const auto [a, b] = reference::pair(pairing == Pairing::kHalves, i, x.size());
              x.set(a, a_value);
              x.set(b, b_value);
            }
            rotate(rope, view(x, {1, 1, 1, dim}), Positions::from(1), {.target = target});
            const Row row = angles(*kernels::table_for(target), rope, 1);
            for (std::size_t i = 0; i < x.size() / 2; ++i) {
              const auto [a, b] = reference::pair(pairing == Pairing::kHalves, i, x.size());
              const Turned want = turned(target, a_value, b_value, row.cos[i], row.sin[i]);
              EXPECT_TRUE(std::isnan(want.a) ? std::isnan(x[a]) : x[a] == want.a);
              EXPECT_TRUE(std::isnan(want.b) ? std::isnan(x[b]) : x[b] == want.b);
            }
          }
        }
      }
    }
  }
}

TEST(Kernels, an_f32_product_that_overflows_is_an_infinity) {
  const Rope rope(Spec({.head_dim = 2, .attention_factor = 4.0}));
  for (const Target target : supported_targets()) {
    for (const DType dtype : kDTypes) {
      Elements x(dtype, 2);
      x.set(0, 0x1.fcp127f);
      x.set(1, 0);
      rotate(rope, view(x, {1, 1, 1, 2}), Positions::from(0), {.target = target});
      EXPECT_EQ(x[0], std::numeric_limits<float>::infinity()) << name(target);
    }
  }
}

}  // namespace
}  // namespace ropewalk::testing
