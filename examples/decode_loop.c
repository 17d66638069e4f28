// An engine's decode loop: one token a step, several layers, grouped-query attention, a contiguous
// cache of keys per layer. The rows of cos and sin are made once a step; each layer rotates q in
// place and writes the rotated k straight into its cache.
//
//   cache of a layer   [position, head, element]   | k of token 0 | k of token 1 | ... | free ...
//                                                                                ^ this step's k
//
// The scores of the last step are compared with the formula, which knows differences of positions
// only.

#include <math.h>
#include <ropewalk/ropewalk.h>
#include <stdint.h>
#include <stdio.h>

enum { kLayers = 3, kContext = 48, kQHeads = 8, kKHeads = 2, kDim = 64, kRow = kKHeads * kDim };
static const double kBase = 500000;

typedef struct {
  ropewalk_rope* rope;
  ropewalk_angles* angles;
  ropewalk_error error;
  float q[kQHeads][kDim];
  float cache[kLayers][kContext][kKHeads][kDim];
  float scores[kLayers][kQHeads][kContext];
} engine;

// What the layer's projections would say of a token: any numbers, always the same ones.
static void project(int layer, int token, int heads, float* row) {
  uint32_t state = 1 + (uint32_t)(token + kContext * (layer + kLayers * heads));
  for (int e = 0; e < heads * kDim; ++e) {
    state = state * 1664525 + 1013904223;
    row[e] = (float)(int32_t)state * 0x1p-31F;  // -1 to 1
  }
}

static float dot(const float* a, const float* b) {
  float sum = 0;
  for (int e = 0; e < kDim; ++e) sum += a[e] * b[e];
  return sum;
}

// [run_layer]
static ropewalk_status run_layer(engine* e, int layer, int token) {
  float k[kKHeads][kDim];
  project(layer, token, kQHeads, e->q[0]);
  project(layer, token, kKHeads, k[0]);

  // Of 1 sequence and 1 token: q is its own output, the output of k is its place in the cache.
  const ropewalk_tensor q = ropewalk_tensor_bthd(e->q, ROPEWALK_F32, 1, 1, kQHeads, kDim);
  const ropewalk_tensor new_k = ropewalk_tensor_bthd(k, ROPEWALK_F32, 1, 1, kKHeads, kDim);
  const ropewalk_tensor cached =
      ropewalk_tensor_bthd(e->cache[layer][token], ROPEWALK_F32, 1, 1, kKHeads, kDim);
  const ropewalk_status status =
      ropewalk_rotate_angles_into(e->angles, &q, &new_k, &q, &cached, NULL, &e->error);
  if (status != ROPEWALK_OK) return status;

  // Each group of query heads shares a head of keys. Softmax and values would follow.
  for (int head = 0; head < kQHeads; ++head) {
    for (int past = 0; past <= token; ++past) {
      const float* key = e->cache[layer][past][head * kKHeads / kQHeads];
      e->scores[layer][head][past] = dot(e->q[head], key) / sqrtf(kDim);
    }
  }
  return ROPEWALK_OK;
}
// [/run_layer]

// [decode]
static ropewalk_status decode(engine* e, int token) {
  const ropewalk_positions position = ropewalk_positions_from_tokens(token, 1);
  ropewalk_status status = ropewalk_angles_assign(e->angles, e->rope, &position, NULL, &e->error);
  for (int layer = 0; layer < kLayers && status == ROPEWALK_OK; ++layer) {
    status = run_layer(e, layer, token);
  }
  return status;
}
// [/decode]

static ropewalk_status run(engine* e) {
  ropewalk_spec spec = ropewalk_spec_default(kDim);
  spec.base = kBase;
  ropewalk_status status = ropewalk_rope_create(&spec, &e->rope, &e->error);
  if (status == ROPEWALK_OK) status = ropewalk_angles_create(&e->angles, &e->error);
  for (int token = 0; token < kContext && status == ROPEWALK_OK; ++token) {
    status = decode(e, token);
  }
  return status;
}

// Σ over pairs of (q . k) cos((p - s) ω) + (q x k) sin((p - s) ω), of what was not rotated.
static double score(int layer, int head, int p, int s) {
  float q[kQHeads][kDim], k[kKHeads][kDim];
  project(layer, p, kQHeads, q[0]);
  project(layer, s, kKHeads, k[0]);
  const float *x = q[head], *y = k[head * kKHeads / kQHeads];
  double sum = 0;
  for (int i = 0; i < kDim / 2; ++i) {
    const double angle = (p - s) * pow(kBase, -2.0 * i / kDim);
    const double a = x[i], b = x[i + kDim / 2], c = y[i], d = y[i + kDim / 2];
    sum += (a * c + b * d) * cos(angle) + (a * d - b * c) * sin(angle);
  }
  return sum / sqrt(kDim);
}

static double largest_difference(const engine* e) {
  double largest = 0;
  for (int layer = 0; layer < kLayers; ++layer) {
    for (int head = 0; head < kQHeads; ++head) {
      for (int past = 0; past < kContext; ++past) {
        const double wanted = score(layer, head, kContext - 1, past);
        largest = fmax(largest, fabs(e->scores[layer][head][past] - wanted));
      }
    }
  }
  return largest;
}

int main(void) {
  static engine e = {.error = ROPEWALK_ERROR_INIT};
  const ropewalk_status status = run(&e);
  ropewalk_angles_destroy(e.angles);
  ropewalk_rope_destroy(e.rope);
  if (status != ROPEWALK_OK) {
    fprintf(stderr, "decode_loop: %s\n", e.error.message);
    return 1;
  }
  const int good = largest_difference(&e) < 1e-5;  // sums of 64 products in float
  printf("%d steps of %d layers: the last scores %s\n", kContext, kLayers,
         good ? "are those of the formula" : "are not those of the formula: FAILED");
  return good ? 0 : 1;
}
