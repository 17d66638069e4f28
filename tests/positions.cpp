#include <gtest/gtest.h>

#include <limits>

#include "elements.hpp"

namespace ropewalk::testing {
namespace {

std::vector<std::int64_t> of(const Positions& positions, std::int64_t b, std::int64_t first,
                             std::size_t count) {
  std::vector<std::int64_t> out(count);
  positions.copy(b, first, out);
  return out;
}

using Ids = std::vector<std::int64_t>;

TEST(Positions, from_counts_on_from_its_start_in_every_sequence) {
  EXPECT_EQ(of(Positions::from(7), 0, 0, 3), (Ids{7, 8, 9}));
  EXPECT_EQ(of(Positions::from(-2), 5, 1, 3), (Ids{-1, 0, 1}));
  EXPECT_TRUE(Positions::from(7).memory().empty());
}

TEST(Positions, ids_serve_all_three_shapes) {
  const std::vector<std::int32_t> ids = {0, 0, 0, 1, 2, 0, 1, 2, 3, 4};
  const Positions one(Positions::ids(std::span(ids).first(5)));
  EXPECT_EQ(of(one, 0, 0, 5), (Ids{0, 0, 0, 1, 2}));
  EXPECT_EQ(of(one, 1, 3, 2), (Ids{1, 2}));
  const Positions shared(Positions::ids(ids.data(), 1, 5));
  EXPECT_EQ(of(shared, 1, 3, 2), (Ids{1, 2}));
  const Positions own(Positions::ids(ids.data(), 2, 5));
  EXPECT_EQ(of(own, 0, 0, 5), (Ids{0, 0, 0, 1, 2}));
  EXPECT_EQ(of(own, 1, 0, 5), (Ids{0, 1, 2, 3, 4}));
  for (const Positions& positions : {one, shared, own}) {
    EXPECT_EQ(error_of([&] { positions.check(2, 5); }), "");
  }
  EXPECT_EQ(own.memory().size(), 40u);
}

TEST(Positions, ids_keep_all_their_bits) {
  const std::vector<std::int64_t> ids = {std::numeric_limits<std::int64_t>::min(),
                                         std::numeric_limits<std::int64_t>::max(), -1};
  EXPECT_EQ(of(Positions::ids(ids), 0, 0, 3), ids);
  const std::vector<std::int32_t> small = {std::numeric_limits<std::int32_t>::min(), -1};
  EXPECT_EQ(of(Positions::ids(small), 0, 0, 2), (Ids{-2147483648LL, -1}));
}

TEST(Positions, a_shape_that_does_not_fit_is_an_error_that_lists_what_does) {
  const std::vector<std::int64_t> ids(15);
  EXPECT_EQ(error_of([&] { Positions::ids(ids.data(), 3, 5).check(2, 6); }),
            "positions have shape [3, 5]; a tensor of batch 2 and 6 tokens wants [6], [1, 6] or "
            "[2, 6]");
  EXPECT_EQ(error_of([&] { Positions::ids(ids).check(2, 6); }),
            "positions have shape [15]; a tensor of batch 2 and 6 tokens wants [6], [1, 6] or "
            "[2, 6]");
  EXPECT_NE(error_of([&] { Positions::ids(ids.data(), 3, 5).check(2, 5); }), "");
  EXPECT_NE(error_of([&] { Positions::ids(ids.data(), -1, 5).check(1, 5); }), "");
  const std::int64_t* null = nullptr;
  EXPECT_EQ(error_of([&] { Positions::ids(null, 1, 5).check(1, 5); }), "positions are null");
}

TEST(Positions, a_start_from_which_the_tokens_overflow_is_an_error) {
  const std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(error_of([&] { Positions::from(largest - 3).check(1, 4); }), "");
  EXPECT_NE(error_of([&] { Positions::from(largest - 2).check(1, 4); }), "");
  EXPECT_EQ(error_of([&] { Positions::from(largest).check(1, 0); }), "");
}

}  // namespace
}  // namespace ropewalk::testing
