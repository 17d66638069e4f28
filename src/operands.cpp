#include "operands.hpp"

#include <ropewalk/error.hpp>
#include <string>

#include "angles.hpp"
#include "message.hpp"

namespace ropewalk {
namespace {

template <class... Parts>
[[noreturn]] void refuse(ErrorCode code, const Parts&... parts) {
  throw Error(code, message(parts...));
}

// A stride along a dimension of size 1 is never walked, and may be anything: 0 from here on. But
// the elements of a head are taken for dense, if there is one only.
template <class View>
View without_idle_strides(View view) {
  for (std::size_t d = 0; d < 4; ++d) {
    if (view.shape[d] <= 1) view.strides[d] = d == 3 ? 1 : 0;
  }
  return view;
}

void check_view(std::string_view who, const ConstTensorView& view, const Spec& spec) {
  for (const std::int64_t size : view.shape) {
    if (size < 0) {
      refuse(ErrorCode::kInvalidArgument, who, " has shape ", bracketed(view.shape),
             ": sizes cannot be negative");
    }
  }
  if (static_cast<std::size_t>(view.dtype) >= kDTypes) {
    refuse(ErrorCode::kInvalidArgument, who, " has dtype number ", static_cast<int>(view.dtype),
           ", want f32, bf16, f16 or f64");
  }
  if (view.shape[3] != spec.head_dim() && view.shape[3] != spec.rotary_dim()) {
    refuse(ErrorCode::kShapeMismatch, who, " has head_dim ", view.shape[3], " (shape ",
           bracketed(view.shape), " as [batch, tokens, heads, head_dim]), the rope has head_dim ",
           spec.head_dim(),
           spec.head_dim() == spec.rotary_dim() ? std::string()
                                                : message(" and rotary_dim ", spec.rotary_dim()));
  }
  if (is_empty(view)) return;
  if (view.data == nullptr) refuse(ErrorCode::kInvalidArgument, who, " is null");
  if (reinterpret_cast<std::uintptr_t>(view.data) % size_of(view.dtype) != 0) {
    refuse(ErrorCode::kInvalidArgument, who, " of dtype ", name(view.dtype),
           " begins at an address that is no multiple of ", size_of(view.dtype));
  }
  if (std::uintptr_t first = 0, end = 0; !byte_range(view, first, end)) {
    refuse(ErrorCode::kInvalidArgument, who, " of shape ", bracketed(view.shape), " and strides ",
           bracketed(view.strides), " is larger than the memory");
  }
}

void check_output(const Operand& operand) {
  const TensorView& out = operand.out;
  if (out.shape != operand.in.shape) {
    refuse(ErrorCode::kShapeMismatch, operand.out_name, " has shape ", bracketed(out.shape), ", ",
           operand.in_name, " has ", bracketed(operand.in.shape), ": they must be equal");
  }
  if (out.dtype != operand.in.dtype) {
    refuse(ErrorCode::kShapeMismatch, operand.out_name, " has dtype ", name(out.dtype), ", ",
           operand.in_name, " has ", name(operand.in.dtype), ": they must be equal");
  }
  if (may_overlap_itself(out)) {
    refuse(ErrorCode::kOverlap, operand.out_name, " of shape ", bracketed(out.shape),
           " and strides ", bracketed(out.strides),
           " has elements that share memory: give each a place of its own");
  }
}

template <class Other>
void check_apart(std::string_view out_name, const TensorView& out, std::string_view other_name,
                 const Other& other) {
  if (may_overlap(out, other)) {
    refuse(ErrorCode::kOverlap, out_name, " overlaps ", other_name,
           ": give each memory of its own; in place, an output is the same view as its input");
  }
}

}  // namespace

Operand make_operand(std::string_view in_name, const ConstTensorView& in, std::string_view out_name,
                     const TensorView& out) {
  return {in_name, without_idle_strides(in), out_name, without_idle_strides(out)};
}

void check_operands(Operands operands, const Spec& spec) {
  for (const Operand& operand : operands) {
    check_view(operand.in_name, operand.in, spec);
    check_view(operand.out_name, operand.out, spec);
    check_output(operand);
    if (!operand.in_place()) {
      check_apart(operand.out_name, operand.out, operand.in_name, operand.in);
    }
  }
  if (operands.size() == 1) return;
  const Operand& q = operands[0];
  const Operand& k = operands[1];
  if (q.in.shape[0] != k.in.shape[0] || q.in.shape[1] != k.in.shape[1]) {
    refuse(ErrorCode::kShapeMismatch, q.in_name, " has shape ", bracketed(q.in.shape), ", ",
           k.in_name, " has ", bracketed(k.in.shape),
           " as [batch, tokens, heads, head_dim]: batch and tokens must be equal");
  }
  check_apart(q.out_name, q.out, k.out_name, k.out);
  check_apart(q.out_name, q.out, k.in_name, k.in);
  check_apart(k.out_name, k.out, q.in_name, q.in);
}

void check_positions(Operands operands, const Rope& rope, const Positions& positions) {
  const Dims& shape = operands.front().in.shape;
  positions.check(shape[0], shape[1], rope.axes());
  for (const Operand& operand : operands) {
    for (const auto& memory : positions.memory()) {
      check_apart(operand.out_name, operand.out, "the positions", memory);
    }
  }
}

void check_angles(Operands operands, const Angles& angles) {
  const Dims& shape = operands.front().in.shape;
  if (angles.tokens() != shape[1] || (angles.batch() != 1 && angles.batch() != shape[0])) {
    refuse(ErrorCode::kShapeMismatch, "angles are for ",
           angles.batch() == 1 ? "any batch" : message("batch ", angles.batch()), " and ",
           angles.tokens(), " tokens, ", operands.front().in_name, " has batch ", shape[0], " and ",
           shape[1], " tokens");
  }
  for (const Operand& operand : operands) {
    if ((operand.in.dtype == DType::kF64) != AnglesAccess::is_double(angles)) {
      refuse(ErrorCode::kInvalidArgument, operand.in_name, " has dtype ", name(operand.in.dtype),
             ", the angles have rows of ", name(angles.dtype()), ": assign them with dtype ",
             name(operand.in.dtype));
    }
    for (const auto& memory : AnglesAccess::memory(angles)) {
      check_apart(operand.out_name, operand.out, "the angles", memory);
    }
  }
}

}  // namespace ropewalk
