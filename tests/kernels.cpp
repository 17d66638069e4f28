// The kernels by themselves, on every target: angles against the formula, steps against what the
// operations say, 16-bit types over all patterns.

#include "kernels.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <memory>

#include "elements.hpp"

namespace ropewalk::testing {
namespace {

template <class T>
struct Row {
  std::vector<T> cos, sin;
};

template <class T>
Row<T> angles(const kernels::Table& table, const Rope& rope, std::int64_t position) {
  const std::size_t pairs = rope.turns().size(), sines = kernels::padded(pairs);
  std::vector<T> row(2 * sines);
  table.angles[sizeof(T) == 8 ? 1 : 0](
      {rope.turns().data(), &position, true, nullptr, pairs, 1, row.data(), 2 * sines, sines});
  const auto at = [&](std::size_t i) { return row.begin() + static_cast<std::ptrdiff_t>(i); };
  return {{at(0), at(pairs)}, {at(sines), at(sines + pairs)}};
}

// The largest error of cos and sin at 2000 positions of all sizes.
template <class T>
double worst_angle(Target target) {
  std::mt19937_64 random(1);
  const Rope rope(Spec({.head_dim = 128, .base = 500000.0}));
  reference::Real worst = 0;
  for (int n = 0; n < 2000; ++n) {
    const auto p = static_cast<std::int64_t>(random() >> (31 + random() % 33));
    const Row<T> row = angles<T>(*kernels::table_for(target), rope, p);
    // Of the error, the phase itself may have |p| 2^-62.
    const reference::Real phase = static_cast<reference::Real>(p) * 0x1p-62L;
    for (std::size_t i = 0; i < 64; ++i) {
      const auto exact = reference::turn(rope.frequencies()[i], p);
      worst = std::max({worst, std::abs(row.cos[i] - exact.cos) - phase,
                        std::abs(row.sin[i] - exact.sin) - phase});
    }
  }
  return static_cast<double>(worst);
}

TEST(Kernels, rows_of_float_are_within_one_in_ten_million_at_every_position) {
  for (const Target target : supported_targets()) {
    EXPECT_LE(worst_angle<float>(target), 1e-7) << name(target);
  }
}

TEST(Kernels, rows_of_double_are_within_two_units_of_the_last_place) {
  for (const Target target : supported_targets()) {
    EXPECT_LE(worst_angle<double>(target), 0x1p-52) << name(target);
  }
}

TEST(Kernels, a_row_of_float_uses_the_nearest_upper_half_of_a_phase) {
  // Just below and above half a unit of the upper half: the nearest differs by one unit, 1.5e-9 rad,
  // which sin of a small angle shows.
  std::vector<std::uint64_t> below(kernels::kPadding, (std::uint64_t{1} << 42) + 0x7FFFFFFFu);
  std::vector<std::uint64_t> above(kernels::kPadding, (std::uint64_t{1} << 42) + 0x80000000u);
  constexpr std::size_t kPairs = kernels::kPadding;
  const std::int64_t one = 1;
  for (const Target target : supported_targets()) {
    const auto angles_of = kernels::table_for(target)->angles[0];
    std::vector<float> low(2 * kPairs), high(2 * kPairs);
    angles_of({below.data(), &one, true, nullptr, kPairs, 1, low.data(), 2 * kPairs, kPairs});
    angles_of({above.data(), &one, true, nullptr, kPairs, 1, high.data(), 2 * kPairs, kPairs});
    for (std::size_t i = 0; i < kPairs; ++i) {
      const double unit = 2 * 3.14159265358979 * 0x1p-32;
      EXPECT_NEAR(low[kPairs + i], 1024 * unit, 1e-3 * unit) << name(target);
      EXPECT_NEAR(high[kPairs + i], 1025 * unit, 1e-3 * unit) << name(target);
    }
  }
}

TEST(Kernels, rows_from_phases_are_those_from_turns_and_positions) {
  const Rope rope(Spec({.head_dim = 72}));
  const std::size_t pairs = 36, sines = kernels::padded(pairs);
  const std::int64_t position = -123456;
  std::vector<std::uint64_t> phases(sines);
  for (std::size_t i = 0; i < pairs; ++i) {
    phases[i] = rope.turns()[i] * static_cast<std::uint64_t>(position);
  }
  for (const Target target : supported_targets()) {
    const kernels::Table& table = *kernels::table_for(target);
    std::vector<float> row(2 * sines);
    table.angles[0](
        {nullptr, nullptr, false, phases.data(), pairs, 1, row.data(), 2 * sines, sines});
    const Row<float> want = angles<float>(table, rope, position);
    for (std::size_t i = 0; i < pairs; ++i) {
      EXPECT_EQ(row[i], want.cos[i]);
      EXPECT_EQ(row[sines + i], want.sin[i]);
    }
  }
}

TEST(Kernels, rows_of_consecutive_positions_are_those_of_each_position) {
  const Rope rope(Spec({.head_dim = 72}));
  constexpr std::size_t kPairs = 36, kTokens = 37, kSines = kernels::padded(kPairs);
  // The third crosses the end of what a position can be.
  for (const std::int64_t first :
       {std::int64_t{-20}, std::int64_t{1} << 40, std::numeric_limits<std::int64_t>::max() - 11}) {
    std::vector<std::int64_t> positions(kTokens);
    for (std::size_t t = 0; t < kTokens; ++t) {
      positions[t] = static_cast<std::int64_t>(static_cast<std::uint64_t>(first) + t);
    }
    for (const Target target : supported_targets()) {
      const kernels::Table& table = *kernels::table_for(target);
      const auto compare = [&]<class T>(T) {
        for (const bool is_consecutive : {true, false}) {
          std::vector<T> rows(2 * kSines * kTokens);
          table.angles[sizeof(T) == 8 ? 1 : 0]({rope.turns().data(), positions.data(),
                                                is_consecutive, nullptr, kPairs, kTokens,
                                                rows.data(), 2 * kSines, kSines});
          for (std::size_t t = 0; t < kTokens; ++t) {
            const Row<T> want = angles<T>(table, rope, positions[t]);
            for (std::size_t i = 0; i < kPairs; ++i) {
              ASSERT_EQ(rows[t * 2 * kSines + i], want.cos[i]) << name(target) << t;
              ASSERT_EQ(rows[t * 2 * kSines + kSines + i], want.sin[i]) << name(target) << t;
            }
          }
        }
      };
      compare(float{});
      compare(double{});
    }
  }
}

TEST(Kernels, the_quarter_turns_are_exact) {
  std::vector<std::uint64_t> turns(kernels::kPadding, std::uint64_t{1} << 62);
  const float cos[] = {1, 0, -1, 0}, sin[] = {0, 1, 0, -1};
  for (const Target target : supported_targets()) {
    for (std::int64_t p = -8; p < 8; ++p) {
      constexpr std::size_t kPairs = kernels::kPadding;
      std::vector<float> row(2 * kPairs);
      std::vector<double> wide(2 * kPairs);
      const auto& of = kernels::table_for(target)->angles;
      of[0]({turns.data(), &p, true, nullptr, kPairs, 1, row.data(), 2 * kPairs, kPairs});
      of[1]({turns.data(), &p, true, nullptr, kPairs, 1, wide.data(), 2 * kPairs, kPairs});
      for (std::size_t i = 0; i < kPairs; ++i) {
        EXPECT_EQ(row[i], cos[p & 3]) << name(target) << p;
        EXPECT_EQ(row[kPairs + i], sin[p & 3]) << name(target) << p;
        EXPECT_EQ(wide[i], cos[p & 3]) << name(target) << p;
        EXPECT_EQ(wide[kPairs + i], sin[p & 3]) << name(target) << p;
      }
    }
  }
}

// What a target does with one pair, for given cos and sin: the two products, the first of them
// fused with the difference where the target has the instruction.
template <class T>
struct Turned {
  T a, b;
};
template <class T>
Turned<T> turned(Target target, T a, T b, T c, T s) {
  if (target == Target::kScalar) return {a * c - b * s, b * c + a * s};
  return {std::fma(a, c, -(b * s)), std::fma(b, c, a * s)};
}

template <class T>
void expect_arithmetic(Target target, DType dtype, Pairing pairing, std::int64_t dim) {
  const Rope rope(Spec({.head_dim = dim, .pairing = pairing, .base = 100.0}));
  const Elements x = random_elements(dtype, static_cast<std::size_t>(dim), 5);
  Elements out(x);
  const std::int64_t p = 12345;
  rotate(rope, view(out, {1, 1, 1, dim}), Positions::from(p), {.target = target});
  const Row<T> row = angles<T>(*kernels::table_for(target), rope, p);
  for (std::size_t i = 0; i < row.cos.size(); ++i) {
    const auto [a, b] = reference::pair(pairing == Pairing::kHalves, i, x.size());
    const Turned<T> want =
        turned(target, static_cast<T>(x[a]), static_cast<T>(x[b]), row.cos[i], row.sin[i]);
    ASSERT_EQ(out[a], want.a) << name(target) << " " << dim << " pair " << i;
    ASSERT_EQ(out[b], want.b) << name(target) << " " << dim << " pair " << i;
  }
}

TEST(Kernels, a_forced_target_does_the_arithmetic_of_that_target_in_every_lane) {
  for (const Target target : supported_targets()) {
    for (const Pairing pairing : kPairings) {
      for (std::int64_t dim = 2; dim <= 160; dim += 2) {
        expect_arithmetic<float>(target, DType::kF32, pairing, dim);
        expect_arithmetic<double>(target, DType::kF64, pairing, dim);
      }
    }
  }
}

// All 65536 patterns in the first elements of pairs, whose second elements are zero.
class SixteenBits : public ::testing::TestWithParam<DType> {
 protected:
  static constexpr Dims kShape = {1, 1, 512, 256};  // 512 heads of 128 pairs
  static Elements all_patterns(Pairing pairing) {
    Elements x(GetParam(), std::size_t{65536} * 2);
    x.fill(0);
    for (std::size_t n = 0; n < 65536; ++n) {
      const std::size_t head = n / 128, i = n % 128;
      x.set_bits(head * 256 + reference::pair(pairing == Pairing::kHalves, i, 256).a, n);
    }
    return x;
  }
  static std::uint16_t rounded(double value) {
    return GetParam() == DType::kBf16 ? reference::to_bf16(value) : reference::to_f16(value);
  }
  // Results of bf16 below its normal numbers may be flushed.
  static bool may_be_flushed(double exact) {
    return GetParam() == DType::kBf16 && std::abs(exact) < 0x1p-126;
  }
};

TEST_P(SixteenBits, widen_exactly_and_come_back_for_all_patterns) {
  for (const Pairing pairing : kPairings) {
    const Rope rope(Spec({.head_dim = 256, .pairing = pairing}));
    for (const Target target : supported_targets()) {
      const Elements x = all_patterns(pairing);
      Elements out(x);
      rotate(rope, view(out, kShape), Positions::from(0), {.target = target});
      for (std::size_t e = 0; e < x.size(); ++e) {
        if (std::isnan(x[e])) {
          ASSERT_TRUE(std::isnan(out[e])) << name(target);
          continue;
        }
        if (x[e] == 0 || (may_be_flushed(x[e]) && out[e] == 0)) continue;  // -0 may become +0
        ASSERT_EQ(out.bits(e), x.bits(e)) << name(target);
      }
    }
  }
}

TEST_P(SixteenBits, round_to_nearest_even_at_ties_and_beside_them) {
  for (const Pairing pairing : kPairings) {
    // x m is exact in float: 11 bits times at most 13. 1 + 2^-8 and 1 + 2^-11 make ties in plenty.
    for (const double m : {1 + 0x1p-8, 1 - 0x1p-8, 1 + 0x1p-9, 1 + 0x1p-11, 1 - 0x1p-11,
                           1 + 0x1p-8 + 0x1p-12, 1 + 0x1p-8 - 0x1p-12, 1.5, 0x1.fep0}) {
      const Rope rope(Spec({.head_dim = 256, .pairing = pairing, .attention_factor = m}));
      const Elements x = all_patterns(pairing);
      std::vector<std::uint16_t> want(x.size());
      for (std::size_t e = 0; e < x.size(); ++e) {
        if (std::isfinite(x[e]) && x[e] != 0) want[e] = rounded(x[e] * m);
      }
      for (const Target target : supported_targets()) {
        Elements out(x);
        rotate(rope, view(out, kShape), Positions::from(0), {.target = target});
        for (std::size_t e = 0; e < x.size(); ++e) {
          if (!std::isfinite(x[e]) || x[e] == 0) continue;
          if (may_be_flushed(x[e] * m) && out[e] == 0) continue;
          ASSERT_EQ(out.bits(e), want[e]) << name(target) << " " << x[e] << " x " << m;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, SixteenBits, ::testing::Values(DType::kBf16, DType::kF16),
                         [](const auto& test) { return std::string(name(test.param)); });

// Of the ways to walk over dense heads, and of the stores past the caches.
TEST(Kernels, every_way_to_walk_gives_the_same_bits) {
  constexpr std::size_t kTokens = 3, kHeads = 9;
  constexpr std::int64_t kDim = 192;
  constexpr std::size_t kPairs = 64 + 16 + 3, kSines = kernels::padded(kPairs);
  const Rope rope(Spec({.head_dim = kDim, .rotary_dim = 2 * kPairs}));
  for (const Target target : supported_targets()) {
    const kernels::Table& table = *kernels::table_for(target);
    for (const DType dtype : {DType::kF32, DType::kBf16, DType::kF16, DType::kF64}) {
      for (const bool adjacent : {false, true}) {
        const std::size_t size = size_of(dtype);
        std::vector<double> rows(2 * kSines * kTokens);
        const std::int64_t positions[kTokens] = {100, 7, 5};
        table.angles[dtype == DType::kF64 ? 1 : 0]({rope.turns().data(), positions, false, nullptr,
                                                    kPairs, kTokens, rows.data(), 2 * kSines,
                                                    kSines});
        const Elements x = random_elements(dtype, kTokens * kHeads * kDim, 7);
        std::vector<double> scaled(2 * kSines);
        // The partner of halves is as many bytes away as streaming wants.
        const kernels::Pairs pairs{0, adjacent ? std::size_t{1} : 96, adjacent};
        const auto turned = [&](bool fits_cache, bool may_stream, bool heads_outer, double scale) {
          // Streaming stores want whole lines.
          std::vector<std::byte> memory(kTokens * kHeads * kDim * size + kernels::kStreamAlignment);
          void* at = memory.data();
          std::size_t space = memory.size();
          std::align(kernels::kStreamAlignment, space - kernels::kStreamAlignment, at, space);
          const auto head = static_cast<std::ptrdiff_t>(kDim * size);
          const auto token = static_cast<std::ptrdiff_t>(kHeads) * head;
          const auto element = static_cast<std::ptrdiff_t>(size);
          table.turn[static_cast<std::size_t>(dtype)](
              {.rows = rows.data(),
               .row_stride = 2 * kSines,
               .sines = kSines,
               .cos_scale = scale,
               .sin_scale = scale,
               .token_scales = nullptr,
               .divides_by_token_scales = false,
               .scaled = scaled.data(),
               .pairs = kPairs,
               .tokens = kTokens,
               .heads = kHeads,
               .in = {x.data(), token, head, element, pairs},
               .out = {at, token, head, element, pairs},
               .heads_outer = heads_outer,
               .fits_cache = fits_cache,
               .may_stream = may_stream,
               .copies = {},
               .copies_count = 0});
          const auto* first = static_cast<const std::byte*>(at);
          return std::vector<std::byte>(first, first + kTokens * kHeads * kDim * size);
        };
        for (const double scale : {1.0, 1.25}) {
          const auto want = turned(true, false, false, scale);
          for (const bool may_stream : {false, true}) {
            for (const bool heads_outer : {false, true}) {
              EXPECT_EQ(turned(false, may_stream, heads_outer, scale), want)
                  << name(target) << name(dtype) << adjacent << may_stream << heads_outer << scale;
            }
          }
        }
      }
    }
  }
}

TEST(Kernels, an_infinity_or_a_nan_gives_what_the_formula_gives) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  for (const DType dtype : kAllDTypes) {
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
            const auto row = angles<float>(*kernels::table_for(target), rope, 1);
            for (std::size_t i = 0; i < x.size() / 2; ++i) {
              const auto [a, b] = reference::pair(pairing == Pairing::kHalves, i, x.size());
              const auto want = turned(target, a_value, b_value, row.cos[i], row.sin[i]);
              EXPECT_TRUE(std::isnan(want.a) ? std::isnan(x[a]) : x[a] == want.a);
              EXPECT_TRUE(std::isnan(want.b) ? std::isnan(x[b]) : x[b] == want.b);
            }
          }
        }
      }
    }
  }
}

TEST(Kernels, a_product_that_overflows_is_an_infinity) {
  const Rope rope(Spec({.head_dim = 2, .attention_factor = 4.0}));
  for (const Target target : supported_targets()) {
    for (const DType dtype : kAllDTypes) {
      Elements x(dtype, 2);
      x.set(0, dtype == DType::kF64 ? 0x1p1023 : dtype == DType::kF16 ? 0x1p15 : 0x1.fcp127);
      x.set(1, 0);
      rotate(rope, view(x, {1, 1, 1, 2}), Positions::from(0), {.target = target});
      EXPECT_TRUE(std::isinf(x[0])) << name(target) << name(dtype);
    }
  }
}

}  // namespace
}  // namespace ropewalk::testing
