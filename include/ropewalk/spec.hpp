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

// The fields of a Spec, to be given by name: Spec({.head_dim = 128, .base = 500000.0}).
struct SpecFields {
  std::int64_t head_dim = 0;                    // elements of a head, 1 to 2^20
  std::optional<std::int64_t> rotary_dim = {};  // elements rotated; even, 2 to head_dim; head_dim
  Pairing pairing = Pairing::kHalves;
  std::optional<double> base = {};                      // finite, at least 2^-30; 10000
  std::optional<Scaling> scaling = {};                  // none
  std::optional<std::vector<double>> frequencies = {};  // instead of base and scaling: rotary_dim/2
                                                        // values, radians per position, |ω| < 2^32
  std::optional<double> attention_factor = {};          // replaces the rule's; 2^-100 to 2^100
};

class Spec {
 public:
  // Throws Error (kInvalidArgument) naming the field, what was given and what is allowed.
  explicit Spec(SpecFields fields);

  [[nodiscard]] std::int64_t head_dim() const noexcept { return fields_.head_dim; }
  [[nodiscard]] std::int64_t rotary_dim() const noexcept { return *fields_.rotary_dim; }
  [[nodiscard]] Pairing pairing() const noexcept { return fields_.pairing; }
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

  // The fields, rotary_dim filled in.
  [[nodiscard]] const SpecFields& fields() const noexcept { return fields_; }

  static constexpr double kDefaultBase = 10000.0;  // Su et al. 2021, section 3.3

 private:
  SpecFields fields_;
};

}  // namespace ropewalk

#endif  // ROPEWALK_SPEC_HPP_
