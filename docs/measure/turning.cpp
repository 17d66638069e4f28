// What one rotation is, by examples: a pair turned by a radian, the frequencies as hands of a clock,
// partial rotary, the two pairings.

#include <algorithm>
#include <cmath>
#include <numbers>
#include <ropewalk/ropewalk.hpp>

#include "random.hpp"
#include "report.hpp"

namespace rw = ropewalk;

namespace measure {
namespace {

using Head = std::vector<float>;

Head rotated(const rw::Rope& rope, Head head, std::int64_t position) {
  const auto dim = static_cast<std::int64_t>(head.size());
  rw::rotate(rope, rw::TensorView::bthd(head.data(), {1, 1, 1, dim}),
             rw::Positions::from(position));
  return head;
}

rw::Rope plain(std::int64_t head_dim, double base, rw::Pairing pairing = rw::Pairing::kHalves) {
  return rw::Rope(rw::Spec({.head_dim = head_dim, .pairing = pairing, .base = base}));
}

void one_pair() {
  const Head turned = rotated(plain(2, 10000), {3, 4}, 1);
  figure("pair a", Kind::kClose, fixed(turned[0], 4));
  figure("pair b", Kind::kClose, fixed(turned[1], 4));
  figure("pair length", Kind::kClose, fixed(std::hypot(turned[0], turned[1]), 4));
}

void hands() {
  for (const double base : {10000.0, 500000.0}) {
    const rw::Rope rope = plain(128, base);
    const std::string suffix = ", base " + fixed(base, 0);
    for (const std::size_t i : {0U, 1U, 8U, 16U, 32U, 48U, 63U}) {
      const double omega = rope.frequencies()[i];
      const double turn = 2 * std::numbers::pi / omega;
      const std::string row = std::to_string(i);
      cell("hands", row, "radians per position" + suffix, Kind::kExact, short_form(omega));
      cell("hands", row, "positions per turn" + suffix, Kind::kExact,
           turn < 100 ? fixed(turn, 1) : whole(turn));
    }
  }
}

void partial() {
  const rw::Rope rope(rw::Spec({.head_dim = 8, .rotary_dim = 4}));
  const Head turned = rotated(rope, {1, 2, 3, 4, 5, 6, 7, 8}, 1);
  std::string text;
  for (const float value : turned) {
    text += (text.empty() ? "" : ", ") + fixed(value, value == std::floor(value) ? 0 : 4);
  }
  figure("partial result", Kind::kExact, "[" + text + "]");
  figure("partial frequency", Kind::kExact, fixed(rope.frequencies()[1], 2));
  figure("partial wrong frequency", Kind::kExact, fixed(plain(8, 10000).frequencies()[1], 1));
}

// halves to adjacent: x[i] to place 2i, x[i + n] to place 2i + 1.
Head permuted(const Head& head) {
  const std::size_t n = head.size() / 2;
  Head result(head.size());
  for (std::size_t i = 0; i < n; ++i) {
    result[2 * i] = head[i];
    result[2 * i + 1] = head[i + n];
  }
  return result;
}

// How many elements differ when a head is permuted before a rotation of the one pairing, or after a
// rotation of the other.
void pairings() {
  const rw::Rope halves = plain(128, 10000);
  const rw::Rope adjacent = plain(128, 10000, rw::Pairing::kAdjacent);
  Random random(1);
  std::size_t heads = 0, differing = 0;
  for (std::int64_t position = 0; position < 1000000; position += 997, ++heads) {
    const Head head = random.normals(128);
    const Head after = permuted(rotated(halves, head, position));
    const Head before = rotated(adjacent, permuted(head), position);
    for (std::size_t e = 0; e < head.size(); ++e) differing += after[e] != before[e] ? 1U : 0U;
  }
  figure("pairings heads", Kind::kExact, std::to_string(heads));
  figure("pairings differing", Kind::kExact, std::to_string(differing));
}

void attention_factor() {
  const double m = 0.1 * std::log(16.0) + 1;  // Peng et al. 2023, "YaRN", section 3.4
  figure("factor m", Kind::kExact, fixed(m, 4));
  figure("factor m squared", Kind::kExact, fixed(m * m, 3));
}

}  // namespace

void measure_turning() {
  one_pair();
  hands();
  partial();
  pairings();
  attention_factor();
}

}  // namespace measure
