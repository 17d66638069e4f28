// The C interface: what a model says, and the plan made of it.

#include "ropewalk.hpp"

namespace ropewalk::c {
namespace {

// Beyond what Spec allows for any head: a count that was not set must not be copied.
constexpr std::int64_t kMostValues = std::int64_t{1} << 20;

// A field that holds ROPEWALK_NOT_GIVEN is none.
std::optional<double> given_number(double value) {
  if (value == ROPEWALK_NOT_GIVEN) return std::nullopt;
  return value;
}

template <class T>
std::optional<std::vector<T>> given_array(const T* data, std::int64_t count, std::string_view who) {
  if (data == nullptr && count == 0) return std::nullopt;
  if (count > kMostValues) refuse(who, " has the count ", count, ": want at most ", kMostValues);
  const std::span<const T> values = array_from(data, count, who);
  return std::vector<T>(values.begin(), values.end());
}

std::optional<std::int64_t> given_integer(std::int64_t value) {
  if (value == ROPEWALK_NOT_GIVEN) return std::nullopt;
  return value;
}

std::optional<bool> given_truncate(std::int32_t value) {
  if (value == ROPEWALK_NOT_GIVEN) return std::nullopt;
  if (value != 0 && value != 1) refuse("spec.scaling.truncate is ", value, ", want 0 or 1");
  return value == 1;
}

std::optional<Scaling> given_scaling(const ropewalk_scaling* given) {
  if (given == nullptr) return std::nullopt;
  const Received scaling(given, "spec.scaling");
  const auto list = [&](const double* data, std::string_view who) {
    return given_array(data, data == nullptr ? 0 : scaling->divisor_count, who);
  };
  const auto type = enum_from(scaling->type, Scaling::Type::kDivisors, "spec.scaling", ".type");
  return Scaling{
      .type = type,
      .factor = given_number(scaling->factor),
      .alpha = given_number(scaling->alpha),
      .original_max_position_embeddings = given_integer(scaling->original_max_position_embeddings),
      .beta_fast = given_number(scaling->beta_fast),
      .beta_slow = given_number(scaling->beta_slow),
      .truncate = given_truncate(scaling->truncate),
      .mscale = given_number(scaling->mscale),
      .mscale_all_dim = given_number(scaling->mscale_all_dim),
      .attention_factor = given_number(scaling->attention_factor),
      .extrapolation_factor = given_number(scaling->extrapolation_factor),
      .low_freq_factor = given_number(scaling->low_freq_factor),
      .high_freq_factor = given_number(scaling->high_freq_factor),
      .short_factor = list(scaling->short_factor, "spec.scaling.short_factor"),
      .long_factor = list(scaling->long_factor, "spec.scaling.long_factor"),
      .short_mscale = given_number(scaling->short_mscale),
      .long_mscale = given_number(scaling->long_mscale),
      .rotating_pairs = given_integer(scaling->rotating_pairs),
      .divisors = list(scaling->divisors, "spec.scaling.divisors"),
  };
}

}  // namespace

Spec spec_from(const ropewalk_spec* given) {
  const Received spec(given, "spec");
  SpecFields fields{.head_dim = spec->head_dim};
  if (spec->rotary_dim != ROPEWALK_NOT_GIVEN) fields.rotary_dim = spec->rotary_dim;
  fields.rotary_offset = spec->rotary_offset;
  fields.window_parts = spec->window_parts;
  fields.pairing = enum_from(spec->pairing, Pairing::kAdjacent, "spec", ".pairing");
  if (spec->output_pairing != ROPEWALK_PAIRING_NOT_GIVEN) {
    fields.output_pairing =
        enum_from(spec->output_pairing, Pairing::kAdjacent, "spec", ".output_pairing");
  }
  if (spec->clockwise != 0 && spec->clockwise != 1) {
    refuse("spec.clockwise is ", spec->clockwise, ", want 0 or 1");
  }
  fields.clockwise = spec->clockwise == 1;
  fields.base = given_number(spec->base);
  fields.scaling = given_scaling(spec->scaling);
  fields.frequencies = given_array(spec->frequencies, spec->frequency_count, "spec.frequencies");
  fields.attention_factor = given_number(spec->attention_factor);
  const auto order = enum_from(spec->axes_order, Axes::Order::kRoundRobin, "spec", ".axes_order");
  if (auto sections = given_array(spec->sections, spec->section_count, "spec.sections")) {
    fields.axes = Axes{std::move(*sections), order};
  }
  fields.axis_of_pair =
      given_array(spec->axis_of_pair, spec->axis_of_pair_count, "spec.axis_of_pair");
  fields.frequency_rounding = enum_from(spec->frequency_rounding, FrequencyRounding::kFloat32,
                                        "spec", ".frequency_rounding");
  return Spec(std::move(fields));
}

}  // namespace ropewalk::c

using namespace ropewalk::c;  // NOLINT(google-build-using-namespace): the functions below are of C

ropewalk_status ropewalk_rope_create(const ropewalk_spec* spec, ropewalk_rope** rope,
                                     ropewalk_error* error) {
  return ropewalk_rope_create_for_length(spec, ROPEWALK_NOT_GIVEN, rope, error);
}

ropewalk_status ropewalk_rope_create_for_length(const ropewalk_spec* spec, std::int64_t length,
                                                ropewalk_rope** rope, ropewalk_error* error) {
  if (rope != nullptr) *rope = nullptr;
  return guarded(error, [&] {
    required(rope, "rope");
    const auto wanted = given_integer(length);
    auto made = std::make_unique<ropewalk_rope>(ropewalk::Rope(spec_from(spec), wanted));
    for (const auto& ratio : made->rope.ratios()) {
      made->ratios.insert(made->ratios.end(), {ratio.high, ratio.low});
    }
    *rope = made.release();
  });
}

void ropewalk_rope_destroy(ropewalk_rope* rope) { delete rope; }

ropewalk_status ropewalk_rope_plan(const ropewalk_rope* rope, ropewalk_plan* plan,
                                   ropewalk_error* error) {
  return guarded(error, [&] {
    const ropewalk::Rope& told = required(rope, "rope").rope;
    const ropewalk::Spec& spec = told.spec();
    const bool has_axes = !spec.axis_of_pair().empty();
    hand_out(plan,
             {
                 .size = sizeof(ropewalk_plan),
                 .head_dim = spec.head_dim(),
                 .rotary_dim = spec.rotary_dim(),
                 .rotary_offset = spec.rotary_offset(),
                 .window_parts = spec.window_parts(),
                 .pairing = static_cast<ropewalk_pairing>(spec.pairing()),
                 .output_pairing = static_cast<ropewalk_pairing>(spec.output_pairing()),
                 .clockwise = spec.clockwise() ? 1 : 0,
                 .axes = static_cast<std::int32_t>(told.axes()),
                 .pairs = spec.rotary_dim() / 2,
                 .attention_factor = told.attention_factor(),
                 .frequencies = told.frequencies().data(),
                 .turns = told.turns().data(),
                 .ratios = rope->ratios.data(),
                 .axis_of_pair = has_axes ? spec.axis_of_pair().data() : nullptr,
             },
             "plan");
  });
}
