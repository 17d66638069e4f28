// Reading given rows of cos and sin: of any dtype, with every value once or twice. Part of the room
// `angles`.

#ifndef ROPEWALK_SRC_GIVEN_HPP_
#define ROPEWALK_SRC_GIVEN_HPP_

#include <cstddef>
#include <ropewalk/angles.hpp>
#include <ropewalk/spec.hpp>

namespace ropewalk {

// One value for each pair, whatever the width. Throws Error unless the rows fit the spec. Both must
// outlive it.
class GivenReader {
 public:
  GivenReader(const Spec& spec, const GivenRows& given);
  [[nodiscard]] double cos(std::size_t row, std::size_t pair) const {
    return value(given_.cos, row, element(pair));
  }
  [[nodiscard]] double sin(std::size_t row, std::size_t pair) const {
    return value(given_.sin, row, element(pair));
  }

 private:
  // Where the first and the second value of a pair stand, when there are two.
  struct Copies {
    bool side_by_side;
    std::size_t part;  // pairs of one part of the window
    [[nodiscard]] std::size_t first(std::size_t pair) const {
      return pair / part * 2 * part + pair % part * (side_by_side ? 2 : 1);
    }
    [[nodiscard]] std::size_t second(std::size_t pair) const {
      return first(pair) + (side_by_side ? 1 : part);
    }
  };

  void check_shape() const;
  void choose_copies();
  [[nodiscard]] bool are_equal(const Copies& copies) const;
  [[nodiscard]] std::size_t element(std::size_t pair) const {
    return is_double_width_ ? copies_.first(pair) : pair;
  }
  [[nodiscard]] double value(const void* data, std::size_t row, std::size_t i) const;

  const GivenRows& given_;
  std::size_t pairs_;
  bool adjacent_;
  bool is_double_width_;
  Copies copies_;
};

}  // namespace ropewalk

#endif  // ROPEWALK_SRC_GIVEN_HPP_
