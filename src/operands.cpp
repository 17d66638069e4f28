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

// Throws unless it is a tensor of this rope, whatever its strides.
void check_view(const char* who, const ViewRef& view, const Spec& spec) {
  const auto& [batch, tokens, heads, head_dim] = view.shape;
  if ((batch | tokens | heads | head_dim) < 0) {
    refuse(ErrorCode::kInvalidArgument, who, " has shape ", bracketed(view.shape),
           ": sizes cannot be negative");
  }
  if (static_cast<std::size_t>(view.dtype) >= kDTypes) {
    refuse(ErrorCode::kInvalidArgument, who, " has dtype number ", static_cast<int>(view.dtype),
           ", want f32, bf16, f16 or f64");
  }
  if (head_dim != spec.head_dim() && head_dim != spec.rotary_dim()) {
    refuse(ErrorCode::kShapeMismatch, who, " has head_dim ", head_dim, " (shape ",
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
}

Bytes range_of(const char* who, const ViewRef& view) {
  Bytes bytes{0, 0};
  if (!byte_range(view, bytes)) {
    refuse(ErrorCode::kInvalidArgument, who, " of shape ", bracketed(view.shape), " and strides ",
           bracketed(view.strides), " is larger than the memory");
  }
  return bytes;
}

Bytes bytes_of(std::span<const std::byte> memory) {
  const auto first = reinterpret_cast<std::uintptr_t>(memory.data());
  return {first, first + memory.size()};
}

// Views whose bytes lie apart, as those of most calls, are not looked at.
template <class Other>
void check_apart(const char* out_name, const ViewRef& out, const Bytes& out_bytes,
                 const char* other_name, const Other& other, const Bytes& other_bytes) {
  if (meet(out_bytes, other_bytes) && may_overlap(out, other)) {
    refuse(ErrorCode::kOverlap, out_name, " overlaps ", other_name,
           ": give each memory of its own; in place, an output is the same view as its input");
  }
}

// All that can be wrong with an operand. It is asked only where most_are() says no.
void check_closely(Operand& operand, const Spec& spec) {
  check_view(operand.in_name, operand.in, spec);
  const ViewRef& out = operand.out;
  if (!operand.in_place) check_view(operand.out_name, out, spec);
  if (out.shape != operand.in.shape) {
    refuse(ErrorCode::kShapeMismatch, operand.out_name, " has shape ", bracketed(out.shape), ", ",
           operand.in_name, " has ", bracketed(operand.in.shape), ": they must be equal");
  }
  if (out.dtype != operand.in.dtype) {
    refuse(ErrorCode::kShapeMismatch, operand.out_name, " has dtype ", name(out.dtype), ", ",
           operand.in_name, " has ", name(operand.in.dtype), ": they must be equal");
  }
  operand.in_bytes = range_of(operand.in_name, operand.in);
  operand.out_bytes = range_of(operand.out_name, out);
  if (may_overlap_itself(out)) {
    refuse(ErrorCode::kOverlap, operand.out_name, " of shape ", bracketed(out.shape),
           " and strides ", bracketed(out.strides),
           " has elements that share memory: give each a place of its own");
  }
}

// Whether a view is as most are: a tensor of this rope, plain and not empty. Then `bytes` are filled in.
bool most_are(const ViewRef& view, const Spec& spec, Bytes& bytes) {
  if (static_cast<std::size_t>(view.dtype) >= kDTypes || !is_plain(view, bytes)) return false;
  const std::int64_t head_dim = view.shape[3];
  return (head_dim == spec.head_dim() || head_dim == spec.rotary_dim()) && bytes.first != 0 &&
         (bytes.first & (size_of(view.dtype) - 1)) == 0;
}

bool most_are(Operand& operand, const Spec& spec) {
  if (!most_are(operand.out, spec, operand.out_bytes)) return false;
  if (operand.in_place) {
    operand.in_bytes.first = operand.out_bytes.first;
    operand.in_bytes.end = operand.out_bytes.end;
    return true;
  }
  bool is_alike = operand.in.dtype == operand.out.dtype;
  for (std::size_t d = 0; d < 4; ++d) is_alike &= operand.in.shape[d] == operand.out.shape[d];
  return is_alike && most_are(operand.in, spec, operand.in_bytes);
}

void check_operand(Operand& operand, const Spec& spec) {
  const auto& [batch, tokens, heads, head_dim] = operand.in.shape;
  operand.is_empty = false;
  if (!most_are(operand, spec)) {
    check_closely(operand, spec);
    operand.is_empty = is_empty(operand.in);
  }
  if (!operand.in_place) {
    check_apart(operand.out_name, operand.out, operand.out_bytes, operand.in_name, operand.in,
                operand.in_bytes);
  }
  operand.is_double = operand.in.dtype == DType::kF64;
  operand.size = operand.is_empty ? 0
                                  : batch * tokens * heads * head_dim *
                                        static_cast<std::int64_t>(size_of(operand.in.dtype));
}

}  // namespace

void check_operands(std::span<Operand> operands, const Spec& spec) {
  for (Operand& operand : operands) check_operand(operand, spec);
  if (operands.size() == 1) return;
  const Operand& q = operands[0];
  const Operand& k = operands[1];
  if (q.in.shape[0] != k.in.shape[0] || q.in.shape[1] != k.in.shape[1]) {
    refuse(ErrorCode::kShapeMismatch, q.in_name, " has shape ", bracketed(q.in.shape), ", ",
           k.in_name, " has ", bracketed(k.in.shape),
           " as [batch, tokens, heads, head_dim]: batch and tokens must be equal");
  }
  check_apart(q.out_name, q.out, q.out_bytes, k.out_name, k.out, k.out_bytes);
  check_apart(q.out_name, q.out, q.out_bytes, k.in_name, k.in, k.in_bytes);
  check_apart(k.out_name, k.out, k.out_bytes, q.in_name, q.in, q.in_bytes);
}

void check_positions_closely(Operands operands, const Rope& rope, const Positions& positions) {
  const Dims& shape = operands.front().in.shape;
  positions.check(shape[0], shape[1], rope.axes());
  if (!positions.has_memory()) return;
  const auto memories = positions.memory();
  for (const Operand& operand : operands) {
    for (const auto& memory : memories) {
      check_apart(operand.out_name, operand.out, operand.out_bytes, "the positions", memory,
                  bytes_of(memory));
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
      if (memory.empty()) continue;
      check_apart(operand.out_name, operand.out, operand.out_bytes, "the angles", memory,
                  bytes_of(memory));
    }
  }
}

}  // namespace ropewalk
