// Buffers of exactly the right size, on the heap: with the address sanitizer, nothing is read or
// written outside. Without it, the test still sees that every element of the output is written.

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "elements.hpp"

namespace ropewalk::testing {
namespace {

// An operation in place; out of place, into memory that holds NaN; with the heads outside; and with
// elements 2 apart: all in buffers that end with their last element.
void turn_exactly(const Rope& rope, DType dtype, std::int64_t tokens, std::int64_t heads,
                  Target target) {
  const std::int64_t dim = rope.spec().head_dim();
  const Dims shape = {1, tokens, heads, dim};
  const Options options{.target = target};
  const Elements x = random_elements(dtype, count_of(shape), 1);
  const std::vector<std::int32_t> ids(static_cast<std::size_t>(tokens), 3);
  const auto at = Positions::ids(ids);

  Elements in_place(x);
  rotate(rope, view(in_place, shape), at, options);
  Elements out(dtype, count_of(shape));
  out.fill(std::nan(""));
  rotate(rope, view(x, shape), at, view(out, shape), options);
  ASSERT_TRUE(out == in_place) << name(target) << name(dtype) << dim;

  out.fill(std::nan(""));
  rotate(rope, ConstTensorView::bhtd(x.data(), dtype, shape), at,
         TensorView::bhtd(out.data(), dtype, shape), options);
  for (std::size_t e = 0; e < out.size(); ++e) ASSERT_FALSE(std::isnan(out[e]));

  Elements apart(dtype, 2 * count_of(shape) - 1);
  for (std::size_t e = 0; e < x.size(); ++e) apart.set_bits(2 * e, x.bits(e));
  rotate(rope, TensorView{apart.data(), dtype, shape, {0, 2 * heads * dim, 2 * dim, 2}}, at,
         options);
  for (std::size_t e = 0; e < x.size(); ++e) ASSERT_EQ(apart.bits(2 * e), in_place.bits(e));

  unrotate(rope, view(out, shape), at, options);
  backward(rope, view(out, shape), at, options);
  rerotate(rope, rope, view(out, shape), at, Positions::from(0), options);
}

class Buffers : public ::testing::TestWithParam<DType> {};

TEST_P(Buffers, every_even_rotary_dim_stays_inside_exact_buffers) {
  for (const Target target : supported_targets()) {
    for (const Pairing pairing : kPairings) {
      for (std::int64_t rotary_dim = 2; rotary_dim <= 130; rotary_dim += 2) {
        for (const std::int64_t past : {0, 1, 5}) {
          const Rope rope(
              Spec({.head_dim = rotary_dim + past, .rotary_dim = rotary_dim, .pairing = pairing}));
          turn_exactly(rope, GetParam(), 1, 1, target);
          turn_exactly(rope, GetParam(), 3, 2, target);
        }
      }
    }
  }
}

TEST_P(Buffers, windows_parts_and_other_output_pairings_stay_inside) {
  for (const Target target : supported_targets()) {
    for (const Pairing pairing : kPairings) {
      for (const Pairing output_pairing : kPairings) {
        for (const std::int64_t rotary_dim : {6, 18, 48, 66, 96, 126}) {
          for (const std::int64_t parts : {1, 3}) {
            const Rope rope(Spec({.head_dim = rotary_dim + 3,
                                  .rotary_dim = rotary_dim,
                                  .rotary_offset = 2,
                                  .pairing = pairing,
                                  .output_pairing = output_pairing,
                                  .window_parts = parts}));
            turn_exactly(rope, GetParam(), 2, 2, target);
          }
        }
      }
    }
  }
}

TEST_P(Buffers, heads_longer_than_a_row_of_angles_stay_inside) {
  for (const Target target : supported_targets()) {
    for (const Pairing pairing : kPairings) {
      for (const std::int64_t rotary_dim : {2046, 2048, 2050, 4102}) {
        turn_exactly(
            Rope(Spec({.head_dim = rotary_dim + 3, .rotary_dim = rotary_dim, .pairing = pairing})),
            GetParam(), 2, 2, target);
      }
    }
  }
}

TEST_P(Buffers, ready_angles_end_with_their_last_row) {
  for (const Target target : supported_targets()) {
    for (std::int64_t rotary_dim = 2; rotary_dim <= 130; rotary_dim += 2) {
      const Rope rope(Spec({.head_dim = rotary_dim, .pairing = Pairing::kAdjacent}));
      Angles angles;
      angles.assign(rope, Positions::from(5, 3), {.dtype = GetParam(), .run = {.target = target}});
      const Dims shape = {1, 3, 1, rotary_dim};
      Elements x = random_elements(GetParam(), count_of(shape), 1), fresh(x);
      rotate(angles, view(x, shape), {.target = target});
      rotate(rope, view(fresh, shape), Positions::from(5), {.target = target});
      ASSERT_TRUE(x == fresh);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(DTypes, Buffers, ::testing::ValuesIn(kAllDTypes),
                         [](const auto& test) { return std::string(name(test.param)); });

TEST(SparseBuffers, strides_beyond_2_to_the_31_elements_are_walked) {
  // 2 tokens 2^33 bytes apart, in memory of which only the touched pages exist.
  constexpr std::int64_t kStride = (std::int64_t{1} << 31) + 1024;
  constexpr std::size_t kBytes = static_cast<std::size_t>(kStride + 64) * sizeof(float);
  void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* data = static_cast<float*>(memory);
  for (std::int64_t e = 0; e < 64; ++e) data[e] = data[kStride + e] = 1;
  const Rope rope(Spec({.head_dim = 64}));
  rotate(rope, TensorView{data, DType::kF32, {1, 2, 1, 64}, {0, kStride, 64, 1}},
         Positions::from(0));
  Elements second(DType::kF32, 64);
  second.fill(1);
  rotate(rope, view(second, {1, 1, 1, 64}), Positions::from(1));
  for (std::int64_t e = 0; e < 64; ++e) {
    EXPECT_EQ(data[e], 1);
    EXPECT_EQ(data[kStride + e], second[static_cast<std::size_t>(e)]);
  }
  munmap(memory, kBytes);
}

}  // namespace
}  // namespace ropewalk::testing
