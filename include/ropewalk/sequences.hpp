// Sequences: the positions of tokens of text, images and videos in language models that see.

#ifndef ROPEWALK_SEQUENCES_HPP_
#define ROPEWALK_SEQUENCES_HPP_

#include <cstdint>
#include <ropewalk/grids.hpp>
#include <span>
#include <string_view>
#include <vector>

namespace ropewalk {

// A stretch of a sequence: tokens of text, or the patches of one image or video. What marks an image's
// begin and end is text.
struct Run {
  enum class Kind : std::uint8_t { kText, kImage, kVideo };
  Kind kind = Kind::kText;
  std::int64_t tokens = 0;  // of a text
  // Patches before any merging, as in image_grid_thw and video_grid_thw.
  std::int64_t frames = 1;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  // Of a video: second_per_grid_ts, temporal_patch_size / frames per second; finite, >= 0.
  double seconds_per_frame = 1.0;

  static Run text(std::int64_t tokens) { return {.kind = Kind::kText, .tokens = tokens}; }
  static Run image(std::int64_t rows, std::int64_t columns) {
    return {.kind = Kind::kImage, .rows = rows, .columns = columns};
  }
  static Run video(std::int64_t frames, std::int64_t rows, std::int64_t columns,
                   double seconds_per_frame = 1.0) {
    return {.kind = Kind::kVideo,
            .frames = frames,
            .rows = rows,
            .columns = columns,
            .seconds_per_frame = seconds_per_frame};
  }
};

// How a model numbers them, axes t, h, w (Qwen2-VL, arXiv 2409.12191, section 2.1):
//
//   text    t = h = w, counting on
//   image   all from where the text stopped, s:  t = s,  h = s + row,  w = s + column
//   video   as an image, and t = s + what frame it is
//   text    goes on after the largest of them
//
//   text 3, image 2 x 3, text 2    t   0 1 2   3 3 3 3 3 3   6 7
//   (after merging)                h   0 1 2   3 3 3 4 4 4   6 7
//                                  w   0 1 2   3 4 5 3 4 5   6 7
struct SequenceRules {
  // Where what follows an image or a video goes on, counted from its s.
  enum class Next : std::uint8_t {
    kLargest,     // the largest of t, h, w, + 1: the paper, transformers 4
    kLongerSide,  // max(rows, columns) after merging: transformers 5. It differs for videos that
                  // last longer than they are wide: their frames then share t with the text
  };
  std::int64_t spatial_merge = 2;   // spatial_merge_size: patches of a token, each way
  std::int64_t temporal_merge = 1;  // frames of a token of a video
  // tokens_per_second: frame k of a video stands at t = s + trunc(k tokens_per_second
  // seconds_per_frame), formed in float32 as the models' code does. 0: at s + k.
  double tokens_per_second = 0;
  bool seconds_first =
      false;  // k seconds_per_frame is formed first, and then times tokens_per_second
  // Frame k begins at s + k max(rows, columns) on all axes, as if it were an image.
  bool frames_apart = false;
  bool row_ends = false;  // each row of a frame or image has one token more, its end
  // Each frame is a run of its own, with text (its time) before it: a video run has one frame.
  bool frame_by_frame = false;
  Next next = Next::kLargest;
};

// The rules of a model_type, from huggingface/transformers (4.57.6 and 5.24.0), src/transformers/
// models/*/modeling_*.py, get_rope_index; next is kLargest in all of them. Throws Error
// (kInvalidArgument) with a list of those known.
//
//   qwen2_vl, paddleocr_vl                              the defaults
//   qwen2_5_vl                                          tokens_per_second 2, as published: its
//                                                       vision_config has the key
//   qwen2_5_omni(_thinker)                              tokens_per_second 25 (position_id_per_seconds),
//                                                       seconds_first; sound is text here, one token
//                                                       after another, unless it is within a video
//   qwen3_vl(_moe), qwen3_5(_moe), qwen4_exp,           frame_by_frame
//   glm4v(_moe), glm46v, glm_ocr, cohere_compass,
//   cosmos3_omni, cosmos3_edge
//   ernie4_5_vl_moe                                     temporal_merge 2
//   hy_v4_vl                                            row_ends, frames_apart
//   glm_image                                           spatial_merge 1
SequenceRules sequence_rules(std::string_view model_type);

// Sequences of a batch are filled up to the longest; what is filled up stands at 0 and is for the
// attention's mask to hide.
enum class Padding : std::uint8_t { kRight, kLeft };

struct TokenPositions {
  PositionIds ids;                    // [axes, batch, tokens]
  std::vector<std::int64_t> lengths;  // of each sequence, in tokens
  // The largest id of each sequence + 1: where its first generated token stands, on every axis. While
  // decoding: Positions::starts(next), and each step adds 1.
  std::vector<std::int64_t> next;

  // transformers' mrope_position_deltas.
  [[nodiscard]] std::int64_t delta(std::size_t b) const noexcept { return next[b] - lengths[b]; }
};

// Throws Error (kInvalidArgument) naming sequence, run and field, what was given and what is allowed:
// rows and columns are multiples of spatial_merge, frames of temporal_merge.
//
// starts: where each sequence begins (what was cached before it), or empty: 0.
TokenPositions token_positions(std::span<const std::vector<Run>> sequences,
                               const SequenceRules& rules, Padding padding = Padding::kRight,
                               std::span<const std::int64_t> starts = {});
// One sequence.
TokenPositions token_positions(const std::vector<Run>& runs, const SequenceRules& rules,
                               std::int64_t start = 0);

// HunYuan-VL, HunyuanOCR: axes p, w, h, i for Axes order blocks (with three, w, h, i). Every token of the
// sequence counts on all axes, and only inside an image w, h and i are its column, its row, counted
// from 0, and how many images came before in the sequence. Each row of an image has one token more,
// its end, in the column after the last; its begin and end marks are text. No videos.
//
//   text 2, image 2 x 2, text 1    p   0 1   2 3 4 5 6 7   8
//   (after merging)                w   0 1   0 1 2 0 1 2   8
//                                  h   0 1   0 0 0 1 1 1   8
//                                  i   0 1   0 0 0 0 0 0   8
//
// huggingface/transformers, src/transformers/models/hunyuan_vl/modeling_hunyuan_vl.py, get_rope_index,
// which counts images through a whole batch; here each sequence is by itself, as if it were alone.
TokenPositions hunyuan_token_positions(std::span<const std::vector<Run>> sequences,
                                       std::int64_t axes = 4, std::int64_t spatial_merge = 2,
                                       Padding padding = Padding::kRight);

}  // namespace ropewalk

#endif  // ROPEWALK_SEQUENCES_HPP_
