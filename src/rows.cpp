#include "rows.hpp"

#include <algorithm>
#include <cmath>

namespace ropewalk {
namespace {

// The coordinates of a tile's tokens, by axis.
struct Coordinates {
  std::array<std::int64_t, kMaxTileTokens> whole;
  std::array<double, kMaxTileTokens> fraction;
};
using AllCoordinates = std::array<Coordinates, static_cast<std::size_t>(Spec::kMaxAxes)>;

void read_coordinates(const Rope& rope, const Positions& positions, const Tile& tile,
                      AllCoordinates& all) {
  for (std::size_t axis = 0; axis < rope.axes(); ++axis) {
    positions.copy(axis, tile.batch, tile.first, std::span(all[axis].whole).first(tile.tokens),
                   std::span(all[axis].fraction).first(tile.tokens));
  }
}

// The fraction of a position times τ, as a 64-bit fraction of a turn. It multiplies τ and not the
// turn, which has lost its whole turns.
std::uint64_t fraction_phase(double fraction, const Rope::Ratio& ratio) {
  const double t = fraction * ratio.high;
  const double rest = std::fma(fraction, ratio.high, -t) + fraction * ratio.low;
  const double phase = ((t - std::rint(t)) + rest) * 0x1p64;
  if (phase >= 0x1p63) return std::uint64_t{1} << 63;
  if (phase <= -0x1p63) return std::uint64_t{1} << 63;  // the same half turn
  return static_cast<std::uint64_t>(std::llrint(phase));
}

// sign 1 adds, -1 subtracts.
void add_phases(const Rope& rope, const Positions& positions, const Tile& tile, std::uint64_t sign,
                std::uint64_t* phases) {
  AllCoordinates all;
  read_coordinates(rope, positions, tile, all);
  const auto& axis_of_pair = rope.spec().axis_of_pair();
  const bool is_real = positions.is_real();
  const std::size_t stride = kernels::padded(tile.pairs);
  for (std::size_t t = 0; t < tile.tokens; ++t) {
    for (std::size_t i = 0; i < tile.pairs; ++i) {
      const std::size_t pair = tile.first_pair + i;
      const Coordinates& at = all[axis_of_pair.empty() ? 0 : axis_of_pair[pair]];
      std::uint64_t phase = static_cast<std::uint64_t>(at.whole[t]) * rope.turns()[pair];
      if (is_real) phase += fraction_phase(at.fraction[t], rope.ratios()[pair]);
      phases[t * stride + i] += sign * phase;
    }
  }
}

bool are_consecutive(std::span<const std::int64_t> positions) {
  bool are = true;
  for (std::size_t t = 1; t < positions.size(); ++t) {
    const auto before = static_cast<std::uint64_t>(positions[t - 1]);  // wraps beyond the largest
    are &= static_cast<std::uint64_t>(positions[t]) - before == 1;
  }
  return are;
}

}  // namespace

void make_angle_job(const Turning& turning, const Tile& tile, const Rows& rows, AngleMemory& memory,
                    kernels::AngleJob& job) {
  const Rope& rope = *turning.rope;
  job.turns = nullptr;
  job.positions = nullptr;
  job.is_consecutive = false;
  job.phases = nullptr;
  job.pairs = tile.pairs;
  job.tokens = tile.tokens;
  job.rows = rows.data;
  job.row_stride = rows.stride;
  job.sines = rows.sines;
  const bool is_plain =
      turning.old_rope == nullptr && rope.axes() == 1 && !turning.positions->is_real();
  if (is_plain) {  // one integer per token: the kernel multiplies
    const std::span whole = std::span(memory.positions).first(tile.tokens);
    job.turns = rope.turns().data() + tile.first_pair;
    job.positions = whole.data();
    job.is_consecutive = turning.positions->counts_on();
    if (job.is_consecutive) {
      whole[0] = turning.positions->start() + tile.first;
    } else {
      turning.positions->copy(0, tile.batch, tile.first, whole, {});
      job.is_consecutive = are_consecutive(whole);
    }
    return;
  }
  memory.phases.fill(0);
  add_phases(rope, *turning.positions, tile, 1, memory.phases.data());
  if (turning.old_rope != nullptr) {
    add_phases(*turning.old_rope, *turning.old_positions, tile, std::uint64_t{0} - 1,
               memory.phases.data());
  }
  job.phases = memory.phases.data();
}

}  // namespace ropewalk
