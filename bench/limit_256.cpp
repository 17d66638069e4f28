// Vectors of 256 bits; compiled for AVX2.

#include <cstddef>

namespace ropewalk::bench {
namespace {
constexpr std::size_t kLanes = 8;
}
}  // namespace ropewalk::bench

#define ROPEWALK_LIMIT_WIDTH "256-bit"
#include "bench/limit-inl.hpp"

namespace ropewalk::bench {
const LimitLoops* const kLoops256 = kLoops;
}
