#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <ropewalk/error.hpp>
#include <ropewalk/sequences.hpp>
#include <string>

#include "message.hpp"

namespace ropewalk {
namespace {

// The largest start: what 2^31 tokens and frames 2^31 apart add to it stays within 64 bits.
constexpr std::int64_t kMaxStart = std::int64_t{1} << 62;

template <class... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  throw Error(ErrorCode::kInvalidArgument, message(parts...));
}

// A run as its tokens are: after merging.
struct Block {
  std::int64_t frames, rows, columns;
};

void check_size(const std::string& where, std::string_view name, std::int64_t size,
                std::int64_t merge) {
  if (size < 0 || size > kMaxPositionIds || size % merge != 0) {
    refuse(where, name, " ", size, " is not a multiple of ", merge, " from 0 to 2^31");
  }
}

Block block_of(const std::string& where, const Run& run, const SequenceRules& rules) {
  if (run.kind == Run::Kind::kText) {
    check_size(where, "tokens", run.tokens, 1);
    return {1, 1, run.tokens};
  }
  const std::int64_t temporal = run.kind == Run::Kind::kVideo ? rules.temporal_merge : 1;
  check_size(where, "frames", run.frames, temporal);
  check_size(where, "rows", run.rows, rules.spatial_merge);
  check_size(where, "columns", run.columns, rules.spatial_merge);
  if (run.kind == Run::Kind::kVideo && rules.frame_by_frame && run.frames != 1) {
    refuse(where, "frames ", run.frames,
           " of a video: want 1, a run for each frame with the text of its time between");
  }
  if (!(run.seconds_per_frame >= 0 && std::isfinite(run.seconds_per_frame))) {
    refuse(where, "seconds_per_frame ", run.seconds_per_frame, " is not a finite number >= 0");
  }
  return {run.frames / temporal, run.rows / rules.spatial_merge, run.columns / rules.spatial_merge};
}

void check_rules(const SequenceRules& rules) {
  if (rules.spatial_merge < 1) refuse("spatial_merge ", rules.spatial_merge, " is less than 1");
  if (rules.temporal_merge < 1) refuse("temporal_merge ", rules.temporal_merge, " is less than 1");
  if (!(rules.tokens_per_second >= 0 && std::isfinite(rules.tokens_per_second))) {
    refuse("tokens_per_second ", rules.tokens_per_second, " is not a finite number >= 0");
  }
  if (rules.next > SequenceRules::Next::kLongerSide) {
    refuse("next number ", static_cast<int>(rules.next), " is unknown");
  }
}

// limit + 1 where it would be more than limit. a, b >= 0.
std::int64_t product(std::int64_t a, std::int64_t b, std::int64_t limit) {
  return a != 0 && b > limit / a ? limit + 1 : a * b;
}

std::string where(std::size_t sequence, std::size_t run) {
  return message("sequence ", sequence, ", run ", run, ": ");
}

// blocks[b][r], and their checks; the lengths of the sequences, given what one row of a block has
// beside its columns.
struct Plan {
  std::vector<std::vector<Block>> blocks;
  std::vector<std::int64_t> lengths;
  std::int64_t tokens = 0;  // of the longest
};

Plan plan_of(std::span<const std::vector<Run>> sequences, const SequenceRules& rules,
             std::int64_t axes, std::int64_t row_ends) {
  check_rules(rules);
  Plan plan;
  const std::int64_t limit = kMaxPositionIds / axes;
  for (std::size_t b = 0; b < sequences.size(); ++b) {
    std::int64_t length = 0;
    plan.blocks.emplace_back();
    for (std::size_t r = 0; r < sequences[b].size(); ++r) {
      const Run& run = sequences[b][r];
      if (run.kind > Run::Kind::kVideo) {
        refuse(where(b, r), "kind number ", static_cast<int>(run.kind), " is unknown");
      }
      const Block block = block_of(where(b, r), run, rules);
      const std::int64_t ends = run.kind == Run::Kind::kText ? 0 : row_ends;
      const std::int64_t more =
          product(product(block.rows, block.columns + ends, limit), block.frames, limit);
      if (more > limit - length) {
        refuse(where(b, r), "more than the ", limit, " tokens that one call makes");
      }
      length += more;
      plan.blocks.back().push_back(block);
    }
    plan.lengths.push_back(length);
    plan.tokens = std::max(plan.tokens, length);
  }
  const auto batch = static_cast<std::int64_t>(sequences.size());
  if (product(batch, plan.tokens, limit) > limit) {
    refuse(batch, " sequences of up to ", plan.tokens, " tokens: more than the ", limit,
           " tokens that one call makes");
  }
  return plan;
}

// Writes the ids of one sequence, token by token.
class Writer {
 public:
  Writer(PositionIds& ids, std::size_t b, std::int64_t first) noexcept
      : ids_(ids),
        at_(b * static_cast<std::size_t>(ids.shape.tokens) + static_cast<std::size_t>(first)) {}
  void put(std::span<const std::int64_t> coordinates) {
    for (std::size_t axis = 0; axis < coordinates.size(); ++axis) {
      ids_.ids[axis * static_cast<std::size_t>(ids_.shape.batch * ids_.shape.tokens) + at_] =
          coordinates[axis];
      largest_ = std::max(largest_, coordinates[axis]);
    }
    ++at_;
  }
  [[nodiscard]] std::int64_t largest() const noexcept { return largest_; }

 private:
  PositionIds& ids_;
  std::size_t at_;
  std::int64_t largest_ = std::numeric_limits<std::int64_t>::min();
};

TokenPositions zeros(const Plan& plan, std::int64_t axes) {
  const auto batch = static_cast<std::int64_t>(plan.lengths.size());
  const std::int64_t count = axes * batch * plan.tokens;
  return {.ids = {.ids = std::vector<std::int64_t>(static_cast<std::size_t>(count)),
                  .shape = {.axes = axes, .batch = batch, .tokens = plan.tokens}},
          .lengths = plan.lengths,
          .next = {}};
}

std::int64_t first_token(const Plan& plan, std::size_t b, Padding padding) {
  return padding == Padding::kLeft ? plan.tokens - plan.lengths[b] : 0;
}

void check_padding(Padding padding) {
  if (padding > Padding::kLeft) refuse("padding number ", static_cast<int>(padding), " is unknown");
}

// t of frame k, from the start of its run.
std::int64_t time_of(std::int64_t k, const Run& run, const SequenceRules& rules,
                     const std::string& where) {
  if (run.kind != Run::Kind::kVideo || rules.tokens_per_second == 0) return k;
  // transformers' tensors: of float32, where a number beside them is rounded to it first.
  const auto frame = static_cast<float>(k);
  const float time =
      rules.seconds_first
          ? frame * static_cast<float>(run.seconds_per_frame) *
                static_cast<float>(rules.tokens_per_second)
          : frame * static_cast<float>(rules.tokens_per_second * run.seconds_per_frame);
  if (!(time < 0x1p61F)) {
    refuse(where, "tokens_per_second ", rules.tokens_per_second, " x seconds_per_frame ",
           run.seconds_per_frame, ": frame ", k, " is 2^61 or later");
  }
  return static_cast<std::int64_t>(time);
}

// Writes the ids of a run that begins at start; where the next one does.
std::int64_t put(Writer& writer, const Run& run, const Block& block, const SequenceRules& rules,
                 std::int64_t start, const std::string& where) {
  if (run.kind == Run::Kind::kText) {
    for (std::int64_t i = 0; i < run.tokens; ++i) {
      writer.put(std::array{start + i, start + i, start + i});
    }
    return start + run.tokens;
  }
  if (block.frames == 0 || block.rows == 0 || block.columns == 0) return start;
  const std::int64_t columns = block.columns + (rules.row_ends ? 1 : 0);
  const std::int64_t side = std::max(block.rows, columns);
  std::int64_t time = 0, corner = start;  // where the frame's h and w begin
  for (std::int64_t frame = 0; frame < block.frames; ++frame) {
    time = rules.frames_apart ? frame * side : time_of(frame, run, rules, where);
    corner = rules.frames_apart ? start + time : start;
    for (std::int64_t row = 0; row < block.rows; ++row) {
      for (std::int64_t column = 0; column < columns; ++column) {
        writer.put(std::array{start + time, corner + row, corner + column});
      }
    }
  }
  if (rules.next == SequenceRules::Next::kLongerSide) return start + side;
  return std::max(corner + side, start + time + 1);
}

struct Family {
  std::string_view model_type;
  SequenceRules rules;
};
constexpr SequenceRules kFrameByFrame{.frame_by_frame = true};
constexpr SequenceRules kOmni{.tokens_per_second = 25, .seconds_first = true};
constexpr std::array<Family, 20> kFamilies = {{
    {"cohere_compass", kFrameByFrame},
    {"cosmos3_edge", kFrameByFrame},
    {"cosmos3_omni", kFrameByFrame},
    {"ernie4_5_vl_moe", {.temporal_merge = 2}},
    {"glm46v", kFrameByFrame},
    {"glm4v", kFrameByFrame},
    {"glm4v_moe", kFrameByFrame},
    {"glm_image", {.spatial_merge = 1}},
    {"glm_ocr", kFrameByFrame},
    {"hy_v4_vl", {.frames_apart = true, .row_ends = true}},
    {"paddleocr_vl", {}},
    {"qwen2_5_omni", kOmni},
    {"qwen2_5_omni_thinker", kOmni},
    {"qwen2_5_vl", {.tokens_per_second = 2}},
    {"qwen2_vl", {}},
    {"qwen3_5", kFrameByFrame},
    {"qwen3_5_moe", kFrameByFrame},
    {"qwen3_vl", kFrameByFrame},
    {"qwen3_vl_moe", kFrameByFrame},
    {"qwen4_exp", kFrameByFrame},
}};

}  // namespace

SequenceRules sequence_rules(std::string_view model_type) {
  std::vector<std::string_view> known;
  for (const Family& family : kFamilies) {
    if (family.model_type == model_type) return family.rules;
    known.push_back(family.model_type);
  }
  refuse("model_type ", model_type, " has no rules here, want one of ", bracketed(known));
}

TokenPositions token_positions(std::span<const std::vector<Run>> sequences,
                               const SequenceRules& rules, Padding padding,
                               std::span<const std::int64_t> starts) {
  check_padding(padding);
  if (!starts.empty() && starts.size() != sequences.size()) {
    refuse("starts has ", starts.size(), " values for ", sequences.size(), " sequences");
  }
  for (const std::int64_t start : starts) {
    if (start < -kMaxStart || start > kMaxStart) refuse("start ", start, " is beyond 2^62");
  }
  const Plan plan = plan_of(sequences, rules, 3, rules.row_ends ? 1 : 0);
  TokenPositions result = zeros(plan, 3);
  for (std::size_t b = 0; b < sequences.size(); ++b) {
    Writer writer(result.ids, b, first_token(plan, b, padding));
    const std::int64_t start = starts.empty() ? 0 : starts[b];
    std::int64_t next = start;
    for (std::size_t r = 0; r < sequences[b].size(); ++r) {
      if (next > kMaxStart) refuse(where(b, r), "begins at ", next, ", beyond 2^62");
      next = put(writer, sequences[b][r], plan.blocks[b][r], rules, next, where(b, r));
    }
    result.next.push_back(plan.lengths[b] == 0 ? start : writer.largest() + 1);
  }
  return result;
}

TokenPositions token_positions(const std::vector<Run>& runs, const SequenceRules& rules,
                               std::int64_t start) {
  return token_positions(std::span(&runs, 1), rules, Padding::kRight, std::span(&start, 1));
}

TokenPositions hunyuan_token_positions(std::span<const std::vector<Run>> sequences,
                                       std::int64_t axes, std::int64_t spatial_merge,
                                       Padding padding) {
  check_padding(padding);
  if (axes < 3 || axes > 4) refuse("axes ", axes, ", want 3 or 4");
  const Plan plan = plan_of(sequences, {.spatial_merge = spatial_merge}, axes, 1);
  TokenPositions result = zeros(plan, axes);
  for (std::size_t b = 0; b < sequences.size(); ++b) {
    Writer writer(result.ids, b, first_token(plan, b, padding));
    std::int64_t p = 0, images = 0;
    for (std::size_t r = 0; r < sequences[b].size(); ++r) {
      const Run& run = sequences[b][r];
      const Block& block = plan.blocks[b][r];
      if (run.kind == Run::Kind::kVideo || block.frames != 1) {
        refuse(where(b, r), "a video, or an image of ", run.frames, " frames: want images of 1");
      }
      const bool is_image = run.kind == Run::Kind::kImage;
      for (std::int64_t row = 0; row < block.rows; ++row) {
        for (std::int64_t column = 0; column < block.columns + (is_image ? 1 : 0); ++column, ++p) {
          const std::array<std::int64_t, 4> ids =
              is_image ? std::array{p, column, row, images} : std::array{p, p, p, p};
          writer.put(std::span(ids).subspan(static_cast<std::size_t>(4 - axes)));
        }
      }
      if (is_image) ++images;
    }
    result.next.push_back(plan.lengths[b] == 0 ? 0 : writer.largest() + 1);
  }
  return result;
}

}  // namespace ropewalk
