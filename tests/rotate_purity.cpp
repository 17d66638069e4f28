// The result is a pure function of (elements of the head, position, plan) on one target: every way
// to the same tokens gives the same bits.

#include <gtest/gtest.h>

#include <thread>

#include "elements.hpp"

namespace ropewalk::testing {
namespace {

constexpr std::int64_t kBatch = 2, kTokens = 70, kHeads = 3, kStart = 1000;

enum class Operation { kRotate, kUnrotate, kBackward, kRerotate };

// The calls of one operation, under one name. For rerotate, token t comes from 3 t.
struct Calls {
  Operation operation;
  const Rope* rope;
  const Rope* old_rope;
  Options options;

  void in_place(const TensorView& x, const Positions& at, std::int64_t first = 0) const {
    switch (operation) {
      case Operation::kRotate: return rotate(*rope, x, at, options);
      case Operation::kUnrotate: return unrotate(*rope, x, at, options);
      case Operation::kBackward: return backward(*rope, x, at, options);
      case Operation::kRerotate: {
        const auto ids = old_ids(first, x.shape[1]);
        return rerotate(*old_rope, *rope, x, Positions::ids(ids), at, options);
      }
    }
  }
  void to(const ConstTensorView& x, const Positions& at, const TensorView& out) const {
    switch (operation) {
      case Operation::kRotate: return rotate(*rope, x, at, out, options);
      case Operation::kUnrotate: return unrotate(*rope, x, at, out, options);
      case Operation::kBackward: return backward(*rope, x, at, out, options);
      case Operation::kRerotate: {
        const auto ids = old_ids(0, x.shape[1]);
        return rerotate(*old_rope, *rope, x, Positions::ids(ids), at, out, options);
      }
    }
  }
  void pair(const TensorView& q, const TensorView& k, const Positions& at) const {
    switch (operation) {
      case Operation::kRotate: return rotate(*rope, q, k, at, options);
      case Operation::kUnrotate: return unrotate(*rope, q, k, at, options);
      case Operation::kBackward: return backward(*rope, q, k, at, options);
      case Operation::kRerotate: in_place(q, at), in_place(k, at);
    }
  }
  void ready(const Angles& angles, const TensorView& x) const {
    switch (operation) {
      case Operation::kRotate: return rotate(angles, x, options);
      case Operation::kUnrotate: return unrotate(angles, x, options);
      case Operation::kBackward: return backward(angles, x, options);
      case Operation::kRerotate: return;
    }
  }

 private:
  static std::vector<std::int64_t> old_ids(std::int64_t first, std::int64_t count) {
    std::vector<std::int64_t> ids;
    for (std::int64_t t = first; t < first + count; ++t) ids.push_back(3 * t);
    return ids;
  }
};

// A pool of threads: each task on a thread of its own.
ParallelFor threads(std::int64_t count) {
  const auto run = [](void*, std::int64_t tasks, void (*task)(void*, std::int64_t), void* work) {
    std::vector<std::thread> pool;
    for (std::int64_t i = 0; i < tasks; ++i) pool.emplace_back(task, work, i);
    for (std::thread& thread : pool) thread.join();
  };
  return {run, nullptr, count};
}

// One rope, operation and target; `want` is each head turned alone: the plainest way.
class Purity : public ::testing::TestWithParam<DType> {
 protected:
  void walk(SpecFields fields, bool crossing, std::initializer_list<Operation> operations) {
    for (const Pairing pairing : kPairings) {
      for (const Pairing output_pairing : kPairings) {
        if (!crossing && pairing != output_pairing) continue;
        fields.pairing = pairing;
        fields.output_pairing = output_pairing;
        const Rope rope{Spec(fields)};
        fields.base = 500000.0;  // rerotate comes from this one
        const Rope old_rope{Spec(fields)};
        for (const Operation operation : operations) {
          for (const Target target : supported_targets()) {
            calls_ = {operation, &rope, &old_rope, {.target = target}};
            walk(rope);
          }
        }
      }
    }
  }

 private:
  void walk(const Rope& rope) {
    SCOPED_TRACE(std::string(name(calls_.options.target)) + ", rotary_dim " +
                 std::to_string(rope.spec().rotary_dim()) + ", operation " +
                 std::to_string(static_cast<int>(calls_.operation)));
    dim_ = rope.spec().head_dim();
    shape_ = {kBatch, kTokens, kHeads, dim_};
    x_ = std::make_unique<Elements>(random_elements(GetParam(), count_of(shape_), 1));
    want_ = std::make_unique<Elements>(each_head_alone());
    in_place_and_out_of_place();
    splits_of_tokens_and_batch();
    on_threads();
    strides();
    with_another_tensor();
    if (calls_.operation == Operation::kRerotate) return;
    starts_and_ids();
    ready_angles();
    if (calls_.operation == Operation::kRotate) tail_and_main_loop();
  }

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
          calls_.in_place(head(result, b, t, h, {1, 1, 1, dim_}), Positions::from(kStart + t), t);
        }
      }
    }
    return result;
  }

  void in_place_and_out_of_place() {
    Elements in_place(*x_);
    calls_.in_place(view(in_place, shape_), Positions::from(kStart));
    EXPECT_TRUE(in_place == *want_) << "in place";
    Elements out(*x_);
    out.fill(0);
    calls_.to(view(std::as_const(*x_), shape_), Positions::from(kStart), view(out, shape_));
    EXPECT_TRUE(out == *want_) << "out of place";
  }

  void splits_of_tokens_and_batch() {
    for (const std::int64_t step : {7, 33}) {
      Elements split(*x_);
      for (std::int64_t b = 0; b < kBatch; ++b) {
        for (std::int64_t t = 0; t < kTokens; t += step) {
          const std::int64_t count = std::min(step, kTokens - t);
          calls_.in_place(head(split, b, t, 0, {1, count, kHeads, dim_}),
                          Positions::from(kStart + t), t);
        }
      }
      EXPECT_TRUE(split == *want_) << "tokens by " << step;
    }
  }

  // Slices by hand, and the library's own.
  void on_threads() {
    for (const int count : {1, 3}) {
      Elements sliced(*x_);
      std::vector<std::thread> pool;
      for (int n = 0; n < count; ++n) {
        pool.emplace_back([&, n] {
          const std::int64_t first = kTokens * n / count, last = kTokens * (n + 1) / count;
          calls_.in_place(head(sliced, 0, first, 0, {kBatch, last - first, kHeads, dim_}),
                          Positions::from(kStart + first), first);
        });
      }
      for (std::thread& thread : pool) thread.join();
      EXPECT_TRUE(sliced == *want_) << count << " threads";
      Elements parallel(*x_);
      Calls calls(calls_);
      calls.options.parallel = threads(count);
      calls.in_place(view(parallel, shape_), Positions::from(kStart));
      EXPECT_TRUE(parallel == *want_) << "parallel_for of " << count;
    }
  }

  // Heads outside tokens; rows with gaps, at odd offsets; tokens backwards; elements apart, or the
  // slowest dimension.
  void strides() {
    const std::int64_t gap = 2 * dim_ + 3;
    const Dims layouts[] = {{kHeads * kTokens * dim_, dim_, kTokens * dim_, 1},
                            {kTokens * kHeads * gap, kHeads * gap, gap, 1},
                            {kHeads * kTokens * gap, gap, kTokens * gap, 1},
                            {kTokens * kHeads * gap, -kHeads * gap, gap, 1},
                            {kTokens * kHeads * gap, kHeads * gap, gap, 2},
                            {1, kBatch, kBatch * kTokens, kBatch * kTokens * kHeads}};
    for (const Dims& layout : layouts) {
      const auto size = static_cast<std::size_t>(kBatch * kTokens * kHeads * gap + 1);
      Elements memory = random_elements(x_->dtype(), size, 9);
      const Elements before(memory);
      const std::int64_t origin = 1 + (layout[1] < 0 ? -layout[1] * (kTokens - 1) : 0);
      const auto place = [&](std::int64_t b, std::int64_t t, std::int64_t h, std::int64_t e) {
        return static_cast<std::size_t>(origin + b * layout[0] + t * layout[1] + h * layout[2] +
                                        e * layout[3]);
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
      calls_.in_place(TensorView{data, memory.dtype(), shape_, layout}, Positions::from(kStart));
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
    calls_.pair(q, k, Positions::from(kStart));
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
    // Real positions that are integers, several axes that are alike, and whatever else comes to the
    // same.
    const std::vector<float> real(small.begin(), small.begin() + kTokens);
    const std::vector<double> wide(large.begin(), large.end());
    std::vector<std::int64_t> planes(large);
    planes.insert(planes.end(), large.begin(), large.end());
    const std::vector<std::int64_t> starts(kBatch, kStart);
    const std::vector<std::int64_t> lengths = {0, 0, 20, 20, kTokens};
    const std::vector<std::int64_t> packed_starts = {5, kStart, 5, kStart + 20};
    const Positions forms[] = {
        Positions::ids(std::span(small).first(kTokens)),
        Positions::ids(std::span(large).first(kTokens)),
        Positions::ids(small.data(), 1, kTokens),
        Positions::ids(large.data(), kBatch, kTokens),
        Positions::ids(std::span<const float>(real)),
        Positions::ids(wide.data(), {.axes = 1, .batch = kBatch, .tokens = kTokens}),
        Positions::ids(planes.data(), {.axes = 2, .batch = kBatch, .tokens = kTokens}),
        Positions::starts(starts),
        Positions::packed(lengths, packed_starts),
        Positions::contiguous(3 * kTokens, 3, 1, kStart - kTokens),
    };
    for (const Positions& positions : forms) {
      Elements x(*x_);
      calls_.in_place(view(x, shape_), positions);
      EXPECT_TRUE(x == *want_) << "ids";
    }
  }

  // Rows computed once, for all sequences or for each.
  void ready_angles() {
    const std::vector<std::int64_t> starts(kBatch, kStart);
    for (const Positions& positions :
         {Positions::from(kStart, kTokens), Positions::starts(starts, kTokens)}) {
      Angles angles;
      angles.assign(*calls_.rope, positions,
                    {.dtype = x_->dtype(), .run = {.target = calls_.options.target}});
      Elements x(*x_);
      calls_.ready(angles, view(x, shape_));
      EXPECT_TRUE(x == *want_) << "ready angles";
    }
  }

  // Pair i of this rope alone, in a head of its own with that one frequency: a single lane.
  void tail_and_main_loop() {
    const Spec& spec = calls_.rope->spec();
    const std::span<const double> omega = calls_.rope->frequencies();
    const auto window = static_cast<std::size_t>(spec.rotary_offset());
    const auto part = static_cast<std::size_t>(spec.rotary_dim() / spec.window_parts());
    for (std::size_t n = 0; n < omega.size(); ++n) {
      const Rope one(Spec({.head_dim = 2,
                           .clockwise = spec.clockwise(),
                           .frequencies = {{omega[n]}},
                           .attention_factor = calls_.rope->attention_factor()}));
      const std::size_t i = n % (part / 2), start = window + n / (part / 2) * part;
      const auto in = reference::pair(spec.pairing() == Pairing::kHalves, i, part);
      const auto to = reference::pair(spec.output_pairing() == Pairing::kHalves, i, part);
      Elements pair(x_->dtype(), 2);
      const std::size_t at = offset(1, 5, 2) + start;
      pair.set_bits(0, x_->bits(at + in.a));
      pair.set_bits(1, x_->bits(at + in.b));
      rotate(one, view(pair, {1, 1, 1, 2}), Positions::from(kStart + 5), calls_.options);
      EXPECT_EQ(pair.bits(0), want_->bits(at + to.a)) << "pair " << n << " alone";
      EXPECT_EQ(pair.bits(1), want_->bits(at + to.b)) << "pair " << n << " alone";
    }
  }

  Calls calls_{};
  std::int64_t dim_ = 0;
  Dims shape_{};
  std::unique_ptr<Elements> x_, want_;
};

TEST_P(Purity, every_way_to_the_same_tokens_gives_the_same_bits) {
  walk({.head_dim = 128}, false, {Operation::kRotate});
  walk({.head_dim = 80, .rotary_dim = 32}, false, {Operation::kRotate, Operation::kUnrotate});
}

TEST_P(Purity, every_way_gives_the_same_bits_with_tails_and_parts) {
  walk({.head_dim = 50, .rotary_dim = 38, .rotary_offset = 7, .clockwise = true}, true,
       {Operation::kRotate});
  walk({.head_dim = 43,
        .rotary_dim = 36,
        .rotary_offset = 4,
        .window_parts = 3,
        .attention_factor = 1.25},
       true,
       {Operation::kRotate, Operation::kUnrotate, Operation::kBackward, Operation::kRerotate});
}

TEST_P(Purity, blocks_of_pairs_give_the_bits_of_pairs_alone) {
  const std::int64_t dim = 4100;  // more pairs than one row holds
  for (const Pairing pairing : kPairings) {
    const Rope rope(Spec({.head_dim = dim, .pairing = pairing}));
    const Elements x = random_elements(GetParam(), static_cast<std::size_t>(dim), 4);
    for (const Target target : supported_targets()) {
      Elements out(x);
      rotate(rope, view(out, {1, 1, 1, dim}), Positions::from(77), {.target = target});
      for (std::size_t i = 0; i < x.size() / 2; i += 7) {
        const Rope one(Spec({.head_dim = 2, .frequencies = {{rope.frequencies()[i]}}}));
        const auto [a, b] = reference::pair(pairing == Pairing::kHalves, i, x.size());
        Elements pair(GetParam(), 2);
        pair.set_bits(0, x.bits(a));
        pair.set_bits(1, x.bits(b));
        rotate(one, view(pair, {1, 1, 1, 2}), Positions::from(77), {.target = target});
        ASSERT_EQ(pair.bits(0), out.bits(a)) << i;
        ASSERT_EQ(pair.bits(1), out.bits(b)) << i;
      }
    }
  }
}

TEST_P(Purity, the_pairings_agree_up_to_the_permutation) {
  for (const std::int64_t dim : {2, 6, 16, 38, 96, 128, 1034}) {
    const auto size = static_cast<std::size_t>(dim);
    const Rope halves(Spec({.head_dim = dim, .pairing = Pairing::kHalves}));
    const Rope adjacent(Spec({.head_dim = dim, .pairing = Pairing::kAdjacent}));
    for (const Target target : supported_targets()) {
      Elements x = random_elements(GetParam(), size, 4), permuted(x);
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

INSTANTIATE_TEST_SUITE_P(DTypes, Purity, ::testing::ValuesIn(kAllDTypes),
                         [](const auto& test) { return std::string(name(test.param)); });

}  // namespace
}  // namespace ropewalk::testing
