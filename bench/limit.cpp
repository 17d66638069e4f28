#include "bench/limit.hpp"

namespace ropewalk::bench {

std::vector<LimitLoops> limit_loops() {
  std::vector<const LimitLoops*> widths = {kLoops128};
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2") != 0) widths.push_back(kLoops256);
  if (__builtin_cpu_supports("avx512f") != 0) widths.push_back(kLoops512);
#endif
  // Some CPUs do vectors of 512 bits as two of 256; three widths would only take longer.
  if (widths.size() > 2) widths.erase(widths.begin());
  std::vector<LimitLoops> loops;
  for (const LimitLoops* width : widths) loops.insert(loops.end(), width, width + kLoopsPerWidth);
  return loops;
}

}  // namespace ropewalk::bench
