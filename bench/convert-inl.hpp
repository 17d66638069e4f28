// The loops of 16-bit types over vectors of kLanes floats. Included by convert_256.cpp and convert_512.cpp,
// which say how f16 is widened and rounded; like limit-inl.hpp, and for the same reasons.

#include <cstddef>
#include <cstdint>

#include "bench/convert_loops.hpp"

namespace ropewalk::bench {
namespace {

using Floats = float __attribute__((vector_size(kLanes * 4)));
using Bits = std::uint32_t __attribute__((vector_size(kLanes * 4)));
using Halves = short __attribute__((vector_size(kLanes * 2)));

// What the loop over f16 wants of each width.
Floats widen(Halves halves);
Halves round(Floats floats);

template <class Vector>
Vector load(const std::uint16_t* from) {
  Vector vector;
  __builtin_memcpy(&vector, from, sizeof(vector));
  return vector;
}
template <class Vector>
void store(Vector vector, std::uint16_t* to) {
  __builtin_memcpy(to, &vector, sizeof(vector));
}

template <std::size_t kVectors>
void scale_f16(std::uint16_t* x, std::size_t count, float factor) {
  for (std::size_t i = 0; i < count; i += kVectors * kLanes) {
    Floats floats[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v) {
      floats[v] = widen(load<Halves>(x + i + v * kLanes)) * factor;
    }
    for (std::size_t v = 0; v < kVectors; ++v) store(round(floats[v]), x + i + v * kLanes);
  }
}

constexpr std::uint32_t kUpper = 0xFFFF0000;

// The bits of a float with those of its bf16 in the upper half.
inline Bits rounded(Floats floats) {
  const Bits bits = (Bits)floats;
  return bits + 0x7FFF + ((bits >> 16) & 1);
}

// A lane of 32 bits is two elements: neither is moved to another.
struct InIntegers {
  static Bits join(Floats even, Floats odd) {
    return (rounded(even) >> 16) | (rounded(odd) & kUpper);
  }
};

template <std::size_t kVectors, class Rounding>
void scale_bf16(std::uint16_t* x, std::size_t count, float factor) {
  constexpr std::size_t kElements = 2 * kLanes;
  for (std::size_t i = 0; i < count; i += kVectors * kElements) {
    Bits pairs[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v) pairs[v] = load<Bits>(x + i + v * kElements);
    for (std::size_t v = 0; v < kVectors; ++v) {
      const Floats even = (Floats)(pairs[v] << 16) * factor;
      const Floats odd = (Floats)(pairs[v] & kUpper) * factor;
      store(Rounding::join(even, odd), x + i + v * kElements);
    }
  }
}

}  // namespace
}  // namespace ropewalk::bench
