// The score of two tokens when both move by the same distance: with absolute positions it changes,
// with rotary ones it does not.
//
//   absolute   q = (x + row(p)) W_q    a row is added to the hidden state x of the token at p
//   rotary     q = R(p) (x W_q)        q is rotated instead, and so is k
//
// Rows of two kinds: sinusoidal ones, and a table such as a model learns (here random), which ends.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <random>
#include <ropewalk/ropewalk.hpp>
#include <vector>

namespace rw = ropewalk;

constexpr std::size_t kHidden = 16, kHeadDim = 8, kTableRows = 128;

// All of this program is in double: what differs below does not differ by rounding.
using Row = std::vector<double>;

// Between -1 and 1, the same on every machine.
Row random_row(std::size_t count, std::uint32_t seed) {
  std::mt19937 bits(seed);
  Row row(count);
  for (double& number : row) number = static_cast<double>(bits()) * 0x1p-31 - 1;
  return row;
}

// Two tokens and a layer of one head. The weights are [hidden, head_dim].
const Row kQueryToken = random_row(kHidden, 1), kKeyToken = random_row(kHidden, 2);
const Row kWq = random_row(kHidden * kHeadDim, 3), kWk = random_row(kHidden * kHeadDim, 4);

Row project(const Row& x, const Row& weights) {
  Row result(kHeadDim);
  for (std::size_t d = 0; d < kHeadDim; ++d) {
    for (std::size_t e = 0; e < kHidden; ++e) result[d] += x[e] * weights[e * kHeadDim + d];
  }
  return result;
}

double dot(const Row& q, const Row& k) {
  double sum = 0;
  for (std::size_t d = 0; d < kHeadDim; ++d) sum += q[d] * k[d];
  return sum;
}

// ---- Absolute positions ----

// Element 2i is sin(p / 10000^(2i / hidden)), element 2i + 1 the cosine (Vaswani et al. 2017,
// "Attention is all you need", section 3.5).
std::optional<Row> sinusoidal_row(std::int64_t p) {
  Row row(kHidden);
  for (std::size_t i = 0; i < kHidden / 2; ++i) {
    const double exponent = 2 * static_cast<double>(i) / kHidden;
    const double angle = static_cast<double>(p) / std::pow(10000.0, exponent);
    row[2 * i] = std::sin(angle);
    row[2 * i + 1] = std::cos(angle);
  }
  return row;
}

// One row per position that the model was trained at. Past its end there is nothing: a longer text
// must be cut, or the table made longer and the new rows trained.
std::optional<Row> learned_row(std::int64_t p) {
  if (p < 0 || p >= std::int64_t{kTableRows}) return std::nullopt;
  return random_row(kHidden, 100 + static_cast<std::uint32_t>(p));
}

using RowOf = std::optional<Row>(std::int64_t p);

std::optional<double> absolute_score(RowOf row_of, std::int64_t p, std::int64_t s) {
  std::optional<Row> of_query = row_of(p), of_key = row_of(s);
  if (!of_query || !of_key) return std::nullopt;
  for (std::size_t e = 0; e < kHidden; ++e) {
    (*of_query)[e] += kQueryToken[e];
    (*of_key)[e] += kKeyToken[e];
  }
  return dot(project(*of_query, kWq), project(*of_key, kWk));
}

// ---- Rotary positions ----

std::optional<double> rotary_score(std::int64_t p, std::int64_t s) {
  static const rw::Rope rope(rw::Spec({.head_dim = kHeadDim}));
  Row q = project(kQueryToken, kWq), k = project(kKeyToken, kWk);
  const auto view = [](Row& head) {
    return rw::TensorView::bthd(head.data(), rw::DType::kF64, {1, 1, 1, kHeadDim});
  };
  rw::rotate(rope, view(q), rw::Positions::from(p));
  rw::rotate(rope, view(k), rw::Positions::from(s));
  return dot(q, k);
}

// What rounding can make of the difference of two rotary scores. An element of an f64 pair is off
// by at most (2^-50 + |p| 2^-62) hypot(a, b) + half an ulp: with √2 for two elements and |p| < 2^12,
// ε is as below. Each of two scores has the ε of q and of k, and the rounding of its own sum.
double rounding() {
  const double epsilon = std::sqrt(2.0) * 0x1p-49 + 0x1p-53;
  const Row q = project(kQueryToken, kWq), k = project(kKeyToken, kWk);
  return 2 * (2 * epsilon + kHeadDim * 0x1p-53) * std::sqrt(dot(q, q) * dot(k, k));
}

int main() {
  constexpr std::int64_t kQueryAt[] = {5, 105, 1005}, kKeyAt[] = {3, 103, 1003};
  std::printf("%-18s %12s %12s %14s\n", "score at", "(5, 3)", "(105, 103)", "(1005, 1003)");

  int failed = 0;
  const auto check = [&](bool ok, const char* what) {
    if (!ok) std::printf("FAILED: %s\n", what);
    failed |= ok ? 0 : 1;
  };
  // The scores of one kind in a line of the table, and how far they lie apart.
  const auto spread = [&](const char* kind, auto score_at) {
    double low = INFINITY, high = -INFINITY;
    std::printf("%-18s", kind);
    for (std::size_t i = 0; i < 3; ++i) {
      const std::optional<double> score = score_at(kQueryAt[i], kKeyAt[i]);
      if (!score) {
        std::printf("  none: the table has rows 0 .. %zu", kTableRows - 1);
        continue;
      }
      std::printf(" %12.4f", *score);
      low = std::fmin(low, *score);
      high = std::fmax(high, *score);
    }
    std::printf("\n");
    return high - low;
  };
  const double rotary = spread("rotary", rotary_score);
  const double sinusoidal = spread("sinusoidal rows", [](std::int64_t p, std::int64_t s) {
    return absolute_score(sinusoidal_row, p, s);
  });
  const double learned = spread("learned rows", [](std::int64_t p, std::int64_t s) {
    return absolute_score(learned_row, p, s);
  });

  std::printf("\nrotary scores lie %.1e apart; rounding allows %.1e\n", rotary, rounding());
  check(rotary <= rounding(), "rotary scores depend on the distance only");
  check(sinusoidal > rounding(), "scores with sinusoidal rows depend on where the tokens stand");
  check(learned > rounding(), "scores with learned rows depend on where the tokens stand");
  return failed;
}
