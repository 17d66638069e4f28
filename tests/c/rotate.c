// Each operation in each form, for every dtype and pairing, against the formula in long double.

#include "test.h"

enum {
  kBatch = 2,
  kTokens = 3,
  kQHeads = 3,
  kKHeads = 2,
  kHeadDim = 80,
  kRotaryDim = 64,
  kOffset = 8
};
enum {
  kQSize = kBatch * kTokens * kQHeads * kHeadDim,
  kKSize = kBatch * kTokens * kKHeads * kHeadDim
};
#define BASE 500000.0
#define FACTOR 1.25

static const int64_t kStarts[kBatch] = {-7, 100000};

static const ropewalk_dtype kDTypes[] = {ROPEWALK_F32, ROPEWALK_BF16, ROPEWALK_F16, ROPEWALK_F64};

typedef enum { kRotate, kUnrotate, kBackward } operation;

// q is [batch, tokens, heads, head_dim], k is [batch, heads, tokens, head_dim]; what is rotated
// lies
// between copies of nothing else: buffers are as large as their tensors.
typedef struct {
  ropewalk_dtype dtype;
  ropewalk_pairing read, written;
  void *q, *k, *q_before, *k_before;
  ropewalk_tensor q_view, k_view, q_before_view, k_before_view;
} tensors;

static tensors new_tensors(ropewalk_dtype dtype) {
  const size_t size = element_size(dtype);
  tensors t = {.dtype = dtype};
  t.q = malloc(kQSize * size);
  t.k = malloc(kKSize * size);
  t.q_before = malloc(kQSize * size);
  t.k_before = malloc(kKSize * size);
  fill_elements(t.q_before, dtype, kQSize, 1);
  fill_elements(t.k_before, dtype, kKSize, 2);
  t.q_view = ropewalk_tensor_bthd(t.q, dtype, kBatch, kTokens, kQHeads, kHeadDim);
  t.q_before_view = ropewalk_tensor_bthd(t.q_before, dtype, kBatch, kTokens, kQHeads, kHeadDim);
  t.k_view = ropewalk_tensor_bhtd(t.k, dtype, kBatch, kTokens, kKHeads, kHeadDim);
  t.k_before_view = ropewalk_tensor_bhtd(t.k_before, dtype, kBatch, kTokens, kKHeads, kHeadDim);
  return t;
}

// As before any call: for calls in place the values, for outputs something else.
static void reset(tensors* t, int in_place) {
  const size_t size = element_size(t->dtype);
  memset(t->q, 0x7f, kQSize * size);
  memset(t->k, 0x7f, kKSize * size);
  if (!in_place) return;
  memcpy(t->q, t->q_before, kQSize * size);
  memcpy(t->k, t->k_before, kKSize * size);
}

static void free_tensors(tensors* t) {
  free(t->q);
  free(t->k);
  free(t->q_before);
  free(t->k_before);
}

static size_t element_of_pair(ropewalk_pairing pairing, size_t i, int second) {
  if (pairing == ROPEWALK_ADJACENT) return kOffset + 2 * i + (size_t)second;
  return kOffset + i + (size_t)second * (kRotaryDim / 2);
}

// One head: after against scale R(distance ω) before, and what is outside of the window unchanged.
static void check_head(const tensors* t, const void* before, const void* after, size_t at,
                       double distance, long double scale) {
  for (size_t i = 0; i < kRotaryDim / 2; ++i) {
    long double cosine = 0, sine = 0;
    turn(frequency(BASE, (int64_t)i, kRotaryDim), distance, &cosine, &sine);
    const long double a = element(before, t->dtype, at + element_of_pair(t->read, i, 0));
    const long double b = element(before, t->dtype, at + element_of_pair(t->read, i, 1));
    const long double wanted[2] = {scale * (a * cosine - b * sine),
                                   scale * (a * sine + b * cosine)};
    for (int second = 0; second < 2; ++second) {
      const double given = element(after, t->dtype, at + element_of_pair(t->written, i, second));
      CHECK_NEAR(given, wanted[second],
                 allowed_error(t->dtype, scale * hypotl(a, b), distance, wanted[second]));
    }
  }
  for (size_t e = 0; e < kHeadDim; ++e) {
    if (e >= kOffset && e < kOffset + kRotaryDim) continue;
    CHECK(element(after, t->dtype, at + e) == element(before, t->dtype, at + e));
  }
}

static void check_tensor(const tensors* t, const void* before, const ropewalk_tensor* after,
                         int direction, long double scale) {
  for (int64_t b = 0; b < after->shape[0]; ++b) {
    for (int64_t token = 0; token < after->shape[1]; ++token) {
      for (int64_t head = 0; head < after->shape[2]; ++head) {
        const int64_t at =
            b * after->strides[0] + token * after->strides[1] + head * after->strides[2];
        check_head(t, before, after->data, (size_t)at, direction * (double)(kStarts[b] + token),
                   scale);
      }
    }
  }
}

static void check_result(tensors* t, operation what, int with_k, ropewalk_pairing read,
                         ropewalk_pairing written) {
  const int forward = what == kRotate;
  const long double scale = what == kUnrotate ? 1 / (long double)FACTOR : FACTOR;
  t->read = forward ? read : written;
  t->written = forward ? written : read;
  check_tensor(t, t->q_before, &t->q_view, forward ? 1 : -1, scale);
  if (with_k) check_tensor(t, t->k_before, &t->k_view, forward ? 1 : -1, scale);
}

// All of the twelve functions, with k and without.
static void check_forms(ropewalk_pairing read, ropewalk_pairing written) {
  ropewalk_error error = ROPEWALK_ERROR_INIT;
  ropewalk_spec spec = ropewalk_spec_default(kHeadDim);
  spec.rotary_dim = kRotaryDim;
  spec.rotary_offset = kOffset;
  spec.pairing = read;
  if (written != read) spec.output_pairing = written;
  spec.base = BASE;
  spec.attention_factor = FACTOR;
  ropewalk_rope* rope = NULL;
  CHECK_OK(ropewalk_rope_create(&spec, &rope, &error), error);
  const ropewalk_positions positions = ropewalk_positions_starts(kStarts, kBatch, kTokens);

  for (size_t d = 0; d < sizeof(kDTypes) / sizeof(*kDTypes); ++d) {
    ropewalk_angles_options options = ROPEWALK_ANGLES_OPTIONS_INIT;
    options.dtype = kDTypes[d];
    ropewalk_angles* angles = NULL;
    CHECK_OK(ropewalk_angles_create(&angles, &error), error);
    CHECK_OK(ropewalk_angles_assign(angles, rope, &positions, &options, &error), error);
    tensors t = new_tensors(kDTypes[d]);
    for (int with_k = 0; with_k < 2; ++with_k) {
      const ropewalk_tensor *q = &t.q_before_view, *k = with_k ? &t.k_before_view : NULL;
      const ropewalk_tensor *out_q = &t.q_view, *out_k = with_k ? &t.k_view : NULL;
#define CHECK_FORMS(name, what)                                                                \
  reset(&t, 1);                                                                                \
  CHECK_OK(ropewalk_##name(rope, out_q, out_k, &positions, NULL, &error), error);              \
  check_result(&t, what, with_k, read, written);                                               \
  reset(&t, 0);                                                                                \
  CHECK_OK(ropewalk_##name##_into(rope, q, k, &positions, out_q, out_k, NULL, &error), error); \
  check_result(&t, what, with_k, read, written);                                               \
  reset(&t, 1);                                                                                \
  CHECK_OK(ropewalk_##name##_angles(angles, out_q, out_k, NULL, &error), error);               \
  check_result(&t, what, with_k, read, written);                                               \
  reset(&t, 0);                                                                                \
  CHECK_OK(ropewalk_##name##_angles_into(angles, q, k, out_q, out_k, NULL, &error), error);    \
  check_result(&t, what, with_k, read, written);
      CHECK_FORMS(rotate, kRotate)
      CHECK_FORMS(unrotate, kUnrotate)
      CHECK_FORMS(backward, kBackward)
#undef CHECK_FORMS
    }
    free_tensors(&t);
    ropewalk_angles_destroy(angles);
  }
  ropewalk_rope_destroy(rope);
}

static void halves_are_the_formula_in_every_form(void) {
  check_forms(ROPEWALK_HALVES, ROPEWALK_HALVES);
}
static void adjacent_is_the_formula_in_every_form(void) {
  check_forms(ROPEWALK_ADJACENT, ROPEWALK_ADJACENT);
}
static void one_pairing_is_written_as_the_other(void) {
  check_forms(ROPEWALK_ADJACENT, ROPEWALK_HALVES);
}

// Keys that were rotated elsewhere: what they become is by the distance and the ratio of the
// factors.
static void rerotate_turns_by_the_distance(void) {
  ropewalk_error error = ROPEWALK_ERROR_INIT;
  ropewalk_spec spec = ropewalk_spec_default(kHeadDim);
  spec.rotary_dim = kRotaryDim;
  spec.rotary_offset = kOffset;
  spec.base = BASE;
  spec.attention_factor = FACTOR;
  ropewalk_rope *old_rope = NULL, *new_rope = NULL;
  CHECK_OK(ropewalk_rope_create(&spec, &old_rope, &error), error);
  spec.attention_factor = 1;
  spec.output_pairing = ROPEWALK_ADJACENT;
  CHECK_OK(ropewalk_rope_create(&spec, &new_rope, &error), error);
  const ropewalk_positions from = ropewalk_positions_from(1000);
  const int64_t to_starts[kBatch] = {993, 101000};  // on by kStarts
  const ropewalk_positions to = ropewalk_positions_starts(to_starts, kBatch, ROPEWALK_NOT_GIVEN);

  for (size_t d = 0; d < sizeof(kDTypes) / sizeof(*kDTypes); ++d) {
    tensors t = new_tensors(kDTypes[d]);
    t.read = ROPEWALK_HALVES;
    t.written = ROPEWALK_ADJACENT;
    for (int in_place = 0; in_place < 2; ++in_place) {
      reset(&t, in_place);
      if (in_place) {
        CHECK_OK(ropewalk_rerotate(old_rope, new_rope, &t.k_view, &from, &to, NULL, &error), error);
      } else {
        CHECK_OK(ropewalk_rerotate_into(old_rope, new_rope, &t.k_before_view, &from, &to, &t.k_view,
                                        NULL, &error),
                 error);
      }
      for (int64_t b = 0; b < kBatch; ++b) {
        for (int64_t row = 0; row < kKHeads * kTokens; ++row) {
          const int64_t at = (b * kKHeads * kTokens + row) * kHeadDim;
          check_head(&t, t.k_before, t.k, (size_t)at, (double)kStarts[b], 1 / (long double)FACTOR);
        }
      }
    }
    free_tensors(&t);
  }
  ropewalk_rope_destroy(old_rope);
  ropewalk_rope_destroy(new_rope);
}

// ---- How a call is run ----

typedef struct {
  int64_t calls, tasks;
} pool_counts;

// From the last task to the first, on the calling thread.
static void run_backwards(void* pool, int64_t count, void (*task)(void* work, int64_t i),
                          void* work) {
  pool_counts* counts = pool;
  ++counts->calls;
  counts->tasks += count;
  for (int64_t i = count - 1; i >= 0; --i) task(work, i);
}

static void tasks_and_targets_do_not_change_the_result(void) {
  enum { kMany = 600, kDim = 128, kCount = kMany * kDim };  // more than 256 KiB
  ropewalk_error error = ROPEWALK_ERROR_INIT;
  const ropewalk_spec spec = ropewalk_spec_default(kDim);
  ropewalk_rope* rope = NULL;
  CHECK_OK(ropewalk_rope_create(&spec, &rope, &error), error);
  float *x = malloc(kCount * sizeof(float)), *alone = malloc(kCount * sizeof(float));
  const ropewalk_positions positions = ropewalk_positions_from(5);

  ropewalk_target targets[8];
  const int64_t count = ropewalk_compiled_targets(targets, 8);
  for (int64_t i = 0; i < count; ++i) {
    if (!ropewalk_is_supported(targets[i])) continue;
    ropewalk_options options = ROPEWALK_OPTIONS_INIT;
    options.target = targets[i];
    fill_elements(alone, ROPEWALK_F32, kCount, 3);
    memcpy(x, alone, kCount * sizeof(float));
    const ropewalk_tensor alone_view = ropewalk_tensor_bthd(alone, ROPEWALK_F32, 1, kMany, 1, kDim);
    CHECK_OK(ropewalk_rotate(rope, &alone_view, NULL, &positions, &options, &error), error);

    pool_counts counts = {0, 0};
    options.parallel = (ropewalk_parallel_for){run_backwards, &counts, 7};
    const ropewalk_tensor view = ropewalk_tensor_bthd(x, ROPEWALK_F32, 1, kMany, 1, kDim);
    CHECK_OK(ropewalk_rotate(rope, &view, NULL, &positions, &options, &error), error);
    CHECK(counts.calls == 1 && counts.tasks == 7);
    CHECK(memcmp(x, alone, kCount * sizeof(float)) == 0);
    CHECK_NEAR(x[kDim - 1], alone[kDim - 1], 0);
  }
  free(x);
  free(alone);
  ropewalk_rope_destroy(rope);
}

int main(void) {
  RUN(halves_are_the_formula_in_every_form);
  RUN(adjacent_is_the_formula_in_every_form);
  RUN(one_pairing_is_written_as_the_other);
  RUN(rerotate_turns_by_the_distance);
  RUN(tasks_and_targets_do_not_change_the_result);
  return test_failures == 0 ? 0 : 1;
}
