// Vectors of 128 bits.

#include <cstddef>

namespace ropewalk::bench {
namespace {
constexpr std::size_t kLanes = 4;
}
}  // namespace ropewalk::bench

#define ROPEWALK_LIMIT_WIDTH "128-bit"
#include "bench/limit-inl.hpp"

namespace ropewalk::bench {
const LimitLoops* const kLoops128 = kLoops;
}
