// The limit of 16-bit types: elements are widened to float, scaled and rounded, as a rotation must do
// whatever else it does. Against the limit, which moves the same bytes, it says what conversion costs.

#ifndef ROPEWALK_BENCH_CONVERT_HPP_
#define ROPEWALK_BENCH_CONVERT_HPP_

#include <vector>

#include "bench/convert_loops.hpp"

namespace ropewalk::bench {

// Those that this CPU has; none on other CPUs than x86-64.
std::vector<ConvertLoop> convert_loops();

}  // namespace ropewalk::bench

#endif  // ROPEWALK_BENCH_CONVERT_HPP_
