#include "bench/copy.hpp"

#include <cstring>

namespace ropewalk::bench {
namespace {

void copy_by_memcpy(const float* x, float* to, std::size_t count) {
  std::memcpy(to, x, count * sizeof(float));
}

#ifdef __x86_64__
// Of 128 bits, which every x86-64 has: four of them fill a line, and only whole lines are sent off.
using Vector = float __attribute__((vector_size(16)));
constexpr std::size_t kLanes = 4, kVectors = 4;

void store_past_caches(Vector vector, float* to) {
#ifdef __clang__
  __builtin_nontemporal_store(vector, reinterpret_cast<Vector*>(to));
#else
  __builtin_ia32_movntps(to, vector);
#endif
}

void copy_past_caches(const float* x, float* to, std::size_t count) {
  for (std::size_t i = 0; i < count; i += kVectors * kLanes) {
    Vector vectors[kVectors];
    std::memcpy(vectors, x + i, sizeof(vectors));
    for (std::size_t v = 0; v < kVectors; ++v) store_past_caches(vectors[v], to + i + v * kLanes);
  }
  __builtin_ia32_sfence();
}
#endif

}  // namespace

std::vector<CopyLoop> copy_loops() {
  return {
      {"memcpy", copy_by_memcpy},
#ifdef __x86_64__
      {"nontemporal_copy", copy_past_caches},
#endif
  };
}

}  // namespace ropewalk::bench
