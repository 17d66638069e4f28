#include <array>
#include <cmath>
#include <ropewalk/error.hpp>
#include <ropewalk/spec.hpp>
#include <utility>

#include "message.hpp"
#include "scaling.hpp"

namespace ropewalk {
namespace {

// Far above any model, far below what would let a typing error exhaust the memory.
constexpr std::int64_t kMaxHeadDim = std::int64_t{1} << 20;

// ω_i <= 1/base for a base below 1; the turns of a plan are exact for |ω| < 2^32.
constexpr double kMinBase = 0x1p-30;
constexpr double kFrequencyLimit = 0x1p32;

// Within these, m cos φ and m sin φ are float32 values at full precision for every φ that matters
// to the accuracy promise.
constexpr double kMinAttentionFactor = 0x1p-100;
constexpr double kMaxAttentionFactor = 0x1p100;

template <class... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  throw Error(ErrorCode::kInvalidArgument, message(parts...));
}

// Heads are gathered into a buffer of the kernels before their pairs change places.
constexpr std::int64_t kMaxCrossing = 2048;

void check_dims(SpecFields& fields) {
  const std::int64_t head_dim = fields.head_dim;
  const std::int64_t offset = fields.rotary_offset;
  if (head_dim < 1 || head_dim > kMaxHeadDim) {
    refuse("head_dim ", head_dim, " is not between 1 and ", kMaxHeadDim);
  }
  if (offset < 0 || offset >= head_dim) {
    refuse("rotary_offset ", offset, " is not between 0 and head_dim ", head_dim, " - 1");
  }
  if (!fields.rotary_dim) {
    if ((head_dim - offset) % 2 != 0) {
      refuse(offset == 0 ? message("head_dim ", head_dim)
                         : message("head_dim ", head_dim, " - rotary_offset ", offset),
             " is odd: give a rotary_dim, an even number of elements to rotate");
    }
    fields.rotary_dim = head_dim - offset;
  }
  const std::int64_t rotary_dim = *fields.rotary_dim;
  if (rotary_dim > head_dim) {
    refuse("rotary_dim ", rotary_dim, " is larger than head_dim ", head_dim);
  }
  if (rotary_dim < 2 || rotary_dim % 2 != 0) {
    refuse("rotary_dim ", rotary_dim, " is not an even number from 2 to head_dim ", head_dim);
  }
  if (offset > head_dim - rotary_dim) {
    refuse("rotary_offset ", offset, " + rotary_dim ", rotary_dim, " is larger than head_dim ",
           head_dim);
  }
  const std::int64_t parts = fields.window_parts;
  if (parts < 1 || rotary_dim / 2 % parts != 0) {
    refuse("window_parts ", parts, " does not divide the ", rotary_dim / 2, " pairs of rotary_dim ",
           rotary_dim);
  }
  if (fields.output_pairing.value_or(fields.pairing) != fields.pairing &&
      rotary_dim / parts > kMaxCrossing) {
    refuse("output_pairing ", name(*fields.output_pairing), " for pairing ", name(fields.pairing),
           " and ", rotary_dim / parts, " elements: want at most ", kMaxCrossing);
  }
}

void check_base(double base) {
  if (!std::isfinite(base) || base < kMinBase) {
    refuse("base ", base, " is not a finite number of at least 2^-30");
  }
}

void check_frequencies(const SpecFields& fields) {
  if (fields.base) refuse("base ", *fields.base, " beside frequencies: give one or the other");
  if (fields.scaling) {
    refuse("scaling ", name(fields.scaling->type), " beside frequencies: give one or the other");
  }
  const auto& frequencies = *fields.frequencies;
  const auto wanted = static_cast<std::size_t>(*fields.rotary_dim / 2);
  if (frequencies.size() != wanted) {
    refuse("frequencies has ", frequencies.size(), " values, rotary_dim ", *fields.rotary_dim,
           " wants ", wanted);
  }
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    if (!(std::abs(frequencies[i]) < kFrequencyLimit)) {
      refuse("frequencies[", i, "] is ", frequencies[i], ", want a number between -2^32 and 2^32");
    }
  }
}

// ---- Axes: one function an order, i -> axis. The formulas stand in spec.hpp. ----

using Sections = std::vector<std::int64_t>;

std::int64_t blocks(std::int64_t i, const Sections& sections) {
  std::int64_t axis = 0;
  for (std::int64_t end = sections[0]; i >= end; end += sections[static_cast<std::size_t>(axis)]) {
    ++axis;
  }
  return axis;
}

std::int64_t cycle(std::int64_t i, const Sections& sections) {
  const auto count = static_cast<std::int64_t>(sections.size());
  const std::int64_t r = i % count;
  return r > 0 && i < count * sections[static_cast<std::size_t>(r)] ? r : 0;
}

std::int64_t ggml_cycle(std::int64_t i, const Sections& sections) {
  const std::int64_t r = i % 3;
  return i < 3 * sections[static_cast<std::size_t>(r)] ? r : 3;
}

std::int64_t ernie(std::int64_t i, const Sections& sections) {
  if (i >= sections[1] + sections[2]) return 0;
  return i % 2 == 0 ? 1 : 2;
}

std::vector<std::uint8_t> round_robin(std::int64_t pairs, const Sections& sections) {
  std::vector<std::uint8_t> axes;
  Sections left = sections;
  for (std::int64_t i = 0; i < pairs; ++i) {
    std::size_t axis = static_cast<std::size_t>(i) % sections.size();
    while (left[axis] == 0) axis = (axis + 1) % sections.size();
    --left[axis];
    axes.push_back(static_cast<std::uint8_t>(axis));
  }
  return axes;
}

void check_sections(const Axes& axes, std::int64_t pairs) {
  const auto count = static_cast<std::int64_t>(axes.sections.size());
  std::int64_t sum = 0;
  for (const std::int64_t section : axes.sections) {
    if (section < 0 || section > pairs) {
      refuse("axes sections ", bracketed(axes.sections), ": ", section, " is not between 0 and ",
             pairs, ", the number of pairs");
    }
    sum += section;
  }
  const auto want_count = [&](std::int64_t low, std::int64_t high) {
    if (count < low || count > high) {
      refuse("axes order ", name(axes.order), " with ", count, " sections: want ",
             low == high ? message(low) : message(low, " to ", high));
    }
  };
  want_count(1, Spec::kMaxAxes);
  if (axes.order == Axes::Order::kGgmlCycle) want_count(3, 4);
  if (axes.order == Axes::Order::kErnie) {
    want_count(3, 3);
    if (axes.sections[1] != axes.sections[2]) {
      refuse("axes order ernie with sections ", bracketed(axes.sections),
             ": the second (h) and the third (w) must be equal");
    }
  }
  if (sum != pairs) {
    refuse("axes sections ", bracketed(axes.sections), " add up to ", sum, ", want ", pairs,
           ", the number of pairs");
  }
}

std::vector<std::uint8_t> axes_from(const Axes& axes, std::int64_t pairs) {
  check_sections(axes, pairs);
  if (axes.order == Axes::Order::kRoundRobin) return round_robin(pairs, axes.sections);
  constexpr std::array kOrders = {blocks, cycle, ggml_cycle, ernie};
  const auto order = kOrders[static_cast<std::size_t>(axes.order)];
  std::vector<std::uint8_t> result;
  for (std::int64_t i = 0; i < pairs; ++i) {
    result.push_back(static_cast<std::uint8_t>(order(i, axes.sections)));
  }
  return result;
}

std::vector<std::uint8_t> axes_from(const std::vector<std::int64_t>& given, std::int64_t pairs) {
  if (static_cast<std::int64_t>(given.size()) != pairs) {
    refuse("axis_of_pair has ", given.size(), " values, want ", pairs, ", the number of pairs");
  }
  std::vector<std::uint8_t> result;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i] < 0 || given[i] >= Spec::kMaxAxes) {
      refuse("axis_of_pair[", i, "] is ", given[i], ", want 0 to ", Spec::kMaxAxes - 1);
    }
    result.push_back(static_cast<std::uint8_t>(given[i]));
  }
  return result;
}

// An enum that came from a number.
template <class Enum>
void check_enum(std::string_view what, Enum value, Enum last) {
  if (value > last) refuse(what, " number ", static_cast<int>(value), " is unknown");
}

void check_enums(const SpecFields& fields) {
  check_enum("pairing", fields.pairing, Pairing::kAdjacent);
  if (fields.output_pairing) {
    check_enum("output_pairing", *fields.output_pairing, Pairing::kAdjacent);
  }
  if (fields.scaling) {
    check_enum("scaling type", fields.scaling->type, Scaling::Type::kDivisors);
  }
  check_enum("frequency_rounding", fields.frequency_rounding, FrequencyRounding::kFloat32);
  if (fields.axes) check_enum("axes order", fields.axes->order, Axes::Order::kRoundRobin);
}

}  // namespace

std::string_view name(Axes::Order order) noexcept {
  constexpr std::array<std::string_view, 5> kNames = {"blocks", "cycle", "ggml_cycle", "ernie",
                                                      "round_robin"};
  return kNames[static_cast<std::size_t>(order)];
}

std::string_view name(Pairing pairing) noexcept {
  return pairing == Pairing::kHalves ? "halves" : "adjacent";
}

std::string_view name(FrequencyRounding rounding) noexcept {
  return rounding == FrequencyRounding::kNone ? "none" : "float32";
}

Spec::Spec(SpecFields fields) : fields_(std::move(fields)) {
  check_enums(fields_);
  check_dims(fields_);
  part_dim_ = rotary_dim() / window_parts();
  if (fields_.frequencies) {
    check_frequencies(fields_);
  } else {
    if (fields_.base) check_base(*fields_.base);
    if (fields_.scaling) {
      check_scaling(*fields_.scaling, base(), part_dim() / 2);
    }
  }
  if (const auto m = fields_.attention_factor;
      m && !(*m >= kMinAttentionFactor && *m <= kMaxAttentionFactor)) {
    refuse("attention_factor ", *m, " is not a number from 2^-100 to 2^100");
  }
  if (fields_.axes && fields_.axis_of_pair) {
    refuse("axis_of_pair beside axes: give one or the other");
  }
  if (fields_.axes) axis_of_pair_ = axes_from(*fields_.axes, rotary_dim() / 2);
  if (fields_.axis_of_pair) axis_of_pair_ = axes_from(*fields_.axis_of_pair, rotary_dim() / 2);
}

}  // namespace ropewalk
