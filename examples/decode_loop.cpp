// The loop of an inference engine: a prompt in one step (prefill), then one token a step (decode).
//
//   each step    cos and sin of the step's positions, once for all layers
//   each layer   a fused row per token, from the projection: | 8 q heads | 2 k heads | 2 v heads |
//                q is rotated where it lies, k straight into its place in the layer's cache;
//                v is copied, it is never rotated
//                scores of the new queries with all cached keys; 4 query heads share a key head
//                (grouped-query attention)
//
// In the end all of it is compared with the whole sequence rotated at once, and with the formula.

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <random>
#include <ropewalk/ropewalk.hpp>
#include <vector>

namespace rw = ropewalk;

using Index = std::int64_t;
using Floats = std::vector<float>;

constexpr Index kLayers = 4, kQueryHeads = 8, kKeyHeads = 2, kHeadDim = 64, kPairs = kHeadDim / 2;
constexpr Index kPrompt = 12, kTokens = 32,
                kMaxTokens = 64;  // kTokens: the prompt and what follows
constexpr Index kCacheRow = kKeyHeads * kHeadDim;
constexpr Index kKeysAt = kQueryHeads * kHeadDim, kValuesAt = kKeysAt + kCacheRow;
constexpr Index kFusedRow = kValuesAt + kCacheRow;
constexpr Index kGroup = kQueryHeads / kKeyHeads;  // query heads that share a key head
constexpr double kBase = 500000;

struct Layer {
  Index number;
  Floats keys = Floats(kMaxTokens * kCacheRow);  // [max_tokens, key heads, head_dim], rotated
  Floats values = Floats(kMaxTokens * kCacheRow);
  Floats scores = {};  // what softmax would be given, in the order of append_scores
};

// Stands for a layer's projection of tokens first .. first + tokens: random numbers between -1 and
// 1, the same on every machine.
Floats project(const Layer& layer, Index first, Index tokens) {
  Floats rows;
  for (Index t = first; t < first + tokens; ++t) {
    std::mt19937 bits(static_cast<std::uint32_t>(layer.number * kMaxTokens + t));
    for (Index e = 0; e < kFusedRow; ++e) {
      rows.push_back(static_cast<float>(bits()) * 0x1p-31F - 1.0F);
    }
  }
  return rows;
}

// Some heads of fused rows, `at` elements into each: the next token's are a whole row further on.
rw::TensorView heads_of(Floats& rows, Index at, Index heads) {
  const auto size = static_cast<Index>(rows.size());
  return {rows.data() + at,
          rw::DType::kF32,
          {1, size / kFusedRow, heads, kHeadDim},
          {size, kFusedRow, kHeadDim, 1}};
}

// q.k / sqrt(head_dim) for the query heads of token t with the keys of tokens 0 .. t. Summed in
// double, where products of floats are exact: equal q and k give equal bits.
void append_scores(const float* query, Index t, const float* keys, Index key_row, Floats& scores) {
  for (Index h = 0; h < kQueryHeads; ++h) {
    const float* q = query + h * kHeadDim;
    const float* head = keys + h / kGroup * kHeadDim;
    for (Index s = 0; s <= t; ++s) {
      double sum = 0;
      for (Index d = 0; d < kHeadDim; ++d) sum += double{q[d]} * double{head[s * key_row + d]};
      scores.push_back(static_cast<float>(sum / std::sqrt(kHeadDim)));
    }
  }
}

// The loop's body: tokens first .. first + tokens through all layers.
void step(const rw::Rope& rope, rw::Angles& angles, std::vector<Layer>& layers, Index first,
          Index tokens) {
  angles.assign(rope, rw::Positions::from(first, tokens));  // its memory is kept from step to step
  for (Layer& layer : layers) {
    Floats rows = project(layer, first, tokens);
    const rw::TensorView q = heads_of(rows, 0, kQueryHeads), k = heads_of(rows, kKeysAt, kKeyHeads);
    // One pass: to copy k into the cache first and rotate it there would touch it twice.
    const auto place = rw::TensorView::bthd(layer.keys.data() + first * kCacheRow,
                                            {1, tokens, kKeyHeads, kHeadDim});
    rw::rotate(angles, q, k, rw::Into{q}, rw::Into{place});

    for (Index t = 0; t < tokens; ++t) {
      const float* row = rows.data() + t * kFusedRow;
      std::copy_n(row + kValuesAt, kCacheRow, layer.values.data() + (first + t) * kCacheRow);
      append_scores(row, first + t, layer.keys.data(), kCacheRow, layer.scores);
    }
  }
}

// How far the last token's scores lie from Σ_i Re(q_i conj(k_i) e^(√-1 distance ω_i)) /
// sqrt(head_dim), q and k not rotated: the worst, as a part of what a score could be at most.
double distance_from_formula(const Layer& layer) {
  const Floats rows = project(layer, 0, kTokens);
  const float* scores = layer.scores.data() + layer.scores.size() - kQueryHeads * kTokens;
  double worst = 0;
  for (Index h = 0; h < kQueryHeads; ++h) {
    for (Index s = 0; s < kTokens; ++s) {
      const float* q = rows.data() + (kTokens - 1) * kFusedRow + h * kHeadDim;
      const float* k = rows.data() + s * kFusedRow + kKeysAt + h / kGroup * kHeadDim;
      double exact = 0, largest = 0;
      for (Index i = 0; i < kPairs; ++i) {
        const std::complex<double> a(q[i], q[i + kPairs]), b(k[i], k[i + kPairs]);
        const double omega = std::pow(kBase, -2.0 * static_cast<double>(i) / kHeadDim);
        const double angle = static_cast<double>(kTokens - 1 - s) * omega;
        exact += (a * std::conj(b) * std::polar(1.0, angle)).real() / std::sqrt(kHeadDim);
        largest += std::abs(a) * std::abs(b) / std::sqrt(kHeadDim);
      }
      const double difference = std::abs(double{scores[h * kTokens + s]} - exact) / largest;
      if (std::isnan(difference)) return difference;
      worst = std::max(worst, difference);
    }
  }
  return worst;
}

// The whole sequence at once, with fresh angles, all of it in its fused rows: the keys and the
// scores that the loop should have come to, bit for bit.
struct Whole {
  Floats keys, scores;
};

Whole rotate_whole(const rw::Rope& rope, const Layer& layer) {
  Floats rows = project(layer, 0, kTokens);
  rw::rotate(rope, heads_of(rows, 0, kQueryHeads), heads_of(rows, kKeysAt, kKeyHeads),
             rw::Positions::from(0));
  Whole whole;
  for (Index t = 0; t < kTokens; ++t) {
    const float* row = rows.data() + t * kFusedRow;
    whole.keys.insert(whole.keys.end(), row + kKeysAt, row + kValuesAt);
    append_scores(row, t, rows.data() + kKeysAt, kFusedRow, whole.scores);
  }
  return whole;
}

int main() {
  const rw::Rope rope(rw::Spec({.head_dim = kHeadDim, .base = kBase}));
  rw::Angles angles;
  std::vector<Layer> layers;
  for (Index number = 0; number < kLayers; ++number) layers.push_back({number});

  step(rope, angles, layers, 0, kPrompt);
  for (Index t = kPrompt; t < kTokens; ++t) step(rope, angles, layers, t, 1);

  // A rotated vector is off by √2 2^-21 + 2^-24 of its length or less. A score has that of q and of
  // k, and 2^-24 because it is stored as a float.
  const double bound = 2 * (std::sqrt(2.0) * 0x1p-21 + 0x1p-24) + 0x1p-24;
  std::printf("%lld tokens, %lld of them one by one; compared with all of them at once\n\n",
              static_cast<long long>(kTokens), static_cast<long long>(kTokens - kPrompt));
  std::printf("layer   keys  scores   from the formula      bound\n");
  int failed = 0;
  for (const Layer& layer : layers) {
    const Whole whole = rotate_whole(rope, layer);
    const bool keys = std::equal(whole.keys.begin(), whole.keys.end(), layer.keys.begin());
    const bool scores = whole.scores == layer.scores;
    const double difference = distance_from_formula(layer);
    const bool ok = keys && scores && difference <= bound;
    std::printf("%5lld  %5s  %6s  %17.2g  %9.2g  %s\n", static_cast<long long>(layer.number),
                keys ? "same" : "DIFFER", scores ? "same" : "DIFFER", difference, bound,
                ok ? "ok" : "FAILED");
    failed |= ok ? 0 : 1;
  }
  return failed;
}
