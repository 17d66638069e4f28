#include "bench/parallel.hpp"

#include <ropewalk/openmp.hpp>

namespace ropewalk::bench {

int most_threads() { return static_cast<int>(openmp().threads); }

ParallelFor parallel_of(int threads) { return threads > 1 ? openmp(threads) : ParallelFor{}; }

}  // namespace ropewalk::bench
