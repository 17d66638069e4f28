#include <ropewalk/tensor.hpp>

namespace ropewalk {

std::string_view name(DType dtype) noexcept { return dtype == DType::kF32 ? "f32" : "bf16"; }

}  // namespace ropewalk
