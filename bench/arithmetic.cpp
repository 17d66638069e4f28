#include "bench/arithmetic.hpp"

#include <ropewalk/version.hpp>
#include <span>

namespace ropewalk::bench {

std::vector<ConvertLoop> convert_loops() {
  std::vector<ConvertLoop> loops;
#ifdef __x86_64__
  const auto add = [&](std::span<const ConvertLoop> more) {
    for (const ConvertLoop& loop : more) loops.push_back(loop);
  };
  // The library's targets want all that the loops do.
  if (is_supported(Target::kAvx2)) add({kConvertLoops256, kConvertLoopsPerWidth});
  if (is_supported(Target::kAvx3)) add({kConvertLoops512, kConvertLoopsPerWidth});
  if (is_supported(Target::kAvx3Bf16)) add({kConvertLoops512Bf16, kConvertLoopsInHardware});
#endif
  return loops;
}

std::vector<TurnLoop> turn_loops() {
  std::vector<TurnLoop> loops;
#ifdef __x86_64__
  const auto add = [&](std::span<const TurnLoop> more) {
    for (const TurnLoop& loop : more) loops.push_back(loop);
  };
  if (is_supported(Target::kAvx2)) add({kTurnLoops256, kTurnLoopsPerWidth});
  if (is_supported(Target::kAvx3)) add({kTurnLoops512, kTurnLoopsPerWidth});
#endif
  return loops;
}

}  // namespace ropewalk::bench
