// Threads to measure with.

#ifndef ROPEWALK_BENCH_PARALLEL_HPP_
#define ROPEWALK_BENCH_PARALLEL_HPP_

#include <cstdint>
#include <ropewalk/options.hpp>

namespace ropewalk::bench {

// How many threads there are to be had: as many as OpenMP would use, which is what this process may
// run on, or OMP_NUM_THREADS. 1 in a build without OpenMP.
int most_threads();

// Threads of OpenMP; for one thread, the calling thread without it.
ParallelFor parallel_of(int threads);

// Calls task(i) once for each i = 0 .. threads - 1, as a call of the library with this ParallelFor does.
template <class Task>
void on_threads(const ParallelFor& parallel, const Task& task) {
  if (parallel.run == nullptr) return task(0);
  const auto call = [](void* work, std::int64_t i) { (*static_cast<const Task*>(work))(i); };
  parallel.run(parallel.pool, parallel.threads, call, const_cast<Task*>(&task));
}

}  // namespace ropewalk::bench

#endif  // ROPEWALK_BENCH_PARALLEL_HPP_
