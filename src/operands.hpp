// The tensors of a call, and all that is checked of them before the first byte is written. Part of the
// room `rotate`.

#ifndef ROPEWALK_SRC_OPERANDS_HPP_
#define ROPEWALK_SRC_OPERANDS_HPP_

#include <ropewalk/angles.hpp>
#include <ropewalk/positions.hpp>
#include <ropewalk/rope.hpp>
#include <ropewalk/spec.hpp>
#include <ropewalk/tensor.hpp>
#include <span>
#include <string_view>

#include "overlap.hpp"

namespace ropewalk {

// A tensor on its way: where from, where to, and how the caller calls the two.
struct Operand {
  std::string_view in_name;
  ConstTensorView in;
  std::string_view out_name;
  TensorView out;
  [[nodiscard]] bool in_place() const { return is_same(in, out); }
};
using Operands = std::span<const Operand>;

[[nodiscard]] Operand make_operand(std::string_view in_name, const ConstTensorView& in,
                                   std::string_view out_name, const TensorView& out);

// Shapes, dtypes, strides and overlaps of one tensor, or of q and k.
void check_operands(Operands operands, const Spec& spec);
// That these serve them, and are not written.
void check_positions(Operands operands, const Rope& rope, const Positions& positions);
void check_angles(Operands operands, const Angles& angles);

}  // namespace ropewalk

#endif  // ROPEWALK_SRC_OPERANDS_HPP_
