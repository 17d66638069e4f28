// check: the properties of a rotation, measured on random q and k.
//
// Stands beside the rooms: it only calls them, and computes what it compares with in double.

#ifndef ROPEWALK_CHECK_HPP_
#define ROPEWALK_CHECK_HPP_

#include <cstdint>
#include <optional>
#include <ropewalk/rope.hpp>
#include <ropewalk/rotate.hpp>
#include <ropewalk/tensor.hpp>
#include <string>
#include <vector>

namespace ropewalk {

struct CheckOptions {
  std::int64_t q_heads = 32;
  std::int64_t k_heads = 8;  // divides q_heads
  std::int64_t tokens = 64;
  std::int64_t positions_below = 4096;  // tokens stand at random positions 0 .. this
  std::uint64_t seed = 1;
  Target target = Target::kBest;
};

// The defaults, and fewer tokens and heads for heads of more than 1024 elements, so that any check
// is a matter of seconds.
CheckOptions check_options_for(const Spec& spec);

struct CheckRow {
  std::string property;  // "position 0", "length", "angle", "scores", "pairings", "unrotate",
                         // "backward", "rerotate"
  DType dtype = DType::kF32;
  std::optional<std::int64_t> shift;  // of the row of scores
  double worst = 0;                   // the value nearest to its bound, or farthest beyond it
  double bound = 0;                   // the bound of that value
  bool ok = false;
};

// A row per property, dtype and shift. With ε = √2·2^-21 + u, u = 2^-24 (f32), 2^-8 (bf16), 2^-11
// (f16), or √2 (|p| 2^-62 + 2^-50) + 2^-53 (f64), and h_i the length of pair i, the bounds are, over
// the rotated window:
//
//   position 0   0 for m = 1; else 2^-21 m h (f64: 2^-50 m h) + half an ulp, per element
//   length       ε, relative to m
//   angle        4 ε, as the difference of two cosines
//   scores       4 ε m² Σ h_i(q) h_i(k), at (p + Δ, s + Δ) against (p, s)
//   pairings     0: one pairing against the other, permuted, in bits
//   unrotate     2 ε h per pair: unrotate(rotate x) against x
//   backward     2 ε m Σ h_i(g) h_i(x): <backward g, x> against <g, rotate x>
//   rerotate     3 ε m h per pair: keys moved by 1000, against rotating afresh
std::vector<CheckRow> check(const Rope& rope, const CheckOptions& options = {});

}  // namespace ropewalk

#endif  // ROPEWALK_CHECK_HPP_
