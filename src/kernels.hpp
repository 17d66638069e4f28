// The kernels: the only SIMD code. Here without SIMD types; see kernels-inl.hpp for the code and
// kernels.cpp for how it is compiled once per instruction set.
//
// Turning is two steps. angles() makes rows of cos and sin, one row per token; turn() applies a row
// to every head of its token. A row holds `padded(pairs)` cosines, then as many sines, in float for
// f32, bf16 and f16 tensors and in double for f64:
//
//   | cos 0 | cos 1 | ... | cos n-1 | .. | sin 0 | sin 1 | ... | sin n-1 | .. |
//
// Everything has been checked before a kernel is called. Strides and steps are in bytes.

#ifndef ROPEWALK_SRC_KERNELS_HPP_
#define ROPEWALK_SRC_KERNELS_HPP_

#include <array>
#include <cstddef>
#include <cstdint>
#include <ropewalk/tensor.hpp>
#include <ropewalk/version.hpp>
#include <span>

namespace ropewalk::kernels {

// Rows and turns are read and written in whole vectors.
inline constexpr std::size_t kPadding = 16;
constexpr std::size_t padded(std::size_t pairs) {
  return (pairs + kPadding - 1) / kPadding * kPadding;
}

// Pairs of one job, at most; a longer head is turned in several. A multiple of kPadding.
inline constexpr std::size_t kMaxRowPairs = 1024;

struct AngleJob {
  // phase = position x turn, for integer positions on one axis, or else the phases themselves.
  const std::uint64_t* turns;  // [padded(pairs)], or null
  const std::int64_t*
      positions;                // [tokens], with turns; only the first is read of consecutive ones
  bool is_consecutive;          // each position is one more than the one before
  const std::uint64_t* phases;  // [tokens, padded(pairs)], without turns
  std::size_t pairs, tokens;
  void* rows;              // of float or double: padded(pairs) cosines are written, and sines
  std::size_t row_stride;  // elements from a token's row to the next token's
  std::size_t sines;       // elements from the first cosine to the first sine
};

// Which elements of a head make the pairs of a job: pair i is at first + i step and `partner`
// behind, with step 1 (halves) or 2 (adjacent). In elements of the view.
struct Pairs {
  std::size_t first, partner;
  bool adjacent;
};

// One side of a job, input or output.
template <class Void>
struct Side {
  Void* data;                           // the first element of the first head of the first token
  std::ptrdiff_t token, head, element;  // bytes to the next
  Pairs pairs;
};

struct TurnJob {
  const void* rows;              // the first cosine of the first token
  std::size_t row_stride;        // elements from a token's row to the next token's
  std::size_t sines;             // elements from the first cosine to the first sine
  double cos_scale, sin_scale;   // multiply cos and sin
  const double* token_scales;    // [tokens], multiply both besides; or null
  bool divides_by_token_scales;  // divide instead
  void* scaled;                  // memory for one scaled row, [2 * padded(pairs)]
  std::size_t pairs;             // <= kMaxRowPairs
  std::size_t tokens, heads;
  Side<const void> in;
  Side<void> out;    // the same memory as in, at the same steps, or apart from it
  bool heads_outer;  // walk all tokens of a head, then the next head
  bool fits_cache;   // the whole call does, the second level
  bool
      may_stream;  // past the caches: out is apart from in, aligned, and more than the last level holds
  // Ranges of elements of a head, [begin, end), that are copied as they are.
  std::array<std::array<std::size_t, 2>, 2> copies;
  std::size_t copies_count;
};

// What one target offers. Plain function pointers: dispatch is one load.
struct Table {
  Target target;
  std::array<void (*)(const AngleJob&), 2> angles;     // rows of float, of double
  std::array<void (*)(const TurnJob&), kDTypes> turn;  // by DType
};

std::span<const Target> compiled_targets() noexcept;

// Stores past the caches want the first pair of every head at a multiple of this, and its partner.
inline constexpr std::size_t kStreamAlignment = 64;

// Of the CPU's last-level cache; where the system does not say, a guess.
std::size_t last_level_cache_bytes() noexcept;

// Null if the build or the CPU lacks it. kBest never is.
const Table* table_for(Target target) noexcept;

}  // namespace ropewalk::kernels

#endif  // ROPEWALK_SRC_KERNELS_HPP_
