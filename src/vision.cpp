#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>
#include <ropewalk/error.hpp>
#include <ropewalk/frequencies.hpp>
#include <ropewalk/vision.hpp>
#include <utility>

#include "message.hpp"

namespace ropewalk {
namespace {

constexpr std::int64_t kFrame = 0;             // with frames: 0, 1, 2
constexpr std::int64_t kRow = 0, kColumn = 1;  // of an image

template <class... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  throw Error(ErrorCode::kInvalidArgument, message(parts...));
}

// Before anything is as long as a head: Spec says which heads there are.
void check_head(std::int64_t head_dim) { Spec({.head_dim = head_dim, .rotary_dim = 2}); }

void want_multiple(std::string_view form, std::int64_t head_dim, std::int64_t of) {
  if (head_dim < of || head_dim % of != 0) {
    refuse(form, ": head_dim ", head_dim, " is not a positive multiple of ", of);
  }
  check_head(head_dim);
}

// base^(-2k / width), k = 0 .. width/2 - 1; a width of 0 is refused by Spec.
std::vector<double> plain(std::int64_t width, double base) {
  return frequencies(Spec({.head_dim = width, .base = base})).radians;
}

// The whole head, or as much of it as there are frequencies, from its first element.
Spec spec_of(std::int64_t head_dim, Pairing pairing, FrequencyRounding rounding,
             std::vector<double> frequencies, std::vector<std::int64_t> axes) {
  const auto rotary_dim = 2 * static_cast<std::int64_t>(frequencies.size());
  return Spec({.head_dim = head_dim,
               .rotary_dim = rotary_dim,
               .pairing = pairing,
               .frequencies = std::move(frequencies),
               .frequency_rounding = rounding,
               .axis_of_pair = std::move(axes)});
}

// The same frequencies for rows, then for columns.
std::vector<double> twice(std::vector<double> values) {
  const std::size_t count = values.size();
  values.reserve(2 * count);
  for (std::size_t i = 0; i < count; ++i) values.push_back(values[i]);
  return values;
}

// count of the first axis, then as many of the second.
std::vector<std::int64_t> blocks_of(std::size_t count, std::int64_t first, std::int64_t second) {
  std::vector<std::int64_t> axes(count, first);
  axes.resize(2 * count, second);
  return axes;
}

// ---- axial ----

void check_axial(const AxialFields& fields) {
  check_head(fields.head_dim);
  const std::size_t count = fields.widths.size();
  if (count < 1 || count > Spec::kMaxAxes) {
    refuse("widths has ", count, " values, want 1 to ", Spec::kMaxAxes);
  }
  std::int64_t sum = 0;
  for (const std::int64_t width : fields.widths) {
    if (width < 2 || width % 2 != 0 || width > fields.head_dim - sum) {
      refuse("widths ", bracketed(fields.widths),
             ": want even numbers from 2 that add up to at most ", "head_dim ", fields.head_dim);
    }
    sum += width;
    if (fields.alternating && width != fields.widths[0]) {
      refuse("widths ", bracketed(fields.widths), ", alternating: want all of them equal");
    }
  }
  if (!fields.axes.empty() && fields.axes.size() != count) {
    refuse("axes has ", fields.axes.size(), " values, widths has ", count);
  }
  if (fields.bases.size() > 1 && fields.bases.size() != count) {
    refuse("bases has ", fields.bases.size(), " values, want 1 or one for each of the ", count,
           " widths");
  }
}

// A form of several blocks as wide as one another, all with the form's base or the one given.
struct EqualBlocks {
  std::string_view form;
  std::int64_t blocks;
  std::vector<std::int64_t> axes;
  Pairing pairing;
  double base = Spec::kDefaultBase;
  bool alternating = false;
};

Spec equal_blocks(const EqualBlocks& form, const VisionFields& fields) {
  want_multiple(form.form, fields.head_dim, 2 * form.blocks);
  return axial_spec({.head_dim = fields.head_dim,
                     .widths = std::vector<std::int64_t>(static_cast<std::size_t>(form.blocks),
                                                         fields.head_dim / form.blocks),
                     .axes = form.axes,
                     .bases = {fields.base.value_or(form.base)},
                     .alternating = form.alternating,
                     .pairing = fields.pairing.value_or(form.pairing),
                     .frequency_rounding = fields.frequency_rounding});
}

// Frames, rows and columns, or whatever the axes 0, 1, 2, ... are.
Spec unequal_blocks(std::vector<std::int64_t> widths, const VisionFields& fields,
                    Pairing pairing = Pairing::kAdjacent) {
  return axial_spec({.head_dim = fields.head_dim,
                     .widths = std::move(widths),
                     .bases = {fields.base.value_or(Spec::kDefaultBase)},
                     .pairing = fields.pairing.value_or(pairing),
                     .frequency_rounding = fields.frequency_rounding});
}

// D - 2w, w, w with w = 2 (D/6).
std::vector<std::int64_t> sixths(std::string_view form, std::int64_t head_dim) {
  want_multiple(form, head_dim, 2);
  if (head_dim < 6) refuse(form, ": head_dim ", head_dim, " is less than 6: no pair for some axis");
  const std::int64_t width = head_dim / 6 * 2;
  return {head_dim - 2 * width, width, width};
}

void want_128(std::string_view form, std::int64_t head_dim) {
  if (head_dim != 128) {
    refuse(form, ": head_dim ", head_dim, " is not 128: give the widths to axial_spec");
  }
}

// ---- Whole turns and pixels ----

// count values from `from` up to `to`, by equal steps.
double step_between(double from, double to, std::int64_t k, std::int64_t count) {
  if (count == 1) return from;
  return from + (to - from) * static_cast<double>(k) / static_cast<double>(count - 1);
}

std::vector<double> dinov3_periods(const Dinov3Fields& fields) {
  const std::int64_t count = fields.head_dim / 4;
  std::vector<double> periods;
  if (!fields.min_period && !fields.max_period) {
    for (const double omega : plain(fields.head_dim / 2, fields.base.value_or(100.0))) {
      periods.push_back(1 / omega);
    }
    return periods;
  }
  if (fields.base) refuse("dinov3: base ", *fields.base, " beside periods: give one or the other");
  if (!fields.min_period || !fields.max_period) {
    refuse("dinov3: ", fields.min_period ? "max_period" : "min_period", " is missing: want both");
  }
  const double low = *fields.min_period, high = *fields.max_period;
  if (!(low > 0 && high >= low && std::isfinite(high))) {
    refuse("dinov3: min_period ", low, ", max_period ", high,
           ": want 0 < min_period <= max_period");
  }
  for (std::int64_t k = 0; k < count; ++k) {
    periods.push_back(low * std::pow(high / low, step_between(0, 1, k, count)));
  }
  return periods;
}

}  // namespace

Spec axial_spec(const AxialFields& fields) {
  check_axial(fields);
  std::vector<std::vector<double>> omega;
  for (std::size_t a = 0; a < fields.widths.size(); ++a) {
    const double base = fields.bases.empty()       ? Spec::kDefaultBase
                        : fields.bases.size() == 1 ? fields.bases[0]
                                                   : fields.bases[a];
    omega.push_back(plain(fields.widths[a], base));
  }
  std::vector<double> all;
  std::vector<std::int64_t> axes;
  const auto turn = [&](std::size_t block, std::size_t k) {
    all.push_back(omega[block][k]);
    axes.push_back(fields.axes.empty() ? static_cast<std::int64_t>(block) : fields.axes[block]);
  };
  if (fields.alternating) {
    for (std::size_t k = 0; k < omega[0].size(); ++k) {
      for (std::size_t block = 0; block < omega.size(); ++block) turn(block, k);
    }
  } else {
    for (std::size_t block = 0; block < omega.size(); ++block) {
      for (std::size_t k = 0; k < omega[block].size(); ++k) turn(block, k);
    }
  }
  return spec_of(fields.head_dim, fields.pairing, fields.frequency_rounding, std::move(all),
                 std::move(axes));
}

Spec qwen_vision_spec(const VisionFields& fields) {
  return equal_blocks({"qwen_vision", 2, {kRow, kColumn}, Pairing::kHalves}, fields);
}

Spec step_vision_spec(const VisionFields& fields) {
  return equal_blocks({"step_vision", 2, {kColumn, kRow}, Pairing::kHalves}, fields);
}

Spec llama4_vision_spec(const VisionFields& fields) {
  return equal_blocks({"llama4_vision", 2, {kColumn, kRow}, Pairing::kAdjacent}, fields);
}

Spec sam_spec(const VisionFields& fields) {
  return equal_blocks({"sam", 2, {kColumn, kRow}, Pairing::kAdjacent}, fields);
}

Spec eva_spec(const VisionFields& fields) {
  return equal_blocks({"eva", 2, {kRow, kColumn}, Pairing::kAdjacent}, fields);
}

Spec gemma4_vision_spec(const VisionFields& fields) {
  want_multiple("gemma4_vision", fields.head_dim, 4);
  return Spec(
      {.head_dim = fields.head_dim,
       .pairing = fields.pairing.value_or(Pairing::kHalves),
       .window_parts = 2,
       .base = fields.base.value_or(100.0),
       .frequency_rounding = fields.frequency_rounding,
       .axis_of_pair = blocks_of(static_cast<std::size_t>(fields.head_dim / 4), kColumn, kRow)});
}

Spec moonvit_spec(const VisionFields& fields) {
  return equal_blocks({.form = "moonvit",
                       .blocks = 2,
                       .axes = {kColumn, kRow},
                       .pairing = Pairing::kAdjacent,
                       .alternating = true},
                      fields);
}

Spec efficientloftr_spec(const VisionFields& fields) {
  return equal_blocks({.form = "efficientloftr",
                       .blocks = 2,
                       .axes = {kRow, kColumn},
                       .pairing = Pairing::kAdjacent,
                       .alternating = true},
                      fields);
}

Spec minimax_m3_vision_spec(const VisionFields& fields) {
  if (fields.head_dim < 6) {
    refuse("minimax_m3_vision: head_dim ", fields.head_dim, " is less than 6: no pair for an axis");
  }
  return unequal_blocks(std::vector<std::int64_t>(3, fields.head_dim / 3 / 2 * 2), fields,
                        Pairing::kHalves);
}

Spec flux_spec(const VisionFields& fields) {
  want_128("flux", fields.head_dim);
  return unequal_blocks({16, 56, 56}, fields);
}

Spec flux2_spec(const VisionFields& fields) {
  want_128("flux2", fields.head_dim);
  return equal_blocks({"flux2", 4, {0, 1, 2, 3}, Pairing::kAdjacent, 2000.0}, fields);
}

Spec wan_spec(const VisionFields& fields) {
  return unequal_blocks(sixths("wan", fields.head_dim), fields);
}

Spec cogvideox_spec(const VisionFields& fields) {
  want_multiple("cogvideox", fields.head_dim, 16);
  const std::int64_t eighth = fields.head_dim / 8;
  return unequal_blocks({2 * eighth, 3 * eighth, 3 * eighth}, fields);
}

Spec cosmos_spec(const CosmosFields& fields) {
  std::vector<std::int64_t> widths = sixths("cosmos", fields.head_dim);
  std::vector<double> bases;
  for (std::size_t axis = 0; axis < widths.size(); ++axis) {
    const double scale = fields.scale.at(axis);
    const auto width = static_cast<double>(widths[axis]);
    if (!(scale > 0 && std::isfinite(scale))) {
      refuse("cosmos: scale[", axis, "] is ", scale, ", want a finite number > 0");
    }
    if (widths[axis] == 2 && scale != 1) {
      refuse("cosmos: scale[", axis, "] is ", scale, " for 2 elements, which have no other than 1");
    }
    bases.push_back(Spec::kDefaultBase * (scale == 1 ? 1 : std::pow(scale, width / (width - 2))));
  }
  return axial_spec({.head_dim = fields.head_dim,
                     .widths = std::move(widths),
                     .bases = std::move(bases),
                     .pairing = Pairing::kHalves,
                     .frequency_rounding = fields.frequency_rounding});
}

Spec ltx_spec(const VisionFields& fields) {
  want_multiple("ltx", fields.head_dim, 2);
  const std::int64_t count = fields.head_dim / 6, still = fields.head_dim % 6 / 2;
  const double base = fields.base.value_or(Spec::kDefaultBase);
  if (count < 1) refuse("ltx: head_dim ", fields.head_dim, " is less than 6");
  if (!(base > 0 && std::isfinite(base))) refuse("ltx: base ", base, " is not a finite number > 0");
  std::vector<double> omega(static_cast<std::size_t>(still), 0.0);
  std::vector<std::int64_t> axes(static_cast<std::size_t>(still), kFrame);
  for (std::int64_t k = 0; k < count; ++k) {
    const double value = std::pow(base, step_between(0, 1, k, count)) * std::numbers::pi / 2;
    for (std::int64_t axis = 0; axis < 3; ++axis) {
      omega.push_back(value);
      axes.push_back(axis);
    }
  }
  return spec_of(fields.head_dim, fields.pairing.value_or(Pairing::kAdjacent),
                 fields.frequency_rounding, std::move(omega), std::move(axes));
}

Spec pixtral_spec(const VisionFields& fields) {
  want_multiple("pixtral", fields.head_dim, 4);
  const std::vector<double> omega =
      plain(fields.head_dim, fields.base.value_or(Spec::kDefaultBase));
  std::vector<double> shared;
  for (std::size_t first = 0; first < 2; ++first) {
    for (std::size_t i = first; i < omega.size(); i += 2) shared.push_back(omega[i]);
  }
  return spec_of(fields.head_dim, fields.pairing.value_or(Pairing::kHalves),
                 fields.frequency_rounding, std::move(shared),
                 blocks_of(omega.size() / 2, kRow, kColumn));
}

Spec dinov3_spec(const Dinov3Fields& fields) {
  want_multiple("dinov3", fields.head_dim, 4);
  std::vector<double> omega = dinov3_periods(fields);
  for (double& value : omega) value = 2 * std::numbers::pi / value;
  const std::size_t count = omega.size();
  return spec_of(fields.head_dim, Pairing::kHalves, fields.frequency_rounding,
                 twice(std::move(omega)), blocks_of(count, kRow, kColumn));
}

Spec pixel_spec(const PixelFields& fields) {
  want_multiple("pixel", fields.head_dim, 4);
  const double top = fields.max_frequency / 2;
  if (!(top > 0 && std::isfinite(top))) {
    refuse("pixel: max_frequency ", fields.max_frequency, " is not a finite number > 0");
  }
  const std::int64_t count = fields.head_dim / 4;
  std::vector<double> omega;
  for (std::int64_t k = 0; k < count; ++k) {
    omega.push_back(std::numbers::pi * (fields.linear
                                            ? step_between(1, top, k, count)
                                            : std::pow(top, step_between(0, 1, k, count))));
  }
  return spec_of(fields.head_dim, fields.pairing.value_or(Pairing::kAdjacent),
                 fields.frequency_rounding, twice(std::move(omega)),
                 blocks_of(static_cast<std::size_t>(count), kRow, kColumn));
}

}  // namespace ropewalk
