// Whether a result is right, before it is timed: against the formula in long double.

#ifndef ROPEWALK_BENCH_EXACT_HPP_
#define ROPEWALK_BENCH_EXACT_HPP_

#include <cstdint>
#include <ropewalk/angles.hpp>
#include <ropewalk/rope.hpp>
#include <ropewalk/tensor.hpp>
#include <span>
#include <string>

namespace ropewalk::bench {

// Compares y with the exact rotation of x, in all pairs of some 40 of its heads, drawn at random, the
// first and the last among them. x and y have one shape and dtype, batch 1; token t stands at
// positions[t], |position| < 2^32. Returns what is wrong, or "" where each element keeps the promise
// on accuracy of the README.
std::string wrong_element(const Rope& rope, const ConstTensorView& x, const ConstTensorView& y,
                          std::span<const std::int64_t> positions);

// Likewise rows of cos and sin, of all pairs of some tokens.
std::string wrong_row(const Rope& rope, const Angles& angles,
                      std::span<const std::int64_t> positions);

}  // namespace ropewalk::bench

#endif  // ROPEWALK_BENCH_EXACT_HPP_
