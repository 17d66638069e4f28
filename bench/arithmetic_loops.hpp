// Ways to widen, scale and round, and to turn; each for every width of vectors. No inline functions here, nor
// in what is included: see limit-inl.hpp.

#ifndef ROPEWALK_BENCH_ARITHMETIC_LOOPS_HPP_
#define ROPEWALK_BENCH_ARITHMETIC_LOOPS_HPP_

#include <cstddef>
#include <cstdint>

namespace ropewalk::bench {

// Widens elements to float, scales them, rounds them to nearest even, and writes them where they were.
// count is a multiple of 128. No NaN is looked for: from 16-bit input the rounding can lose none.
struct ConvertLoop {
  const char* name;
  bool is_bf16;  // else f16
  void (*scale)(std::uint16_t* x, std::size_t count, float factor);
};

// Turns all pairs of floats by one angle, in place: the products of a rotation, with cos and sin in
// registers and no heads, no rows and no tails. count is a multiple of 128; of halves, element i of
// each 64 is the partner of element i + 32.
struct TurnLoop {
  const char* name;
  bool is_adjacent;
  void (*turn)(float* x, std::size_t count, float cos, float sin);
};

inline constexpr std::size_t kConvertLoopsPerWidth = 4, kConvertLoopsInHardware = 2;
inline constexpr std::size_t kTurnLoopsPerWidth = 4;

// Run only what the CPU has.
extern const ConvertLoop* const kConvertLoops256;      // AVX2 and F16C; kConvertLoopsPerWidth
extern const ConvertLoop* const kConvertLoops512;      // AVX-512 F and BW; kConvertLoopsPerWidth
extern const ConvertLoop* const kConvertLoops512Bf16;  // AVX512-BF16; kConvertLoopsInHardware

extern const TurnLoop* const kTurnLoops256;  // AVX2 and FMA; kTurnLoopsPerWidth
extern const TurnLoop* const kTurnLoops512;  // AVX-512 F; kTurnLoopsPerWidth

}  // namespace ropewalk::bench

#endif  // ROPEWALK_BENCH_ARITHMETIC_LOOPS_HPP_
