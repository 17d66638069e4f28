// Rows of cos and sin of a tile of tokens, from a plan and positions. Part of the room `angles`.

#ifndef ROPEWALK_SRC_ROWS_HPP_
#define ROPEWALK_SRC_ROWS_HPP_

#include <array>
#include <cstddef>
#include <cstdint>
#include <ropewalk/positions.hpp>
#include <ropewalk/rope.hpp>

#include "kernels.hpp"

namespace ropewalk {

// A plan at positions; or for rerotate the way from an old plan and position to a new one.
struct Turning {
  const Rope* rope;
  const Positions* positions;
  const Rope* old_rope = nullptr;
  const Positions* old_positions = nullptr;
};

// Tokens first .. first + tokens of sequence batch, pairs first_pair .. first_pair + pairs.
struct Tile {
  std::int64_t batch, first;
  std::size_t tokens;
  std::size_t first_pair, pairs;
};
inline constexpr std::size_t kMaxTileTokens = 64;
inline constexpr std::size_t kMaxTilePairs = 2048;  // padded, of all tokens together
static_assert(kMaxTilePairs >= kernels::kMaxRowPairs);

constexpr std::size_t tile_tokens(std::size_t row_pairs) {
  const std::size_t fit = kMaxTilePairs / kernels::padded(row_pairs);
  return fit < kMaxTileTokens ? fit : kMaxTileTokens;
}

// Where a tile's rows are written: see kernels::AngleJob.
struct Rows {
  void* data;
  bool is_double;
  std::size_t stride, sines;
};

// What an AngleJob points to.
struct AngleMemory {
  std::array<std::int64_t, kMaxTileTokens> positions;
  std::array<std::uint64_t, kMaxTilePairs> phases;
};

// The job that fills rows with cos and sin, unscaled.
void make_angle_job(const Turning& turning, const Tile& tile, const Rows& rows, AngleMemory& memory,
                    kernels::AngleJob& job);

}  // namespace ropewalk

#endif  // ROPEWALK_SRC_ROWS_HPP_
