// What a call costs beyond its kernels.

#ifndef ROPEWALK_BENCH_OVERHEAD_HPP_
#define ROPEWALK_BENCH_OVERHEAD_HPP_

#include "bench/measure.hpp"

namespace ropewalk::bench {

// Of a decode call: q and k in place, fresh angles; making the views and the position included.
struct Overhead {
  double cpp_ns, c_ns;  // through rotate.hpp, through ropewalk.h
};

// What a call of one token takes, less what each further token of a call takes: a token's kernels are
// the same wherever it stands in a call, and all else is done once a call. So what a kernel itself does
// once a call counts as overhead, too.
Overhead measure_overhead(const MeasureOptions& options, const Clock& clock);

// The same of times that were measured: of one token, and of so many.
double overhead_of(double ns_of_one, double ns_of_many, int many);

}  // namespace ropewalk::bench

#endif  // ROPEWALK_BENCH_OVERHEAD_HPP_
