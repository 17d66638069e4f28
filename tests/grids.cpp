#include <gtest/gtest.h>

#include <limits>
#include <type_traits>

#include "elements.hpp"

namespace ropewalk::testing {
namespace {

template <class Id>
std::vector<Id> row(const OwnedPositions<Id>& positions, std::int64_t axis) {
  std::vector<Id> result;
  for (std::int64_t t = 0; t < positions.shape.tokens; ++t) {
    result.push_back(positions.at(axis, 0, t));
  }
  return result;
}

using Row = std::vector<std::int64_t>;
using RealRow = std::vector<double>;

TEST(Grids, patches_go_row_by_row) {
  const PositionIds ids = image_positions({.rows = 2, .columns = 3});
  EXPECT_EQ(ids.shape.axes, 2);
  EXPECT_EQ(ids.shape.batch, 1);
  EXPECT_EQ(ids.shape.tokens, 6);
  EXPECT_EQ(row(ids, 0), (Row{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(row(ids, 1), (Row{0, 1, 2, 0, 1, 2}));
}

// reshape(rows/m, m, columns/m, m).transpose(1, 2): huggingface/transformers,
// src/transformers/vision_utils.py, get_vision_position_ids.
TEST(Grids, merged_patches_go_block_by_block) {
  const PositionIds two = image_positions({.rows = 2, .columns = 4, .merge = 2});
  EXPECT_EQ(row(two, 0), (Row{0, 0, 1, 1, 0, 0, 1, 1}));
  EXPECT_EQ(row(two, 1), (Row{0, 1, 0, 1, 2, 3, 2, 3}));
  const PositionIds three = image_positions({.rows = 6, .columns = 3, .merge = 3});
  EXPECT_EQ(row(three, 0), (Row{0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5}));
  EXPECT_EQ(row(three, 1), (Row{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2}));
}

TEST(Grids, frames_repeat_an_image_and_count_in_a_video) {
  const Grid grid{.frames = 2, .rows = 1, .columns = 2};
  EXPECT_EQ(row(image_positions(grid), 0), (Row{0, 0, 0, 0}));
  EXPECT_EQ(row(image_positions(grid), 1), (Row{0, 1, 0, 1}));
  const PositionIds video = video_positions(grid);
  EXPECT_EQ(video.shape.axes, 3);
  EXPECT_EQ(row(video, 0), (Row{0, 0, 1, 1}));
  EXPECT_EQ(row(video, 1), (Row{0, 0, 0, 0}));
  EXPECT_EQ(row(video, 2), (Row{0, 1, 0, 1}));
}

TEST(Grids, images_follow_one_another_in_one_row_of_tokens) {
  const std::vector<Grid> grids{
      {.rows = 1, .columns = 2}, {.rows = 0, .columns = 7}, {.rows = 2, .columns = 1}};
  EXPECT_EQ(row(image_positions(grids), 0), (Row{0, 0, 0, 1}));
  EXPECT_EQ(row(image_positions(grids), 1), (Row{0, 1, 0, 0}));
  EXPECT_EQ(row(video_positions(grids), 1), (Row{0, 0, 0, 1}));
}

// Llama 4: x + 1, y + 1; the class token, last, is not turned.
TEST(Grids, patches_may_be_counted_from_elsewhere_and_have_tokens_beside_them_at_the_origin) {
  const PositionIds ids = image_positions({.rows = 2,
                                           .columns = 2,
                                           .first_row = 1,
                                           .first_column = -5,
                                           .origin_before = 1,
                                           .origin_after = 2});
  EXPECT_EQ(row(ids, 0), (Row{0, 1, 1, 2, 2, 0, 0}));
  EXPECT_EQ(row(ids, 1), (Row{0, -5, -4, -5, -4, 0, 0}));
  EXPECT_EQ(row(video_positions({.rows = 1, .columns = 1, .first_frame = 9}), 0), (Row{9}));
  const std::vector<Grid> two(2, {.rows = 1, .columns = 1, .first_row = 3, .origin_after = 1});
  EXPECT_EQ(row(image_positions(two), 0), (Row{3, 0, 3, 0}));
}

TEST(Grids, a_token_at_the_origin_is_not_turned_by_any_form) {
  const PositionIds ids = image_positions({.rows = 1, .columns = 1, .origin_before = 1});
  for (const std::string_view form : {"qwen_vision", "dinov3", "gemma4_vision", "moonvit"}) {
    const Elements x = random_elements(DType::kF32, 2 * 64, 3);
    Elements y = x;
    rotate(Rope(vision_spec(form, {.head_dim = 64})), view(y, {1, 2, 1, 64}), ids.positions());
    EXPECT_EQ(y, x);  // the patch stands at 0, 0, too
  }
}

TEST(Grids, no_patches_are_a_no_op) {
  const PositionIds ids = image_positions({.rows = 0, .columns = 3});
  EXPECT_EQ(ids.shape.tokens, 0);
  Elements x(DType::kF32, 1);
  rotate(Rope(qwen_vision_spec({.head_dim = 32})), view(x, {1, 0, 1, 32}), ids.positions());
  EXPECT_EQ(video_positions({.frames = kMaxPositionIds, .rows = 0, .columns = 0}).shape.tokens, 0);
}

TEST(Grids, a_view_is_not_made_of_what_is_about_to_go) {
  static_assert(!std::is_invocable_v<
                decltype([](auto&& ids) -> decltype(std::forward<decltype(ids)>(ids).positions()) {
                  return std::forward<decltype(ids)>(ids).positions();
                }),
                PositionIds&&>);
}

// ---- Between the integers ----

TEST(Grids, centres_of_patches_lie_between_minus_one_and_one) {
  const Grid grid{.rows = 2, .columns = 4, .origin_before = 1};
  const RealPositionIds separate = centred_positions(grid);
  EXPECT_EQ(row(separate, 0), (RealRow{0, -0.5, -0.5, -0.5, -0.5, 0.5, 0.5, 0.5, 0.5}));
  EXPECT_EQ(row(separate, 1), (RealRow{0, -0.75, -0.25, 0.25, 0.75, -0.75, -0.25, 0.25, 0.75}));
  // coords_h = arange(0.5, 2) / 4 = 0.125, 0.375; 2 x - 1
  EXPECT_EQ(row(centred_positions(grid, CentredBy::kLarger), 0),
            (RealRow{0, -0.75, -0.75, -0.75, -0.75, -0.25, -0.25, -0.25, -0.25}));
  EXPECT_EQ(row(centred_positions(grid, CentredBy::kLarger), 1), row(separate, 1));
  // coords_w = arange(0.5, 4) / 2 = 0.25, 0.75, 1.25, 1.75
  EXPECT_EQ(row(centred_positions(grid, CentredBy::kSmaller), 1),
            (RealRow{0, -0.5, 0.5, 1.5, 2.5, -0.5, 0.5, 1.5, 2.5}));
}

TEST(Grids, spans_reach_from_the_first_patch_to_the_last) {
  const RealPositionIds ids = spanned_positions({.rows = 1, .columns = 5});
  EXPECT_EQ(row(ids, 0), (RealRow{-1, -1, -1, -1, -1}));
  EXPECT_EQ(row(ids, 1), (RealRow{-1, -0.5, 0, 0.5, 1}));
}

// EVA: t = arange(ft) / ft * pt, ft 32 patches a side, 16 in pre-training.
TEST(Grids, steps_scale_a_larger_image_to_the_size_of_the_training) {
  const RealPositionIds ids =
      stepped_image_positions({.rows = 2, .columns = 32}, {.row = 16.0 / 2, .column = 16.0 / 32});
  EXPECT_EQ(row(ids, 0)[32], 8);
  EXPECT_EQ(row(ids, 1)[31], 15.5);
  EXPECT_EQ(row(ids, 1)[1], 0.5);
  // Cosmos at 12 frames a second: 24 / 12; an offset counts in patches.
  const RealPositionIds video = stepped_video_positions({.frames = 2, .rows = 1, .columns = 2},
                                                        {.frame = 2, .column_offset = 0.5});
  EXPECT_EQ(row(video, 0), (RealRow{0, 0, 2, 2}));
  EXPECT_EQ(row(video, 1), (RealRow{0, 0, 0, 0}));
  EXPECT_EQ(row(video, 2), (RealRow{0.5, 1.5, 0.5, 1.5}));
}

// ---- Generators ----

TEST(Grids, flux_has_its_text_at_the_origin) {
  const PositionIds ids = flux_positions(2, 2, 3);
  EXPECT_EQ(ids.shape.axes, 3);
  EXPECT_EQ(row(ids, 0), (Row{0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(row(ids, 1), (Row{0, 0, 0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(row(ids, 2), (Row{0, 0, 0, 1, 2, 0, 1, 2}));
}

TEST(Grids, flux2_counts_its_text_on_an_axis_of_its_own) {
  const PositionIds ids = flux2_positions(3, 1, 2);
  EXPECT_EQ(ids.shape.axes, 4);
  EXPECT_EQ(row(ids, 0), (Row{0, 0, 0, 0, 0}));
  EXPECT_EQ(row(ids, 1), (Row{0, 0, 0, 0, 0}));
  EXPECT_EQ(row(ids, 2), (Row{0, 0, 0, 0, 1}));
  EXPECT_EQ(row(ids, 3), (Row{0, 1, 2, 0, 0}));
}

TEST(Grids, qwen_image_counts_from_the_middle_and_its_text_from_the_edge) {
  // Rows: freqs_neg[-(5 - 2):], freqs_pos[:2]; columns: freqs_neg[-1:], freqs_pos[:1].
  const PositionIds ids = qwen_image_positions(2, 1, 5, 2);
  EXPECT_EQ(row(ids, 0), (Row{2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(row(ids, 1), (Row{2, 3, -3, -3, -2, -2, -1, -1, 0, 0, 1, 1}));
  EXPECT_EQ(row(ids, 2), (Row{2, 3, -1, 0, -1, 0, -1, 0, -1, 0, -1, 0}));
}

// ---- What cannot be ----

std::string refusal(const Grid& grid) {
  return error_of([&] { video_positions(grid); });
}

TEST(Grids, sizes_that_cannot_be_are_refused) {
  EXPECT_EQ(refusal({.rows = -1, .columns = 2}), "rows -1 is not between 0 and 2^31");
  EXPECT_EQ(refusal({.frames = 3000000000, .rows = 1, .columns = 2}),
            "frames 3000000000 is not between 0 and 2^31");
  EXPECT_EQ(refusal({.rows = 2, .columns = 3, .merge = 2}),
            "merge 2 does not divide rows 2 and columns 3");
  EXPECT_EQ(refusal({.rows = 2, .columns = 2, .merge = 0}),
            "merge 0 does not divide rows 2 and columns 2");
  EXPECT_EQ(refusal({.rows = 2, .columns = 2, .origin_after = -1}),
            "origin_after -1 is not between 0 and 2^31");
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(refusal({.rows = 2, .columns = 2, .first_row = kMax - 1}),
            "first_row 9223372036854775806 + 2 leaves the 64 bits");
}

TEST(Grids, more_tokens_than_memory_has_are_refused_before_any_is_made) {
  constexpr std::int64_t k = kMaxPositionIds;
  EXPECT_EQ(refusal({.frames = k, .rows = k, .columns = k}),
            "frames 2147483648 x rows 2147483648 x columns 2147483648 and origin_before 0, "
            "origin_after 0: more than the 715827882 tokens that one call makes");
  EXPECT_NE(refusal({.frames = 5, .rows = 1 << 20, .columns = 1 << 10}), "");
  EXPECT_NE(refusal({.rows = 1, .columns = 1, .origin_before = k, .origin_after = k}), "");
  const std::vector<Grid> grids(4, {.rows = 1 << 14, .columns = 1 << 14});
  EXPECT_EQ(error_of([&] { video_positions(grids); }),
            "grids: more than the 715827882 tokens that one call makes");
  EXPECT_NE(error_of([&] { flux_positions(-1, 1, 1); }), "");
  EXPECT_NE(error_of([&] { flux2_positions(k, k, 1); }), "");
  EXPECT_NE(error_of([&] { qwen_image_positions(0, 1, k + 1, 1); }), "");
}

TEST(Grids, real_positions_have_no_first_patch_but_0) {
  EXPECT_EQ(
      error_of([] { centred_positions({.rows = 1, .columns = 1, .first_row = 1}); }),
      "first_frame 0, first_row 1, first_column 0: want 0 for positions that are not integers");
  EXPECT_NE(error_of([] { spanned_positions({.rows = 1, .columns = 1, .first_column = 1}); }), "");
  EXPECT_NE(
      error_of([] { stepped_video_positions({.rows = 1, .columns = 1, .first_frame = 1}, {}); }),
      "");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(error_of([&] { stepped_image_positions({.rows = 1, .columns = 1}, {.row = nan}); }),
            "steps: nan is not a finite number");
  EXPECT_EQ(error_of([] { centred_positions({}, static_cast<CentredBy>(3)); }),
            "by number 3 is unknown");
}

}  // namespace
}  // namespace ropewalk::testing
