// Frequencies: a Spec -> radians per position of every pair, and the attention factor.

#ifndef ROPEWALK_FREQUENCIES_HPP_
#define ROPEWALK_FREQUENCIES_HPP_

#include <cstdint>
#include <optional>
#include <ropewalk/spec.hpp>
#include <vector>

namespace ropewalk {

struct Frequencies {
  std::vector<double> radians;    // ω_i, rotary_dim / 2 of them, per position
  double attention_factor = 1.0;  // m, a factor on cos and sin
};

// The plain rule is ω_i = base^(-2i / d), i = 0 .. d/2 - 1, with d = rotary_dim (in each part of a
// window, its width): Su et al. 2021, "RoFormer", section 3.2.2. All in double.
//
//   rule               ω_i                                                    m
//   default            the plain one                                          1
//   linear             plain / factor                                         1
//   ntk                plain with base alpha^(d / (d - 2))                    1
//   dynamic            unscaled up to the trained length L; beyond, plain     1
//                      with base (factor length / L - factor + 1)^(d / (d-2))
//   dynamic, alpha     as ntk                                                 1
//   dynamic_stepwise   as ntk, alpha = 2^(ceil(log2(length / L)) + 1) - 1     1
//                      beyond L
//   ntk_by_parts       fast pairs plain, slow ones linear, ntk between        1
//   yarn               fast pairs plain, slow ones linear, a ramp between,    1 + ln(factor) / 10
//                      all / divisors[i] where there are some
//   llama3             likewise, the ramp over wavelengths                    1
//   longrope           plain / short_factor[i]; beyond L, / long_factor[i]    sqrt(1 + ln factor / ln L)
//   proportional       plain over head_dim / factor; from rotating_pairs, 0   1
//   divisors           plain / divisors[i] / factor                           1
//
// length: how many positions the plan is for (the largest + 1), at least 1. dynamic, dynamic_stepwise
// and longrope depend on it, and on nothing else; without one they are as for short texts. The sources
// stand beside the functions in src/frequencies.cpp. Explicit frequencies are returned as they are, rounded
// if frequency_rounding says so.
//
// Throws Error (kInvalidArgument) for a length below 1.
Frequencies frequencies(const Spec& spec, std::optional<std::int64_t> length = {});

// Whether frequencies() of this Spec depends on the length.
bool depends_on_length(const Spec& spec) noexcept;

}  // namespace ropewalk

#endif  // ROPEWALK_FREQUENCIES_HPP_
