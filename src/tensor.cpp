#include <ropewalk/tensor.hpp>

namespace ropewalk {

std::string_view name(DType dtype) noexcept {
  constexpr std::string_view kNames[kDTypes] = {"f32", "bf16", "f16", "f64"};
  return kNames[static_cast<std::size_t>(dtype)];
}

}  // namespace ropewalk
