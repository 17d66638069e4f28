// The usual slips, each as the element-wise form that has it, in double:
//
//   halves      out[j] = x[j] C[j] + partner(j) S[j]     partner(j) = -x[j + n] for j < n, x[j - n] beyond
//
// and what each does to lengths, to the invariance of scores, and to the scores.

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

#include "random.hpp"
#include "report.hpp"

namespace measure {
namespace {

constexpr std::size_t kDim = 128, kPairs = kDim / 2;
constexpr double kBase = 10000;
using Head = std::vector<double>;

// How element j is made at a position: its angle, and the sign of sin of each half.
struct Form {
  const char* name;
  std::function<double(std::size_t)> frequency;  // of element j
  double first_sign = -1, second_sign = 1;
  bool adjacent = false;
};

double omega(double i) { return std::pow(kBase, -2 * i / kDim); }
double of_pair(std::size_t j) { return omega(static_cast<double>(j % kPairs)); }
double half_exponent(std::size_t j) { return omega(static_cast<double>(j % kPairs) / 2); }
double of_element(std::size_t j) { return omega(static_cast<double>(j) / 2); }
double of_neighbours(std::size_t j) { return omega(static_cast<double>(j / 2)); }

const std::vector<Form>& forms() {
  static const std::vector<Form> kForms = {
      {"none: RoPE", of_pair},
      {"sign of sin turned", of_pair, 1, -1},
      {"the pairing of another model", of_neighbours, -1, 1, true},
      {"exponent i/d, not 2i/d", half_exponent},
      {"the minus left out", of_pair, 1, 1},
      {"angles numbered by element", of_element},
      {"rows of the other pairing", of_neighbours},
  };
  return kForms;
}

Head rotated(const Form& form, const Head& x, double position) {
  Head out(kDim);
  for (std::size_t j = 0; j < kDim; ++j) {
    const bool is_first = form.adjacent ? j % 2 == 0 : j < kPairs;
    const std::size_t step = form.adjacent ? 1 : kPairs;
    const double partner = x[is_first ? j + step : j - step];
    const double angle = position * form.frequency(j);
    out[j] = x[j] * std::cos(angle) +
             partner * std::sin(angle) * (is_first ? form.first_sign : form.second_sign);
  }
  return out;
}

double dot(const Head& q, const Head& k) {
  double sum = 0;
  for (std::size_t j = 0; j < kDim; ++j) sum += q[j] * k[j];
  return sum;
}

Head random_head(Random& random) {
  Head head(kDim);
  for (double& value : head) value = random.normal();
  return head;
}

// Roots of mean squares of `difference` against those of `scores`.
struct Share {
  double difference = 0, scores = 0;
  void see(double score, double other) {
    difference += (score - other) * (score - other);
    scores += score * score;
  }
  [[nodiscard]] std::string text() const {
    const double percent = 100 * std::sqrt(difference / scores);
    return percent < 1e-6 ? "0" : fixed(percent, 0) + " %";
  }
};

void row_of(const Form& form) {
  Random random(2);
  Share zero, right, shifted;
  double longest = 0, shortest = 10;
  for (int n = 0; n < 300; ++n) {
    const Head q = random_head(random), k = random_head(random);
    const double p = std::floor(1000 * random.uniform()), s = p + 7;
    const Head turned = rotated(form, q, p);
    const double length = std::sqrt(dot(turned, turned) / dot(q, q));
    longest = std::max(longest, length);
    shortest = std::min(shortest, length);
    const double score = dot(turned, rotated(form, k, s));
    right.see(dot(rotated(forms()[0], q, p), rotated(forms()[0], k, s)), score);
    shifted.see(score, dot(rotated(form, q, p + 1000), rotated(form, k, s + 1000)));
    zero.see(dot(q, k), dot(rotated(form, q, 0), rotated(form, k, 0)));
  }
  const bool keeps = longest - shortest < 1e-6;
  cell("slips", form.name, "at position 0, scores are off by", Kind::kClose, zero.text());
  cell("slips", form.name, "a length is multiplied by", Kind::kClose,
       keeps ? "1" : fixed(shortest, 2) + " to " + fixed(longest, 2));
  cell("slips", form.name, "moved by 1000, scores change by", Kind::kClose, shifted.text());
  cell("slips", form.name, "at distance 7, scores are off by", Kind::kClose, right.text());
}

}  // namespace

void measure_slips() {
  for (const Form& form : forms()) row_of(form);
  figure("slips slowest wrong turn", Kind::kExact,
         whole(2 * std::numbers::pi / half_exponent(kPairs - 1)));
  figure("slips slowest right turn", Kind::kExact,
         whole(2 * std::numbers::pi / omega(static_cast<double>(kPairs - 1))));
}

}  // namespace measure
