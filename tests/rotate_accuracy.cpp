// The accuracy promise: every element of every result, against the formula in long double.

#include <gtest/gtest.h>

#include <algorithm>

#include "elements.hpp"

namespace ropewalk::testing {
namespace {

using Ids = std::vector<std::int64_t>;

// 0, 1, 2^k - 1, 2^k, 2^k + 1 up to 2^32, some round ones, random ones, and the negatives of all.
Ids positions_to_try(std::uint64_t seed) {
  Ids positions = {0, 1, 100000, 131071, 1048575, 10000000};
  for (int k = 1; k <= 32; ++k) {
    for (const int more : {-1, 0, 1}) {
      const std::int64_t position = (std::int64_t{1} << k) + more;
      if (position <= std::int64_t{1} << 32) positions.push_back(position);
    }
  }
  std::mt19937_64 random(seed);
  for (int k = 1; k <= 32; ++k) {
    positions.push_back(static_cast<std::int64_t>(random() >> (64 - k)));
  }
  const std::size_t count = positions.size();
  for (std::size_t i = 0; i < count; ++i) positions.push_back(-positions[i]);
  return positions;
}

// What a call is expected to do to each token: the matrix of each pair, and the scale s and the
// distance |p| of the promise.
struct Expected {
  reference::Real scale;
  std::size_t pairs;
  std::vector<reference::Turn> turns = {};  // [tokens, pairs]
  std::vector<reference::Real> distance = {};
};

// Forwards by 1 or back by -1, at whole positions + fractions.
Expected expected(const Rope& rope, std::span<const std::int64_t> positions, int direction,
                  reference::Real scale) {
  Expected result{.scale = scale, .pairs = rope.frequencies().size()};
  for (const std::int64_t p : positions) {
    for (const double omega : rope.frequencies()) {
      reference::Turn turn = reference::turn(omega, p);
      turn.sin *= direction * (rope.spec().clockwise() ? -1 : 1);
      result.turns.push_back(turn);
    }
    result.distance.push_back(std::abs(static_cast<reference::Real>(p)));
  }
  return result;
}

// The largest share of the allowed error over all elements of one head per token. Elements outside
// the window must be the input's.
double worst_share(const Expected& want, const Spec& from, Pairing read, Pairing written,
                   const Elements& x, const Elements& out) {
  const auto dim = static_cast<std::size_t>(from.head_dim());
  const auto part = static_cast<std::size_t>(from.rotary_dim() / from.window_parts());
  const auto window = static_cast<std::size_t>(from.rotary_offset());
  const reference::Type type = type_of(x.dtype());
  double worst = 0;
  const auto see = [&](std::size_t t, reference::Real exact, reference::Real h, double given) {
    // Results of bf16 below its normal numbers may be flushed.
    if (x.dtype() == DType::kBf16 && given == 0 && std::abs(exact) < 0x1p-126L) return;
    const auto allowed = reference::allowed_error(h, want.distance[t], exact, given, type);
    worst = std::max(worst, static_cast<double>(std::abs(given - exact) / allowed));
  };
  std::vector<bool> turned(dim);
  for (std::size_t t = 0; t < want.distance.size(); ++t) {
    for (std::size_t n = 0; n < want.pairs; ++n) {
      const std::size_t start = t * dim + window + n / (part / 2) * part, i = n % (part / 2);
      const auto in = reference::pair(read == Pairing::kHalves, i, part);
      const auto to = reference::pair(written == Pairing::kHalves, i, part);
      const reference::Real a = x[start + in.a], b = x[start + in.b];
      const reference::Turn& turn = want.turns[t * want.pairs + n];
      const reference::Real h = std::hypot(a, b) * want.scale;
      see(t, want.scale * (a * turn.cos - b * turn.sin), h, out[start + to.a]);
      see(t, want.scale * (a * turn.sin + b * turn.cos), h, out[start + to.b]);
      turned[start - t * dim + to.a] = turned[start - t * dim + to.b] = true;
    }
    for (std::size_t e = 0; e < dim; ++e) {
      if (turned[e]) continue;
      EXPECT_EQ(out.bits(t * dim + e), x.bits(t * dim + e)) << "outside the window";
    }
  }
  return worst;
}

// Values that the type can hold without becoming infinite or zero.
Elements values(DType dtype, std::size_t count, std::uint64_t seed, double spread) {
  return random_elements(dtype, count, seed,
                         dtype == DType::kF16 ? std::min(spread, 10.0) : spread);
}

Dims one_head_each(const Rope& rope, std::size_t tokens) {
  return {1, static_cast<std::int64_t>(tokens), 1, rope.spec().head_dim()};
}

// rotate of every dtype on every target.
void expect_promise(const Rope& rope, std::span<const std::int64_t> positions, double spread,
                    std::uint64_t seed, std::span<const DType> dtypes = kAllDTypes) {
  const Expected want = expected(rope, positions, 1, rope.attention_factor());
  const Dims shape = one_head_each(rope, positions.size());
  for (const DType dtype : dtypes) {
    const Elements x = values(dtype, count_of(shape), seed, spread);
    for (const Target target : supported_targets()) {
      Elements out(x);
      rotate(rope, view(out, shape), Positions::ids(positions), {.target = target});
      EXPECT_LE(worst_share(want, rope.spec(), rope.spec().pairing(), rope.spec().output_pairing(),
                            x, out),
                1.0)
          << name(target) << " " << name(dtype) << " " << name(rope.spec().pairing())
          << ", rotary_dim " << rope.spec().rotary_dim() << ", m " << rope.attention_factor();
    }
  }
}

// In four shares, so that they can run side by side.
class EveryRotaryDim : public ::testing::TestWithParam<int> {};

TEST_P(EveryRotaryDim, keeps_the_promise_at_every_power_of_two) {
  for (std::int64_t rotary_dim = 2 + 2 * GetParam(); rotary_dim <= 256; rotary_dim += 8) {
    for (const Pairing pairing : kPairings) {
      const Rope rope(Spec({.head_dim = rotary_dim + rotary_dim % 3,
                            .rotary_dim = rotary_dim,
                            .pairing = pairing,
                            .base = rotary_dim % 4 == 0 ? 500000.0 : 10000.0}));
      const auto seed = static_cast<std::uint64_t>(rotary_dim);
      expect_promise(rope, positions_to_try(seed), 3, seed);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Accuracy, EveryRotaryDim, ::testing::Range(0, 4));

TEST(Accuracy, holds_with_an_attention_factor) {
  for (const Pairing pairing : kPairings) {
    for (const double m : {0.1, 1.2772588722239781, 3.7}) {
      expect_promise(
          Rope(
              Spec({.head_dim = 100, .rotary_dim = 96, .pairing = pairing, .attention_factor = m})),
          positions_to_try(7), 3, 11);
    }
    for (const double m : {0x1p-60, 0x1.8p60}) {
      constexpr DType kWide[] = {DType::kF32, DType::kBf16, DType::kF64};
      expect_promise(Rope(Spec({.head_dim = 96, .pairing = pairing, .attention_factor = m})),
                     positions_to_try(7), 3, 11, kWide);
    }
  }
}

TEST(Accuracy, holds_where_a_pair_is_tiny_or_huge_or_lopsided) {
  const Ids positions = positions_to_try(8);
  for (const Pairing pairing : kPairings) {
    const Rope rope(Spec({.head_dim = 64, .pairing = pairing}));
    expect_promise(rope, positions, 60, 12);
    const Expected want = expected(rope, positions, 1, 1);
    const Dims shape = one_head_each(rope, positions.size());
    const auto at_scale = [&](DType dtype, double scale) {
      Elements x = random_elements(dtype, count_of(shape), 13, 0.5);
      for (std::size_t i = 0; i < x.size(); ++i) x.set(i, x[i] * scale);
      for (const Target target : supported_targets()) {
        Elements out(x);
        rotate(rope, view(out, shape), Positions::ids(positions), {.target = target});
        EXPECT_LE(worst_share(want, rope.spec(), pairing, pairing, x, out), 1.0)
            << name(target) << " " << name(dtype) << " " << scale;
      }
    };
    for (const double scale : {0x1p-149, 0x1p-130, 0x1p-126, 0x1p-124, 0x1p126}) {
      at_scale(DType::kF32, scale);
      at_scale(DType::kBf16, scale);
    }
    for (const double scale : {0x1p-24, 0x1p-16, 0x1p-14, 0x1p14}) at_scale(DType::kF16, scale);
    for (const double scale : {0x1p-1074, 0x1p-1022, 0x1p-970, 0x1p1022}) {
      at_scale(DType::kF64, scale);
    }
  }
}

TEST(Accuracy, holds_for_explicit_frequencies_of_any_size_and_sign) {
  std::mt19937_64 random(3);
  std::vector<double> omega = {0, 1, -1, 6.283185307179586, 1e6, -4294967295.5, 1e-9, 1e-300};
  while (omega.size() < 40) {
    omega.push_back(std::ldexp(std::uniform_real_distribution<double>(-1, 1)(random),
                               static_cast<int>(random() % 64) - 32));
  }
  for (const Pairing pairing : kPairings) {
    for (const bool clockwise : {false, true}) {
      expect_promise(
          Rope(Spec(
              {.head_dim = 80, .pairing = pairing, .clockwise = clockwise, .frequencies = omega})),
          positions_to_try(10), 3, 14);
    }
  }
}

TEST(Accuracy, holds_for_heads_longer_than_one_row_of_angles) {
  const Ids positions = {0, 1, -7, 4096, 1 << 30};
  for (const Pairing pairing : kPairings) {
    expect_promise(Rope(Spec({.head_dim = 4200, .rotary_dim = 4194, .pairing = pairing})),
                   positions, 3, 15);
  }
}

TEST(Accuracy, beyond_2_to_the_32_the_bound_grows_with_the_position_and_holds) {
  const Ids positions = {(std::int64_t{1} << 33) - 1, -(std::int64_t{1} << 33)};
  for (const Pairing pairing : kPairings) {
    expect_promise(Rope(Spec({.head_dim = 64, .pairing = pairing})), positions, 3, 16);
  }
}

// Windows that begin anywhere, in parts, read as one pairing and written as another.
std::vector<Spec> windows() {
  std::vector<Spec> specs;
  for (const Pairing in : kPairings) {
    for (const Pairing out : kPairings) {
      for (const std::int64_t parts : {1, 2, 3}) {
        for (const std::int64_t rotary_dim : {12, 36, 48, 96}) {
          for (const std::int64_t offset : {0, 1, 5}) {
            specs.emplace_back(SpecFields{.head_dim = rotary_dim + offset + (offset == 5 ? 3 : 0),
                                          .rotary_dim = rotary_dim,
                                          .rotary_offset = offset,
                                          .pairing = in,
                                          .output_pairing = out,
                                          .window_parts = parts,
                                          .base = 1000.0,
                                          .attention_factor = 1.25});
          }
        }
      }
    }
  }
  return specs;
}

TEST(Accuracy, holds_for_every_window_and_operation) {
  const Ids positions = {0, 1, -3, 77, 4095, 1000000, -123456789};
  for (const Spec& spec : windows()) {
    const Rope rope(spec);
    const Dims shape = one_head_each(rope, positions.size());
    const auto at = Positions::ids(positions);
    const reference::Real m = rope.attention_factor();
    for (const DType dtype : kAllDTypes) {
      const Elements x = values(dtype, count_of(shape), 3, 3);
      for (const Target target : supported_targets()) {
        const Options options{.target = target};
        const auto share = [&](int direction, reference::Real scale, bool forward, auto call) {
          Elements out(x);
          call(out);
          const Pairing in = forward ? spec.pairing() : spec.output_pairing();
          const Pairing to = forward ? spec.output_pairing() : spec.pairing();
          return worst_share(expected(rope, positions, direction, scale), spec, in, to, x, out);
        };
        EXPECT_LE(
            share(1, m, true, [&](Elements& y) { rotate(rope, view(y, shape), at, options); }),
            1.0);
        EXPECT_LE(share(-1, 1 / m, false,
                        [&](Elements& y) { unrotate(rope, view(y, shape), at, options); }),
                  1.0);
        EXPECT_LE(
            share(-1, m, false, [&](Elements& y) { backward(rope, view(y, shape), at, options); }),
            1.0);
        // The same out of place, into memory that holds something else.
        Elements in_place(x), out(x);
        out.fill(7);
        rotate(rope, view(in_place, shape), at, options);
        rotate(rope, ConstTensorView(view(x, shape)), at, view(out, shape), options);
        EXPECT_TRUE(in_place == out);
      }
    }
  }
}

TEST(Accuracy, rerotate_is_the_difference_of_two_angles) {
  const Ids from = {0, 1, 70000, -5, 1 << 30, 12345}, to = {0, 0, 69999, 1000000, 7, -12345};
  for (const Pairing read : kPairings) {
    for (const Pairing written : kPairings) {
      for (const double new_m : {1.5, 0.75}) {
        const Rope old_rope(Spec({.head_dim = 70,
                                  .rotary_dim = 64,
                                  .rotary_offset = 3,
                                  .pairing = read,
                                  .attention_factor = 1.5}));
        const Rope new_rope(Spec({.head_dim = 70,
                                  .rotary_dim = 64,
                                  .rotary_offset = 3,
                                  .pairing = written,
                                  .base = 500000.0,
                                  .attention_factor = new_m}));
        Expected want{.scale = static_cast<reference::Real>(new_m) / 1.5L, .pairs = 32};
        for (std::size_t t = 0; t < from.size(); ++t) {
          for (std::size_t i = 0; i < 32; ++i) {
            const auto there = reference::turn(new_rope.frequencies()[i], to[t]);
            const auto here = reference::turn(old_rope.frequencies()[i], from[t]);
            want.turns.push_back({there.cos * here.cos + there.sin * here.sin,
                                  there.sin * here.cos - there.cos * here.sin});
          }
          want.distance.push_back(std::abs(static_cast<reference::Real>(from[t])) +
                                  std::abs(static_cast<reference::Real>(to[t])));
        }
        const Dims shape = one_head_each(old_rope, from.size());
        for (const DType dtype : kAllDTypes) {
          const Elements x = values(dtype, count_of(shape), 4, 3);
          for (const Target target : supported_targets()) {
            Elements out(x);
            rerotate(old_rope, new_rope, view(out, shape), Positions::ids(from), Positions::ids(to),
                     {.target = target});
            EXPECT_LE(worst_share(want, old_rope.spec(), read, written, x, out), 1.0)
                << name(target) << " " << name(dtype);
          }
        }
      }
    }
  }
}

// whole + fraction, exactly; the angle of the fraction by the addition formulas.
reference::Turn turn_at(double omega, double position) {
  const double whole = std::rint(position);
  const auto at_whole = reference::turn(omega, static_cast<std::int64_t>(whole));
  const double fraction = position - whole;  // exact, |fraction| <= 1/2: 53 bits and 24 of float(ω)
  const float high = static_cast<float>(omega);
  const auto f = static_cast<reference::Real>(fraction);
  // The product of 53 and 24 bits is rounded to 64: 2^-64 of an angle below 2^32 / 2, so the
  // frequencies tried here stay below 100.
  const reference::Real angle =
      f * static_cast<reference::Real>(high) + f * (static_cast<reference::Real>(omega) - high);
  return {at_whole.cos * std::cos(angle) - at_whole.sin * std::sin(angle),
          at_whole.sin * std::cos(angle) + at_whole.cos * std::sin(angle)};
}

TEST(Accuracy, holds_for_real_positions) {
  std::mt19937_64 random(6);
  std::vector<double> positions = {0, 0.5, -0.5, 1.5, 2.5, 0.1, 1e-30, -7.25, 4095.999, 1e6 + 0.3};
  for (int k = 0; k < 31; ++k) {
    positions.push_back(std::ldexp(std::uniform_real_distribution<double>(-1, 1)(random), k));
  }
  std::vector<float> narrow(positions.begin(), positions.end());
  for (const Pairing pairing : kPairings) {
    const std::vector<double> omega = {6.283185307179586, 1, 0.1, 50, -3.7, 1e-5, 0};
    const Rope rope(Spec({.head_dim = 14, .pairing = pairing, .frequencies = omega}));
    const Dims shape = one_head_each(rope, positions.size());
    for (const bool is_narrow : {false, true}) {
      Expected want{.scale = 1, .pairs = omega.size()};
      for (std::size_t t = 0; t < positions.size(); ++t) {
        const double p = is_narrow ? narrow[t] : positions[t];
        for (const double each : omega) want.turns.push_back(turn_at(each, p));
        want.distance.push_back(std::abs(static_cast<reference::Real>(p)));
      }
      const Positions at = is_narrow ? Positions::ids(std::span<const float>(narrow))
                                     : Positions::ids(std::span<const double>(positions));
      for (const DType dtype : kAllDTypes) {
        const Elements x = values(dtype, count_of(shape), 5, 3);
        for (const Target target : supported_targets()) {
          Elements out(x);
          rotate(rope, view(out, shape), at, {.target = target});
          EXPECT_LE(worst_share(want, rope.spec(), pairing, pairing, x, out), 1.0)
              << name(target) << " " << name(dtype);
        }
      }
    }
  }
}

}  // namespace
}  // namespace ropewalk::testing
