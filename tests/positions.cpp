#include <gtest/gtest.h>

#include <limits>

#include "elements.hpp"

namespace ropewalk::testing {
namespace {

std::vector<std::int64_t> of(const Positions& positions, std::int64_t b, std::int64_t first,
                             std::size_t count) {
  std::vector<std::int64_t> out(count);
  std::vector<double> fractions(count, 7);
  positions.copy(0, b, first, out, fractions);
  return out;
}

using Ids = std::vector<std::int64_t>;

TEST(Positions, from_counts_on_from_its_start_in_every_sequence) {
  EXPECT_EQ(of(Positions::from(7), 0, 0, 3), (Ids{7, 8, 9}));
  EXPECT_EQ(of(Positions::from(-2), 5, 1, 3), (Ids{-1, 0, 1}));
  EXPECT_TRUE(Positions::from(7).memory()[0].empty());
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
    EXPECT_EQ(error_of([&] { positions.check(2, 5, 1); }), "");
  }
  EXPECT_EQ(own.memory()[0].size(), 40u);
}

TEST(Positions, ids_keep_all_their_bits) {
  const std::vector<std::int64_t> ids = {std::numeric_limits<std::int64_t>::min(),
                                         std::numeric_limits<std::int64_t>::max(), -1};
  EXPECT_EQ(of(Positions::ids(ids), 0, 0, 3), ids);
  const std::vector<std::int32_t> small = {std::numeric_limits<std::int32_t>::min(), -1};
  EXPECT_EQ(of(Positions::ids(small), 0, 0, 2), (Ids{-2147483648LL, -1}));
}

TEST(Positions, go_up_to_the_largest_integer) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  const std::vector<std::int64_t> starts = {0, kMax};
  const std::vector<std::int32_t> lengths = {0, 1, 2};
  const auto packed = Positions::packed(lengths, starts);
  packed.check(1, 2, 1);
  EXPECT_EQ(of(packed, 0, 0, 2), (Ids{0, kMax}));
  const auto zigzag = Positions::zigzag(2, 1, 0, kMax - 1);
  zigzag.check(1, 2, 1);
  EXPECT_EQ(of(zigzag, 0, 0, 2), (Ids{kMax - 1, kMax}));
}

TEST(Positions, each_form_says_what_of_it_does_not_fit) {
  const std::vector<std::int64_t> starts(3);
  EXPECT_EQ(error_of([&] { Positions::starts(starts).check(2, 6, 1); }),
            "positions have 3 starts, the tensor has batch 2: want one for each sequence");
  EXPECT_EQ(error_of([&] { Positions::starts(starts, 5).check(3, 6, 1); }),
            "positions are for 5 tokens, the tensor has 6");
  EXPECT_EQ(error_of([&] { Positions::from(0, 5).check(3, 6, 1); }),
            "positions are for 5 tokens, the tensor has 6");
  EXPECT_EQ(error_of([&] { Positions::contiguous(8, 2, 0).check(1, 3, 1); }),
            "positions are for 4 tokens, the tensor has 3");
  const std::vector<std::int32_t> cumulative = {0, 2, 5}, lengths = {2, 3}, falling = {0, 5, 2};
  EXPECT_EQ(error_of([&] { Positions::packed(cumulative).check(1, 6, 1); }),
            "packed lengths end at 5, the tensor has 6 tokens");
  EXPECT_EQ(error_of([&] { Positions::packed(lengths).check(1, 6, 1); }),
            "packed lengths are cumulative: they must begin with 0");
  EXPECT_EQ(error_of([&] { Positions::packed(falling).check(1, 6, 1); }),
            "packed lengths are cumulative: lengths[2] = 2 is less than lengths[1] = 5");
  EXPECT_EQ(error_of([&] { Positions::packed(cumulative).check(4, 5, 1); }), "");
}

TEST(Positions, a_shape_that_does_not_fit_is_an_error_that_lists_what_does) {
  const std::vector<std::int64_t> ids(15);
  EXPECT_EQ(error_of([&] { Positions::ids(ids.data(), 3, 5).check(2, 6, 1); }),
            "positions have shape [3, 5]; a tensor of batch 2 and 6 tokens wants [6], [1, 6] or "
            "[2, 6], with several axes first if need be");
  EXPECT_EQ(error_of([&] { Positions::ids(ids).check(2, 6, 1); }),
            "positions have shape [15]; a tensor of batch 2 and 6 tokens wants [6], [1, 6] or "
            "[2, 6], with several axes first if need be");
  EXPECT_NE(error_of([&] { Positions::ids(ids.data(), 3, 5).check(2, 5, 1); }), "");
  EXPECT_NE(error_of([&] { Positions::ids(ids.data(), -1, 5).check(1, 5, 1); }), "");
  // A count of tokens is not left to the tensor, as it is where there are no ids.
  EXPECT_EQ(
      error_of([&] { Positions::ids(ids.data(), 1, -1).check(1, 5, 1); }),
      "positions have shape [1, -1]; a tensor of batch 1 and 5 tokens wants [5] or [1, 5], with "
      "several axes first if need be");
  constexpr std::int64_t kHuge = std::int64_t{1} << 32;
  EXPECT_EQ(error_of([&] { Positions::ids(ids.data(), kHuge, kHuge).check(kHuge, kHuge, 1); }),
            "positions of shape [1, 4294967296, 4294967296] are larger than the memory");
  const std::int64_t* null = nullptr;
  EXPECT_EQ(error_of([&] { Positions::ids(null, 1, 5).check(1, 5, 1); }), "positions are null");
}

TEST(Positions, a_start_from_which_the_tokens_overflow_is_an_error) {
  const std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(error_of([&] { Positions::from(largest - 3).check(1, 4, 1); }), "");
  EXPECT_NE(error_of([&] { Positions::from(largest - 2).check(1, 4, 1); }), "");
  EXPECT_EQ(error_of([&] { Positions::from(largest).check(1, 0, 1); }), "");
}

TEST(Positions, every_sequence_may_have_its_own_start) {
  const Ids starts = {5, -1};
  EXPECT_EQ(of(Positions::starts(starts), 0, 0, 3), (Ids{5, 6, 7}));
  EXPECT_EQ(of(Positions::starts(starts), 1, 2, 2), (Ids{1, 2}));
  EXPECT_EQ(error_of([&] { Positions::starts(starts).check(2, 9, 1); }), "");
  EXPECT_NE(error_of([&] { Positions::starts(starts).check(3, 9, 1); }), "");
  EXPECT_EQ(Positions::starts(starts).memory()[1].size(), 16u);
}

TEST(Positions, packed_sequences_restart_and_empty_ones_are_skipped) {
  const std::vector<std::int32_t> lengths = {0, 0, 0, 4, 4, 8};  // lengths 0, 0, 4, 0, 4
  EXPECT_EQ(of(Positions::packed(lengths), 0, 0, 8), (Ids{0, 1, 2, 3, 0, 1, 2, 3}));
  EXPECT_EQ(of(Positions::packed(lengths), 0, 3, 3), (Ids{3, 0, 1}));
  EXPECT_EQ(of(Positions::packed(lengths), 0, 8, 0), Ids{});
  const Ids starts = {9, 9, 100, 9, -1};
  EXPECT_EQ(of(Positions::packed(lengths, starts), 0, 2, 4), (Ids{102, 103, -1, 0}));
  EXPECT_EQ(error_of([&] { Positions::packed(lengths, starts).check(1, 8, 1); }), "");
  const Ids long_lengths = {0, 2, 5};
  EXPECT_EQ(of(Positions::packed(long_lengths), 0, 0, 5), (Ids{0, 1, 0, 1, 2}));
}

TEST(Positions, packed_lengths_that_are_not_cumulative_are_refused) {
  const auto refusal = [](std::vector<std::int64_t> lengths, Ids starts, std::int64_t tokens) {
    return error_of([&] { Positions::packed(lengths, starts).check(1, tokens, 1); });
  };
  EXPECT_EQ(refusal({1, 4}, {}, 4), "packed lengths are cumulative: they must begin with 0");
  EXPECT_EQ(refusal({0, 5, 4}, {}, 4),
            "packed lengths are cumulative: lengths[2] = 4 is less than lengths[1] = 5");
  EXPECT_EQ(refusal({0, 2, 4}, {7}, 4), "packed starts has 1 values, 3 cumulative lengths want 2");
  EXPECT_NE(refusal({0, 2, 4}, {}, 5), "");
}

TEST(Positions, zigzag_gives_every_rank_an_early_and_a_late_slice) {
  const Ids want[] = {{0, 1, 14, 15}, {2, 3, 12, 13}, {4, 5, 10, 11}, {6, 7, 8, 9}};
  for (std::int64_t rank = 0; rank < 4; ++rank) {
    const Positions positions = Positions::zigzag(16, 4, rank);
    EXPECT_EQ(of(positions, 0, 0, 4), want[rank]);
    EXPECT_EQ(of(positions, 0, 1, 2), (Ids{want[rank][1], want[rank][2]}));
    EXPECT_EQ(of(positions, 0, 3, 1), (Ids{want[rank][3]}));
    EXPECT_EQ(positions.tokens(), 4);
  }
  EXPECT_EQ(of(Positions::zigzag(8, 2, 1, 100), 0, 0, 4), (Ids{102, 103, 104, 105}));
  EXPECT_EQ(error_of([] { Positions::zigzag(15, 4, 0); }),
            "tokens 15 is not a multiple of 8 for 4 ranks");
  EXPECT_EQ(error_of([] { Positions::zigzag(16, 4, 4); }), "rank 4 is not between 0 and 3");
  EXPECT_EQ(error_of([] { Positions::zigzag(16, 0, 0); }), "ranks 0 is not at least 1");
}

TEST(Positions, contiguous_slices_lie_one_behind_the_other) {
  EXPECT_EQ(of(Positions::contiguous(12, 3, 1, 5), 0, 0, 4), (Ids{9, 10, 11, 12}));
  EXPECT_EQ(error_of([] { Positions::contiguous(13, 3, 1); }),
            "tokens 13 is not a multiple of 3 for 3 ranks");
}

TEST(Positions, real_ones_are_split_into_the_nearest_integer_and_an_exact_rest) {
  const std::vector<double> ids = {0, 0.5, 1.5, 2.5, -0.75, 1e15 + 0.25, 0x1.fffffffffffffp62};
  const Positions positions = Positions::ids(std::span<const double>(ids));
  EXPECT_TRUE(positions.is_real());
  Ids whole(ids.size());
  std::vector<double> fractions(ids.size());
  positions.copy(0, 0, 0, whole, fractions);
  EXPECT_EQ(whole, (Ids{0, 0, 2, 2, -1, 1000000000000000, 0x7FFFFFFFFFFFFC00}));
  EXPECT_EQ(fractions, (std::vector<double>{0, 0.5, -0.5, 0.5, 0.25, 0.25, 0}));
  EXPECT_EQ(error_of([&] { positions.check(1, 7, 1); }), "");
}

TEST(Positions, a_real_one_that_is_no_position_is_an_error_with_its_index) {
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity(), -0x1p63f}) {
    const std::vector<float> ids = {1, 2, bad};
    const std::string text =
        error_of([&] { Positions::ids(std::span<const float>(ids)).check(4, 3, 1); });
    EXPECT_EQ(text.find("positions[2] is "), 0u) << text;
  }
}

TEST(Positions, several_axes_come_first_and_one_serves_all) {
  const Ids ids = {1, 2, 3, 10, 20, 30, 100, 200, 300};
  const Positions three = Positions::ids(ids.data(), {.axes = 3, .batch = 1, .tokens = 3});
  Ids out(2);
  three.copy(2, 4, 1, out, {});
  EXPECT_EQ(out, (Ids{200, 300}));
  EXPECT_EQ(error_of([&] { three.check(2, 3, 3); }), "");
  EXPECT_EQ(error_of([&] { three.check(2, 3, 1); }), "");
  EXPECT_EQ(error_of([&] { three.check(2, 3, 4); }), "positions have 3 axes, the rope wants 4");
  const Positions text = Positions::ids(std::span(ids).first(3));
  EXPECT_EQ(error_of([&] { text.check(2, 3, 4); }), "");
  text.copy(3, 0, 1, out, {});
  EXPECT_EQ(out, (Ids{2, 3}));
}

}  // namespace
}  // namespace ropewalk::testing
