// Vectors of 256 bits; compiled for AVX2 and F16C.

#include <cstddef>

namespace ropewalk::bench {
namespace {
constexpr std::size_t kLanes = 8;
}
}  // namespace ropewalk::bench

#include "bench/convert-inl.hpp"

namespace ropewalk::bench {
namespace {

constexpr int kNearestEven = 0;

inline Floats widen(Halves halves) { return __builtin_ia32_vcvtph2ps256(halves); }
inline Halves round(Floats floats) { return __builtin_ia32_vcvtps2ph256(floats, kNearestEven); }

constexpr ConvertLoop kLoops[kConvertLoopsPerWidth] = {
    {"256-bit x2", false, scale_f16<2>},
    {"256-bit x4", false, scale_f16<4>},
    {"256-bit x2", true, scale_bf16<2, InIntegers>},
    {"256-bit x4", true, scale_bf16<4, InIntegers>},
};

}  // namespace

const ConvertLoop* const kConvertLoops256 = kLoops;

}  // namespace ropewalk::bench
