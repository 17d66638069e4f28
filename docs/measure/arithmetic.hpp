// The two arithmetics that the targets have. All targets do the same operations in the same order, so
// that those of one arithmetic give the same bits in float and double.

#ifndef ROPEWALK_DOCS_MEASURE_ARITHMETIC_HPP_
#define ROPEWALK_DOCS_MEASURE_ARITHMETIC_HPP_

#include <array>
#include <optional>
#include <ropewalk/version.hpp>

namespace measure {

struct Arithmetic {
  const char* name;
  bool fused;                              // a product and a sum are rounded once
  std::optional<ropewalk::Target> target;  // the first that this machine can run
};

inline std::array<Arithmetic, 2> arithmetics() {
  std::array<Arithmetic, 2> result = {{{"fused", true, {}}, {"not fused", false, {}}}};
  for (const ropewalk::Target target : ropewalk::compiled_targets()) {
    auto& slot = result[target == ropewalk::Target::kScalar ? 1 : 0].target;
    if (!slot && ropewalk::is_supported(target)) slot = target;
  }
  return result;
}

}  // namespace measure

#endif  // ROPEWALK_DOCS_MEASURE_ARITHMETIC_HPP_
