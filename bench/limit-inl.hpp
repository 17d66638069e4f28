// The loops of the limit over vectors of kLanes floats. Included by limit_128.cpp, limit_256.cpp and
// limit_512.cpp, each compiled at -O3 for CPUs that have such vectors.
//
// In the compiler's own vectors and not in Highway's, so that what the kernels are held against
// shares nothing with them. A file per width and not __attribute__((target)): g++ splits vectors that
// are wider than the function's target before it inlines, and leaves half a loop behind.
//
// No header with inline functions is included: the linker keeps one copy of those, which must not be
// the one of a CPU that is not this one.

#include <cstddef>

#include "bench/limit_loops.hpp"

namespace ropewalk::bench {
namespace {

using Vector = float __attribute__((vector_size(kLanes * sizeof(float))));

inline Vector load(const float* from) {
  Vector vector;
  __builtin_memcpy(&vector, from, sizeof(vector));
  return vector;
}
inline void store(Vector vector, float* to) { __builtin_memcpy(to, &vector, sizeof(vector)); }

// x and out may be the same.
template <std::size_t kVectors>
void scale_to(const float* x, float* out, std::size_t count, float factor) {
  constexpr std::size_t kStep = kVectors * kLanes;
  std::size_t i = 0;
  for (; i + kStep <= count; i += kStep) {
    Vector vectors[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v) vectors[v] = load(x + i + v * kLanes);
    for (std::size_t v = 0; v < kVectors; ++v) store(vectors[v] * factor, out + i + v * kLanes);
  }
  for (; i < count; ++i) out[i] = x[i] * factor;
}

template <std::size_t kVectors>
void scale(float* x, std::size_t count, float factor) {
  scale_to<kVectors>(x, x, count, factor);
}

template <std::size_t kVectors>
void write(float* out, std::size_t count, float value) {
  constexpr std::size_t kStep = kVectors * kLanes;
  const Vector vector = Vector{} + value;
  std::size_t i = 0;
  for (; i + kStep <= count; i += kStep) {
    for (std::size_t v = 0; v < kVectors; ++v) store(vector, out + i + v * kLanes);
  }
  for (; i < count; ++i) out[i] = value;
}

// Left to the compiler.
void scale_plain(float* x, std::size_t count, float factor) {
  for (std::size_t i = 0; i < count; ++i) x[i] *= factor;
}
void scale_to_plain(const float* __restrict x, float* __restrict out, std::size_t count,
                    float factor) {
  for (std::size_t i = 0; i < count; ++i) out[i] = x[i] * factor;
}
void write_plain(float* out, std::size_t count, float value) {
  for (std::size_t i = 0; i < count; ++i) out[i] = value;
}

// One vector a step is no better than what the compiler makes of the plain loop: up to four times
// slower than the others, in cache.
constexpr LimitLoops kLoops[kLoopsPerWidth] = {
    {ROPEWALK_LIMIT_WIDTH " plain", scale_plain, scale_to_plain, write_plain},
    {ROPEWALK_LIMIT_WIDTH " x2", scale<2>, scale_to<2>, write<2>},
    {ROPEWALK_LIMIT_WIDTH " x4", scale<4>, scale_to<4>, write<4>},
    {ROPEWALK_LIMIT_WIDTH " x8", scale<8>, scale_to<8>, write<8>},
};

}  // namespace
}  // namespace ropewalk::bench
