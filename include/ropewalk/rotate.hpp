// rotate: turn the pairs of every head by its token's angles.
//
//   a' = m (a cos φ - b sin φ)
//   b' = m (a sin φ + b cos φ)          φ = position x ω_i
//
// Elements past rotary_dim pass through: left alone in place, copied otherwise.
//
// All calls: views have shape [batch, tokens, heads, head_dim] with the head_dim of the Spec, one
// dtype for a tensor and its output, any strides but the last, which must be 1. Nothing is
// allocated. The result is a pure function of (elements of the head, position, plan) on one
// target: the same bits in place or not, alone or with another tensor, however tokens are split.
//
// Aliasing: an output may be its own input (equal pointer, shape and strides). Apart from that, no
// output may overlap any other tensor or the position ids, and no output may overlap itself (a
// stride of 0). Two views with the same strides are compared exactly, element for element: q and k
// inside one fused row are fine.
//
// Errors: throws Error before a byte is written.

#ifndef ROPEWALK_ROTATE_HPP_
#define ROPEWALK_ROTATE_HPP_

#include <ropewalk/positions.hpp>
#include <ropewalk/rope.hpp>
#include <ropewalk/tensor.hpp>
#include <ropewalk/version.hpp>

namespace ropewalk {

struct Options {
  Target target =
      Target::kBest;  // to force an instruction set; kUnsupported if it is not to be had
};

// In place.
void rotate(const Rope& rope, const TensorView& x, const Positions& positions,
            const Options& options = {});

// q and k in one call, in place: the same batch and tokens, any number of heads and any strides
// for each.
void rotate(const Rope& rope, const TensorView& q, const TensorView& k, const Positions& positions,
            const Options& options = {});

// To out, of the same shape and dtype as x.
void rotate(const Rope& rope, const ConstTensorView& x, const Positions& positions,
            const TensorView& out, const Options& options = {});

void rotate(const Rope& rope, const ConstTensorView& q, const ConstTensorView& k,
            const Positions& positions, const TensorView& out_q, const TensorView& out_k,
            const Options& options = {});

}  // namespace ropewalk

#endif  // ROPEWALK_ROTATE_HPP_
