// Spec: what a model says about its rotary embedding. Plain data, validated when made.

#ifndef ROPEWALK_SPEC_HPP_
#define ROPEWALK_SPEC_HPP_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace ropewalk {

// Which two elements of a head are rotated together, for rotary_dim 8 in a head of 10:
//
//   halves      pair i is (x[i], x[i + rotary_dim/2])     "NeoX", rotate_half
//
//      x0  x1  x2  x3  x4  x5  x6  x7 | x8  x9
//      '---------------'                          pair 0
//          '---------------'                      pair 1 ...
//
//   adjacent    pair i is (x[2i], x[2i+1])                "GPT-J", interleaved, complex form
//
//      x0  x1  x2  x3  x4  x5  x6  x7 | x8  x9
//      '---'   '---'   '---'   '---'   untouched
enum class Pairing : std::uint8_t { kHalves, kAdjacent };

// "halves", "adjacent".
std::string_view name(Pairing pairing) noexcept;

// A rule that changes the frequencies to stretch the context. Each rule takes the fields that its
// line names, those in brackets if wanted, and no others; the formulas stand in frequencies.hpp.
struct Scaling {
  enum class Type : std::uint8_t {
    kDefault,          // no scaling
    kLinear,           // factor
    kNtk,              // alpha
    kDynamic,          // factor and original_max_position_embeddings; or alpha
    kDynamicStepwise,  // original_max_position_embeddings
    kNtkByParts,       // factor, original_max_position_embeddings [extrapolation_factor]
    kYarn,      // factor, original_max_position_embeddings [beta_fast, beta_slow, truncate, mscale,
                // mscale_all_dim, attention_factor, extrapolation_factor, divisors]
    kLlama3,    // factor, low_freq_factor, high_freq_factor, original_max_position_embeddings
    kLongrope,  // short_factor, long_factor, original_max_position_embeddings, and factor or
                // attention_factor [short_mscale and long_mscale]
    kProportional,  // [rotating_pairs, factor]
    kDivisors,      // divisors [factor]
  };
  Type type = Type::kDefault;
  std::optional<double> factor = {};  // how often the trained context the new one is; 1 to 2^40
  std::optional<double> alpha = {};   // of the base; 2^-30 to 2^40
  std::optional<std::int64_t> original_max_position_embeddings = {};  // the trained context, in
                                                                      // positions; 1 to 2^40
  std::optional<double> beta_fast = {};             // turns within the trained context; 32
  std::optional<double> beta_slow = {};             // 1
  std::optional<bool> truncate = {};                // whether bounds are whole pairs; true
  std::optional<double> mscale = {};                // counts only beside mscale_all_dim
  std::optional<double> mscale_all_dim = {};        // 0 of either is as if it were absent
  std::optional<double> attention_factor = {};      // m, instead of the rule's
  std::optional<double> extrapolation_factor = {};  // 0 to 1; 1
  std::optional<double> low_freq_factor = {};       // > 0, at most high_freq_factor
  std::optional<double> high_freq_factor = {};
  // Divisors of ω_i, > 0, one for each pair of a part of the window.
  std::optional<std::vector<double>> short_factor = {};
  std::optional<std::vector<double>> long_factor = {};
  std::optional<double> short_mscale = {};  // m while short_factor is in force
  std::optional<double> long_mscale = {};
  std::optional<std::int64_t> rotating_pairs = {};   // of each part; the rest stands still; all
  std::optional<std::vector<double>> divisors = {};  // as short_factor

  bool operator==(const Scaling&) const = default;
};

// "default", "linear", "ntk", "dynamic", "dynamic_stepwise", "ntk_by_parts", "yarn", "llama3",
// "longrope", "proportional", "divisors".
std::string_view name(Scaling::Type type) noexcept;

// Whether a double that was computed is rounded on.
enum class FrequencyRounding : std::uint8_t {
  kNone,
  kFloat32,  // ω_i to the nearest float, as the code had it that a checkpoint was trained with
};

// "none", "float32".
std::string_view name(FrequencyRounding rounding) noexcept;

// Which axis of a position each pair turns with, for positions of several axes (text has 1, an image
// 2, a video 3). sections[a] belongs to axis a, in the order of the position array: t, h, w, e; their
// sum is the number of pairs n. Pair i keeps ω_i whatever its axis.
struct Axes {
  enum class Order : std::uint8_t {
    kBlocks,     // 0 for the first sections[0] pairs, 1 for the next sections[1], ...
    kCycle,      // r = i mod A; r if r > 0 and i < A sections[r], else 0
    kGgmlCycle,  // r = i mod 3; r if i < 3 sections[r], else 3 (of three sections, the fourth is 0)
    kErnie,      // sections t, h, w with h = w: below h + w, 1 if i is even and 2 if odd; else 0
    kRoundRobin,  // a = i mod A, and on to the next while an axis already has its sections
  };
  std::vector<std::int64_t> sections;
  Order order = Order::kBlocks;

  bool operator==(const Axes&) const = default;
};

// "blocks", "cycle", "ggml_cycle", "ernie", "round_robin".
std::string_view name(Axes::Order order) noexcept;

// The fields of a Spec, to be given by name: Spec({.head_dim = 128, .base = 500000.0}).
//
//   |  passed through  |      part 0      |      part 1      |  passed through  |
//   0            rotary_offset               rotary_offset + rotary_dim     head_dim
struct SpecFields {
  std::int64_t head_dim = 0;                    // elements of a head, 1 to 2^20
  std::optional<std::int64_t> rotary_dim = {};  // elements rotated: the window; even, from 2;
                                                // all of the head but the offset
  std::int64_t rotary_offset = 0;               // where the window begins
  Pairing pairing = Pairing::kHalves;           // of what is read
  std::optional<Pairing> output_pairing = {};   // of what is written; pairing. If it is another,
                                                // a part has at most 2048 elements
  bool clockwise = false;                       // turn by -φ instead of φ
  std::int64_t window_parts = 1;                // the window in so many equal parts, paired inside
                                                // each; pairs are numbered part by part, and i of
                                                // ω_i starts again in each, over the part's width
  std::optional<double> base = {};              // finite, at least 2^-30; 10000
  std::optional<Scaling> scaling = {};          // none
  // Instead of base and scaling: rotary_dim/2 values, radians per position, |ω| < 2^32, any sign.
  std::optional<std::vector<double>> frequencies = {};
  std::optional<double> attention_factor = {};  // replaces the rule's; 2^-100 to 2^100
  FrequencyRounding frequency_rounding = FrequencyRounding::kNone;  // of ω_i, given ones too
  std::optional<Axes> axes = {};                                    // one axis
  std::optional<std::vector<std::int64_t>> axis_of_pair = {};       // instead of axes: rotary_dim/2
                                                                    // values, 0 to 15

  bool operator==(const SpecFields&) const = default;
};

class Spec {
 public:
  // Throws Error (kInvalidArgument) naming the field, what was given and what is allowed.
  explicit Spec(SpecFields fields);

  [[nodiscard]] std::int64_t head_dim() const noexcept { return fields_.head_dim; }
  [[nodiscard]] std::int64_t rotary_dim() const noexcept { return *fields_.rotary_dim; }
  [[nodiscard]] std::int64_t rotary_offset() const noexcept { return fields_.rotary_offset; }
  [[nodiscard]] Pairing pairing() const noexcept { return fields_.pairing; }
  [[nodiscard]] Pairing output_pairing() const noexcept {
    return fields_.output_pairing.value_or(fields_.pairing);
  }
  [[nodiscard]] bool clockwise() const noexcept { return fields_.clockwise; }
  [[nodiscard]] std::int64_t window_parts() const noexcept { return fields_.window_parts; }
  // The width of a part: rotary_dim / window_parts.
  [[nodiscard]] std::int64_t part_dim() const noexcept { return part_dim_; }
  [[nodiscard]] double base() const noexcept { return fields_.base.value_or(kDefaultBase); }
  [[nodiscard]] Scaling scaling() const noexcept { return fields_.scaling.value_or(Scaling{}); }
  // Empty unless they were given.
  [[nodiscard]] const std::optional<std::vector<double>>& frequencies() const noexcept {
    return fields_.frequencies;
  }
  // Empty: by the rule.
  [[nodiscard]] std::optional<double> attention_factor() const noexcept {
    return fields_.attention_factor;
  }
  [[nodiscard]] FrequencyRounding frequency_rounding() const noexcept {
    return fields_.frequency_rounding;
  }
  // The axis of each pair, rotary_dim/2 of them, from axes or axis_of_pair; empty for one axis.
  [[nodiscard]] const std::vector<std::uint8_t>& axis_of_pair() const noexcept {
    return axis_of_pair_;
  }

  // The fields, rotary_dim filled in.
  [[nodiscard]] const SpecFields& fields() const noexcept { return fields_; }

  // Of the fields: a base that was given as 10000 is not one that was left out.
  bool operator==(const Spec&) const = default;

  static constexpr double kDefaultBase = 10000.0;  // Su et al. 2021, section 3.3
  static constexpr std::int64_t kMaxAxes = 16;

 private:
  SpecFields fields_;
  std::int64_t part_dim_ = 0;  // kept, since every call wants it and divisions are slow
  std::vector<std::uint8_t> axis_of_pair_;
};

}  // namespace ropewalk

#endif  // ROPEWALK_SPEC_HPP_
