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
// line names, and no others.
struct Scaling {
  enum class Type : std::uint8_t {
    kDefault,  // no scaling
    kLinear,  // factor: all frequencies are divided by it (position interpolation, Chen et al. 2023)
  };
  Type type = Type::kDefault;
  std::optional<double> factor = {};

  bool operator==(const Scaling&) const = default;
};

// "default", "linear".
std::string_view name(Scaling::Type type) noexcept;

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
  std::optional<Axes> axes = {};                // one axis
  std::optional<std::vector<std::int64_t>> axis_of_pair = {};  // instead of axes: rotary_dim/2
                                                               // values, 0 to 15
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
  // The axis of each pair, rotary_dim/2 of them, from axes or axis_of_pair; empty for one axis.
  [[nodiscard]] const std::vector<std::uint8_t>& axis_of_pair() const noexcept {
    return axis_of_pair_;
  }

  // The fields, rotary_dim filled in.
  [[nodiscard]] const SpecFields& fields() const noexcept { return fields_; }

  static constexpr double kDefaultBase = 10000.0;  // Su et al. 2021, section 3.3
  static constexpr std::int64_t kMaxAxes = 16;

 private:
  SpecFields fields_;
  std::vector<std::uint8_t> axis_of_pair_;
};

}  // namespace ropewalk

#endif  // ROPEWALK_SPEC_HPP_
