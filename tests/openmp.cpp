// A program with OpenMP: the same bits on its threads as without them.

#include <ropewalk/openmp.hpp>

#include <gtest/gtest.h>

#include "elements.hpp"

namespace ropewalk::testing {
namespace {

TEST(OpenMp, gives_the_bits_of_one_thread) {
  const Rope rope(Spec({.head_dim = 128}));
  for (const Dims& shape : {Dims{2, 200, 4, 128}, Dims{1, 1, 1000, 128}, Dims{1, 3, 1, 128}}) {
    const Elements x = random_elements(DType::kF32, count_of(shape), 1);
    Elements one(x);
    rotate(rope, view(one, shape), Positions::from(7));
    for (const int threads : {0, 1, 2, 5}) {
      Elements many(x);
      rotate(rope, view(many, shape), Positions::from(7), {.parallel = openmp(threads)});
      EXPECT_TRUE(many == one) << threads;
    }
  }
}

TEST(OpenMp, is_a_pool_of_as_many_threads_as_were_asked_for) {
  EXPECT_EQ(openmp(3).threads, 3);
  EXPECT_NE(openmp().run, nullptr);
}

}  // namespace
}  // namespace ropewalk::testing
