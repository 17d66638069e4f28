// The limit: what this machine does when it only reads, scales by -1 and writes the same bytes.
//
// One careless loop flatters what is held against it (the same five lines took 139 to 439 ns in
// different builds), so there are several: of vectors of each width that the CPU has, some of them a
// step, and one left to the compiler. The limit is the fastest of them. All write through the caches.
//
//   rotate, rotate_qk   x is read and written in place
//   rotate_out          x is read, out written
//   angles              the bytes of the rows are written, and nothing read

#ifndef ROPEWALK_BENCH_LIMIT_HPP_
#define ROPEWALK_BENCH_LIMIT_HPP_

#include <cstddef>
#include <vector>

#include "bench/limit_loops.hpp"

namespace ropewalk::bench {

// Those of the two widest vectors that this CPU has: four or eight.
std::vector<LimitLoops> limit_loops();

}  // namespace ropewalk::bench

#endif  // ROPEWALK_BENCH_LIMIT_HPP_
