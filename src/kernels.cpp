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
#define HWY_DISABLED_TARGETS (~(HWY_SCALAR | HWY_AVX2 | HWY_AVX3 | HWY_NEON))

#define HWY_TARGET_INCLUDE "kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/highway.h>

#include "kernels-inl.hpp"

#if HWY_ONCE
namespace ropewalk::kernels {
namespace {

#if defined(__x86_64__)
constexpr std::array kTargets = {Target::kAvx3Bf16, Target::kAvx3, Target::kAvx2,
                                 Target::kScalar};
#else
constexpr std::array kTargets = {Target::kNeon};
#endif

const Table* detect(Target target) noexcept {
#if defined(__x86_64__)
  const std::int64_t cpu = hwy::SupportedTargets();
  switch (target) {
    case Target::kScalar: return &N_SCALAR::kTable;
    case Target::kAvx2: return (cpu & HWY_AVX2) != 0 ? &N_AVX2::kTable : nullptr;
    case Target::kAvx3: return (cpu & HWY_AVX3) != 0 ? &N_AVX3::kTable : nullptr;
    case Target::kAvx3Bf16:
      return (cpu & HWY_AVX3) != 0 && __builtin_cpu_supports("avx512bf16") != 0
                 ? &N_AVX3::kTableBf16
                 : nullptr;
    default: return nullptr;
  }
#else
  return target == Target::kNeon ? &N_NEON::kTable : nullptr;
#endif
}

const Table* detect_best() noexcept {
  for (const Target target : kTargets) {
    if (const Table* table = detect(target)) return table;
  }
  return nullptr;  // never: the last target of each list is what the compiler may use anyway
}

}  // namespace

std::span<const Target> compiled_targets() noexcept { return kTargets; }

const Table* table_for(Target target) noexcept {
  static const Table* const best = detect_best();  // what the CPU is does not change
  return target == Target::kBest ? best : detect(target);
}

}  // namespace ropewalk::kernels
#endif  // HWY_ONCE
