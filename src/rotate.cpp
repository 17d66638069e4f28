#include <algorithm>
#include <array>
#include <ropewalk/error.hpp>
#include <ropewalk/rotate.hpp>
#include <span>

#include "kernels.hpp"
#include "message.hpp"
#include "overlap.hpp"

namespace ropewalk {
namespace {

// A tensor on its way: where from, where to, and how the caller calls the two.
struct Operand {
  std::string_view in_name;
  ConstTensorView in;
  std::string_view out_name;
  TensorView out;
  [[nodiscard]] bool in_place() const { return is_same(in, out); }
};

// A stride along a dimension of size 1 is never walked, and may be anything: 0 from here on.
template <class View>
View without_idle_strides(View view) {
  for (std::size_t d = 0; d < 4; ++d) {
    if (view.shape[d] <= 1) view.strides[d] = 0;
  }
  return view;
}

Operand make_operand(std::string_view in_name, const ConstTensorView& in, std::string_view out_name,
                     const TensorView& out) {
  return {in_name, without_idle_strides(in), out_name, without_idle_strides(out)};
}

template <class... Parts>
[[noreturn]] void refuse(ErrorCode code, const Parts&... parts) {
  throw Error(code, message(parts...));
}

// ---- Checks: all of them before the first byte is written. ----

void check_view(std::string_view who, const ConstTensorView& view, const Spec& spec) {
  for (const std::int64_t size : view.shape) {
    if (size < 0) {
      refuse(ErrorCode::kInvalidArgument, who, " has shape ", bracketed(view.shape),
             ": sizes cannot be negative");
    }
  }
  if (view.dtype != DType::kF32 && view.dtype != DType::kBf16) {
    refuse(ErrorCode::kInvalidArgument, who, " has dtype number ", static_cast<int>(view.dtype),
           ", want f32 or bf16");
  }
  if (view.shape[3] != spec.head_dim()) {
    refuse(ErrorCode::kShapeMismatch, who, " has head_dim ", view.shape[3], " (shape ",
           bracketed(view.shape), " as [batch, tokens, heads, head_dim]), the rope has head_dim ",
           spec.head_dim());
  }
  if (is_empty(view)) return;
  if (view.data == nullptr) refuse(ErrorCode::kInvalidArgument, who, " is null");
  if (view.shape[3] > 1 && view.strides[3] != 1) {
    refuse(ErrorCode::kUnsupported, who, " has strides ", bracketed(view.strides),
           ": the last must be 1");
  }
  if (std::uintptr_t first = 0, end = 0; !byte_range(view, first, end)) {
    refuse(ErrorCode::kInvalidArgument, who, " of shape ", bracketed(view.shape), " and strides ",
           bracketed(view.strides), " is larger than the memory");
  }
}

void check_output(const Operand& operand) {
  const TensorView& out = operand.out;
  if (out.shape != operand.in.shape) {
    refuse(ErrorCode::kShapeMismatch, operand.out_name, " has shape ", bracketed(out.shape), ", ",
           operand.in_name, " has ", bracketed(operand.in.shape), ": they must be equal");
  }
  if (out.dtype != operand.in.dtype) {
    refuse(ErrorCode::kShapeMismatch, operand.out_name, " has dtype ", name(out.dtype), ", ",
           operand.in_name, " has ", name(operand.in.dtype), ": they must be equal");
  }
  if (may_overlap_itself(out)) {
    refuse(ErrorCode::kOverlap, operand.out_name, " of shape ", bracketed(out.shape),
           " and strides ", bracketed(out.strides), " has elements that share memory");
  }
}

void check_apart(std::string_view out_name, const TensorView& out, std::string_view other_name,
                 const ConstTensorView& other) {
  if (may_overlap(out, other)) {
    refuse(ErrorCode::kOverlap, out_name, " overlaps ", other_name,
           ": give memory of its own, or for in place the same view");
  }
}

void check(const Rope& rope, std::span<const Operand> operands, const Positions& positions) {
  for (const Operand& operand : operands) {
    check_view(operand.in_name, operand.in, rope.spec());
    check_view(operand.out_name, operand.out, rope.spec());
    check_output(operand);
  }
  const Dims& first = operands.front().in.shape;
  const Dims& last = operands.back().in.shape;
  if (first[0] != last[0] || first[1] != last[1]) {
    refuse(ErrorCode::kShapeMismatch, operands.front().in_name, " has shape ", bracketed(first),
           ", ", operands.back().in_name, " has ", bracketed(last),
           " as [batch, tokens, heads, head_dim]: batch and tokens must be equal");
  }
  positions.check(first[0], first[1]);
  for (const Operand& operand : operands) {
    if (!operand.in_place()) {
      check_apart(operand.out_name, operand.out, operand.in_name, operand.in);
    }
    if (may_overlap(operand.out, positions.memory())) {
      refuse(ErrorCode::kOverlap, operand.out_name, " overlaps the positions");
    }
  }
  if (operands.size() == 2) {
    const Operand& q = operands[0];
    const Operand& k = operands[1];
    check_apart(q.out_name, q.out, k.out_name, k.out);
    check_apart(q.out_name, q.out, k.in_name, k.in);
    check_apart(k.out_name, k.out, q.in_name, q.in);
  }
}

// ---- The walk: a tile of tokens at a time, its rows of cos and sin on the stack. ----

constexpr std::size_t kMaxTileTokens = 64;
constexpr std::size_t kTileFloats = 4096;
static_assert(kTileFloats >= 2 * kernels::kMaxRowPairs);

struct Tile {
  std::int64_t batch;
  std::int64_t first;  // token
  std::size_t tokens;
  std::size_t first_pair, pairs;
};

void rotate_tile(const Rope& rope, const Operand& operand, const Tile& tile, const float* rows,
                 const kernels::Table& table) {
  const auto size = static_cast<std::int64_t>(size_of(operand.in.dtype));
  const Spec& spec = rope.spec();
  const bool adjacent = spec.pairing() == Pairing::kAdjacent;
  const auto first_element = static_cast<std::int64_t>(tile.first_pair) * (adjacent ? 2 : 1);
  const auto offset = [&](const Dims& strides) {
    return (tile.batch * strides[0] + tile.first * strides[1] + first_element) * size;
  };
  const auto steps = [&](const Dims& strides) {
    return kernels::Steps{strides[1] * size, strides[2] * size};
  };
  const Dims& in = operand.in.strides;
  const Dims& out = operand.out.strides;
  kernels::RotateJob job{
      .rows = rows,
      .pairs = tile.pairs,
      .tokens = tile.tokens,
      .heads = static_cast<std::size_t>(operand.in.shape[2]),
      .in = static_cast<const std::byte*>(operand.in.data) + offset(in),
      .out = static_cast<std::byte*>(operand.out.data) + offset(out),
      .in_steps = steps(in),
      .out_steps = steps(out),
      .partner = static_cast<std::size_t>((adjacent ? 1 : spec.rotary_dim() / 2) * size),
      .heads_outer = std::abs(out[2]) > std::abs(out[1]),
      .tail = static_cast<std::size_t>((spec.rotary_dim() - first_element) * size),
      .tail_bytes = 0,
  };
  if (tile.first_pair == 0 && !operand.in_place()) {
    job.tail_bytes = static_cast<std::size_t>((spec.head_dim() - spec.rotary_dim()) * size);
  }
  table.rotate[static_cast<std::size_t>(operand.in.dtype)][adjacent ? 1 : 0](job);
}

void walk(const Rope& rope, std::span<const Operand> operands, const Positions& positions,
          const kernels::Table& table) {
  alignas(64) std::array<float, kTileFloats> rows;
  std::array<std::int64_t, kMaxTileTokens> ids;
  const std::size_t pairs = rope.turns().size();
  const std::size_t row_pairs = std::min(pairs, kernels::kMaxRowPairs);
  const std::size_t tile_tokens =
      std::min(kMaxTileTokens, kTileFloats / (2 * kernels::padded(row_pairs)));
  const Dims& shape = operands.front().in.shape;
  for (std::int64_t b = 0; b < shape[0]; ++b) {
    for (std::int64_t t = 0; t < shape[1]; t += static_cast<std::int64_t>(tile_tokens)) {
      const std::size_t tokens = std::min(tile_tokens, static_cast<std::size_t>(shape[1] - t));
      positions.copy(b, t, std::span(ids).first(tokens));
      for (std::size_t i = 0; i < pairs; i += row_pairs) {
        const Tile tile{b, t, tokens, i, std::min(row_pairs, pairs - i)};
        table.angles({rope.turns().data() + i, tile.pairs,
                      static_cast<float>(rope.attention_factor()), ids.data(), tokens,
                      rows.data()});
        for (const Operand& operand : operands) {
          if (is_empty(operand.in)) continue;
          rotate_tile(rope, operand, tile, rows.data(), table);
        }
      }
    }
  }
}

void run(const Rope& rope, std::span<const Operand> operands, const Positions& positions,
         const Options& options) {
  const kernels::Table* table = kernels::table_for(options.target);
  if (table == nullptr) {
    refuse(ErrorCode::kUnsupported, "target ", name(options.target),
           " is not to be had in this build or on this CPU");
  }
  check(rope, operands, positions);
  if (std::all_of(operands.begin(), operands.end(),
                  [](const Operand& operand) { return is_empty(operand.in); })) {
    return;
  }
  walk(rope, operands, positions, *table);
}

}  // namespace

void rotate(const Rope& rope, const TensorView& x, const Positions& positions,
            const Options& options) {
  const std::array operands = {make_operand("x", x, "x", x)};
  run(rope, operands, positions, options);
}

void rotate(const Rope& rope, const TensorView& q, const TensorView& k, const Positions& positions,
            const Options& options) {
  const std::array operands = {make_operand("q", q, "q", q), make_operand("k", k, "k", k)};
  run(rope, operands, positions, options);
}

void rotate(const Rope& rope, const ConstTensorView& x, const Positions& positions,
            const TensorView& out, const Options& options) {
  const std::array operands = {make_operand("x", x, "out", out)};
  run(rope, operands, positions, options);
}

void rotate(const Rope& rope, const ConstTensorView& q, const ConstTensorView& k,
            const Positions& positions, const TensorView& out_q, const TensorView& out_k,
            const Options& options) {
  const std::array operands = {make_operand("q", q, "out_q", out_q),
                               make_operand("k", k, "out_k", out_k)};
  run(rope, operands, positions, options);
}

}  // namespace ropewalk
