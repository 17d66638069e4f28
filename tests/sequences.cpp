#include <gtest/gtest.h>

#include <limits>

#include "elements.hpp"

namespace ropewalk::testing {
namespace {

using Row = std::vector<std::int64_t>;
using Runs = std::vector<Run>;

Row row(const PositionIds& ids, std::int64_t axis, std::int64_t b = 0) {
  Row result;
  for (std::int64_t t = 0; t < ids.shape.tokens; ++t) result.push_back(ids.at(axis, b, t));
  return result;
}

// The worked examples of get_rope_index's comments are of patches as the language model has them.
constexpr SequenceRules kUnmerged{.spatial_merge = 1};

// huggingface/transformers 4, src/transformers/models/qwen2_vl/modeling_qwen2_vl.py, get_rope_index:
// "Assume we have a video input with 3 temporal patches, 2 height patches and 2 width patches."
TEST(Sequences, qwen2_vl_gives_its_own_example) {
  const TokenPositions made = token_positions(Runs{Run::video(3, 2, 2), Run::text(5)}, kUnmerged);
  EXPECT_EQ(made.ids.shape.axes, 3);
  EXPECT_EQ(row(made.ids, 0), (Row{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(row(made.ids, 1), (Row{0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 3, 4, 5, 6, 7}));
  EXPECT_EQ(row(made.ids, 2), (Row{0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 3, 4, 5, 6, 7}));
  EXPECT_EQ(made.next, (Row{8}));
  EXPECT_EQ(made.delta(0), 8 - 17);
}

// The same, .../qwen2_5_vl/modeling_qwen2_5_vl.py: tokens_per_second 25, temporal_patch_size 2, fps 1.
TEST(Sequences, qwen2_5_vl_gives_its_own_example) {
  SequenceRules rules = sequence_rules("qwen2_5_vl");
  EXPECT_EQ(rules.tokens_per_second, 2);
  rules.tokens_per_second = 25;
  rules.spatial_merge = 1;
  const TokenPositions made = token_positions(Runs{Run::video(3, 2, 2, 2.0), Run::text(5)}, rules);
  EXPECT_EQ(row(made.ids, 0),
            (Row{0, 0, 0, 0, 50, 50, 50, 50, 100, 100, 100, 100, 101, 102, 103, 104, 105}));
  EXPECT_EQ(row(made.ids, 1), (Row{0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 101, 102, 103, 104, 105}));
  EXPECT_EQ(row(made.ids, 2), (Row{0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 101, 102, 103, 104, 105}));
}

// transformers 5 goes on after max(rows, columns): huggingface/transformers, the same files, `current_pos
// += max(grid_thw[1], grid_thw[2]) // spatial_merge_size`; its delta is of the largest id still.
TEST(Sequences, text_after_a_long_video_goes_on_as_the_rules_say) {
  SequenceRules rules = kUnmerged;
  rules.next = SequenceRules::Next::kLongerSide;
  const TokenPositions made = token_positions(Runs{Run::video(5, 2, 2), Run::text(2)}, rules);
  EXPECT_EQ(row(made.ids, 0),
            (Row{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 2, 3}));
  EXPECT_EQ(made.next, (Row{5}));
  const Runs runs{Run::text(3), Run::image(4, 6), Run::text(1)};
  EXPECT_EQ(token_positions(runs, rules).ids.ids, token_positions(runs, kUnmerged).ids.ids);
}

// Qwen2-VL, arXiv 2409.12191, figure 3 and section 2.1; the picture in sequences.hpp.
TEST(Sequences, text_after_an_image_goes_on_after_the_largest_id) {
  const TokenPositions made =
      token_positions(Runs{Run::text(3), Run::image(4, 6), Run::text(2)}, {});
  EXPECT_EQ(row(made.ids, 0), (Row{0, 1, 2, 3, 3, 3, 3, 3, 3, 6, 7}));
  EXPECT_EQ(row(made.ids, 1), (Row{0, 1, 2, 3, 3, 3, 4, 4, 4, 6, 7}));
  EXPECT_EQ(row(made.ids, 2), (Row{0, 1, 2, 3, 4, 5, 3, 4, 5, 6, 7}));
  EXPECT_EQ(made.lengths, (Row{11}));
  EXPECT_EQ(made.next, (Row{8}));
}

// Qwen3-VL, GLM-4V: "<t1> <vision_start> <frame1> <vision_end> <t2> <vision_start> <frame2> ...",
// huggingface/transformers, src/transformers/models/qwen3_vl/modeling_qwen3_vl.py, get_rope_index.
TEST(Sequences, frames_with_their_times_between_are_images_one_after_another) {
  const SequenceRules rules = sequence_rules("qwen3_vl");
  const TokenPositions made = token_positions(
      Runs{Run::text(2), Run::video(1, 2, 4), Run::text(3), Run::video(1, 2, 4), Run::text(1)},
      rules);
  EXPECT_EQ(row(made.ids, 0), (Row{0, 1, 2, 2, 4, 5, 6, 7, 7, 9}));
  EXPECT_EQ(row(made.ids, 1), (Row{0, 1, 2, 2, 4, 5, 6, 7, 7, 9}));
  EXPECT_EQ(row(made.ids, 2), (Row{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(error_of([&] { token_positions(Runs{Run::text(1), Run::video(2, 2, 4)}, rules); }),
            "sequence 0, run 1: frames 2 of a video: want 1, a run for each frame with the text of "
            "its time between");
}

TEST(Sequences, ernie_makes_one_token_of_two_frames_of_a_video) {
  const SequenceRules rules = sequence_rules("ernie4_5_vl_moe");
  const TokenPositions made = token_positions(Runs{Run::video(4, 2, 4), Run::text(1)}, rules);
  EXPECT_EQ(row(made.ids, 0), (Row{0, 0, 1, 1, 2}));
  EXPECT_EQ(row(made.ids, 2), (Row{0, 1, 0, 1, 2}));
  EXPECT_EQ(row(token_positions(Runs{Run::image(2, 4)}, rules).ids, 0), (Row{0, 0}));
  EXPECT_EQ(error_of([&] { token_positions(Runs{Run::video(3, 2, 4)}, rules); }),
            "sequence 0, run 0: frames 3 is not a multiple of 2 from 0 to 2^31");
}

// (torch.arange(frames) * interval).long(): 90 x 0.7 is 63 in float32 and a little less in double.
TEST(Sequences, times_are_cut_to_integers_in_float32) {
  const TokenPositions made =
      token_positions(Runs{Run::video(91, 2, 2, 0.35)}, sequence_rules("qwen2_5_vl"));
  const Row times = row(made.ids, 0);
  EXPECT_EQ((Row{times.begin(), times.begin() + 5}), (Row{0, 0, 1, 2, 2}));  // 0 0.7 1.4 2.1 2.8
  EXPECT_EQ(times[90], 63);
}

// huggingface/transformers 5.24, src/transformers/models/qwen2_5_omni/modeling_qwen2_5_omni.py:
// (torch.arange(grid_t) * second_per_grids[i].float() * position_id_per_seconds).long(), in float32.
// 1.4 is not a float: 3 x 1.4 comes out below 4.2, and 25 times that below 105.
TEST(Sequences, omni_multiplies_by_the_seconds_first) {
  const Runs runs{Run::video(7, 2, 2, 1.4)};
  EXPECT_EQ(row(token_positions(runs, sequence_rules("qwen2_5_omni")).ids, 0),
            (Row{0, 35, 70, 104, 140, 175, 209}));
  SequenceRules rules = sequence_rules("qwen2_5_omni");
  rules.seconds_first = false;
  EXPECT_EQ(row(token_positions(runs, rules).ids, 0), (Row{0, 35, 70, 105, 140, 175, 210}));
}

// .../hy_v4_vl/modeling_hy_v4_vl.py: t = frame * max(rows, columns + 1), and h and w begin there, too;
// the next token stands after the largest.
TEST(Sequences, frames_of_hy_v4_stand_apart_and_their_rows_have_ends) {
  const SequenceRules rules = sequence_rules("hy_v4_vl");
  const TokenPositions made =
      token_positions(Runs{Run::text(2), Run::video(2, 4, 4), Run::text(1)}, rules);
  EXPECT_EQ(row(made.ids, 0), (Row{0, 1, 2, 2, 2, 2, 2, 2, 5, 5, 5, 5, 5, 5, 8}));
  EXPECT_EQ(row(made.ids, 1), (Row{0, 1, 2, 2, 2, 3, 3, 3, 5, 5, 5, 6, 6, 6, 8}));
  EXPECT_EQ(row(made.ids, 2), (Row{0, 1, 2, 3, 4, 2, 3, 4, 5, 6, 7, 5, 6, 7, 8}));
  EXPECT_EQ(made.next, (Row{9}));
  // The largest of a tall image is a row.
  EXPECT_EQ(token_positions(Runs{Run::image(8, 2)}, rules).next, (Row{4}));
}

TEST(Sequences, pictures_do_not_count_seconds) {
  SequenceRules rules = sequence_rules("qwen2_5_vl");
  const TokenPositions made = token_positions(Runs{Run::image(2, 2), Run::text(1)}, rules);
  EXPECT_EQ(row(made.ids, 0), (Row{0, 1}));
}

TEST(Sequences, text_alone_is_what_one_axis_gives) {
  const TokenPositions made = token_positions(Runs{Run::text(4)}, {}, 7);
  for (std::int64_t axis = 0; axis < 3; ++axis) EXPECT_EQ(row(made.ids, axis), (Row{7, 8, 9, 10}));
  EXPECT_EQ(made.next, (Row{11}));
  const Rope rope(Spec({.head_dim = 16, .axes = Axes{{2, 3, 3}, Axes::Order::kBlocks}}));
  const Elements x = random_elements(DType::kF32, 4 * 16, 5);
  Elements three = x, one = x;
  rotate(rope, view(three, {1, 4, 1, 16}), made.ids.positions());
  rotate(rope, view(one, {1, 4, 1, 16}), Positions::from(7));
  EXPECT_EQ(three, one);
}

TEST(Sequences, a_prompt_in_two_pieces_is_the_prompt_in_one) {
  const Runs first{Run::text(2), Run::image(4, 8)}, second{Run::text(3), Run::image(6, 2)};
  Runs both = first;
  both.insert(both.end(), second.begin(), second.end());
  const TokenPositions whole = token_positions(both, {});
  const TokenPositions a = token_positions(first, {});
  const TokenPositions b = token_positions(second, {}, a.next[0]);
  for (std::int64_t axis = 0; axis < 3; ++axis) {
    Row joined = row(a.ids, axis);
    const Row rest = row(b.ids, axis);
    joined.insert(joined.end(), rest.begin(), rest.end());
    EXPECT_EQ(joined, row(whole.ids, axis));
  }
  EXPECT_EQ(b.next, whole.next);
}

TEST(Sequences, sequences_of_a_batch_are_as_if_alone) {
  const std::vector<Runs> batch{{Run::text(2), Run::image(2, 4), Run::text(2)}, {Run::text(3)}, {}};
  for (const Padding padding : {Padding::kRight, Padding::kLeft}) {
    const std::vector<std::int64_t> starts{0, 10, 20};
    const TokenPositions made = token_positions(batch, {}, padding, starts);
    EXPECT_EQ(made.ids.shape.batch, 3);
    EXPECT_EQ(made.ids.shape.tokens, 6);
    EXPECT_EQ(made.lengths, (Row{6, 3, 0}));
    EXPECT_EQ(made.next, (Row{6, 13, 20}));
    EXPECT_EQ(row(made.ids, 2, 0), (Row{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(row(made.ids, 1, 0), (Row{0, 1, 2, 2, 4, 5}));
    EXPECT_EQ(row(made.ids, 0, 1),
              padding == Padding::kRight ? (Row{10, 11, 12, 0, 0, 0}) : (Row{0, 0, 0, 10, 11, 12}));
    EXPECT_EQ(row(made.ids, 0, 2), (Row(6, 0)));
  }
}

// What a step of decoding turns by is next, on every axis: transformers' position + delta.
TEST(Sequences, the_next_token_follows_the_prompt) {
  const std::vector<Runs> batch{{Run::text(1), Run::image(8, 8)}, {Run::text(5)}};
  const TokenPositions made = token_positions(batch, {}, Padding::kLeft);
  EXPECT_EQ(made.next, (Row{5, 5}));
  EXPECT_EQ(made.delta(0), 5 - 17);
  EXPECT_EQ(made.delta(1), 0);
  Positions::starts(made.next).check(2, 1, 3);
}

// HunYuan-VL: huggingface/transformers, src/transformers/models/hunyuan_vl/modeling_hunyuan_vl.py; the
// picture in sequences.hpp.
TEST(Sequences, hunyuan_has_four_axes_and_a_token_at_the_end_of_each_row) {
  const std::vector<Runs> batch{{Run::text(2), Run::image(4, 4), Run::text(1), Run::image(2, 2)},
                                {Run::image(2, 2)}};
  const TokenPositions made = hunyuan_token_positions(batch);
  EXPECT_EQ(made.ids.shape.axes, 4);
  EXPECT_EQ(row(made.ids, 0), (Row{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
  EXPECT_EQ(row(made.ids, 1), (Row{0, 1, 0, 1, 2, 0, 1, 2, 8, 0, 1}));
  EXPECT_EQ(row(made.ids, 2), (Row{0, 1, 0, 0, 0, 1, 1, 1, 8, 0, 0}));
  EXPECT_EQ(row(made.ids, 3), (Row{0, 1, 0, 0, 0, 0, 0, 0, 8, 1, 1}));
  EXPECT_EQ(made.next, (Row{11, 2}));
  EXPECT_EQ(row(made.ids, 3, 1), (Row(11, 0)));
  const TokenPositions three = hunyuan_token_positions(batch, 3);
  EXPECT_EQ(row(three.ids, 0), row(made.ids, 1));
  EXPECT_EQ(row(three.ids, 2), row(made.ids, 3));
}

// ---- What cannot be ----

std::string refusal(const Runs& runs, const SequenceRules& rules = {}) {
  return error_of([&] { token_positions(runs, rules); });
}

TEST(Sequences, runs_that_cannot_be_are_refused_and_named) {
  EXPECT_EQ(refusal({Run::text(1), Run::image(3, 4)}),
            "sequence 0, run 1: rows 3 is not a multiple of 2 from 0 to 2^31");
  EXPECT_EQ(refusal({Run::image(4, 5)}),
            "sequence 0, run 0: columns 5 is not a multiple of 2 from 0 to 2^31");
  EXPECT_EQ(refusal({Run::text(-1)}),
            "sequence 0, run 0: tokens -1 is not a multiple of 1 from 0 to 2^31");
  EXPECT_EQ(refusal({Run::video(2, 2, 2, -1.0)}),
            "sequence 0, run 0: seconds_per_frame -1 is not a finite number >= 0");
  EXPECT_EQ(refusal({{.kind = static_cast<Run::Kind>(3)}}),
            "sequence 0, run 0: kind number 3 is unknown");
  SequenceRules rules = sequence_rules("qwen2_5_vl");
  EXPECT_EQ(refusal({Run::video(2, 2, 2, 1e30)}, rules),
            "sequence 0, run 0: tokens_per_second 2 x seconds_per_frame 1e+30: frame 1 is 2^61 or "
            "later");
}

TEST(Sequences, rules_that_cannot_be_are_refused) {
  EXPECT_EQ(refusal({}, {.spatial_merge = 0}), "spatial_merge 0 is less than 1");
  EXPECT_EQ(refusal({}, {.temporal_merge = 0}), "temporal_merge 0 is less than 1");
  EXPECT_EQ(refusal({}, {.tokens_per_second = -1}),
            "tokens_per_second -1 is not a finite number >= 0");
  EXPECT_EQ(refusal({}, {.next = static_cast<SequenceRules::Next>(2)}), "next number 2 is unknown");
  EXPECT_EQ(
      error_of([] { sequence_rules("llama"); }),
      "model_type llama has no rules here, want one of [cohere_compass, cosmos3_edge, "
      "cosmos3_omni, ernie4_5_vl_moe, glm46v, glm4v, glm4v_moe, glm_image, glm_ocr, hy_v4_vl, "
      "paddleocr_vl, qwen2_5_omni, qwen2_5_omni_thinker, qwen2_5_vl, qwen2_vl, qwen3_5, "
      "qwen3_5_moe, qwen3_vl, qwen3_vl_moe, qwen4_exp]");
}

TEST(Sequences, more_tokens_than_memory_has_are_refused_before_any_is_made) {
  constexpr std::int64_t k = kMaxPositionIds;
  EXPECT_EQ(refusal({Run::text(5), Run::video(k, k, k)}),
            "sequence 0, run 1: more than the 715827882 tokens that one call makes");
  EXPECT_NE(refusal({Run::text(k)}), "");
  EXPECT_NE(refusal({Run::text(k + 1)}), "");
  std::vector<Runs> batch(1 << 20);
  batch[0] = {Run::text(1 << 20)};
  EXPECT_EQ(
      error_of([&] { token_positions(batch, {}); }),
      "1048576 sequences of up to 1048576 tokens: more than the 715827882 tokens that one call "
      "makes");
}

TEST(Sequences, starts_that_do_not_fit_are_refused) {
  const std::vector<Runs> batch{{Run::text(1)}, {Run::text(1)}};
  const std::vector<std::int64_t> one{0};
  EXPECT_EQ(error_of([&] { token_positions(batch, {}, Padding::kRight, one); }),
            "starts has 1 values for 2 sequences");
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(error_of([&] { token_positions(Runs{Run::text(1)}, {}, kMax); }),
            "start 9223372036854775807 is beyond 2^62");
  EXPECT_EQ(error_of([&] { token_positions(batch, {}, static_cast<Padding>(2)); }),
            "padding number 2 is unknown");
}

TEST(Sequences, hunyuan_takes_images_only) {
  const std::vector<Runs> video{{Run::video(1, 2, 2)}};
  EXPECT_EQ(error_of([&] { hunyuan_token_positions(video); }),
            "sequence 0, run 0: a video, or an image of 1 frames: want images of 1");
  EXPECT_EQ(error_of([&] { hunyuan_token_positions(video, 5); }), "axes 5, want 3 or 4");
}

}  // namespace
}  // namespace ropewalk::testing
