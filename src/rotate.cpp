#include <array>
#include <ropewalk/error.hpp>
#include <ropewalk/rotate.hpp>
#include <span>

#include "angles.hpp"
#include "kernels.hpp"
#include "message.hpp"
#include "operands.hpp"
#include "walk.hpp"

namespace ropewalk {
namespace {

template <class... Parts>
[[noreturn]] void refuse(ErrorCode code, const Parts&... parts) {
  throw Error(code, message(parts...));
}

void run(Work&& work, std::span<Operand> operands, const Options& options) {
  const kernels::Table* table = kernels::table_for(options.target);
  if (table == nullptr) {
    refuse(ErrorCode::kUnsupported, "target ", name(options.target),
           " is not to be had in this build or on this CPU");
  }
  check_operands(operands, *work.spec);
  if (work.angles != nullptr) {
    check_angles(operands, *work.angles);
  } else {
    check_positions(operands, *work.turning.rope, *work.turning.positions);
  }
  if (work.turning.old_rope != nullptr) {
    check_positions(operands, *work.turning.old_rope, *work.turning.old_positions);
  }
  for (const Operand& operand : operands) work.bytes += operand.size;
  if (work.bytes > 0) walk(work, operands, options.parallel, *table);
}

// ---- The operations ----

enum class Operation : std::uint8_t { kRotate, kUnrotate, kBackward };

// What an operation is, for a plan with attention factor m. backward is the transposed matrix,
// unrotate the inverse.
Work work_of(Operation operation, const Spec& spec, double m, const Turning& turning,
             const Angles* angles) {
  const bool forward = operation == Operation::kRotate;
  const double scale = operation == Operation::kUnrotate ? 1 / m : m;
  return {turning,
          angles,
          &spec,
          forward ? spec.pairing() : spec.output_pairing(),
          forward ? spec.output_pairing() : spec.pairing(),
          scale,
          forward ? scale : -scale,
          operation == Operation::kUnrotate,
          0};
}

void run(Operation operation, const Rope& rope, const Positions& positions,
         std::span<Operand> operands, const Options& options) {
  run(work_of(operation, rope.spec(), rope.attention_factor(), {&rope, &positions}, nullptr),
      operands, options);
}

void run(Operation operation, const Angles& angles, std::span<Operand> operands,
         const Options& options) {
  const std::optional<Spec>& spec = AnglesAccess::spec(angles);
  if (!spec) refuse(ErrorCode::kInvalidArgument, "angles have no rows yet: call assign first");
  if (operation == Operation::kUnrotate && !AnglesAccess::is_turn(angles)) {
    refuse(
        ErrorCode::kUnsupported,
        "unrotate with given rows, xPos or angles as a checkpoint saw them: what undoes those is "
        "no rotation; backward is the transposed one");
  }
  run(work_of(operation, *spec, AnglesAccess::scale(angles), {}, &angles), operands, options);
}

void check_windows(const Spec& a, const Spec& b) {
  const auto same = [](std::string_view what, std::int64_t old_value, std::int64_t new_value) {
    if (old_value != new_value) {
      refuse(ErrorCode::kShapeMismatch, "rerotate from ", what, " ", old_value, " to ", what, " ",
             new_value, ": the windows must be equal");
    }
  };
  same("head_dim", a.head_dim(), b.head_dim());
  same("rotary_dim", a.rotary_dim(), b.rotary_dim());
  same("rotary_offset", a.rotary_offset(), b.rotary_offset());
  same("window_parts", a.window_parts(), b.window_parts());
}

void run_rerotate(const Rope& old_rope, const Rope& new_rope, const Positions& from,
                  const Positions& to, Operand keys, const Options& options) {
  check_windows(old_rope.spec(), new_rope.spec());
  const Spec &from_spec = old_rope.spec(), &to_spec = new_rope.spec();
  // Exactly 1 when m is the same: no multiplication then.
  const double scale = new_rope.attention_factor() / old_rope.attention_factor();
  Work work{{&new_rope, &to, &old_rope, &from},
            nullptr,
            &from_spec,
            from_spec.output_pairing(),
            to_spec.output_pairing(),
            scale,
            scale,
            false,
            0};
  constexpr auto kMost = 2 * static_cast<std::int64_t>(kernels::kMaxRowPairs);
  if (work.read != work.written && work.spec->part_dim() > kMost) {
    refuse(ErrorCode::kUnsupported, "rerotate from one pairing to another for rotary_dim ",
           work.spec->rotary_dim(), ": want at most ", kMost);
  }
  run(std::move(work), {&keys, 1}, options);
}

}  // namespace

// Each operation has the same eight forms.
#define ROPEWALK_DEFINE_OPERATION(name, operation)                                            \
  void name(const Rope& rope, const TensorView& x, const Positions& positions,                \
            const Options& options) {                                                         \
    std::array operands = {Operand("x", x)};                                                  \
    run(operation, rope, positions, operands, options);                                       \
  }                                                                                           \
  void name(const Rope& rope, const TensorView& q, const TensorView& k,                       \
            const Positions& positions, const Options& options) {                             \
    std::array operands = {Operand("q", q), Operand("k", k)};                                 \
    run(operation, rope, positions, operands, options);                                       \
  }                                                                                           \
  void name(const Rope& rope, const ConstTensorView& x, const Positions& positions,           \
            const TensorView& out, const Options& options) {                                  \
    std::array operands = {Operand("x", x, "out", out)};                                      \
    run(operation, rope, positions, operands, options);                                       \
  }                                                                                           \
  void name(const Rope& rope, const ConstTensorView& q, const ConstTensorView& k,             \
            const Positions& positions, const TensorView& out_q, const TensorView& out_k,     \
            const Options& options) {                                                         \
    std::array operands = {Operand("q", q, "out_q", out_q), Operand("k", k, "out_k", out_k)}; \
    run(operation, rope, positions, operands, options);                                       \
  }                                                                                           \
  void name(const Angles& angles, const TensorView& x, const Options& options) {              \
    std::array operands = {Operand("x", x)};                                                  \
    run(operation, angles, operands, options);                                                \
  }                                                                                           \
  void name(const Angles& angles, const TensorView& q, const TensorView& k,                   \
            const Options& options) {                                                         \
    std::array operands = {Operand("q", q), Operand("k", k)};                                 \
    run(operation, angles, operands, options);                                                \
  }                                                                                           \
  void name(const Angles& angles, const ConstTensorView& x, const Into& out,                  \
            const Options& options) {                                                         \
    std::array operands = {Operand("x", x, "out", out.view)};                                 \
    run(operation, angles, operands, options);                                                \
  }                                                                                           \
  void name(const Angles& angles, const ConstTensorView& q, const ConstTensorView& k,         \
            const Into& out_q, const Into& out_k, const Options& options) {                   \
    std::array operands = {Operand("q", q, "out_q", out_q.view),                              \
                           Operand("k", k, "out_k", out_k.view)};                             \
    run(operation, angles, operands, options);                                                \
  }

ROPEWALK_DEFINE_OPERATION(rotate, Operation::kRotate)
ROPEWALK_DEFINE_OPERATION(unrotate, Operation::kUnrotate)
ROPEWALK_DEFINE_OPERATION(backward, Operation::kBackward)

#undef ROPEWALK_DEFINE_OPERATION

void rerotate(const Rope& old_rope, const Rope& new_rope, const TensorView& keys,
              const Positions& from, const Positions& to, const Options& options) {
  run_rerotate(old_rope, new_rope, from, to, Operand("keys", keys), options);
}

void rerotate(const Rope& old_rope, const Rope& new_rope, const ConstTensorView& keys,
              const Positions& from, const Positions& to, const TensorView& out,
              const Options& options) {
  run_rerotate(old_rope, new_rope, from, to, Operand("keys", keys, "out", out), options);
}

}  // namespace ropewalk
