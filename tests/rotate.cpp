// The calls: what they do besides the numbers, and what they refuse before a byte is written.

#include <gtest/gtest.h>

#include "elements.hpp"

namespace ropewalk::testing {
namespace {

const Rope& rope8() {
  static const Rope rope(Spec({.head_dim = 8}));
  return rope;
}

TEST(Rotate, position_zero_is_the_identity_bit_for_bit) {
  for (const Target target : supported_targets()) {
    for (const DType dtype : kDTypes) {
      for (const Pairing pairing : kPairings) {
        const Rope rope(Spec({.head_dim = 80, .pairing = pairing}));
        const Elements x = random_elements(dtype, 80 * 50, 1, 100);
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

TEST(Rotate, refuses_negative_sizes_null_and_a_last_stride_other_than_1) {
  Elements x = random_elements(DType::kF32, 64, 1);
  expect_refused("x has shape [1, -3, 1, 8]: sizes cannot be negative", x,
                 [&] { rotate(rope8(), view(x, {1, -3, 1, 8}), Positions::from(1)); });
  expect_refused("x is null", x, [&] {
    rotate(rope8(), TensorView::bthd(nullptr, {1, 3, 1, 8}), Positions::from(1));
  });
  expect_refused("the last must be 1", x, [&] {
    rotate(rope8(), TensorView{x.data(), DType::kF32, {1, 2, 1, 8}, {0, 32, 0, 2}},
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

}  // namespace
}  // namespace ropewalk::testing
