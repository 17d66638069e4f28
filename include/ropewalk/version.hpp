// What was built: the version, and the instruction sets that it was built for.
// One of the three words that every room may use (error, tensor, version).

#ifndef ROPEWALK_VERSION_HPP_
#define ROPEWALK_VERSION_HPP_

#include <ropewalk/version.h>  // ROPEWALK_VERSION_MAJOR, _MINOR, _PATCH

#include <cstdint>
#include <span>
#include <string_view>

#if defined(__GNUC__) && __cplusplus < 202002L
#error "ropewalk wants C++20: -std=c++20"
#endif

namespace ropewalk {

// An instruction set that the kernels are compiled for. kBest stands for the
// first of supported_targets().
enum class Target : std::uint8_t {
  kBest,
  kScalar,    // x86-64 without any vector instruction
  kAvx2,      // AVX2 with FMA
  kAvx3,      // AVX-512 F, BW, CD, DQ, VL
  kAvx3Bf16,  // kAvx3 with AVX512-BF16
  kNeon,      // aarch64
};

// "best", "SCALAR", "AVX2", "AVX3", "AVX3_BF16", "NEON".
std::string_view name(Target target) noexcept;

// The targets in this build, best first: a fixed list for each architecture.
std::span<const Target> compiled_targets() noexcept;

// Whether this build has the target and this CPU can run it. Always true for kBest.
bool is_supported(Target target) noexcept;

}  // namespace ropewalk

#endif  // ROPEWALK_VERSION_HPP_
