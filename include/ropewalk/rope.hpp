// Rope: the plan. Immutable, complete when made, cheap to copy, shared by threads.

#ifndef ROPEWALK_ROPE_HPP_
#define ROPEWALK_ROPE_HPP_

#include <cstdint>
#include <memory>
#include <optional>
#include <ropewalk/frequencies.hpp>
#include <ropewalk/spec.hpp>
#include <span>

namespace ropewalk {

// For each pair, the plan keeps how far one position turns it, τ_i = ω_i / 2π (-ω_i if clockwise), as
// a 64-bit fraction of a turn:
//
//   turn_i = frac(τ_i) x 2^64, correctly rounded
//   phase  = position x turn_i  (mod 2^64)
//
// One integer multiplication, whose wrapping is the range reduction. So there is no table, no
// largest position, and no loss of accuracy far out. For real positions it keeps τ_i too.
class Rope {
 public:
  // length: as of frequencies(), for the rules that depend on it. Throws Error.
  explicit Rope(const Spec& spec, std::optional<std::int64_t> length = {});

  [[nodiscard]] const Spec& spec() const noexcept { return plan_->spec; }
  // ω_i in radians per position, rotary_dim / 2 of them.
  [[nodiscard]] std::span<const double> frequencies() const noexcept {
    return plan_->frequencies.radians;
  }
  [[nodiscard]] double attention_factor() const noexcept {
    return plan_->frequencies.attention_factor;
  }
  // frac(τ_i) x 2^64, rotary_dim / 2 of them.
  [[nodiscard]] std::span<const std::uint64_t> turns() const noexcept {
    return {plan_->turns.data(), plan_->ratios.size()};
  }
  // τ_i, rotary_dim / 2 of them, each as a sum of two doubles.
  struct Ratio {
    double high, low;
  };
  [[nodiscard]] std::span<const Ratio> ratios() const noexcept { return plan_->ratios; }
  // How many axes a position must have; 1 for text.
  [[nodiscard]] std::size_t axes() const noexcept { return plan_->axes; }

 private:
  struct Plan {
    Spec spec;
    Frequencies frequencies;
    std::vector<std::uint64_t> turns;  // and 16 to 31 zeros, so that kernels may read whole vectors
    std::vector<Ratio> ratios;
    std::size_t axes;
  };
  std::shared_ptr<const Plan> plan_;
};

// τ of a frequency and one position's share of a turn, as in the comment above. |radians| < 2^32.
Rope::Ratio ratio_from(double radians) noexcept;
std::uint64_t turn_from(const Rope::Ratio& ratio) noexcept;

}  // namespace ropewalk

#endif  // ROPEWALK_ROPE_HPP_
