// The kernels: the only SIMD code. Here without SIMD types; see kernels-inl.hpp for the code and
// kernels.cpp for how it is compiled once per instruction set.
//
// Rotating is two steps. angles() makes rows of cos and sin, one row per token; rotate() applies a
// row to every head of its token. A row holds `padded(pairs)` cosines, then as many sines:
//
//   | cos 0 | cos 1 | ... | cos n-1 | 0 .. | sin 0 | sin 1 | ... | sin n-1 | 0 .. |
//
// Everything has been checked before a kernel is called. Strides are in bytes.

#ifndef ROPEWALK_SRC_KERNELS_HPP_
#define ROPEWALK_SRC_KERNELS_HPP_

#include <array>
#include <cstddef>
#include <cstdint>
#include <ropewalk/tensor.hpp>
#include <ropewalk/version.hpp>
#include <span>

namespace ropewalk::kernels {

// Rows are read in whole vectors.
inline constexpr std::size_t kPadding = 16;
constexpr std::size_t padded(std::size_t pairs) {
  return (pairs + kPadding - 1) / kPadding * kPadding;
}

// Pairs of one row, at most; a longer head is rotated in several blocks of pairs. A multiple of
// kPadding.
inline constexpr std::size_t kMaxRowPairs = 512;

struct AngleJob {
  const std::uint64_t* turns;     // [padded(pairs)]
  std::size_t pairs;              // <= kMaxRowPairs
  float attention_factor;         // multiplies cos and sin
  const std::int64_t* positions;  // [tokens]
  std::size_t tokens;
  float* rows;  // [tokens, 2 padded(pairs)]
};

// Distances between neighbours, in bytes.
struct Steps {
  std::ptrdiff_t token, head;
};

struct RotateJob {
  const float* rows;  // [tokens, 2 padded(pairs)]
  std::size_t pairs;  // <= kMaxRowPairs
  std::size_t tokens, heads;
  const void* in;  // the first element a of the first pair, of the first head and token
  void* out;       // likewise; equal to in, or apart from it
  Steps in_steps, out_steps;
  std::size_t partner;  // bytes from a to b of a pair
  bool heads_outer;     // walk all tokens of a head, then the next head
  // Bytes to be copied besides, as they are: from in + tail to out + tail.
  std::size_t tail, tail_bytes;
};

// What one target offers. Plain function pointers: dispatch is one load.
struct Table {
  Target target;
  void (*angles)(const AngleJob&);
  // [dtype][pairing], halves before adjacent.
  std::array<std::array<void (*)(const RotateJob&), 2>, 2> rotate;
};

std::span<const Target> compiled_targets() noexcept;

// Null if the build or the CPU lacks it. kBest never is.
const Table* table_for(Target target) noexcept;

}  // namespace ropewalk::kernels

#endif  // ROPEWALK_SRC_KERNELS_HPP_
