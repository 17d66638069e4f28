// The loops of arithmetic over vectors of kLanes floats. Included by arithmetic_256.cpp and arithmetic_512.cpp,
// which say how f16 is widened and rounded; like limit-inl.hpp, and for the same reasons.

#include <cstddef>
#include <cstdint>

#include "bench/arithmetic_loops.hpp"

namespace ropewalk::bench {
namespace {

using Floats = float __attribute__((vector_size(kLanes * 4)));
using Bits = std::uint32_t __attribute__((vector_size(kLanes * 4)));
using Halves = short __attribute__((vector_size(kLanes * 2)));

// What the loop over f16 wants of each width.
Floats widen(Halves halves);
Halves round(Floats floats);
// And the loop over adjacent pairs: neighbours change places.
Floats swapped(Floats floats);

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

// A vector stays in its register: short of these, g++ reads it again for each use.
inline Floats pinned(const float* from) {
  Floats floats;
  __builtin_memcpy(&floats, from, sizeof(floats));
  asm("" : "+v"(floats));
  return floats;
}
inline void store(Floats floats, float* to) { __builtin_memcpy(to, &floats, sizeof(floats)); }

template <std::size_t kVectors>
void turn_halves(float* x, std::size_t count, float cos, float sin) {
  constexpr std::size_t kPartner = 32;
  for (std::size_t block = 0; block < count; block += 2 * kPartner) {
    for (std::size_t i = block; i < block + kPartner; i += kVectors * kLanes) {
#pragma GCC unroll 4
      for (std::size_t v = 0; v < kVectors; ++v) {
        float* const at = x + i + v * kLanes;
        const Floats a = pinned(at), b = pinned(at + kPartner);
        store(a * cos - b * sin, at);
        store(b * cos + a * sin, at + kPartner);
      }
    }
  }
}

inline Floats minus_at_even_places(float value) {
  Floats result;
  for (std::size_t i = 0; i < kLanes; ++i) result[i] = i % 2 == 0 ? -value : value;
  return result;
}

template <std::size_t kVectors>
void turn_adjacent(float* x, std::size_t count, float cos, float sin) {
  const Floats signed_sin = minus_at_even_places(sin);
  for (std::size_t i = 0; i < count; i += kVectors * kLanes) {
#pragma GCC unroll 4
    for (std::size_t v = 0; v < kVectors; ++v) {
      const Floats own = pinned(x + i + v * kLanes);
      store(own * cos + swapped(own) * signed_sin, x + i + v * kLanes);
    }
  }
}

}  // namespace
}  // namespace ropewalk::bench
