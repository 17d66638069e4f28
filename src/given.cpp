#include "given.hpp"

#include <bit>
#include <cstdint>
#include <limits>
#include <ropewalk/error.hpp>

#include "element.hpp"
#include "message.hpp"

namespace ropewalk {
namespace {

std::int64_t to_signed(std::size_t size) { return static_cast<std::int64_t>(size); }

}  // namespace

GivenReader::GivenReader(const Spec& spec, const GivenRows& given)
    : given_(given),
      pairs_(static_cast<std::size_t>(spec.rotary_dim() / 2)),
      adjacent_(spec.pairing() == Pairing::kAdjacent),
      is_double_width_(given.width == spec.rotary_dim()),
      copies_{adjacent_, pairs_ / static_cast<std::size_t>(spec.window_parts())} {
  check_shape();
  if (is_double_width_) choose_copies();
}

double GivenReader::value(const void* data, std::size_t row, std::size_t i) const {
  return element_at(data, given_.dtype, row * static_cast<std::size_t>(given_.width) + i);
}

void GivenReader::check_shape() const {
  if (given_.width != to_signed(pairs_) && given_.width != to_signed(2 * pairs_)) {
    throw Error(ErrorCode::kShapeMismatch,
                message("given cos and sin have width ", given_.width, "; rotary_dim ", 2 * pairs_,
                        " wants ", pairs_, " or ", 2 * pairs_));
  }
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (given_.batch < 0 || given_.rows < 0 ||
      (given_.rows != 0 && given_.batch > kMost / 8 / given_.width / given_.rows)) {
    throw Error(ErrorCode::kInvalidArgument,
                message("given cos and sin have shape [", given_.batch, ", ", given_.rows, ", ",
                        given_.width, "], which no memory has"));
  }
  if (given_.batch != 0 && given_.rows != 0 && (given_.cos == nullptr || given_.sin == nullptr)) {
    throw Error(ErrorCode::kInvalidArgument, "given cos or sin is null");
  }
}

bool GivenReader::are_equal(const Copies& copies) const {
  const auto rows = static_cast<std::size_t>(given_.batch * given_.rows);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t pair = 0; pair < pairs_; ++pair) {
      for (const void* data : {given_.cos, given_.sin}) {
        const double one = value(data, row, copies.first(pair));
        const double other = value(data, row, copies.second(pair));
        if (std::bit_cast<std::uint64_t>(one) != std::bit_cast<std::uint64_t>(other)) return false;
      }
    }
  }
  return true;
}

// As the elements of the spec's pairs lie, or the other way.
void GivenReader::choose_copies() {
  if (are_equal(copies_)) return;
  copies_.side_by_side = !copies_.side_by_side;
  if (are_equal(copies_)) return;
  throw Error(ErrorCode::kInvalidArgument,
              message("given cos and sin of width ", given_.width,
                      " are not two equal copies, neither of elements side by side nor of halves; "
                      "give width ",
                      pairs_));
}

}  // namespace ropewalk
