// Rows of cos and sin: what is assigned is what is read, and what rotates.

#include "test.h"

static ropewalk_error error = ROPEWALK_ERROR_INIT;

enum { kDim = 8, kPairs = kDim / 2, kTokens = 3 };

static ropewalk_spec spec_of(ropewalk_pairing pairing) {
  ropewalk_spec spec = ropewalk_spec_default(kDim);
  spec.pairing = pairing;
  return spec;
}

static ropewalk_angles* new_angles(void) {
  ropewalk_angles* angles = NULL;
  CHECK_OK(ropewalk_angles_create(&angles, &error), error);
  return angles;
}

// Rows of the plan of kDim at positions 10, 11, 12.
static ropewalk_angles* angles_at_10(const ropewalk_spec* spec,
                                     const ropewalk_angles_options* options) {
  ropewalk_rope* rope = NULL;
  CHECK_OK(ropewalk_rope_create(spec, &rope, &error), error);
  const ropewalk_positions positions = ropewalk_positions_from_tokens(10, kTokens);
  ropewalk_angles* angles = new_angles();
  CHECK_OK(ropewalk_angles_assign(angles, rope, &positions, options, &error), error);
  ropewalk_rope_destroy(rope);  // the rows do not need it
  return angles;
}

static long double wanted_cos(int t, int i) {
  return cosl((10 + t) * (long double)frequency(10000, i, kDim));
}
static long double wanted_sin(int t, int i) {
  return sinl((10 + t) * (long double)frequency(10000, i, kDim));
}

static void rows_have_the_shape_of_the_positions(void) {
  ropewalk_angles* angles = new_angles();
  int64_t batch = -1, tokens = -1, pairs = -1;
  ropewalk_dtype dtype = ROPEWALK_DTYPE_NOT_GIVEN;
  CHECK_OK(ropewalk_angles_shape(angles, &batch, &tokens, &pairs, &dtype, &error), error);
  CHECK(tokens == 0 && pairs == 0);
  ropewalk_angles_destroy(angles);

  ropewalk_angles_options options = ROPEWALK_ANGLES_OPTIONS_INIT;
  options.dtype = ROPEWALK_F64;
  const ropewalk_spec spec = spec_of(ROPEWALK_HALVES);
  angles = angles_at_10(&spec, &options);
  CHECK_OK(ropewalk_angles_shape(angles, &batch, &tokens, &pairs, &dtype, &error), error);
  CHECK(batch == 1 && tokens == kTokens && pairs == kPairs && dtype == ROPEWALK_F64);
  CHECK_OK(ropewalk_angles_shape(angles, NULL, NULL, NULL, NULL, NULL), error);
  ropewalk_angles_destroy(angles);
}

static void rows_are_read_in_three_forms(void) {
  for (int adjacent = 0; adjacent < 2; ++adjacent) {
    const ropewalk_spec spec = spec_of(adjacent ? ROPEWALK_ADJACENT : ROPEWALK_HALVES);
    ropewalk_angles_options options = ROPEWALK_ANGLES_OPTIONS_INIT;
    options.dtype = ROPEWALK_F64;
    ropewalk_angles* angles = angles_at_10(&spec, &options);
    float c32[kTokens][kDim], s32[kTokens][kDim];
    double c64[kTokens][kDim], s64[kTokens][kDim];

    float(*compact_c32)[kPairs] = (float(*)[kPairs])c32,
    (*compact_s32)[kPairs] = (float(*)[kPairs])s32;
    double(*compact_c64)[kPairs] = (double(*)[kPairs])c64,
    (*compact_s64)[kPairs] = (double(*)[kPairs])s64;
    const int64_t n = kTokens * kPairs;
    CHECK_OK(ropewalk_angles_read_compact_f32(angles, *c32, *s32, n, &error), error);
    CHECK_OK(ropewalk_angles_read_compact_f64(angles, *c64, *s64, n, &error), error);
    for (int t = 0; t < kTokens; ++t) {
      for (int i = 0; i < kPairs; ++i) {
        CHECK_NEAR(compact_c64[t][i], wanted_cos(t, i), 1e-15);
        CHECK_NEAR(compact_s64[t][i], wanted_sin(t, i), 1e-15);
        CHECK_NEAR(compact_c32[t][i], wanted_cos(t, i), 1e-7);
        CHECK_NEAR(compact_s32[t][i], wanted_sin(t, i), 1e-7);
      }
    }
    CHECK_OK(ropewalk_angles_read_duplicated_f32(angles, *c32, *s32, 2 * n, &error), error);
    CHECK_OK(ropewalk_angles_read_duplicated_f64(angles, *c64, *s64, 2 * n, &error), error);
    for (int t = 0; t < kTokens; ++t) {
      for (int e = 0; e < kDim; ++e) {
        const int i = adjacent ? e / 2 : e % kPairs;
        CHECK_NEAR(c64[t][e], wanted_cos(t, i), 1e-15);
        CHECK_NEAR(s64[t][e], wanted_sin(t, i), 1e-15);
        CHECK_NEAR(c32[t][e], wanted_cos(t, i), 1e-7);
        CHECK_NEAR(s32[t][e], wanted_sin(t, i), 1e-7);
      }
    }
    CHECK_OK(ropewalk_angles_read_complex_f32(angles, *c32, 2 * n, &error), error);
    CHECK_OK(ropewalk_angles_read_complex_f64(angles, *c64, 2 * n, &error), error);
    for (int t = 0; t < kTokens; ++t) {
      for (int i = 0; i < kPairs; ++i) {
        CHECK_NEAR(c64[t][2 * i], wanted_cos(t, i), 1e-15);
        CHECK_NEAR(c64[t][2 * i + 1], wanted_sin(t, i), 1e-15);
        CHECK_NEAR(c32[t][2 * i], wanted_cos(t, i), 1e-7);
        CHECK_NEAR(c32[t][2 * i + 1], wanted_sin(t, i), 1e-7);
      }
    }
    ropewalk_angles_destroy(angles);
  }
}

static void a_buffer_of_another_size_is_refused(void) {
  const ropewalk_spec spec = spec_of(ROPEWALK_HALVES);
  ropewalk_angles* angles = angles_at_10(&spec, NULL);
  float c[kTokens * kDim], s[kTokens * kDim];
  CHECK_REFUSED(ropewalk_angles_read_compact_f32(angles, c, s, 5, &error), ROPEWALK_SHAPE_MISMATCH,
                "cos has 5 values, want 12", error);
  CHECK_REFUSED(ropewalk_angles_read_compact_f32(angles, c, s, -1, &error),
                ROPEWALK_INVALID_ARGUMENT, "cos has the count -1", error);
  CHECK_REFUSED(ropewalk_angles_read_duplicated_f32(angles, c, NULL, 24, &error),
                ROPEWALK_INVALID_ARGUMENT, "sin is NULL", error);
  CHECK_REFUSED(ropewalk_angles_read_complex_f32(angles, NULL, 24, &error),
                ROPEWALK_INVALID_ARGUMENT, "values is NULL", error);
  ropewalk_angles_destroy(angles);
}

static void factors_of_the_step_and_of_tokens_multiply(void) {
  const double token_factors[kTokens] = {1, 2, 0.5};
  const ropewalk_options run = ROPEWALK_OPTIONS_INIT;
  ropewalk_angles_options options = ROPEWALK_ANGLES_OPTIONS_INIT;
  options.dtype = ROPEWALK_F64;
  options.factor = 3;
  options.token_factors = token_factors;
  options.token_factor_count = kTokens;
  options.run = &run;
  ropewalk_spec spec = spec_of(ROPEWALK_HALVES);
  spec.attention_factor = 0.25;
  ropewalk_angles* angles = angles_at_10(&spec, &options);
  double c[kTokens][kPairs], s[kTokens][kPairs];
  CHECK_OK(ropewalk_angles_read_compact_f64(angles, *c, *s, kTokens * kPairs, &error), error);
  for (int t = 0; t < kTokens; ++t) {
    for (int i = 0; i < kPairs; ++i) {
      CHECK_NEAR(c[t][i], 0.75L * token_factors[t] * wanted_cos(t, i), 1e-14);
      CHECK_NEAR(s[t][i], 0.75L * token_factors[t] * wanted_sin(t, i), 1e-14);
    }
  }
  ropewalk_angles_destroy(angles);
}

// ζ_i^((p - origin) / scale_base) for queries, and its inverse for keys.
static void xpos_stretches_queries_and_shrinks_keys(void) {
  for (int key = 0; key < 2; ++key) {
    ropewalk_xpos xpos = ROPEWALK_XPOS_INIT;
    xpos.role = key ? ROPEWALK_XPOS_KEY : ROPEWALK_XPOS_QUERY;
    xpos.scale_base = 4;
    xpos.origin = 7;
    ropewalk_angles_options options = ROPEWALK_ANGLES_OPTIONS_INIT;
    options.dtype = ROPEWALK_F64;
    options.xpos = &xpos;
    const ropewalk_spec spec = spec_of(ROPEWALK_HALVES);
    ropewalk_angles* angles = angles_at_10(&spec, &options);
    double c[kTokens][kPairs], s[kTokens][kPairs];
    CHECK_OK(ropewalk_angles_read_compact_f64(angles, *c, *s, kTokens * kPairs, &error), error);
    for (int t = 0; t < kTokens; ++t) {
      for (int i = 0; i < kPairs; ++i) {
        const long double zeta = (2 * i + 0.4L * kDim) / (1.4L * kDim);
        const long double scale = powl(zeta, (key ? -1 : 1) * (3 + t) / 4.0L);
        CHECK_NEAR(c[t][i], scale * wanted_cos(t, i), 1e-13);
        CHECK_NEAR(s[t][i], scale * wanted_sin(t, i), 1e-13);
      }
    }
    double x[kTokens][kDim] = {{0}};
    const ropewalk_tensor view = ropewalk_tensor_bthd(x, ROPEWALK_F64, 1, kTokens, 1, kDim);
    CHECK_REFUSED(ropewalk_unrotate_angles(angles, &view, NULL, NULL, &error), ROPEWALK_UNSUPPORTED,
                  "xPos", error);
    ropewalk_angles_destroy(angles);
  }
}

// float32 position x float32 frequency, rounded to bf16: of each value 8 bits are left.
static void angles_are_had_as_a_checkpoint_saw_them(void) {
  ropewalk_angles_options options = ROPEWALK_ANGLES_OPTIONS_INIT;
  options.as_seen_in = ROPEWALK_BF16;
  const ropewalk_spec spec = spec_of(ROPEWALK_HALVES);
  ropewalk_angles* angles = angles_at_10(&spec, &options);
  float c[kTokens][kPairs], s[kTokens][kPairs];
  CHECK_OK(ropewalk_angles_read_compact_f32(angles, *c, *s, kTokens * kPairs, &error), error);
  for (int t = 0; t < kTokens; ++t) {
    for (int i = 0; i < kPairs; ++i) {
      const float angle = (float)(10 + t) * (float)frequency(10000, i, kDim);
      CHECK_NEAR(c[t][i], cosl(angle), fabsl(cosl(angle)) * 0x1p-8L + 1e-7L);
      uint32_t bits = 0;
      memcpy(&bits, &c[t][i], 4);
      CHECK((bits & 0xFFFF) == 0);
    }
  }
  ropewalk_angles_destroy(angles);
}

static void given_rows_are_what_rotates(void) {
  const float cosines[2][2] = {{2, 3}, {5, 7}}, sines[2][2] = {{11, 13}, {17, 19}};
  const ropewalk_spec spec = ropewalk_spec_default(4);
  ropewalk_given_rows rows = ROPEWALK_GIVEN_ROWS_INIT;
  rows.cos = cosines;
  rows.sin = sines;
  rows.dtype = ROPEWALK_F32;
  rows.rows = 2;
  rows.width = 2;
  ropewalk_angles* angles = new_angles();
  CHECK_OK(ropewalk_angles_assign_rows(angles, &spec, &rows, ROPEWALK_F32, &error), error);
  float x[2][4] = {{1, 1, 0, 0}, {0, 0, 1, 1}};
  const ropewalk_tensor view = ropewalk_tensor_bthd(x, ROPEWALK_F32, 1, 2, 1, 4);
  CHECK_OK(ropewalk_rotate_angles(angles, &view, NULL, NULL, &error), error);
  const float wanted[2][4] = {{2, 3, 11, 13}, {-17, -19, 5, 7}};
  CHECK(memcmp(x, wanted, sizeof(x)) == 0);
  ropewalk_dtype dtype = ROPEWALK_F32;
  CHECK_OK(ropewalk_angles_assign_rows(angles, &spec, &rows, ROPEWALK_F64, &error), error);
  CHECK_OK(ropewalk_angles_shape(angles, NULL, NULL, NULL, &dtype, &error), error);
  CHECK(dtype == ROPEWALK_F64);

  // The same as a table: rows picked by position, in another order.
  const int32_t ids[2] = {1, 0};
  const ropewalk_positions positions = ropewalk_positions_i32(ids, 1, 1, 2);
  CHECK_OK(ropewalk_angles_assign_table(angles, &spec, &rows, &positions, ROPEWALK_F64, &error),
           error);
  double y[2][4] = {{1, 1, 0, 0}, {0, 0, 1, 1}};
  const ropewalk_tensor y_view = ropewalk_tensor_bthd(y, ROPEWALK_F64, 1, 2, 1, 4);
  CHECK_OK(ropewalk_rotate_angles(angles, &y_view, NULL, NULL, &error), error);
  const double y_wanted[2][4] = {{5, 7, 17, 19}, {-11, -13, 2, 3}};
  CHECK(memcmp(y, y_wanted, sizeof(y)) == 0);

  const int32_t outside[2] = {1, 2};
  const ropewalk_positions too_far = ropewalk_positions_i32(outside, 1, 1, 2);
  CHECK_REFUSED(ropewalk_angles_assign_table(angles, &spec, &rows, &too_far, ROPEWALK_F32, &error),
                ROPEWALK_INVALID_ARGUMENT, "positions[1] is 2", error);
  rows.width = 3;
  CHECK_REFUSED(ropewalk_angles_assign_rows(angles, &spec, &rows, ROPEWALK_F32, &error),
                ROPEWALK_SHAPE_MISMATCH, "width 3", error);
  // The rows before a failure stay.
  CHECK_OK(ropewalk_rotate_angles(angles, &y_view, NULL, NULL, &error), error);
  ropewalk_angles_destroy(angles);
}

int main(void) {
  RUN(rows_have_the_shape_of_the_positions);
  RUN(rows_are_read_in_three_forms);
  RUN(a_buffer_of_another_size_is_refused);
  RUN(factors_of_the_step_and_of_tokens_multiply);
  RUN(xpos_stretches_queries_and_shrinks_keys);
  RUN(angles_are_had_as_a_checkpoint_saw_them);
  RUN(given_rows_are_what_rotates);
  return test_failures == 0 ? 0 : 1;
}
