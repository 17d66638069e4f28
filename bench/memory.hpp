// What the machine does without the library: the limit, copies, and a fork and a join.

#ifndef ROPEWALK_BENCH_MEMORY_HPP_
#define ROPEWALK_BENCH_MEMORY_HPP_

#include <cstdint>
#include <string>
#include <vector>

#include "bench/machine.hpp"
#include "bench/measure.hpp"

namespace ropewalk::bench {

// Of a loop that reads so many bytes and writes as many.
struct MemoryRow {
  // "limit", "limit_bf16", "limit_f16", "limit_halves", "limit_adjacent": in place, the fastest of
  // limit_loops(), convert_loops() or turn_loops(); or one of copy_loops()
  std::string loop;
  std::int64_t bytes;
  int threads;
  double ns;
};

// In each working set: the limit scales all of it, a copy goes from one half to the other. On several
// threads each has its share.
std::vector<MemoryRow> measure_memory(const Caches& caches, int threads,
                                      const MeasureOptions& options);

// Of a region of so many threads in which nothing is done.
double measure_fork_join(int threads, const MeasureOptions& options);

}  // namespace ropewalk::bench

#endif  // ROPEWALK_BENCH_MEMORY_HPP_
