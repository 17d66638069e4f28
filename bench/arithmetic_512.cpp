// Vectors of 512 bits; compiled for AVX-512 F and BW, with one instruction of AVX512-BF16 by hand.

#include <cstddef>

namespace ropewalk::bench {
namespace {
constexpr std::size_t kLanes = 16;
}
}  // namespace ropewalk::bench

#include "bench/arithmetic-inl.hpp"

namespace ropewalk::bench {
namespace {

constexpr int kNearestEven = 0, kAsTheModeSays = 4;
// Of all lanes; the compiler wants the one mask signed, the other not.
constexpr short kAllWidened = -1;
constexpr unsigned short kAllRounded = 0xFFFF;

inline Floats widen(Halves halves) {
  return __builtin_ia32_vcvtph2ps512_mask(halves, Floats{}, kAllWidened, kAsTheModeSays);
}
inline Halves round(Floats floats) {
  return __builtin_ia32_vcvtps2ph512_mask(floats, kNearestEven, Halves{}, kAllRounded);
}

// All even ones and all odd ones are rounded by one instruction, and put side by side by another.
struct InHardware {
  static Bits join(Floats even, Floats odd) {
    using Words = short __attribute__((vector_size(kLanes * 4)));
    Words words;
    asm("vcvtne2ps2bf16 %2, %1, %0" : "=v"(words) : "v"(odd), "v"(even));
    return (Bits)__builtin_shufflevector(words, words, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6,
                                         22, 7, 23, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29,
                                         14, 30, 15, 31);
  }
};

inline Floats swapped(Floats floats) {
  return __builtin_shufflevector(floats, floats, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15,
                                 14);
}

constexpr ConvertLoop kLoops[kConvertLoopsPerWidth] = {
    {"512-bit x2", false, scale_f16<2>},
    {"512-bit x4", false, scale_f16<4>},
    {"512-bit x2", true, scale_bf16<2, InIntegers>},
    {"512-bit x4", true, scale_bf16<4, InIntegers>},
};
constexpr ConvertLoop kLoopsBf16[kConvertLoopsInHardware] = {
    {"512-bit x2 in hardware", true, scale_bf16<2, InHardware>},
    {"512-bit x4 in hardware", true, scale_bf16<4, InHardware>},
};

constexpr TurnLoop kTurnLoops[kTurnLoopsPerWidth] = {
    {"512-bit x1", false, turn_halves<1>},
    {"512-bit x2", false, turn_halves<2>},
    {"512-bit x2", true, turn_adjacent<2>},
    {"512-bit x4", true, turn_adjacent<4>},
};

}  // namespace

const ConvertLoop* const kConvertLoops512 = kLoops;
const ConvertLoop* const kConvertLoops512Bf16 = kLoopsBf16;

const TurnLoop* const kTurnLoops512 = kTurnLoops;

}  // namespace ropewalk::bench
