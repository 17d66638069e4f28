// Frequencies: a Spec -> radians per position of every pair, and the attention factor.

#ifndef ROPEWALK_FREQUENCIES_HPP_
#define ROPEWALK_FREQUENCIES_HPP_

#include <ropewalk/spec.hpp>
#include <vector>

namespace ropewalk {

struct Frequencies {
  std::vector<double> radians;    // ω_i, rotary_dim / 2 of them, per position
  double attention_factor = 1.0;  // m, a factor on cos and sin
};

// The plain rule is ω_i = base^(-2i / rotary_dim), i = 0 .. rotary_dim/2 - 1 (Su et al. 2021,
// "RoFormer", section 3.2.2), computed in double. Explicit frequencies are returned as they are.
Frequencies frequencies(const Spec& spec);

}  // namespace ropewalk

#endif  // ROPEWALK_FREQUENCIES_HPP_
