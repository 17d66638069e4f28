// rotate, unrotate, backward, rerotate: turn the pairs of every head by its token's angles.
//
//   rotate     m R(φ) x                          forward
//   unrotate   R(-φ) x / m                       undoes rotate, up to rounding
//   backward   m R(-φ) g                         the gradient (the adjoint of rotate)
//   rerotate   (m_new / m_old) R(φ_new - φ_old)  cached keys to new positions or a new plan
//
//   R(φ) (a, b) = (a cos φ - b sin φ, a sin φ + b cos φ)     φ = position x ω_i (-φ if clockwise)
//
// rotate reads pairs as the Spec's `pairing` and writes them as `output_pairing`; unrotate and
// backward read `output_pairing` and write `pairing`; rerotate reads the old plan's `output_pairing`
// and writes the new one's.
//
// Views have the shape [batch, tokens, heads, head_dim], any strides, and one dtype for a tensor and
// its output. A view as wide as head_dim is rotated in its window at rotary_offset, and what is
// outside passes through: left alone in place, copied otherwise. A view as wide as rotary_dim is
// the window itself.
//
// Nothing is allocated. The result is a pure function of (elements of the head, position, plan) on
// one target: the same bits in place or not, alone or with another tensor, however tokens are split
// or lie in memory, from fresh or ready angles, on any threads. (But which NaN comes out is not said,
// where one does.)
//
// Aliasing: an output may be its own input (equal pointer, shape and strides). Apart from that, no
// output may overlap another tensor, positions or angles, nor itself (a stride of 0). Two views
// with the same strides are compared exactly, element for element: q and k inside one fused row are
// fine. Others are refused as soon as their byte ranges meet.
//
// Errors: throws Error before a byte is written.

#ifndef ROPEWALK_ROTATE_HPP_
#define ROPEWALK_ROTATE_HPP_

#include <ropewalk/angles.hpp>
#include <ropewalk/options.hpp>
#include <ropewalk/positions.hpp>
#include <ropewalk/rope.hpp>
#include <ropewalk/tensor.hpp>

namespace ropewalk {

// ---- Fresh angles: a plan and positions. ----

// One tensor, in place.
void rotate(const Rope& rope, const TensorView& x, const Positions& positions,
            const Options& options = {});
void unrotate(const Rope& rope, const TensorView& x, const Positions& positions,
              const Options& options = {});
void backward(const Rope& rope, const TensorView& gradient, const Positions& positions,
              const Options& options = {});

// Queries and keys in one call, in place: the same batch and tokens, any number of heads, any
// strides and any dtype for each.
void rotate(const Rope& rope, const TensorView& q, const TensorView& k, const Positions& positions,
            const Options& options = {});
void unrotate(const Rope& rope, const TensorView& q, const TensorView& k,
              const Positions& positions, const Options& options = {});
void backward(const Rope& rope, const TensorView& q, const TensorView& k,
              const Positions& positions, const Options& options = {});

// To out, of the same shape and dtype as x.
void rotate(const Rope& rope, const ConstTensorView& x, const Positions& positions,
            const TensorView& out, const Options& options = {});
void unrotate(const Rope& rope, const ConstTensorView& x, const Positions& positions,
              const TensorView& out, const Options& options = {});
void backward(const Rope& rope, const ConstTensorView& gradient, const Positions& positions,
              const TensorView& out, const Options& options = {});

void rotate(const Rope& rope, const ConstTensorView& q, const ConstTensorView& k,
            const Positions& positions, const TensorView& out_q, const TensorView& out_k,
            const Options& options = {});
void unrotate(const Rope& rope, const ConstTensorView& q, const ConstTensorView& k,
              const Positions& positions, const TensorView& out_q, const TensorView& out_k,
              const Options& options = {});
void backward(const Rope& rope, const ConstTensorView& q, const ConstTensorView& k,
              const Positions& positions, const TensorView& out_q, const TensorView& out_k,
              const Options& options = {});

// ---- Ready angles. ----
//
// unrotate is refused (kUnsupported) for given rows, for xPos and for angles as a checkpoint saw
// them: what undoes those is no rotation.

void rotate(const Angles& angles, const TensorView& x, const Options& options = {});
void unrotate(const Angles& angles, const TensorView& x, const Options& options = {});
void backward(const Angles& angles, const TensorView& gradient, const Options& options = {});

void rotate(const Angles& angles, const TensorView& q, const TensorView& k,
            const Options& options = {});
void unrotate(const Angles& angles, const TensorView& q, const TensorView& k,
              const Options& options = {});
void backward(const Angles& angles, const TensorView& q, const TensorView& k,
              const Options& options = {});

// An output is said to be one, rotate(angles, x, Into{out}): two views side by side are q and k.
struct Into {
  TensorView view;
};

void rotate(const Angles& angles, const ConstTensorView& x, const Into& out,
            const Options& options = {});
void unrotate(const Angles& angles, const ConstTensorView& x, const Into& out,
              const Options& options = {});
void backward(const Angles& angles, const ConstTensorView& gradient, const Into& out,
              const Options& options = {});

void rotate(const Angles& angles, const ConstTensorView& q, const ConstTensorView& k,
            const Into& out_q, const Into& out_k, const Options& options = {});
void unrotate(const Angles& angles, const ConstTensorView& q, const ConstTensorView& k,
              const Into& out_q, const Into& out_k, const Options& options = {});
void backward(const Angles& angles, const ConstTensorView& q, const ConstTensorView& k,
              const Into& out_q, const Into& out_k, const Options& options = {});

// ---- Cached keys. ----
//
// keys were rotated by old_rope at `from`; afterwards they are as if new_rope had rotated them at
// `to`: rerotate(A, B, rotate(A, k, from), from, to) = rotate(B, k, to). The windows of the two
// plans (head_dim, rotary_dim, rotary_offset, window_parts) must be equal.

void rerotate(const Rope& old_rope, const Rope& new_rope, const TensorView& keys,
              const Positions& from, const Positions& to, const Options& options = {});
void rerotate(const Rope& old_rope, const Rope& new_rope, const ConstTensorView& keys,
              const Positions& from, const Positions& to, const TensorView& out,
              const Options& options = {});

}  // namespace ropewalk

#endif  // ROPEWALK_ROTATE_HPP_
