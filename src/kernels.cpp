// Compiles kernels-inl.hpp once per target, and picks. The list of targets is fixed: what Highway
// could do besides is switched off, since some of its conversions are wrong there.

#include "kernels.hpp"

#define HWY_BASELINE_TARGETS ROPEWALK_BASELINE
#if defined(__x86_64__)
#define ROPEWALK_BASELINE HWY_SCALAR  // also on a compiler that would allow more
#elif defined(__aarch64__)
#define ROPEWALK_BASELINE HWY_NEON
#else
#error "ropewalk is made for x86-64 and aarch64"
#endif
#define HWY_BROKEN_EMU128 1  // so that the fallback is HWY_SCALAR on every compiler
#define HWY_DISABLED_TARGETS (~(HWY_SCALAR | HWY_AVX2 | HWY_AVX3 | HWY_NEON))

#define HWY_TARGET_INCLUDE "kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/highway.h>

#include "kernels-inl.hpp"

#if HWY_ONCE
#if defined(__x86_64__)
#include <cpuid.h>
#else
#include <unistd.h>
#endif

#include <algorithm>

namespace ropewalk::kernels {
namespace {

#if defined(__x86_64__)
constexpr std::array kTargets = {Target::kAvx3Bf16, Target::kAvx3, Target::kAvx2, Target::kScalar};
#else
constexpr std::array kTargets = {Target::kNeon};
#endif

#if defined(__x86_64__)
// What Highway's targets take for granted. Asked of the compiler's runtime, which also sees whether
// the operating system saves the registers; Highway's own detection would cost every process that
// loads its shared library 5 ms.
bool has_avx2() noexcept {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  const bool has_f16c = __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
  return has_f16c && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}

bool has_avx3() noexcept {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}
#endif

const Table* detect(Target target) noexcept {
#if defined(__x86_64__)
  switch (target) {
    case Target::kScalar: return &N_SCALAR::kTable;
    case Target::kAvx2: return has_avx2() ? &N_AVX2::kTable : nullptr;
    case Target::kAvx3: return has_avx3() ? &N_AVX3::kTable : nullptr;
    case Target::kAvx3Bf16:
      return has_avx3() && __builtin_cpu_supports("avx512bf16") ? &N_AVX3::kTableBf16 : nullptr;
    default: return nullptr;
  }
#else
  return target == Target::kNeon ? &N_NEON::kTable : nullptr;
#endif
}

// What this CPU can run, best first, by Target; detected once: asking a CPU what it is costs
// microseconds inside a virtual machine.
struct Detected {
  static constexpr std::size_t kCount = 1 + static_cast<std::size_t>(Target::kNeon);
  std::array<const Table*, kCount> tables{};
  Detected() noexcept {
    for (auto target = kTargets.rbegin(); target != kTargets.rend(); ++target) {
      const Table* const table = detect(*target);
      tables[static_cast<std::size_t>(*target)] = table;
      if (table != nullptr) tables[static_cast<std::size_t>(Target::kBest)] = table;
    }
  }
};

// 0: not said.
std::size_t cache_bytes_told() noexcept {
#if defined(__x86_64__)
  // The last level that a core sees, of Intel's leaf or AMD's. What sysconf() says is all that an AMD
  // package has of it, several cores' caches together.
  std::size_t bytes = 0;
  for (const unsigned leaf : {4u, 0x8000001Du}) {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    for (unsigned cache = 0;
         cache < 8 && __get_cpuid_count(leaf, cache, &eax, &ebx, &ecx, &edx) != 0; ++cache) {
      const unsigned type = eax & 31, line = (ebx & 0xFFF) + 1;
      if (type == 0) break;
      const std::size_t partitions = (ebx >> 12 & 0x3FF) + 1, ways = (ebx >> 22) + 1;
      bytes = std::max(bytes, ways * partitions * line * (std::size_t{ecx} + 1));
    }
  }
  return bytes;
#elif defined(_SC_LEVEL3_CACHE_SIZE)
  const long answer = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return answer > 0 ? static_cast<std::size_t>(answer) : 0;
#else
  return 0;
#endif
}

}  // namespace

std::size_t last_level_cache_bytes() noexcept {
  static const std::size_t bytes = [] {
    const std::size_t told = cache_bytes_told();
    return told > 0 ? told : std::size_t{32} << 20;
  }();
  return bytes;
}

std::span<const Target> compiled_targets() noexcept { return kTargets; }

const Table* table_for(Target target) noexcept {
  static const Detected detected;
  const auto index = static_cast<std::size_t>(target);
  return index < Detected::kCount ? detected.tables[index] : nullptr;
}

}  // namespace ropewalk::kernels
#endif  // HWY_ONCE
