// The C interface: the four operations.

#include "ropewalk.hpp"

namespace ropewalk::c {
namespace {

using Q = const TensorView&;
using In = const ConstTensorView&;
using Out = const TensorView&;

// The forms of q and k in C++. Without k, it is a tensor of no heads: the same bits, and messages
// that name the argument as ropewalk.h does.
using InPlace = void (*)(const Rope&, Q, Q, const Positions&, const Options&);
using Outputs = void (*)(const Rope&, In, In, const Positions&, Out, Out, const Options&);
using AnglesInPlace = void (*)(const Angles&, Q, Q, const Options&);
using AnglesOutputs = void (*)(const Angles&, In, In, const Into&, const Into&, const Options&);

TensorView no_heads_like(const TensorView& q) {
  return {nullptr, q.dtype, {q.shape[0], q.shape[1], 0, q.shape[3]}, {0, 0, 0, 1}};
}

struct Tensors {
  Tensors(const ropewalk_tensor* given_q, const ropewalk_tensor* given_k, std::string_view q_name,
          std::string_view k_name)
      : q(tensor_from(given_q, q_name)),
        k(given_k == nullptr ? no_heads_like(q) : tensor_from(given_k, k_name)) {}
  TensorView q, k;
};

// An output without its input, or the other way round, is a mistake.
Tensors outputs_from(const ropewalk_tensor* k, const ropewalk_tensor* out_q,
                     const ropewalk_tensor* out_k) {
  if ((k == nullptr) != (out_k == nullptr)) {
    refuse(k == nullptr ? "k is NULL and out_k is not" : "out_k is NULL and k is not",
           ": give both or neither");
  }
  return {out_q, out_k, "out_q", "out_k"};
}

ropewalk_status run(InPlace operation, const ropewalk_rope* rope, const ropewalk_tensor* q,
                    const ropewalk_tensor* k, const ropewalk_positions* positions,
                    const ropewalk_options* options, ropewalk_error* error) noexcept {
  return guarded(error, [&] {
    const Rope& plan = required(rope, "rope").rope;
    const Tensors in(q, k, "q", "k");
    operation(plan, in.q, in.k, positions_from(positions, "positions"),
              options_from(options, "options"));
  });
}

ropewalk_status run(Outputs operation, const ropewalk_rope* rope, const ropewalk_tensor* q,
                    const ropewalk_tensor* k, const ropewalk_positions* positions,
                    const ropewalk_tensor* out_q, const ropewalk_tensor* out_k,
                    const ropewalk_options* options, ropewalk_error* error) noexcept {
  return guarded(error, [&] {
    const Rope& plan = required(rope, "rope").rope;
    const Tensors in(q, k, "q", "k");
    const Positions stand = positions_from(positions, "positions");
    const Tensors out = outputs_from(k, out_q, out_k);
    operation(plan, in.q, in.k, stand, out.q, out.k, options_from(options, "options"));
  });
}

ropewalk_status run(AnglesInPlace operation, const ropewalk_angles* angles,
                    const ropewalk_tensor* q, const ropewalk_tensor* k,
                    const ropewalk_options* options, ropewalk_error* error) noexcept {
  return guarded(error, [&] {
    const Angles& rows = required(angles, "angles").angles;
    const Tensors in(q, k, "q", "k");
    operation(rows, in.q, in.k, options_from(options, "options"));
  });
}

ropewalk_status run(AnglesOutputs operation, const ropewalk_angles* angles,
                    const ropewalk_tensor* q, const ropewalk_tensor* k,
                    const ropewalk_tensor* out_q, const ropewalk_tensor* out_k,
                    const ropewalk_options* options, ropewalk_error* error) noexcept {
  return guarded(error, [&] {
    const Angles& rows = required(angles, "angles").angles;
    const Tensors in(q, k, "q", "k");
    const Tensors out = outputs_from(k, out_q, out_k);
    operation(rows, in.q, in.k, Into{out.q}, Into{out.k}, options_from(options, "options"));
  });
}

// What both forms of rerotate are given.
struct Moved {
  const Rope& old_rope;
  const Rope& new_rope;
  TensorView keys;
  Positions from, to;
  Options options;
};

Moved moved_from(const ropewalk_rope* old_rope, const ropewalk_rope* new_rope,
                 const ropewalk_tensor* keys, const ropewalk_positions* from,
                 const ropewalk_positions* to, const ropewalk_options* options) {
  return {required(old_rope, "old_rope").rope,
          required(new_rope, "new_rope").rope,
          tensor_from(keys, "keys"),
          positions_from(from, "from"),
          positions_from(to, "to"),
          options_from(options, "options")};
}

}  // namespace
}  // namespace ropewalk::c

using namespace ropewalk::c;  // NOLINT(google-build-using-namespace): the functions below are of C

// Each of the three has the same four forms.
#define ROPEWALK_DEFINE_C_OPERATION(name)                                                          \
  ropewalk_status ropewalk_##name(const ropewalk_rope* rope, const ropewalk_tensor* q,             \
                                  const ropewalk_tensor* k, const ropewalk_positions* positions,   \
                                  const ropewalk_options* options, ropewalk_error* error) {        \
    return run(InPlace{ropewalk::name}, rope, q, k, positions, options, error);                    \
  }                                                                                                \
  ropewalk_status ropewalk_##name##_into(                                                          \
      const ropewalk_rope* rope, const ropewalk_tensor* q, const ropewalk_tensor* k,               \
      const ropewalk_positions* positions, const ropewalk_tensor* out_q,                           \
      const ropewalk_tensor* out_k, const ropewalk_options* options, ropewalk_error* error) {      \
    return run(Outputs{ropewalk::name}, rope, q, k, positions, out_q, out_k, options, error);      \
  }                                                                                                \
  ropewalk_status ropewalk_##name##_angles(                                                        \
      const ropewalk_angles* angles, const ropewalk_tensor* q, const ropewalk_tensor* k,           \
      const ropewalk_options* options, ropewalk_error* error) {                                    \
    return run(AnglesInPlace{ropewalk::name}, angles, q, k, options, error);                       \
  }                                                                                                \
  ropewalk_status ropewalk_##name##_angles_into(                                                   \
      const ropewalk_angles* angles, const ropewalk_tensor* q, const ropewalk_tensor* k,           \
      const ropewalk_tensor* out_q, const ropewalk_tensor* out_k, const ropewalk_options* options, \
      ropewalk_error* error) {                                                                     \
    return run(AnglesOutputs{ropewalk::name}, angles, q, k, out_q, out_k, options, error);         \
  }

ROPEWALK_DEFINE_C_OPERATION(rotate)
ROPEWALK_DEFINE_C_OPERATION(unrotate)
ROPEWALK_DEFINE_C_OPERATION(backward)

#undef ROPEWALK_DEFINE_C_OPERATION

ropewalk_status ropewalk_rerotate(const ropewalk_rope* old_rope, const ropewalk_rope* new_rope,
                                  const ropewalk_tensor* keys, const ropewalk_positions* from,
                                  const ropewalk_positions* to, const ropewalk_options* options,
                                  ropewalk_error* error) {
  return guarded(error, [&] {
    const Moved moved = moved_from(old_rope, new_rope, keys, from, to, options);
    ropewalk::rerotate(moved.old_rope, moved.new_rope, moved.keys, moved.from, moved.to,
                       moved.options);
  });
}

ropewalk_status ropewalk_rerotate_into(const ropewalk_rope* old_rope, const ropewalk_rope* new_rope,
                                       const ropewalk_tensor* keys, const ropewalk_positions* from,
                                       const ropewalk_positions* to, const ropewalk_tensor* out,
                                       const ropewalk_options* options, ropewalk_error* error) {
  return guarded(error, [&] {
    const Moved moved = moved_from(old_rope, new_rope, keys, from, to, options);
    ropewalk::rerotate(moved.old_rope, moved.new_rope, moved.keys, moved.from, moved.to,
                       tensor_from(out, "out"), moved.options);
  });
}
