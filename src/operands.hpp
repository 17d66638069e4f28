// The tensors of a call, and all that is checked of them before the first byte is written. Part of the
// room `rotate`.

#ifndef ROPEWALK_SRC_OPERANDS_HPP_
#define ROPEWALK_SRC_OPERANDS_HPP_

#include <cstdint>
#include <limits>
#include <ropewalk/angles.hpp>
#include <ropewalk/positions.hpp>
#include <ropewalk/rope.hpp>
#include <ropewalk/spec.hpp>
#include <ropewalk/tensor.hpp>
#include <span>
#include <string_view>

#include "overlap.hpp"

namespace ropewalk {

// A tensor on its way: where from, where to, and how the caller calls the two. Made with all its
// members at once: clearing them first would cost more than the checks.
struct Operand {
  const char* in_name;
  const char* out_name;
  ViewRef in;
  ViewRef out;
  void* out_data;  // out.data, to be written
  bool in_place;
  // By check_operands():
  bool is_double;  // its rows are
  bool is_empty;
  std::int64_t size;  // of the result, in bytes
  Bytes in_bytes, out_bytes;

  Operand(const char* in_operand, const ConstTensorView& from, const char* out_operand,
          const TensorView& to) noexcept
      : in_name(in_operand),
        out_name(out_operand),
        in(from),
        out(to),
        out_data(to.data),
        in_place(is_same(in, out)) {}
  // In place.
  Operand(const char* name, const TensorView& view) noexcept
      : in_name(name), out_name(name), in(view), out(view), out_data(view.data), in_place(true) {}
};
using Operands = std::span<const Operand>;

// Shapes, dtypes, strides and overlaps of one tensor, or of q and k.
void check_operands(std::span<Operand> operands, const Spec& spec);
// That these serve them, and are not written.
void check_positions_closely(Operands operands, const Rope& rope, const Positions& positions);
inline void check_positions(Operands operands, const Rope& rope, const Positions& positions) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max() - operands.front().in.shape[1];
  if (positions.counts_on() && positions.start() <= most) return;
  check_positions_closely(operands, rope, positions);
}
void check_angles(Operands operands, const Angles& angles);

}  // namespace ropewalk

#endif  // ROPEWALK_SRC_OPERANDS_HPP_
