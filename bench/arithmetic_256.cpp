// Vectors of 256 bits; compiled for AVX2, F16C and FMA.

#include <cstddef>

namespace ropewalk::bench {
namespace {
constexpr std::size_t kLanes = 8;
}
}  // namespace ropewalk::bench

#include "bench/arithmetic-inl.hpp"

namespace ropewalk::bench {
namespace {

constexpr int kNearestEven = 0;

inline Floats widen(Halves halves) { return __builtin_ia32_vcvtph2ps256(halves); }
inline Halves round(Floats floats) { return __builtin_ia32_vcvtps2ph256(floats, kNearestEven); }

inline Floats swapped(Floats floats) {
  return __builtin_shufflevector(floats, floats, 1, 0, 3, 2, 5, 4, 7, 6);
}

constexpr ConvertLoop kLoops[kConvertLoopsPerWidth] = {
    {"256-bit x2", false, scale_f16<2>},
    {"256-bit x4", false, scale_f16<4>},
    {"256-bit x2", true, scale_bf16<2, InIntegers>},
    {"256-bit x4", true, scale_bf16<4, InIntegers>},
};

constexpr TurnLoop kTurnLoops[kTurnLoopsPerWidth] = {
    {"256-bit x1", false, turn_halves<1>},
    {"256-bit x2", false, turn_halves<2>},
    {"256-bit x2", true, turn_adjacent<2>},
    {"256-bit x4", true, turn_adjacent<4>},
};

}  // namespace

const ConvertLoop* const kConvertLoops256 = kLoops;

const TurnLoop* const kTurnLoops256 = kTurnLoops;

}  // namespace ropewalk::bench
