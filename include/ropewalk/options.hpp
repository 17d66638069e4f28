// How a call is run: on which instruction set, on which threads. Results do not depend on the
// threads.

#ifndef ROPEWALK_OPTIONS_HPP_
#define ROPEWALK_OPTIONS_HPP_

#include <cstdint>
#include <ropewalk/version.hpp>

namespace ropewalk {

// The caller's threads: the library has none of its own. openmp.hpp is one.
struct ParallelFor {
  // Calls task(work, i) once for each i = 0 .. count - 1, in any order, on any threads, and returns
  // when all are done. Tasks do not throw. Null: everything on the calling thread.
  void (*run)(void* pool, std::int64_t count, void (*task)(void* work, std::int64_t i),
              void* work) = nullptr;
  void* pool = nullptr;      // handed to run
  std::int64_t threads = 1;  // into how many tasks a call is split, at most
};

struct Options {
  // To force an instruction set. An error (kUnsupported) if it is not to be had.
  Target target = Target::kBest;
  // Used from 256 KiB of tensors on; below, it costs more than it saves.
  ParallelFor parallel = {};
};

}  // namespace ropewalk

#endif  // ROPEWALK_OPTIONS_HPP_
