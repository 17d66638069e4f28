// The result is a pure function of (elements of the head, position, plan) on one target: every way
// to the same tokens gives the same bits.

#include <gtest/gtest.h>

#include <thread>

#include "elements.hpp"

namespace ropewalk::testing {
namespace {

constexpr std::int64_t kBatch = 2, kTokens = 70, kHeads = 3, kStart = 1000;

struct Case {
  DType dtype;
  Pairing pairing;
};

// One rope, tensor and target; `want` is each head rotated alone: the plainest way.
class Purity : public ::testing::TestWithParam<Case> {
 protected:
  void walk(std::int64_t head_dim, std::int64_t rotary_dim, double m) {
    const Rope rope(Spec({.head_dim = head_dim,
                          .rotary_dim = rotary_dim,
                          .pairing = GetParam().pairing,
                          .attention_factor = m}));
    for (const Target target : supported_targets()) {
      SCOPED_TRACE(std::string(name(target)) + ", rotary_dim " + std::to_string(rotary_dim));
      rope_ = &rope;
      options_ = {.target = target};
      dim_ = head_dim;
      shape_ = {kBatch, kTokens, kHeads, dim_};
      x_ = std::make_unique<Elements>(random_elements(GetParam().dtype, count_of(shape_), 1));
      want_ = std::make_unique<Elements>(each_head_alone());
      in_place_and_out_of_place();
      splits_of_tokens_and_batch();
      threads();
      strides();
      with_another_tensor();
      starts_and_ids();
      tail_and_main_loop();
    }
  }

 private:
  [[nodiscard]] std::size_t offset(std::int64_t b, std::int64_t t, std::int64_t h) const {
    return static_cast<std::size_t>(((b * kTokens + t) * kHeads + h) * dim_);
  }
  [[nodiscard]] TensorView head(Elements& x, std::int64_t b, std::int64_t t, std::int64_t h,
                                Dims shape) const {
    TensorView result = view(x, shape_);
    result.data = static_cast<std::byte*>(result.data) + offset(b, t, h) * size_of(result.dtype);
    result.shape = shape;
    return result;
  }

  Elements each_head_alone() {
    Elements result(*x_);
    for (std::int64_t b = 0; b < kBatch; ++b) {
      for (std::int64_t t = 0; t < kTokens; ++t) {
        for (std::int64_t h = 0; h < kHeads; ++h) {
          rotate(*rope_, head(result, b, t, h, {1, 1, 1, dim_}), Positions::from(kStart + t),
                 options_);
        }
      }
    }
    return result;
  }

  void in_place_and_out_of_place() {
    Elements in_place(*x_);
    rotate(*rope_, view(in_place, shape_), Positions::from(kStart), options_);
    EXPECT_TRUE(in_place == *want_) << "in place";
    Elements out(*x_);
    out.fill(0);
    rotate(*rope_, view(std::as_const(*x_), shape_), Positions::from(kStart), view(out, shape_),
           options_);
    EXPECT_TRUE(out == *want_) << "out of place";
  }

  void splits_of_tokens_and_batch() {
    for (const std::int64_t step : {1, 7, 16, 33, 69}) {
      Elements split(*x_);
      for (std::int64_t b = 0; b < kBatch; ++b) {
        for (std::int64_t t = 0; t < kTokens; t += step) {
          const std::int64_t count = std::min(step, kTokens - t);
          rotate(*rope_, head(split, b, t, 0, {1, count, kHeads, dim_}),
                 Positions::from(kStart + t), options_);
        }
      }
      EXPECT_TRUE(split == *want_) << "tokens by " << step;
    }
  }

  void threads() {
    for (int run = 0; run < 10; ++run) {
      const int count = 1 + run % 8;
      Elements sliced(*x_);
      std::vector<std::thread> pool;
      for (int n = 0; n < count; ++n) {
        pool.emplace_back([&, n] {
          const std::int64_t first = kTokens * n / count, last = kTokens * (n + 1) / count;
          rotate(*rope_, head(sliced, 0, first, 0, {kBatch, last - first, kHeads, dim_}),
                 Positions::from(kStart + first), options_);
        });
      }
      for (std::thread& thread : pool) thread.join();
      EXPECT_TRUE(sliced == *want_) << count << " threads";
    }
  }

  // Heads outside tokens; rows with gaps, at odd offsets; tokens backwards.
  void strides() {
    const std::int64_t gap = dim_ + 3;
    const Dims layouts[] = {{kHeads * kTokens * dim_, dim_, kTokens * dim_, 1},
                            {kTokens * kHeads * gap, kHeads * gap, gap, 1},
                            {kHeads * kTokens * gap, gap, kTokens * gap, 1},
                            {kTokens * kHeads * gap, -kHeads * gap, gap, 1}};
    for (const Dims& layout : layouts) {
      const auto size = static_cast<std::size_t>(kBatch * kTokens * kHeads * gap + 1);
      Elements memory = random_elements(x_->dtype(), size, 9);
      const Elements before(memory);
      const std::int64_t origin = 1 + (layout[1] < 0 ? -layout[1] * (kTokens - 1) : 0);
      const auto place = [&](std::int64_t b, std::int64_t t, std::int64_t h, std::int64_t e) {
        return static_cast<std::size_t>(origin + b * layout[0] + t * layout[1] + h * layout[2] + e);
      };
      const auto for_each = [&](auto see) {
        for (std::int64_t b = 0; b < kBatch; ++b) {
          for (std::int64_t t = 0; t < kTokens; ++t) {
            for (std::int64_t h = 0; h < kHeads; ++h) {
              for (std::int64_t e = 0; e < dim_; ++e) {
                see(place(b, t, h, e), offset(b, t, h) + static_cast<std::size_t>(e));
              }
            }
          }
        }
      };
      std::vector<bool> ours(size, false);
      for_each([&](std::size_t there, std::size_t here) {
        memory.set_bits(there, x_->bits(here));
        ours[there] = true;
      });
      auto* data = static_cast<std::byte*>(memory.data()) +
                   static_cast<std::size_t>(origin) * size_of(memory.dtype());
      rotate(*rope_, TensorView{data, memory.dtype(), shape_, layout}, Positions::from(kStart),
             options_);
      bool same = true, neighbours_untouched = true;
      for_each([&](std::size_t there, std::size_t here) {
        same = same && memory.bits(there) == want_->bits(here);
      });
      for (std::size_t e = 0; e < size; ++e) {
        neighbours_untouched =
            neighbours_untouched && (ours[e] || memory.bits(e) == before.bits(e));
      }
      EXPECT_TRUE(same) << "strides";
      EXPECT_TRUE(neighbours_untouched);
    }
  }

  // q and k as views into one fused row [q heads | k head | v head], k with one head.
  void with_another_tensor() {
    const std::int64_t row = (kHeads + 2) * dim_;
    Elements fused =
        random_elements(x_->dtype(), static_cast<std::size_t>(kBatch * kTokens * row), 10);
    const Elements before(fused);
    const auto at = [&](std::int64_t b, std::int64_t t, std::int64_t h) {
      return static_cast<std::size_t>((b * kTokens + t) * row + h * dim_);
    };
    const auto for_each_row = [&](auto see) {
      for (std::int64_t b = 0; b < kBatch; ++b) {
        for (std::int64_t t = 0; t < kTokens; ++t) see(b, t);
      }
    };
    const auto dim = static_cast<std::size_t>(dim_);
    for_each_row([&](std::int64_t b, std::int64_t t) {
      for (std::size_t e = 0; e < kHeads * dim; ++e) {
        fused.set_bits(at(b, t, 0) + e, x_->bits(offset(b, t, 0) + e));
      }
      for (std::size_t e = 0; e < dim; ++e) {  // k is a copy of the second head of q
        fused.set_bits(at(b, t, kHeads) + e, x_->bits(offset(b, t, 1) + e));
      }
    });
    const Dims steps = {kTokens * row, row, dim_, 1};
    auto* data = static_cast<std::byte*>(fused.data());
    const TensorView q{data, fused.dtype(), shape_, steps};
    const TensorView k{data + at(0, 0, kHeads) * size_of(fused.dtype()),
                       fused.dtype(),
                       {kBatch, kTokens, 1, dim_},
                       steps};
    rotate(*rope_, q, k, Positions::from(kStart), options_);
    bool q_same = true, k_same = true, v_untouched = true;
    for_each_row([&](std::int64_t b, std::int64_t t) {
      for (std::size_t e = 0; e < kHeads * dim; ++e) {
        q_same = q_same && fused.bits(at(b, t, 0) + e) == want_->bits(offset(b, t, 0) + e);
      }
      for (std::size_t e = 0; e < dim; ++e) {
        const std::size_t in_k = at(b, t, kHeads) + e, in_v = at(b, t, kHeads + 1) + e;
        k_same = k_same && fused.bits(in_k) == want_->bits(offset(b, t, 1) + e);
        v_untouched = v_untouched && fused.bits(in_v) == before.bits(in_v);
      }
    });
    EXPECT_TRUE(q_same && k_same && v_untouched) << "fused";
  }

  void starts_and_ids() {
    std::vector<std::int32_t> small;
    std::vector<std::int64_t> large;
    for (std::int64_t n = 0; n < kBatch * kTokens; ++n) {
      large.push_back(kStart + n % kTokens);
      small.push_back(static_cast<std::int32_t>(large.back()));
    }
    const Positions forms[] = {Positions::ids(std::span(small).first(kTokens)),
                               Positions::ids(std::span(large).first(kTokens)),
                               Positions::ids(small.data(), 1, kTokens),
                               Positions::ids(large.data(), kBatch, kTokens)};
    for (const Positions& positions : forms) {
      Elements x(*x_);
      rotate(*rope_, view(x, shape_), positions, options_);
      EXPECT_TRUE(x == *want_) << "ids";
    }
  }

  // Pair i of this rope alone, in a head of its own with that one frequency: a single lane.
  void tail_and_main_loop() {
    const std::span<const double> omega = rope_->frequencies();
    const std::size_t rotary = 2 * omega.size();
    for (std::size_t i = 0; i < omega.size(); ++i) {
      const Rope one(Spec({.head_dim = 2,
                           .pairing = GetParam().pairing,
                           .frequencies = {{omega[i]}},
                           .attention_factor = rope_->attention_factor()}));
      const auto [a, b] = reference::pair(GetParam().pairing == Pairing::kHalves, i, rotary);
      Elements pair(x_->dtype(), 2);
      const std::size_t at = offset(1, 5, 2);
      pair.set_bits(0, x_->bits(at + a));
      pair.set_bits(1, x_->bits(at + b));
      rotate(one, view(pair, {1, 1, 1, 2}), Positions::from(kStart + 5), options_);
      EXPECT_EQ(pair.bits(0), want_->bits(at + a)) << "pair " << i << " alone";
      EXPECT_EQ(pair.bits(1), want_->bits(at + b)) << "pair " << i << " alone";
    }
  }

  const Rope* rope_ = nullptr;
  Options options_;
  std::int64_t dim_ = 0;
  Dims shape_{};
  std::unique_ptr<Elements> x_, want_;
};

TEST_P(Purity, every_way_to_the_same_tokens_gives_the_same_bits) {
  walk(128, 128, 1.0);
  walk(80, 32, 1.0);
  walk(64, 64, 1.25);
  walk(50, 38, 1.0);      // tails everywhere
  walk(1040, 1034, 1.1);  // several blocks of pairs
}

TEST_P(Purity, the_pairings_agree_up_to_the_permutation) {
  for (const std::int64_t dim : {2, 6, 16, 38, 96, 128, 1034}) {
    const auto size = static_cast<std::size_t>(dim);
    const Rope halves(Spec({.head_dim = dim, .pairing = Pairing::kHalves}));
    const Rope adjacent(Spec({.head_dim = dim, .pairing = Pairing::kAdjacent}));
    for (const Target target : supported_targets()) {
      Elements x = random_elements(GetParam().dtype, size, 4), permuted(x);
      for (std::size_t i = 0; i < size / 2; ++i) {
        permuted.set_bits(2 * i, x.bits(i));
        permuted.set_bits(2 * i + 1, x.bits(i + size / 2));
      }
      rotate(halves, view(x, {1, 1, 1, dim}), Positions::from(77), {.target = target});
      rotate(adjacent, view(permuted, {1, 1, 1, dim}), Positions::from(77), {.target = target});
      for (std::size_t i = 0; i < size / 2; ++i) {
        EXPECT_EQ(permuted.bits(2 * i), x.bits(i));
        EXPECT_EQ(permuted.bits(2 * i + 1), x.bits(i + size / 2));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    DTypesAndPairings, Purity,
    ::testing::Values(Case{DType::kF32, Pairing::kHalves}, Case{DType::kF32, Pairing::kAdjacent},
                      Case{DType::kBf16, Pairing::kHalves}, Case{DType::kBf16, Pairing::kAdjacent}),
    [](const auto& test) {
      return std::string(name(test.param.dtype)) + "_" + std::string(name(test.param.pairing));
    });

}  // namespace
}  // namespace ropewalk::testing
