// The calls: what they do besides the numbers, and what they refuse before a byte is written.

#include <gtest/gtest.h>

#include <limits>

#include "elements.hpp"

namespace ropewalk::testing {
namespace {

const Rope& rope8() {
  static const Rope rope(Spec({.head_dim = 8}));
  return rope;
}

TEST(Rotate, position_zero_is_the_identity_bit_for_bit) {
  for (const Target target : supported_targets()) {
    for (const DType dtype : kAllDTypes) {
      for (const Pairing pairing : kPairings) {
        const Rope rope(Spec({.head_dim = 80, .pairing = pairing}));
        const Elements x = random_elements(dtype, 80 * 50, 1, dtype == DType::kF16 ? 14 : 100);
        Elements out(x);
        rotate(rope, view(out, {1, 1, 50, 80}), Positions::from(0), {.target = target});
        EXPECT_TRUE(out == x) << name(target) << name(dtype) << name(pairing);
      }
    }
  }
}

TEST(Rotate, a_negative_position_is_the_inverse_rotation) {
  const Rope rope(Spec({.head_dim = 64}));
  const Elements x = random_elements(DType::kF32, 64, 2);
  Elements there_and_back(x);
  rotate(rope, view(there_and_back, {1, 1, 1, 64}), Positions::from(4));
  rotate(rope, view(there_and_back, {1, 1, 1, 64}), Positions::from(-4));
  for (std::size_t i = 0; i < 32; ++i) {
    const double h = std::hypot(x[i], x[i + 32]);
    EXPECT_NEAR(there_and_back[i], x[i], 4 * 0x1p-21 * h);
    EXPECT_NEAR(there_and_back[i + 32], x[i + 32], 4 * 0x1p-21 * h);
  }
}

TEST(Rotate, no_tokens_no_batch_or_no_heads_is_a_no_op) {
  const Rope& rope = rope8();
  EXPECT_NO_THROW(rotate(rope, TensorView::bthd(nullptr, {2, 0, 4, 8}), Positions::from(0)));
  EXPECT_NO_THROW(rotate(rope, TensorView::bthd(nullptr, {0, 3, 4, 8}), Positions::from(0)));
  EXPECT_NO_THROW(rotate(rope, TensorView::bthd(nullptr, {2, 3, 0, 8}), Positions::from(0)));
  Elements q = random_elements(DType::kF32, 24, 3);
  EXPECT_NO_THROW(rotate(rope, view(q, {1, 3, 1, 8}), TensorView::bthd(nullptr, {1, 3, 0, 8}),
                         Positions::from(0)));
}

TEST(Rotate, every_sequence_of_a_batch_has_its_own_positions) {
  const Elements x = random_elements(DType::kF32, 2 * 5 * 8, 4);
  Elements out(x);
  const std::vector<std::int64_t> ids = {0, 0, 0, 1, 2, 0, 1, 2, 3, 4};
  rotate(rope8(), view(out, {2, 5, 1, 8}), Positions::ids(ids.data(), 2, 5));
  for (std::size_t row = 0; row < 10; ++row) {
    Elements one(DType::kF32, 8);
    for (std::size_t e = 0; e < 8; ++e) one.set(e, x[row * 8 + e]);
    rotate(rope8(), view(one, {1, 1, 1, 8}), Positions::from(ids[row]));
    for (std::size_t e = 0; e < 8; ++e) EXPECT_EQ(out[row * 8 + e], one[e]);
  }
}

TEST(Rotate, a_batch_of_single_tokens_is_not_one_sequence) {
  Elements x = random_elements(DType::kF32, 3 * 8, 5);
  Elements alone(x);
  rotate(rope8(), view(x, {3, 1, 1, 8}), Positions::from(6));
  for (std::size_t b = 0; b < 3; ++b) {
    Elements one(DType::kF32, 8);
    for (std::size_t e = 0; e < 8; ++e) one.set(e, alone[b * 8 + e]);
    rotate(rope8(), view(one, {1, 1, 1, 8}), Positions::from(6));
    for (std::size_t e = 0; e < 8; ++e) EXPECT_EQ(x[b * 8 + e], one[e]);
  }
}

// ---- What is refused. Nothing is written in any of these. ----

void expect_refused(const std::string& text, Elements& watched, auto call) {
  const Elements before(watched);
  const std::string given = error_of(call);
  EXPECT_NE(given.find(text), std::string::npos) << "got: " << given;
  EXPECT_TRUE(watched == before);
}

TEST(Rotate, refuses_a_head_dim_that_is_not_the_ropes) {
  Elements x = random_elements(DType::kF32, 48, 1);
  expect_refused(
      "x has head_dim 16 (shape [1, 3, 1, 16] as [batch, tokens, heads, head_dim]), the "
      "rope has head_dim 8",
      x, [&] { rotate(rope8(), view(x, {1, 3, 1, 16}), Positions::from(1)); });
}

TEST(Rotate, refuses_negative_sizes_and_null) {
  Elements x = random_elements(DType::kF32, 64, 1);
  expect_refused("x has shape [1, -3, 1, 8]: sizes cannot be negative", x,
                 [&] { rotate(rope8(), view(x, {1, -3, 1, 8}), Positions::from(1)); });
  expect_refused("x is null", x, [&] {
    rotate(rope8(), TensorView::bthd(nullptr, {1, 3, 1, 8}), Positions::from(1));
  });
  expect_refused("x has dtype number 9", x, [&] {
    rotate(rope8(), TensorView::bthd(x.data(), static_cast<DType>(9), {1, 3, 1, 8}),
           Positions::from(1));
  });
}

TEST(Rotate, refuses_sizes_that_no_memory_has) {
  Elements x = random_elements(DType::kF32, 8, 1);
  const std::int64_t huge = std::int64_t{1} << 61;
  expect_refused("is larger than the memory", x,
                 [&] { rotate(rope8(), view(x, {1, huge, 1, 8}), Positions::from(1)); });
  expect_refused("is larger than the memory", x,
                 [&] { rotate(rope8(), view(x, {huge, huge, huge, 8}), Positions::from(1)); });
}

TEST(Rotate, refuses_an_output_of_another_shape_or_dtype) {
  Elements x = random_elements(DType::kF32, 24, 1), out(x);
  expect_refused("out has shape [1, 2, 1, 8], x has [1, 3, 1, 8]: they must be equal", out, [&] {
    rotate(rope8(), view(std::as_const(x), {1, 3, 1, 8}), Positions::from(1),
           view(out, {1, 2, 1, 8}));
  });
  expect_refused("out has dtype bf16, x has f32: they must be equal", out, [&] {
    rotate(rope8(), view(std::as_const(x), {1, 3, 1, 8}), Positions::from(1),
           TensorView::bthd(out.data(), DType::kBf16, {1, 3, 1, 8}));
  });
}

TEST(Rotate, refuses_q_and_k_of_different_tokens) {
  Elements q = random_elements(DType::kF32, 48, 1), k(q);
  expect_refused("q has shape [1, 3, 2, 8], k has [1, 4, 1, 8]", q, [&] {
    rotate(rope8(), view(q, {1, 3, 2, 8}), view(k, {1, 4, 1, 8}), Positions::from(1));
  });
}

TEST(Rotate, refuses_outputs_that_overlap_anything_but_their_own_input) {
  Elements x = random_elements(DType::kF32, 100, 1);
  float* data = static_cast<float*>(x.data());
  const auto at = [&](std::size_t offset) { return TensorView::bthd(data + offset, {1, 3, 1, 8}); };
  const ConstTensorView in = at(0);
  expect_refused("out overlaps x", x, [&] { rotate(rope8(), in, Positions::from(1), at(1)); });
  expect_refused("out overlaps x", x, [&] { rotate(rope8(), in, Positions::from(1), at(8)); });
  expect_refused("q overlaps k", x, [&] { rotate(rope8(), at(0), at(16), Positions::from(1)); });
  expect_refused("out_q overlaps k", x, [&] {
    rotate(rope8(), in, ConstTensorView(at(24)), Positions::from(1), at(40), at(72));
  });
  expect_refused("out_k overlaps q", x, [&] {
    rotate(rope8(), in, ConstTensorView(at(40)), Positions::from(1), at(72), at(16));
  });
  expect_refused("has elements that share memory", x, [&] {
    rotate(rope8(), TensorView{data, DType::kF32, {1, 3, 1, 8}, {0, 0, 0, 1}}, Positions::from(1));
  });
  expect_refused("has elements that share memory", x, [&] {
    rotate(rope8(), TensorView{data, DType::kF32, {1, 3, 1, 8}, {0, 7, 0, 1}}, Positions::from(1));
  });
}

TEST(Rotate, refuses_an_output_over_the_positions) {
  std::vector<std::int64_t> memory(64, 1);
  const std::vector<std::int64_t> before = memory;
  auto* data = reinterpret_cast<float*>(memory.data());
  EXPECT_NE(error_of([&] {
              rotate(rope8(), TensorView::bthd(data, {1, 8, 1, 8}),
                     Positions::ids(std::span(memory).subspan(30, 8)));
            }).find("x overlaps the positions"),
            std::string::npos);
  EXPECT_EQ(memory, before);
}

TEST(Rotate, refuses_a_second_output_over_the_positions) {
  std::vector<std::int64_t> memory(64, 1);
  auto* k = reinterpret_cast<float*>(memory.data());
  Elements q = random_elements(DType::kF32, 8, 1);
  expect_refused("k overlaps the positions", q, [&] {
    rotate(rope8(), view(q, {1, 1, 1, 8}), TensorView::bthd(k, {1, 1, 1, 8}),
           Positions::ids(std::span(memory).first(1)));
  });
}

TEST(Rotate, refuses_an_address_between_two_elements) {
  Elements x = random_elements(DType::kF32, 9, 1);
  void* between = static_cast<std::byte*>(x.data()) + 2;
  expect_refused("x of dtype f32 begins at an address that is no multiple of 4", x, [&] {
    rotate(rope8(), TensorView::bthd(between, DType::kF32, {1, 1, 1, 8}), Positions::from(1));
  });
  expect_refused("positions begin at an address that is no multiple of 8", x, [&] {
    rotate(rope8(), TensorView::bthd(x.data(), DType::kF32, {1, 1, 1, 8}),
           Positions::ids(static_cast<const std::int64_t*>(between), 1, 1));
  });
}

TEST(Rotate, refuses_positions_of_another_shape) {
  Elements x = random_elements(DType::kF32, 24, 1);
  const std::vector<std::int32_t> ids(4);
  expect_refused("positions have shape [4]; a tensor of batch 1 and 3 tokens wants [3]", x,
                 [&] { rotate(rope8(), view(x, {1, 3, 1, 8}), Positions::ids(ids)); });
}

TEST(Rotate, an_input_may_be_broadcast_by_strides_of_zero) {
  const Elements one = random_elements(DType::kF32, 8, 1);
  const ConstTensorView everywhere = internal::BasicTensorView<const void, const float>{
      one.data(), DType::kF32, {2, 3, 4, 8}, {0, 0, 0, 1}};
  Elements out(DType::kF32, 2 * 3 * 4 * 8);
  rotate(rope8(), everywhere, Positions::from(1), view(out, {2, 3, 4, 8}));
  Elements alone(one);
  rotate(rope8(), view(alone, {1, 1, 1, 8}), Positions::from(1));
  for (std::size_t e = 0; e < 8; ++e) EXPECT_EQ(out[e], alone[e]);
}

TEST(Rotate, strides_along_one_element_may_be_anything) {
  const Rope& rope = rope8();
  const Elements x = random_elements(DType::kF32, 4 * 8, 9);
  Elements wanted(x);
  rotate(rope, view(wanted, {1, 4, 1, 8}), Positions::from(3));
  for (const std::int64_t stride : {std::numeric_limits<std::int64_t>::min(),
                                    std::numeric_limits<std::int64_t>::max(), std::int64_t{-1}}) {
    Elements y(x), out(x);
    TensorView from = view(y, {1, 4, 1, 8}), to = view(out, {1, 4, 1, 8});
    for (TensorView* const one : {&from, &to}) one->strides[0] = one->strides[2] = stride;
    rotate(rope, ConstTensorView(from), Positions::from(3), to);
    EXPECT_TRUE(out == wanted) << stride;
    rotate(rope, from, Positions::from(3));
    EXPECT_TRUE(y == wanted) << stride;
  }
}

TEST(Rotate, a_view_as_wide_as_the_window_is_the_window) {
  // MLA: q is [nope 8 | pe 4], and k_pe stands alone.
  const Rope rope(Spec({.head_dim = 12, .rotary_offset = 8, .pairing = Pairing::kAdjacent}));
  const Elements q = random_elements(DType::kF32, 12, 1);
  Elements whole(q), window(DType::kF32, 4);
  for (std::size_t e = 0; e < 4; ++e) window.set(e, q[8 + e]);
  rotate(rope, view(whole, {1, 1, 1, 12}), view(window, {1, 1, 1, 4}), Positions::from(9));
  for (std::size_t e = 0; e < 8; ++e) EXPECT_EQ(whole[e], q[e]);
  for (std::size_t e = 0; e < 4; ++e) EXPECT_EQ(window[e], whole[8 + e]);
  expect_refused(
      "q has head_dim 8 (shape [1, 1, 1, 8] as [batch, tokens, heads, head_dim]), the "
      "rope has head_dim 12 and rotary_dim 4",
      whole, [&] {
        rotate(rope, TensorView::bthd(whole.data(), DType::kF32, {1, 1, 1, 8}),
               view(window, {1, 1, 1, 4}), Positions::from(9));
      });
}

TEST(Rotate, q_and_k_may_have_different_dtypes) {
  const Elements x = random_elements(DType::kF32, 8, 1);
  Elements q(x), k(DType::kF64, 8);
  for (std::size_t e = 0; e < 8; ++e) k.set(e, x[e]);
  rotate(rope8(), view(q, {1, 1, 1, 8}), view(k, {1, 1, 1, 8}), Positions::from(3));
  for (std::size_t e = 0; e < 8; ++e) EXPECT_NEAR(q[e], k[e], 0x1p-21 * 16);
}

TEST(Rotate, axes_turn_each_pair_by_its_own_coordinate) {
  const Rope rope(Spec({.head_dim = 8, .axis_of_pair = {{1, 0, 2, 0}}}));
  const std::vector<std::int64_t> ids = {5, 6, 70, 80, 900, 1000};  // [3 axes, 1, 2 tokens]
  Elements x(DType::kF64, 16);
  x.fill(1);
  rotate(rope, view(x, {1, 2, 1, 8}),
         Positions::ids(ids.data(), {.axes = 3, .batch = 1, .tokens = 2}));
  const std::int64_t want[2][4] = {{70, 5, 900, 5}, {80, 6, 1000, 6}};
  for (std::size_t t = 0; t < 2; ++t) {
    for (std::size_t i = 0; i < 4; ++i) {
      const auto turn = reference::turn(rope.frequencies()[i], want[t][i]);
      EXPECT_NEAR(x[t * 8 + i], static_cast<double>(turn.cos - turn.sin), 1e-14);
      EXPECT_NEAR(x[t * 8 + i + 4], static_cast<double>(turn.sin + turn.cos), 1e-14);
    }
  }
  expect_refused("positions have 2 axes, the rope wants 3", x, [&] {
    rotate(rope, view(x, {1, 2, 1, 8}),
           Positions::ids(ids.data(), {.axes = 2, .batch = 1, .tokens = 2}));
  });
}

TEST(Rotate, rerotating_is_rotating_afresh) {
  const Rope a(Spec({.head_dim = 32, .attention_factor = 1.5}));
  const Rope b(Spec({.head_dim = 32,
                     .output_pairing = Pairing::kAdjacent,
                     .base = 500000.0,
                     .attention_factor = 0.5}));
  const Elements k = random_elements(DType::kF64, 32, 1);
  Elements cached(k), afresh(k);
  rotate(a, view(cached, {1, 1, 1, 32}), Positions::from(1000));
  rerotate(a, b, view(cached, {1, 1, 1, 32}), Positions::from(1000), Positions::from(-7));
  rotate(b, view(afresh, {1, 1, 1, 32}), Positions::from(-7));
  for (std::size_t e = 0; e < 32; ++e) EXPECT_NEAR(cached[e], afresh[e], 1e-13);
  Elements watched(k);
  expect_refused("rerotate from rotary_dim 32 to rotary_dim 30: the windows must be equal", watched,
                 [&] {
                   rerotate(a, Rope(Spec({.head_dim = 32, .rotary_dim = 30})),
                            view(watched, {1, 1, 1, 32}), Positions::from(0), Positions::from(1));
                 });
}

TEST(Rotate, a_call_below_256_kib_stays_on_its_thread) {
  const Rope rope(Spec({.head_dim = 128}));
  std::int64_t tasks = 0;
  const auto run = [](void* pool, std::int64_t count, void (*task)(void*, std::int64_t),
                      void* work) {
    *static_cast<std::int64_t*>(pool) = count;
    for (std::int64_t i = 0; i < count; ++i) task(work, i);
  };
  const auto tasks_for = [&](const Dims& shape) {
    Elements x = random_elements(DType::kF32, count_of(shape), 1);
    tasks = 0;
    rotate(rope, view(x, shape), Positions::from(0), {.parallel = {run, &tasks, 4}});
    return tasks;
  };
  EXPECT_EQ(tasks_for({1, 511, 1, 128}), 0);
  EXPECT_EQ(tasks_for({1, 512, 1, 128}), 4);
  EXPECT_EQ(tasks_for({1, 1, 512, 128}), 4) << "one token is split by its heads";
  EXPECT_EQ(tasks_for({1, 2, 256, 128}), 2) << "no more tasks than tokens";
  EXPECT_EQ(tasks_for({1, 0, 256, 128}), 0);
}

TEST(Rotate, backward_is_the_adjoint_and_unrotate_the_inverse) {
  const Rope rope(Spec({.head_dim = 24, .rotary_dim = 16, .attention_factor = 2.0}));
  const Elements x = random_elements(DType::kF64, 24, 1), g = random_elements(DType::kF64, 24, 2);
  Elements forward(x), back(g), undone(x);
  rotate(rope, view(forward, {1, 1, 1, 24}), Positions::from(99));
  backward(rope, view(back, {1, 1, 1, 24}), Positions::from(99));
  double left = 0, right = 0;
  for (std::size_t e = 0; e < 16; ++e) left += back[e] * x[e], right += g[e] * forward[e];
  EXPECT_NEAR(left, right, 1e-12);
  undone = forward;
  unrotate(rope, view(undone, {1, 1, 1, 24}), Positions::from(99));
  for (std::size_t e = 0; e < 24; ++e) EXPECT_NEAR(undone[e], x[e], 1e-14);
}

}  // namespace
}  // namespace ropewalk::testing
