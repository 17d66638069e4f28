// The path of the textbook, each step checked:
//
//   hidden states x  ->  q = x W_q, k = x W_k  ->  rotate q and k  ->  scores q.k
//
// x is [batch, tokens, hidden]; q and k are [batch, heads, tokens, head_dim]. Scores are not
// divided by sqrt(head_dim) here. There is no v: values are never rotated.

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <random>
#include <ropewalk/ropewalk.hpp>
#include <vector>

namespace rw = ropewalk;

constexpr std::size_t kBatch = 2, kHeads = 2, kTokens = 4, kHeadDim = 8, kPairs = kHeadDim / 2;
constexpr std::size_t kHidden = kHeads * kHeadDim;

// How far a rotated vector may be off, as a part of its length. ropewalk promises for each element
// of a pair (a, b) that |error| <= 2^-21 hypot(a, b) + half an ulp. Two elements make √2 of the
// first; half an ulp of a float is at most 2^-24 of it.
const double kEpsilon = std::sqrt(2.0) * 0x1p-21 + 0x1p-24;

// Between -1 and 1, the same on every machine.
std::vector<float> random_numbers(std::size_t count, unsigned seed) {
  std::mt19937 bits(seed);
  std::vector<float> numbers(count);
  for (float& number : numbers) number = static_cast<float>(bits()) * 0x1p-31F - 1.0F;
  return numbers;
}

// x W for W [hidden, hidden], the row of each token cut into heads.
std::vector<float> project(const std::vector<float>& x, const std::vector<float>& w) {
  std::vector<float> heads(x.size());
  for (std::size_t b = 0; b < kBatch; ++b) {
    for (std::size_t t = 0; t < kTokens; ++t) {
      for (std::size_t column = 0; column < kHidden; ++column) {
        float sum = 0;
        for (std::size_t e = 0; e < kHidden; ++e) {
          sum += x[(b * kTokens + t) * kHidden + e] * w[e * kHidden + column];
        }
        const std::size_t h = column / kHeadDim, d = column % kHeadDim;
        heads[((b * kHeads + h) * kTokens + t) * kHeadDim + d] = sum;
      }
    }
  }
  return heads;
}

// All heads, token t rotated as one that stands at start + t. A copy: the caller's stays as it is.
std::vector<float> rotated(const rw::Rope& rope, std::vector<float> x, std::int64_t start) {
  // bhtd says how x lies in memory; the shape is always given as batch, tokens, heads, head_dim.
  const auto view = rw::TensorView::bhtd(x.data(), {kBatch, kTokens, kHeads, kHeadDim});
  rw::rotate(rope, view, rw::Positions::from(start));
  return x;
}

double dot(const float* q, const float* k) {
  double sum = 0;
  for (std::size_t d = 0; d < kHeadDim; ++d) sum += double{q[d]} * double{k[d]};
  return sum;
}

// The score of one query and one key that stand at positions p and s.
double score_at(const rw::Rope& rope, const float* q, std::int64_t p, const float* k,
                std::int64_t s) {
  std::vector<float> query(q, q + kHeadDim), key(k, k + kHeadDim);
  rw::rotate(rope, rw::TensorView::bthd(query.data(), {1, 1, 1, kHeadDim}), rw::Positions::from(p));
  rw::rotate(rope, rw::TensorView::bthd(key.data(), {1, 1, 1, kHeadDim}), rw::Positions::from(s));
  return dot(query.data(), key.data());
}

// Pair i of a head as a complex number. The pairing is `halves`: (x[i], x[i + head_dim/2]).
std::complex<double> pair(const float* head, std::size_t i) { return {head[i], head[i + kPairs]}; }

// The score by the paper's formula, q and k not rotated, in which the distance of the two tokens
// occurs and where they stand does not: Σ_i Re(q_i conj(k_i) e^(√-1 distance ω_i))
// (Su et al. 2021, "RoFormer", equation 12).
double formula_score(const float* q, const float* k, double distance) {
  double sum = 0;
  for (std::size_t i = 0; i < kPairs; ++i) {
    const double omega = std::pow(10000.0, -2.0 * static_cast<double>(i) / kHeadDim);
    sum += (pair(q, i) * std::conj(pair(k, i)) * std::polar(1.0, distance * omega)).real();
  }
  return sum;
}

// The largest score that these pairs could have at any angles: errors of scores are parts of it.
double largest_score(const float* q, const float* k) {
  double sum = 0;
  for (std::size_t i = 0; i < kPairs; ++i) sum += std::abs(pair(q, i)) * std::abs(pair(k, i));
  return sum;
}

// A row of the table: many values, all held against one bound.
struct Check {
  const char* name;
  double bound, worst = 0;
  bool ok = true;

  void see(double value) {
    worst = std::max(worst, value);
    ok = ok && value <= bound;  // a NaN is not
  }
  bool print() const {
    std::printf("%-30s %9.2g %9.2g  %s\n", name, worst, bound, ok ? "ok" : "FAILED");
    return ok;
  }
};

void print_scores(const char* where, const std::vector<float>& q, const std::vector<float>& k) {
  std::printf("  %-20s", where);
  for (std::size_t s = 0; s < kTokens; ++s) {
    std::printf(" %8.3f", dot(&q[3 * kHeadDim], &k[s * kHeadDim]));
  }
  std::printf("\n");
}

int main() {
  const std::vector<float> x = random_numbers(kBatch * kTokens * kHidden, 1);
  const std::vector<float> q = project(x, random_numbers(kHidden * kHidden, 2));
  const std::vector<float> k = project(x, random_numbers(kHidden * kHidden, 3));

  const rw::Rope rope(rw::Spec({.head_dim = kHeadDim}));  // base 10000, pairing halves
  const std::vector<float> q0 = rotated(rope, q, 0), k0 = rotated(rope, k, 0);
  const std::vector<float> q3 = rotated(rope, q, 3), k3 = rotated(rope, k, 3);

  std::printf("scores of query 3 with keys 0 .. 3, first head\n");
  print_scores("not rotated", q, k);
  print_scores("at positions 0 .. 3", q0, k0);
  print_scores("at positions 3 .. 6", q3, k3);

  // A score has q's error and k's: 2 ε. Two scores, both of rotated q and k, may differ by 4 ε.
  Check start{"position 0 is unchanged", 0}, lengths{"lengths of pairs are kept", kEpsilon};
  Check formula{"scores follow the formula", 2 * kEpsilon};
  Check moved{"scores stay, all moved by 3", 4 * kEpsilon};
  Check far{"scores (5, 3) and (105, 103)", 4 * kEpsilon};
  for (std::size_t at = 0; at < q.size();
       at += kHeadDim) {  // each query; its keys, of the same head
    const std::size_t t = at / kHeadDim % kTokens, first = at - t * kHeadDim;
    for (std::size_t d = 0; t == 0 && d < kHeadDim; ++d)
      start.see(std::abs(q0[at + d] - q[at + d]));
    for (std::size_t i = 0; i < kPairs; ++i) {
      lengths.see(std::abs(std::abs(pair(&q0[at], i)) / std::abs(pair(&q[at], i)) - 1));
    }
    for (std::size_t s = 0; s < kTokens; ++s) {
      const std::size_t of = first + s * kHeadDim;
      const double largest = largest_score(&q[at], &k[of]), score = dot(&q0[at], &k0[of]);
      const double distance = static_cast<double>(t) - static_cast<double>(s);
      formula.see(std::abs(score - formula_score(&q[at], &k[of], distance)) / largest);
      moved.see(std::abs(score - dot(&q3[at], &k3[of])) / largest);
      const double near = score_at(rope, &q[at], 5, &k[of], 3);
      far.see(std::abs(near - score_at(rope, &q[at], 105, &k[of], 103)) / largest);
    }
  }

  std::printf("\n%-30s %9s %9s\n", "check", "worst", "bound");
  int failed = 0;
  for (const Check& check : {start, lengths, formula, moved, far}) failed |= check.print() ? 0 : 1;
  return failed;
}
