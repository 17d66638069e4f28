// Buffers of exactly the right size, on the heap: with the address sanitizer, nothing is read or
// written outside. Without it, the test still sees that every element of the output is written.

#include <gtest/gtest.h>

#include "elements.hpp"

namespace ropewalk::testing {
namespace {

void rotate_exactly(const Rope& rope, DType dtype, std::int64_t tokens, std::int64_t heads,
                    Target target) {
  const std::int64_t dim = rope.spec().head_dim();
  const Dims shape = {1, tokens, heads, dim};
  const Elements x = random_elements(dtype, count_of(shape), 1);
  std::vector<std::int32_t> ids(static_cast<std::size_t>(tokens), 3);

  Elements in_place(x);
  rotate(rope, view(in_place, shape), Positions::ids(ids), {.target = target});

  Elements out(dtype, count_of(shape));
  out.fill(std::nanf(""));
  rotate(rope, view(x, shape), Positions::ids(ids), view(out, shape), {.target = target});
  ASSERT_TRUE(out == in_place) << name(target) << name(dtype) << dim;

  // The same with the heads outside: [batch, heads, tokens, head_dim].
  Elements turned(dtype, count_of(shape));
  turned.fill(std::nanf(""));
  rotate(rope, ConstTensorView::bhtd(x.data(), dtype, shape), Positions::ids(ids),
         TensorView::bhtd(turned.data(), dtype, shape), {.target = target});
  for (std::size_t e = 0; e < turned.size(); ++e) ASSERT_FALSE(std::isnan(turned[e]));
}

TEST(Buffers, every_even_rotary_dim_stays_inside_exact_buffers) {
  for (const Target target : supported_targets()) {
    for (const DType dtype : kDTypes) {
      for (const Pairing pairing : kPairings) {
        for (std::int64_t rotary_dim = 2; rotary_dim <= 130; rotary_dim += 2) {
          for (const std::int64_t past : {0, 1, 5}) {
            const Rope rope(Spec(
                {.head_dim = rotary_dim + past, .rotary_dim = rotary_dim, .pairing = pairing}));
            rotate_exactly(rope, dtype, 1, 1, target);
            rotate_exactly(rope, dtype, 3, 2, target);
          }
        }
      }
    }
  }
}

TEST(Buffers, heads_longer_than_a_row_of_angles_stay_inside) {
  for (const Target target : supported_targets()) {
    for (const DType dtype : kDTypes) {
      for (const Pairing pairing : kPairings) {
        for (const std::int64_t rotary_dim : {1022, 1024, 1026, 2050}) {
          const Rope rope(
              Spec({.head_dim = rotary_dim + 3, .rotary_dim = rotary_dim, .pairing = pairing}));
          rotate_exactly(rope, dtype, 2, 2, target);
        }
      }
    }
  }
}

}  // namespace
}  // namespace ropewalk::testing
