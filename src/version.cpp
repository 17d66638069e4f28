#include <ropewalk/version.hpp>

#include "kernels.hpp"

namespace ropewalk {

std::string_view name(Target target) noexcept {
  switch (target) {
    case Target::kBest: return "best";
    case Target::kScalar: return "SCALAR";
    case Target::kAvx2: return "AVX2";
    case Target::kAvx3: return "AVX3";
    case Target::kAvx3Bf16: return "AVX3_BF16";
    case Target::kNeon: return "NEON";
  }
  return "unknown";
}

std::span<const Target> compiled_targets() noexcept { return kernels::compiled_targets(); }

bool is_supported(Target target) noexcept { return kernels::table_for(target) != nullptr; }

}  // namespace ropewalk
