// Vectors of 512 bits; compiled for AVX-512 F.

#include <cstddef>

namespace ropewalk::bench {
namespace {
constexpr std::size_t kLanes = 16;
}
}  // namespace ropewalk::bench

#define ROPEWALK_LIMIT_WIDTH "512-bit"
#include "bench/limit-inl.hpp"

namespace ropewalk::bench {
const LimitLoops* const kLoops512 = kLoops;
}
