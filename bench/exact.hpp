// Whether a result is right, before it is timed: every element, against the formula.

#ifndef ROPEWALK_BENCH_EXACT_HPP_
#define ROPEWALK_BENCH_EXACT_HPP_

#include <cstddef>
#include <cstdint>
#include <ropewalk/angles.hpp>
#include <ropewalk/rope.hpp>
#include <ropewalk/tensor.hpp>
#include <span>
#include <string>
#include <vector>

namespace ropewalk::bench {

// cos and sin of every position's angle with every frequency, in long double: computed once for all
// heads, pairings and kinds of angles of a case.
class ExactAngles {
 public:
  struct Turn {
    long double cos, sin;
  };

  // |position| < 2^32.
  ExactAngles(std::span<const double> frequencies, std::span<const std::int64_t> positions);

  [[nodiscard]] std::size_t pairs() const noexcept { return pairs_; }
  [[nodiscard]] std::int64_t position(std::size_t token) const noexcept {
    return positions_[token];
  }
  // [pairs]
  [[nodiscard]] std::span<const Turn> of_token(std::size_t token) const noexcept {
    return std::span(turns_).subspan(token * pairs_, pairs_);
  }

 private:
  std::size_t pairs_;
  std::vector<std::int64_t> positions_;
  std::vector<Turn> turns_;  // [tokens, pairs]
};

// Compares y with the exact rotation of x, in all elements. x and y have one shape and dtype, batch 1,
// elements of a head side by side, and as many tokens as there are exact angles. Returns what is
// wrong, or "" where each element keeps the promise on accuracy of the README.
std::string wrong_element(const ExactAngles& exact, Pairing pairing, const ConstTensorView& x,
                          const ConstTensorView& y);

// Likewise rows of cos and sin, of all tokens.
std::string wrong_row(const ExactAngles& exact, const Angles& angles);

}  // namespace ropewalk::bench

#endif  // ROPEWALK_BENCH_EXACT_HPP_
