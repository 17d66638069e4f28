#include <algorithm>
#include <array>
#include <ropewalk/error.hpp>
#include <ropewalk/rotate.hpp>
#include <span>

#include "angles.hpp"
#include "kernels.hpp"
#include "message.hpp"
#include "operands.hpp"
#include "rows.hpp"

namespace ropewalk {
namespace {

template <class... Parts>
[[noreturn]] void refuse(ErrorCode code, const Parts&... parts) {
  throw Error(code, message(parts...));
}

// What is done to the operands: which rows, how scaled, between which windows. All four operations
// are this; they differ in how it is filled in.
struct Work {
  Turning turning{};               // fresh angles, or
  const Angles* angles = nullptr;  // ready ones
  const Spec* from;                // whose pairing is read
  const Spec* to;                  // whose pairing is written
  Pairing read, written;
  double cos_scale, sin_scale;
  bool divides_by_token_scales = false;
};

// ---- The walk: a tile of tokens at a time. ----

// Some of the tokens, counted through all sequences, and of each operand's heads the share
// `share` of `shares`.
struct Slice {
  std::int64_t first, last;
  std::int64_t share = 0, shares = 1;
};

// Where a tile's rows are, and how they are scaled.
struct ReadyRows {
  const void* cosines;
  std::size_t stride, sines;
  const double* token_scales;
};

template <class Void, class View>
kernels::Side<Void> side_of(const View& view, const Tile& tile, std::int64_t first_head,
                            const kernels::Pairs& pairs) {
  const auto size = static_cast<std::int64_t>(size_of(view.dtype));
  const Dims& strides = view.strides;
  const std::int64_t offset =
      tile.batch * strides[0] + tile.first * strides[1] + first_head * strides[2];
  using Byte = std::conditional_t<std::is_const_v<Void>, const std::byte, std::byte>;
  return {static_cast<Byte*>(view.data) + offset * size, strides[1] * size, strides[2] * size,
          strides[3] * size, pairs};
}

// Pairs first .. of part `part` of the window, in elements of the view.
kernels::Pairs pairs_of(const Spec& spec, Pairing pairing, std::size_t width, std::size_t part,
                        std::size_t first) {
  const auto rotary_dim = static_cast<std::size_t>(spec.rotary_dim());
  const std::size_t part_width = rotary_dim / static_cast<std::size_t>(spec.window_parts());
  const std::size_t window =
      width == rotary_dim ? 0 : static_cast<std::size_t>(spec.rotary_offset());
  const bool adjacent = pairing == Pairing::kAdjacent;
  return {window + part * part_width + first * (adjacent ? 2 : 1), adjacent ? 1 : part_width / 2,
          adjacent};
}

// pairs: of the tile, all in one part of the window, the first being `first` of `part`.
void turn_tile(const Work& work, const Operand& operand, const Tile& tile, std::size_t part,
               std::size_t first, const ReadyRows& rows, const Slice& slice,
               const kernels::Table& table) {
  const std::int64_t heads = operand.in.shape[2];
  const std::int64_t first_head = heads * slice.share / slice.shares;
  const std::int64_t last_head = heads * (slice.share + 1) / slice.shares;
  const auto width = static_cast<std::size_t>(operand.in.shape[3]);
  const Dims& out = operand.out.strides;
  const kernels::Pairs read = pairs_of(*work.from, work.read, width, part, first);
  const kernels::Pairs written = pairs_of(*work.to, work.written, width, part, first);
  kernels::TurnJob job{
      .rows = rows.cosines,
      .row_stride = rows.stride,
      .sines = rows.sines,
      .cos_scale = work.cos_scale,
      .sin_scale = work.sin_scale,
      .token_scales = rows.token_scales,
      .divides_by_token_scales = work.divides_by_token_scales,
      .pairs = tile.pairs,
      .tokens = tile.tokens,
      .heads = static_cast<std::size_t>(last_head - first_head),
      .in = side_of<const void>(operand.in, tile, first_head, read),
      .out = side_of<void>(operand.out, tile, first_head, written),
      .heads_outer = std::abs(out[2]) > std::abs(out[1]),
      .copies = {},
  };
  if (part == 0 && first == 0 && !operand.in_place()) {
    const std::size_t window = pairs_of(*work.from, Pairing::kHalves, width, 0, 0).first;
    job.copies = {
        {{0, window}, {window + static_cast<std::size_t>(work.from->rotary_dim()), width}}};
  }
  table.turn[static_cast<std::size_t>(operand.in.dtype)](job);
}

// The rows of one tile for tensors of one kind: made here, or ready.
class RowSource {
 public:
  RowSource(const Work& work, const kernels::Table& table) : work_(work), table_(table) {}

  ReadyRows get(const Tile& tile, bool is_double) {
    if (work_.angles != nullptr) {
      const Angles& angles = *work_.angles;
      const std::int64_t row = AnglesAccess::row(angles, tile.batch, tile.first);
      const std::size_t element = is_double ? sizeof(double) : sizeof(float);
      const std::size_t stride = AnglesAccess::stride(angles);
      return {static_cast<const std::byte*>(AnglesAccess::cosines(angles, row)) +
                  tile.first_pair * element,
              stride, stride / 2, AnglesAccess::token_scales(angles, row)};
    }
    const std::size_t sines = kernels::padded(tile.pairs);
    fill_rows(work_.turning, tile, {memory_.data(), is_double, 2 * sines, sines}, table_);
    return {memory_.data(), 2 * sines, sines, nullptr};
  }

 private:
  const Work& work_;
  const kernels::Table& table_;
  alignas(64) std::array<double, 2 * kMaxTilePairs + kernels::kPadding> memory_;
};

void walk(const Work& work, Operands operands, const Slice& slice, const kernels::Table& table) {
  RowSource source(work, table);
  const Spec& spec = *work.from;
  const auto parts = static_cast<std::size_t>(spec.window_parts());
  const std::size_t part_pairs = static_cast<std::size_t>(spec.rotary_dim() / 2) / parts;
  const std::size_t block = std::min(part_pairs, kernels::kMaxRowPairs);
  const auto most_tokens = static_cast<std::int64_t>(tile_tokens(block));
  const std::int64_t tokens_of_sequence = operands.front().in.shape[1];
  for (std::int64_t at = slice.first; at < slice.last;) {
    const std::int64_t batch = at / tokens_of_sequence, first = at % tokens_of_sequence;
    const std::int64_t tokens =
        std::min({most_tokens, tokens_of_sequence - first, slice.last - at});
    at += tokens;
    for (std::size_t part = 0; part < parts; ++part) {
      for (std::size_t pair = 0; pair < part_pairs; pair += block) {
        const Tile tile{batch, first, static_cast<std::size_t>(tokens), part * part_pairs + pair,
                        std::min(block, part_pairs - pair)};
        // Rows of float and of double, for tensors of different kinds, are made one after the other.
        for (const bool is_double : {false, true}) {
          const auto is_ours = [&](const Operand& operand) {
            return !is_empty(operand.in) && (operand.in.dtype == DType::kF64) == is_double;
          };
          if (std::none_of(operands.begin(), operands.end(), is_ours)) continue;
          const ReadyRows rows = source.get(tile, is_double);
          for (const Operand& operand : operands) {
            if (!is_ours(operand)) continue;
            turn_tile(work, operand, tile, part, pair, rows, slice, table);
          }
        }
      }
    }
  }
}

// A fork and a join cost as much as some 100 KiB in cache.
constexpr std::int64_t kWorthThreads = std::int64_t{256} << 10;

// Split by tokens; by heads inside a single token.
void walk_in_parallel(const Work& work, Operands operands, const ParallelFor& parallel,
                      const kernels::Table& table) {
  std::int64_t bytes = 0, most_heads = 0;
  for (const Operand& operand : operands) {
    const Dims& shape = operand.in.shape;
    bytes += shape[0] * shape[1] * shape[2] * shape[3] *
             static_cast<std::int64_t>(size_of(operand.in.dtype));
    most_heads = std::max(most_heads, shape[2]);
  }
  const std::int64_t tokens = operands.front().in.shape[0] * operands.front().in.shape[1];
  const std::int64_t pieces = tokens > 1 ? tokens : most_heads;
  const std::int64_t tasks = std::min(parallel.threads, pieces);
  if (parallel.run == nullptr || tasks <= 1 || bytes < kWorthThreads) {
    return walk(work, operands, {0, tokens}, table);
  }
  struct Context {
    const Work& work;
    Operands operands;
    const kernels::Table& table;
    std::int64_t tokens, tasks;
  } context{work, operands, table, tokens, tasks};
  parallel.run(
      parallel.pool, tasks,
      [](void* pointer, std::int64_t i) {
        const Context& c = *static_cast<Context*>(pointer);
        const Slice slice = c.tokens > 1
                                ? Slice{c.tokens * i / c.tasks, c.tokens * (i + 1) / c.tasks}
                                : Slice{0, c.tokens, i, c.tasks};
        walk(c.work, c.operands, slice, c.table);
      },
      &context);
}

void run(const Work& work, Operands operands, const Options& options) {
  const kernels::Table* table = kernels::table_for(options.target);
  if (table == nullptr) {
    refuse(ErrorCode::kUnsupported, "target ", name(options.target),
           " is not to be had in this build or on this CPU");
  }
  check_operands(operands, *work.from);
  if (work.angles != nullptr) {
    check_angles(operands, *work.angles);
  } else {
    check_positions(operands, *work.turning.rope, *work.turning.positions);
  }
  if (work.turning.old_rope != nullptr) {
    check_positions(operands, *work.turning.old_rope, *work.turning.old_positions);
  }
  const bool none = std::all_of(operands.begin(), operands.end(),
                                [](const Operand& operand) { return is_empty(operand.in); });
  if (!none) walk_in_parallel(work, operands, options.parallel, *table);
}

// ---- The operations ----

enum class Operation : std::uint8_t { kRotate, kUnrotate, kBackward };

// What an operation is, for a plan with attention factor m. backward is the transposed matrix,
// unrotate the inverse.
Work work_of(Operation operation, const Spec& spec, double m) {
  const bool forward = operation == Operation::kRotate;
  const double scale = operation == Operation::kUnrotate ? 1 / m : m;
  Work work{};
  work.from = work.to = &spec;
  work.read = forward ? spec.pairing() : spec.output_pairing();
  work.written = forward ? spec.output_pairing() : spec.pairing();
  work.cos_scale = scale;
  work.sin_scale = forward ? scale : -scale;
  work.divides_by_token_scales = operation == Operation::kUnrotate;
  return work;
}

void run(Operation operation, const Rope& rope, const Positions& positions, Operands operands,
         const Options& options) {
  Work work = work_of(operation, rope.spec(), rope.attention_factor());
  work.turning = {&rope, &positions};
  run(work, operands, options);
}

void run(Operation operation, const Angles& angles, Operands operands, const Options& options) {
  const std::optional<Spec>& spec = AnglesAccess::spec(angles);
  if (!spec) refuse(ErrorCode::kInvalidArgument, "angles have no rows yet: call assign first");
  if (operation == Operation::kUnrotate && !AnglesAccess::is_turn(angles)) {
    refuse(
        ErrorCode::kUnsupported,
        "unrotate with given rows, xPos or angles as a checkpoint saw them: what undoes those is "
        "no rotation; backward is the transposed one");
  }
  Work work = work_of(operation, *spec, AnglesAccess::scale(angles));
  work.angles = &angles;
  run(work, operands, options);
}

void check_windows(const Spec& a, const Spec& b) {
  const auto same = [](std::string_view what, std::int64_t old_value, std::int64_t new_value) {
    if (old_value != new_value) {
      refuse(ErrorCode::kShapeMismatch, "rerotate from ", what, " ", old_value, " to ", what, " ",
             new_value, ": the windows must be equal");
    }
  };
  same("head_dim", a.head_dim(), b.head_dim());
  same("rotary_dim", a.rotary_dim(), b.rotary_dim());
  same("rotary_offset", a.rotary_offset(), b.rotary_offset());
  same("window_parts", a.window_parts(), b.window_parts());
}

void run_rerotate(const Rope& old_rope, const Rope& new_rope, const Positions& from,
                  const Positions& to, const Operand& keys, const Options& options) {
  check_windows(old_rope.spec(), new_rope.spec());
  Work work{};
  work.turning = {&new_rope, &to, &old_rope, &from};
  work.from = &old_rope.spec();
  work.to = &new_rope.spec();
  work.read = work.from->output_pairing();
  work.written = work.to->output_pairing();
  // Exactly 1 when m is the same: no multiplication then.
  work.cos_scale = work.sin_scale = new_rope.attention_factor() / old_rope.attention_factor();
  constexpr auto kMost = 2 * static_cast<std::int64_t>(kernels::kMaxRowPairs);
  if (work.read != work.written && work.from->rotary_dim() / work.from->window_parts() > kMost) {
    refuse(ErrorCode::kUnsupported, "rerotate from one pairing to another for rotary_dim ",
           work.from->rotary_dim(), ": want at most ", kMost);
  }
  run(work, {&keys, 1}, options);
}

}  // namespace

// Each operation has the same eight forms.
#define ROPEWALK_DEFINE_OPERATION(name, operation)                                            \
  void name(const Rope& rope, const TensorView& x, const Positions& positions,                \
            const Options& options) {                                                         \
    const std::array operands = {make_operand("x", x, "x", x)};                               \
    run(operation, rope, positions, operands, options);                                       \
  }                                                                                           \
  void name(const Rope& rope, const TensorView& q, const TensorView& k,                       \
            const Positions& positions, const Options& options) {                             \
    const std::array operands = {make_operand("q", q, "q", q), make_operand("k", k, "k", k)}; \
    run(operation, rope, positions, operands, options);                                       \
  }                                                                                           \
  void name(const Rope& rope, const ConstTensorView& x, const Positions& positions,           \
            const TensorView& out, const Options& options) {                                  \
    const std::array operands = {make_operand("x", x, "out", out)};                           \
    run(operation, rope, positions, operands, options);                                       \
  }                                                                                           \
  void name(const Rope& rope, const ConstTensorView& q, const ConstTensorView& k,             \
            const Positions& positions, const TensorView& out_q, const TensorView& out_k,     \
            const Options& options) {                                                         \
    const std::array operands = {make_operand("q", q, "out_q", out_q),                        \
                                 make_operand("k", k, "out_k", out_k)};                       \
    run(operation, rope, positions, operands, options);                                       \
  }                                                                                           \
  void name(const Angles& angles, const TensorView& x, const Options& options) {              \
    const std::array operands = {make_operand("x", x, "x", x)};                               \
    run(operation, angles, operands, options);                                                \
  }                                                                                           \
  void name(const Angles& angles, const TensorView& q, const TensorView& k,                   \
            const Options& options) {                                                         \
    const std::array operands = {make_operand("q", q, "q", q), make_operand("k", k, "k", k)}; \
    run(operation, angles, operands, options);                                                \
  }                                                                                           \
  void name(const Angles& angles, const ConstTensorView& x, const Into& out,                  \
            const Options& options) {                                                         \
    const std::array operands = {make_operand("x", x, "out", out.view)};                      \
    run(operation, angles, operands, options);                                                \
  }                                                                                           \
  void name(const Angles& angles, const ConstTensorView& q, const ConstTensorView& k,         \
            const Into& out_q, const Into& out_k, const Options& options) {                   \
    const std::array operands = {make_operand("q", q, "out_q", out_q.view),                   \
                                 make_operand("k", k, "out_k", out_k.view)};                  \
    run(operation, angles, operands, options);                                                \
  }

ROPEWALK_DEFINE_OPERATION(rotate, Operation::kRotate)
ROPEWALK_DEFINE_OPERATION(unrotate, Operation::kUnrotate)
ROPEWALK_DEFINE_OPERATION(backward, Operation::kBackward)

#undef ROPEWALK_DEFINE_OPERATION

void rerotate(const Rope& old_rope, const Rope& new_rope, const TensorView& keys,
              const Positions& from, const Positions& to, const Options& options) {
  run_rerotate(old_rope, new_rope, from, to, make_operand("keys", keys, "keys", keys), options);
}

void rerotate(const Rope& old_rope, const Rope& new_rope, const ConstTensorView& keys,
              const Positions& from, const Positions& to, const TensorView& out,
              const Options& options) {
  run_rerotate(old_rope, new_rope, from, to, make_operand("keys", keys, "out", out), options);
}

}  // namespace ropewalk
