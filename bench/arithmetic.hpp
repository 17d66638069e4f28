// What arithmetic alone allows, beside the limit that moves the same bytes. Elements of 16 bits are widened
// to float, scaled and rounded, as a rotation must do whatever else it does; pairs of floats are turned
// by one angle.

#ifndef ROPEWALK_BENCH_ARITHMETIC_HPP_
#define ROPEWALK_BENCH_ARITHMETIC_HPP_

#include <vector>

#include "bench/arithmetic_loops.hpp"

namespace ropewalk::bench {

// Those that this CPU has; none on other CPUs than x86-64.
std::vector<ConvertLoop> convert_loops();
std::vector<TurnLoop> turn_loops();

}  // namespace ropewalk::bench

#endif  // ROPEWALK_BENCH_ARITHMETIC_HPP_
