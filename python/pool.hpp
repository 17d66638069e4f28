// Threads for long calls. Part of the Python package.
//
// They are std::threads of the package's own and not OpenMP's: PyTorch, scikit-learn and others each bring
// an OpenMP runtime into the process, and a second one beside them may run their loops on twice as many
// threads or hang after a fork. They never touch Python, so no lock of the interpreter is held.

#ifndef ROPEWALK_PYTHON_POOL_HPP_
#define ROPEWALK_PYTHON_POOL_HPP_

#include <cstdint>
#include <ropewalk/options.hpp>
#include <shared_mutex>

namespace ropewalk::python {

// The process's pool: started by the first call that is worth it, and anew after a fork.
ParallelFor parallel_for();

// The lock of an object that several of Python's threads may use; some objects share one. It is taken
// without the interpreter's lock, which who waits for it must not hold. Sound after a fork.
std::shared_mutex& guard_of(const void* object);

// Into how many threads a call is split, the calling one included; from 1. At first, as many as the
// process may run on.
std::int64_t threads();
void set_threads(std::int64_t count);

}  // namespace ropewalk::python

#endif  // ROPEWALK_PYTHON_POOL_HPP_
