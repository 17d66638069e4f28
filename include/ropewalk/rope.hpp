// Rope: the plan. Immutable, complete when made, cheap to copy, shared by threads.

#ifndef ROPEWALK_ROPE_HPP_
#define ROPEWALK_ROPE_HPP_

#include <cstdint>
#include <memory>
#include <ropewalk/frequencies.hpp>
#include <ropewalk/spec.hpp>
#include <span>

namespace ropewalk {

// For each pair, the plan keeps how far one position turns it, as a 64-bit fraction of a turn:
//
//   turn_i = frac(ω_i / 2π) x 2^64, correctly rounded
//   phase  = position x turn_i  (mod 2^64)
//
// One integer multiplication, whose wrapping is the range reduction. So there is no table, no
// largest position, and no loss of accuracy far out.
class Rope {
 public:
  explicit Rope(const Spec& spec);

  [[nodiscard]] const Spec& spec() const noexcept { return plan_->spec; }
  // ω_i in radians per position, rotary_dim / 2 of them.
  [[nodiscard]] std::span<const double> frequencies() const noexcept {
    return plan_->frequencies.radians;
  }
  [[nodiscard]] double attention_factor() const noexcept {
    return plan_->frequencies.attention_factor;
  }
  // frac(ω_i / 2π) x 2^64, rotary_dim / 2 of them.
  [[nodiscard]] std::span<const std::uint64_t> turns() const noexcept {
    return {plan_->turns.data(), plan_->frequencies.radians.size()};
  }

 private:
  struct Plan {
    Spec spec;
    Frequencies frequencies;
    std::vector<std::uint64_t> turns;  // followed by zeros, up to a multiple of 16, for the kernels
  };
  std::shared_ptr<const Plan> plan_;
};

// One position's share of a turn for a frequency, as in the comment above. |radians| < 2^32.
std::uint64_t turn_from(double radians) noexcept;

}  // namespace ropewalk

#endif  // ROPEWALK_ROPE_HPP_
