#include "walk.hpp"

#include <algorithm>
#include <array>
#include <type_traits>

#include "angles.hpp"

namespace ropewalk {
namespace {

// Some of the tokens, counted through all sequences, and of each operand's heads the share
// `share` of `shares`.
struct Slice {
  std::int64_t first, last;
  std::int64_t share = 0, shares = 1;
};

// Of the pairs of a view, which are pairs first .. of part `part` of the window.
kernels::Pairs pairs_of(const Spec& spec, Pairing pairing, std::int64_t width, std::size_t part,
                        std::size_t first) {
  const auto part_dim = static_cast<std::size_t>(spec.part_dim());
  const std::size_t window =
      width == spec.rotary_dim() ? 0 : static_cast<std::size_t>(spec.rotary_offset());
  const bool adjacent = pairing == Pairing::kAdjacent;
  return {window + part * part_dim + first * (adjacent ? 2 : 1), adjacent ? 1 : part_dim / 2,
          adjacent};
}

// How to walk over a view, in bytes. Steps along dimensions of size 1 are never made, and may be
// anything in a view: 0 here. But the elements of a head are taken for dense, if there is one only.
struct Steps {
  std::int64_t offset;  // of the first element
  std::int64_t token, head, element;
};

inline Steps steps_of(const ViewRef& view, const Tile& tile, std::int64_t first_head) {
  const auto size = static_cast<std::int64_t>(size_of(view.dtype));
  const auto step = [&](std::size_t d) { return view.shape[d] > 1 ? view.strides[d] * size : 0; };
  const std::int64_t token = step(1), head = step(2);
  return {tile.batch * step(0) + tile.first * token + first_head * head, token, head,
          view.shape[3] > 1 ? step(3) : size};
}

template <class Byte, class Void>
void set_side(kernels::Side<Void>& side, Void* data, const Steps& steps,
              const kernels::Pairs& pairs) {
  side.data = static_cast<Byte*>(data) + steps.offset;
  side.token = steps.token;
  side.head = steps.head;
  side.element = steps.element;
  side.pairs.first = pairs.first;
  side.pairs.partner = pairs.partner;
  side.pairs.adjacent = pairs.adjacent;
}

// What a second-level cache holds beside other things.
constexpr std::int64_t kFitsCache = std::int64_t{256} << 10;

// Whether every vector of every head of the output lies as streaming stores want it.
bool is_aligned_for_streams(const Operand& operand, const kernels::Side<void>& out) {
  const std::size_t size = size_of(operand.out.dtype);
  const auto first = reinterpret_cast<std::uintptr_t>(out.data) + out.pairs.first * size;
  const auto steps = static_cast<std::uintptr_t>(out.token | out.head);
  const std::size_t partner = out.pairs.adjacent ? 0 : out.pairs.partner * size;
  return (first | steps | partner) % kernels::kStreamAlignment == 0;
}

// Here as below, what is small is filled in member by member: a copy of what was just written in parts
// waits until all of these are in the cache, and clearing first costs more than filling in.

class Walk {
 public:
  Walk(const Work& work, Operands operands, const kernels::Table& table)
      : work_(work), operands_(operands), table_(table) {}

  void run(const Slice& slice);

 private:
  [[gnu::always_inline]] inline void set_rows(const Tile& tile, bool is_double);
  [[gnu::always_inline]] inline void turn(const Operand& operand, const Tile& tile,
                                          std::size_t part, std::size_t first, const Slice& slice);
  [[gnu::always_inline]] inline void turn_all(const Tile& tile, std::size_t part, std::size_t first,
                                              const Slice& slice);

  const Work& work_;
  Operands operands_;
  const kernels::Table& table_;
  // Filled where needed, and not before.
  kernels::TurnJob job_;
  kernels::AngleJob angles_;
  AngleMemory memory_;
  alignas(64) std::array<double, 2 * kMaxTilePairs + kernels::kPadding> rows_;
  alignas(64) std::array<double, 2 * kernels::kMaxRowPairs> scaled_;
};

// Finds or makes the rows of a tile.
void Walk::set_rows(const Tile& tile, bool is_double) {
  job_.cos_scale = work_.cos_scale;
  job_.sin_scale = work_.sin_scale;
  job_.divides_by_token_scales = work_.divides_by_token_scales;
  job_.scaled = scaled_.data();
  job_.pairs = tile.pairs;
  job_.tokens = tile.tokens;
  if (work_.angles != nullptr) {
    const Angles& angles = *work_.angles;
    const std::int64_t row = AnglesAccess::row(angles, tile.batch, tile.first);
    const std::size_t element = is_double ? sizeof(double) : sizeof(float);
    job_.rows = static_cast<const std::byte*>(AnglesAccess::cosines(angles, row)) +
                tile.first_pair * element;
    job_.row_stride = AnglesAccess::stride(angles);
    job_.sines = job_.row_stride / 2;
    job_.token_scales = AnglesAccess::token_scales(angles, row);
    return;
  }
  const std::size_t sines = kernels::padded(tile.pairs);
  job_.rows = rows_.data();
  job_.row_stride = 2 * sines;
  job_.sines = sines;
  job_.token_scales = nullptr;
  make_angle_job(work_.turning, tile, {rows_.data(), is_double, 2 * sines, sines}, memory_,
                 angles_);
  table_.angles[is_double ? 1 : 0](angles_);
}

// pairs: of the tile, all in one part of the window, the first being `first` of `part`.
void Walk::turn(const Operand& operand, const Tile& tile, std::size_t part, std::size_t first,
                const Slice& slice) {
  const Dims& shape = operand.in.shape;
  std::int64_t first_head = 0, last_head = shape[2];
  if (slice.shares > 1) {
    first_head = shape[2] * slice.share / slice.shares;
    last_head = shape[2] * (slice.share + 1) / slice.shares;
  }
  job_.heads = static_cast<std::size_t>(last_head - first_head);
  const kernels::Pairs read = pairs_of(*work_.spec, work_.read, shape[3], part, first);
  const kernels::Pairs written = work_.written == work_.read
                                     ? read
                                     : pairs_of(*work_.spec, work_.written, shape[3], part, first);
  const Steps out = steps_of(operand.out, tile, first_head);
  set_side<std::byte>(job_.out, operand.out_data, out, written);
  if (operand.in_place) {
    set_side<const std::byte>(job_.in, operand.in.data, out, read);
  } else {
    set_side<const std::byte>(job_.in, operand.in.data, steps_of(operand.in, tile, first_head),
                              read);
  }
  job_.heads_outer = tile.tokens > 1 && std::abs(out.head) > std::abs(out.token);
  job_.fits_cache = work_.bytes <= kFitsCache;
  job_.may_stream = false;
  job_.copies_count = 0;
  if (!operand.in_place) {
    job_.may_stream = work_.bytes > static_cast<std::int64_t>(kernels::last_level_cache_bytes()) &&
                      is_aligned_for_streams(operand, job_.out);
    if (part == 0 && first == 0) {
      const auto width = static_cast<std::size_t>(shape[3]);
      const std::size_t window = pairs_of(*work_.spec, Pairing::kHalves, shape[3], 0, 0).first;
      const std::size_t end = window + static_cast<std::size_t>(work_.spec->rotary_dim());
      if (window > 0) job_.copies[job_.copies_count++] = {0, window};
      if (end < width) job_.copies[job_.copies_count++] = {end, width};
    }
  }
  table_.turn[static_cast<std::size_t>(operand.in.dtype)](job_);
}

// q and k share their rows, unless one wants floats and the other doubles.
void Walk::turn_all(const Tile& tile, std::size_t part, std::size_t first, const Slice& slice) {
  const Operand* set_for = nullptr;
  for (const Operand& operand : operands_) {
    if (operand.is_empty) continue;
    if (set_for == nullptr || set_for->is_double != operand.is_double) {
      set_rows(tile, operand.is_double);
      set_for = &operand;
    }
    turn(operand, tile, part, first, slice);
  }
}

void Walk::run(const Slice& slice) {
  const Spec& spec = *work_.spec;
  const auto parts = static_cast<std::size_t>(spec.window_parts());
  const auto part_pairs = static_cast<std::size_t>(spec.part_dim()) / 2;
  if (slice.first == 0 && slice.last == 1 && slice.shares == 1 && parts == 1 &&
      part_pairs <= kernels::kMaxRowPairs) {
    // Decode: one tile, which is what the loops come to. With these constants a call is shorter.
    return turn_all({0, 0, 1, 0, part_pairs}, 0, 0, {0, 1});
  }
  const std::size_t block = std::min(part_pairs, kernels::kMaxRowPairs);
  // Divisions are slow, and most calls have one token or one sequence.
  const auto most_tokens =
      slice.last - slice.first == 1 ? 1 : static_cast<std::int64_t>(tile_tokens(block));
  const std::int64_t tokens_of_sequence = operands_.front().in.shape[1];
  for (std::int64_t at = slice.first; at < slice.last;) {
    const std::int64_t batch = at < tokens_of_sequence ? 0 : at / tokens_of_sequence;
    const std::int64_t first = at - batch * tokens_of_sequence;
    const std::int64_t tokens =
        std::min({most_tokens, tokens_of_sequence - first, slice.last - at});
    at += tokens;
    for (std::size_t part = 0; part < parts; ++part) {
      for (std::size_t pair = 0; pair < part_pairs; pair += block) {
        turn_all({batch, first, static_cast<std::size_t>(tokens), part * part_pairs + pair,
                  std::min(block, part_pairs - pair)},
                 part, pair, slice);
      }
    }
  }
}

// A fork and a join cost as much as some 100 KiB in cache.
constexpr std::int64_t kWorthThreads = std::int64_t{256} << 10;

// Split by tokens; by heads inside a single token.
}  // namespace

void walk(const Work& work, Operands operands, const ParallelFor& parallel,
          const kernels::Table& table) {
  const std::int64_t tokens = operands.front().in.shape[0] * operands.front().in.shape[1];
  std::int64_t tasks = 1;
  if (parallel.run != nullptr && work.bytes >= kWorthThreads) {
    std::int64_t pieces = tokens;
    if (tokens <= 1) {
      for (const Operand& operand : operands) pieces = std::max(pieces, operand.in.shape[2]);
    }
    tasks = std::min(parallel.threads, pieces);
  }
  if (tasks <= 1) return Walk(work, operands, table).run({0, tokens});
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
        Walk(c.work, c.operands, c.table).run(slice);
      },
      &context);
}

}  // namespace ropewalk
