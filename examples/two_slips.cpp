// Two slips in the element-wise form x * cos + partner(x) * sin, and what they do:
//
//   wrong sign     of sin: every pair turns the other way. Lengths are kept and scores still depend
//                  on the distance only, so that nothing looks wrong; but a model that was trained
//                  the right way gets the score of the opposite distance. (For a model that was
//                  trained this way, SpecFields has `clockwise`.)
//   wrong number   of the angle: position x base^(-2j / head_dim) for each ELEMENT j, where there
//                  is one angle for each PAIR. The elements of a pair then follow different angles,
//                  which is no rotation: lengths change, and scores depend on where the tokens
//                  stand.
//
// Neither can be seen at position 0, where all angles are 0.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <ropewalk/ropewalk.hpp>
#include <vector>

namespace rw = ropewalk;

constexpr std::size_t kHeadDim = 8;

using Row = std::vector<double>;
using Rotation = Row(const Row& x, std::int64_t position);

// base^(-2 i / head_dim), radians per position.
double frequency(std::size_t i) {
  return std::pow(10000.0, -2.0 * static_cast<double>(i) / kHeadDim);
}

// Pairing adjacent: partner(x) = -x1 x0 -x3 x2 ... angles has one value for each element.
Row by_elements(const Row& x, const Row& angles, double sign) {
  Row y(kHeadDim);
  for (std::size_t j = 0; j < kHeadDim; ++j) {
    const double partner = j % 2 == 0 ? -x[j + 1] : x[j - 1];
    y[j] = x[j] * std::cos(angles[j]) + sign * partner * std::sin(angles[j]);
  }
  return y;
}

Row angles_at(std::int64_t position) {
  Row angles(kHeadDim);
  for (std::size_t j = 0; j < kHeadDim; ++j)
    angles[j] = static_cast<double>(position) * frequency(j / 2);
  return angles;
}

Row right(const Row& x, std::int64_t position) { return by_elements(x, angles_at(position), 1); }

Row wrong_sign(const Row& x, std::int64_t position) {
  return by_elements(x, angles_at(position), -1);
}

Row wrong_numbering(const Row& x, std::int64_t position) {
  Row angles(kHeadDim);
  for (std::size_t j = 0; j < kHeadDim; ++j)
    angles[j] = static_cast<double>(position) * frequency(j);
  return by_elements(x, angles, 1);
}

// The library, on f64 elements.
Row by_ropewalk(const Row& x, std::int64_t position) {
  static const rw::Rope rope(rw::Spec({.head_dim = kHeadDim, .pairing = rw::Pairing::kAdjacent}));
  Row y = x;
  rw::rotate(rope, rw::TensorView::bthd(y.data(), rw::DType::kF64, {1, 1, 1, kHeadDim}),
             rw::Positions::from(position));
  return y;
}

double dot(const Row& q, const Row& k) {
  double sum = 0;
  for (std::size_t d = 0; d < kHeadDim; ++d) sum += q[d] * k[d];
  return sum;
}

// Between -1 and 1, the same on every machine.
Row random_head(unsigned seed) {
  std::mt19937 bits(seed);
  Row head(kHeadDim);
  for (double& number : head) number = static_cast<double>(bits()) * 0x1p-31 - 1;
  return head;
}

const Row kQuery = random_head(1), kKey = random_head(2);

// The query at p, the key at s, both rotated the same way.
double score(Rotation rotate, std::int64_t p, std::int64_t s) {
  return dot(rotate(kQuery, p), rotate(kKey, s));
}

double length_at(Rotation rotate, std::int64_t p) {
  const Row y = rotate(kQuery, p);
  return std::sqrt(dot(y, y));
}

void print(const char* name, Rotation rotate) {
  std::printf("%-12s %8.4f %8.4f %9.4f %9.4f %9.4f %11.4f\n", name, length_at(rotate, 0),
              length_at(rotate, 5), score(rotate, 0, 0), score(rotate, 5, 3), score(rotate, 3, 5),
              score(rotate, 105, 103));
}

int main() {
  std::printf("%-12s %8s %8s %9s %9s %9s %11s\n", "", "length", "length", "score", "score", "score",
              "score");
  std::printf("%-12s %8s %8s %9s %9s %9s %11s\n", "", "at 0", "at 5", "(0, 0)", "(5, 3)", "(3, 5)",
              "(105, 103)");
  print("ropewalk", by_ropewalk);
  print("right", right);
  print("wrong sign", wrong_sign);
  print("wrong number", wrong_numbering);

  // Up to position 105, a pair rotated by any of these is off by less than 2^-43 of its length: the
  // angle's frequency and product are rounded, 2.5 x 105 x 2^-52, and all else is a few 2^-52. Two
  // scores, each with the errors of q and of k and of its own sum, then differ by less than:
  const double rounding = 0x1p-40 * length_at(right, 0) * std::sqrt(dot(kKey, kKey));
  const auto same = [&](double a, double b) { return std::abs(a - b) <= rounding; };
  const struct {
    bool ok;
    const char* what;
  } checks[] = {
      {same(score(by_ropewalk, 5, 3), score(right, 5, 3)), "ropewalk's score is the right one"},
      {same(score(right, 5, 3), score(right, 105, 103)), "the right scores follow the distance"},
      {same(length_at(wrong_sign, 5), length_at(right, 0)), "the wrong sign keeps lengths"},
      {same(score(wrong_sign, 5, 3), score(wrong_sign, 105, 103)),
       "the wrong sign follows distance"},
      {same(score(wrong_sign, 5, 3), score(right, 3, 5)),
       "the wrong sign turns the distance round"},
      {!same(score(wrong_sign, 5, 3), score(right, 5, 3)), "the wrong sign gives a wrong score"},
      {!same(length_at(wrong_numbering, 5), length_at(right, 0)), "wrong numbers change lengths"},
      {!same(score(wrong_numbering, 5, 3), score(wrong_numbering, 105, 103)),
       "wrong numbers make scores depend on where the tokens stand"},
  };
  int failed = 0;
  for (const auto& [ok, what] : checks) {
    if (!ok) std::printf("FAILED: %s\n", what);
    failed |= ok ? 0 : 1;
  }
  return failed;
}
