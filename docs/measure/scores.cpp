// Scores of a q and a k, by distance.

#include <cmath>
#include <complex>
#include <ropewalk/ropewalk.hpp>

#include "random.hpp"
#include "report.hpp"

namespace rw = ropewalk;

namespace measure {
namespace {

constexpr std::size_t kDim = 128, kPairs = kDim / 2;
constexpr double kDistances[] = {0, 1, 3, 10, 30, 100, 300, 1000, 3000, 10000, 100000, 1000000};

using Head = std::vector<float>;

const rw::Rope& rope() {
  static const rw::Rope kRope(rw::Spec({.head_dim = kDim}));
  return kRope;
}

// Heads [heads, kDim], all of the token at a position.
void rotate_all(Head& heads, std::int64_t position) {
  const auto count = static_cast<std::int64_t>(heads.size() / kDim);
  rw::rotate(rope(), rw::TensorView::bthd(heads.data(), {1, 1, count, kDim}),
             rw::Positions::from(position));
}

double dot(const Head& q, const Head& k, std::size_t head = 0) {
  double sum = 0;
  for (std::size_t e = head * kDim; e < (head + 1) * kDim; ++e) {
    sum += static_cast<double>(q[e]) * static_cast<double>(k[e]);
  }
  return sum;
}

// Angles in float, as much code forms them; the rest in double.
Head with_float_angles(const Head& head, std::int64_t position) {
  Head result(kDim);
  for (std::size_t i = 0; i < kPairs; ++i) {
    const float angle = static_cast<float>(position) * static_cast<float>(rope().frequencies()[i]);
    const double c = std::cos(angle), s = std::sin(angle);
    const double a = head[i], b = head[i + kPairs];
    result[i] = static_cast<float>(a * c - b * s);
    result[i + kPairs] = static_cast<float>(a * s + b * c);
  }
  return result;
}

void relative() {
  Random random(3);
  const Head q = random.normals(kDim), k = random.normals(kDim);
  for (const std::int64_t shift : {0, 1000, 1000000, 10000000, 1000000000}) {
    Head new_q = q, new_k = k;
    rotate_all(new_q, shift + 5);
    rotate_all(new_k, shift + 3);
    const auto at = static_cast<double>(shift);
    const std::string row = whole(at + 5) + " and " + whole(at + 3);
    cell("relative", row, "ropewalk", Kind::kClose, fixed(dot(new_q, new_k), 4));
    cell("relative", row, "float32 angles", Kind::kClose,
         fixed(dot(with_float_angles(q, shift + 5), with_float_angles(k, shift + 3)), 4));
  }
}

// (1/n) Σ_i cos(Δ ω_i).
double mean_cosine(double distance) {
  double sum = 0;
  for (const double omega : rope().frequencies()) sum += std::cos(distance * omega);
  return sum / kPairs;
}

// The mean of |S_j|, S_j = Σ_{i<j} e^(iΔω_i), that the paper plots, against the one of distance 0.
double papers_bound(double distance) {
  std::complex<double> partial = 0;
  double sum = 0;
  for (const double omega : rope().frequencies()) {
    partial += std::polar(1.0, distance * omega);
    sum += std::abs(partial);
  }
  return sum / (kPairs * (kPairs + 1) / 2.0);
}

struct Sampled {
  double mean, deviation;
};

// Scores / head_dim of many independent q at a position and k at 0. The same heads for every distance.
Sampled sampled(float mean_of_elements, double distance) {
  constexpr std::size_t kHeads = 4096;
  static const Head kHeadsOfQ = Random(4).normals(kHeads * kDim);
  static const Head kHeadsOfK = Random(5).normals(kHeads * kDim);
  Head q = kHeadsOfQ, k = kHeadsOfK;
  for (float& element : q) element += mean_of_elements;
  for (float& element : k) element += mean_of_elements;
  rotate_all(q, static_cast<std::int64_t>(distance));
  double sum = 0, squares = 0;
  for (std::size_t h = 0; h < kHeads; ++h) {
    const double score = dot(q, k, h) / kDim;
    sum += score;
    squares += score * score;
  }
  const double mean = sum / kHeads;
  return {mean, std::sqrt(squares / kHeads - mean * mean)};
}

// A k that was turned by 1000 positions beforehand: a q that stands 1000 positions later meets the very
// same vector.
double looks_back(double distance) {
  Random random(6);
  Head q = random.normals(kDim), k = q;
  rotate_all(k, 1000);
  rotate_all(q, static_cast<std::int64_t>(distance));
  return dot(q, k) / dot(k, k);
}

void decay() {
  const double slowest = rope().frequencies()[kPairs - 1];
  for (const double distance : kDistances) {
    const std::string row = whole(distance);
    const Sampled with_mean = sampled(1, distance), without = sampled(0, distance);
    cell("decay", row, "formula", Kind::kClose, fixed(mean_cosine(distance), 3));
    cell("decay", row, "mean 1", Kind::kClose, fixed(with_mean.mean, 3));
    cell("decay", row, "mean 0", Kind::kClose, fixed(without.mean, 3));
    cell("decay", row, "spread", Kind::kClose, fixed(without.deviation, 3));
    cell("decay", row, "bound", Kind::kClose, fixed(papers_bound(distance), 3));
    cell("single", row, "slowest pair", Kind::kClose, fixed(std::cos(distance * slowest), 3));
    cell("single", row, "looks back", Kind::kClose, fixed(looks_back(distance), 3));
  }
  figure("decay error of mean", Kind::kExact, fixed(std::sqrt(1.0 / kDim) / std::sqrt(4096.0), 4));
}

}  // namespace

void measure_scores() {
  relative();
  decay();
}

}  // namespace measure
