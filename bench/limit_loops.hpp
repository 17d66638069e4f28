// One way to read, scale and write; and the ways for each width of vectors. No inline functions here,
// nor in what is included: see limit-inl.hpp.

#ifndef ROPEWALK_BENCH_LIMIT_LOOPS_HPP_
#define ROPEWALK_BENCH_LIMIT_LOOPS_HPP_

#include <cstddef>

namespace ropewalk::bench {

// count floats at x and out, of any alignment; x and out do not overlap. The factor and the value are
// arguments, and the loops stand in files of their own: a compiler that knew them, or saw the caller,
// could turn the scaling into a change of sign bits, join two calls or drop them.
struct LimitLoops {
  const char* name;                                          // "256-bit x4": vectors a step
  void (*scale)(float* x, std::size_t count, float factor);  // in place
  void (*scale_to)(const float* x, float* out, std::size_t count, float factor);
  void (*write)(float* out, std::size_t count, float value);  // reads nothing
};

inline constexpr std::size_t kLoopsPerWidth = 4;

// kLoopsPerWidth each. Run only what the CPU has. Those of 256 and 512 bits are of x86-64.
extern const LimitLoops* const kLoops128;
extern const LimitLoops* const kLoops256;
extern const LimitLoops* const kLoops512;

}  // namespace ropewalk::bench

#endif  // ROPEWALK_BENCH_LIMIT_LOOPS_HPP_
