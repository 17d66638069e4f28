// What a call costs beyond its kernels.

#ifndef ROPEWALK_BENCH_OVERHEAD_HPP_
#define ROPEWALK_BENCH_OVERHEAD_HPP_

#include "bench/measure.hpp"

namespace ropewalk::bench {

// Of a decode call: q (32 heads) and k (8) of 128 in place, f32, fresh angles; making the views and the
// position included.
struct Overhead {
  double cpp_ns, c_ns;  // through rotate.hpp, through ropewalk.h
};

// What a call takes, less what its kernels take that are called with jobs made once: that of
// the row of angles, that of q and that of k. Throws std::runtime_error if the kernels do
// not leave the bits that the call leaves.
Overhead measure_overhead(const MeasureOptions& options, const Clock& clock);

}  // namespace ropewalk::bench

#endif  // ROPEWALK_BENCH_OVERHEAD_HPP_
