// A ParallelFor over OpenMP, header only: for programs that are compiled with -fopenmp. Without it,
// everything runs on the calling thread.

#ifndef ROPEWALK_OPENMP_HPP_
#define ROPEWALK_OPENMP_HPP_

#include <cstdint>
#include <ropewalk/options.hpp>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace ropewalk {

// rotate(rope, q, k, positions, {.parallel = openmp()}). threads 0: as many as OpenMP would use.
inline ParallelFor openmp([[maybe_unused]] int threads = 0) {
#ifdef _OPENMP
  const auto run = [](void* pool, std::int64_t count, void (*task)(void*, std::int64_t),
                      void* work) {
    const int wanted = static_cast<int>(reinterpret_cast<std::intptr_t>(pool));
#pragma omp parallel for schedule(static) num_threads(wanted)
    for (std::int64_t i = 0; i < count; ++i) task(work, i);
  };
  const int used = threads > 0 ? threads : omp_get_max_threads();
  return {run, reinterpret_cast<void*>(static_cast<std::intptr_t>(used)), used};
#else
  return {};
#endif
}

}  // namespace ropewalk

#endif  // ROPEWALK_OPENMP_HPP_
