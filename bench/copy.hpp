// Copying: what a result in other memory costs at the least.

#ifndef ROPEWALK_BENCH_COPY_HPP_
#define ROPEWALK_BENCH_COPY_HPP_

#include <cstddef>
#include <vector>

namespace ropewalk::bench {

// count is a multiple of 16; to begins at 64 bytes and does not overlap x.
struct CopyLoop {
  const char* name;
  void (*copy)(const float* x, float* to, std::size_t count);
};

// "memcpy", which for large copies may do as the other does; and on x86-64 "nontemporal_copy", whose
// stores go by the caches: what is written is not read into them first.
std::vector<CopyLoop> copy_loops();

}  // namespace ropewalk::bench

#endif  // ROPEWALK_BENCH_COPY_HPP_
