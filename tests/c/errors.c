// What is refused, how it is said, and that no byte was written before.

#include "test.h"

static ropewalk_error error = ROPEWALK_ERROR_INIT;
static ropewalk_rope* rope;      // of head_dim 8
static ropewalk_angles* angles;  // of 2 tokens

enum { kDim = 8, kTokens = 2, kCount = kTokens * kDim };
static float x[kCount], y[kCount];

static ropewalk_tensor x_view(void) {
  return ropewalk_tensor_bthd(x, ROPEWALK_F32, 1, kTokens, 1, kDim);
}
static ropewalk_tensor y_view(void) {
  return ropewalk_tensor_bthd(y, ROPEWALK_F32, 1, kTokens, 1, kDim);
}

#define CHECK_INVALID(call, word) CHECK_REFUSED(call, ROPEWALK_INVALID_ARGUMENT, word, error)

static void a_null_argument_is_named(void) {
  const ropewalk_spec spec = ropewalk_spec_default(kDim);
  const ropewalk_tensor q = x_view(), k = y_view();
  const ropewalk_positions at = ropewalk_positions_from_tokens(0, kTokens);
  const ropewalk_given_rows rows = ROPEWALK_GIVEN_ROWS_INIT;
  ropewalk_rope* made = (ropewalk_rope*)&error;
  ropewalk_plan plan = ROPEWALK_PLAN_INIT;
  float c[1] = {0};
  double d[1] = {0};
  int32_t ok = 0;

  CHECK_INVALID(ropewalk_rope_create(NULL, &made, &error), "spec is NULL");
  CHECK(made == NULL);
  CHECK_INVALID(ropewalk_rope_create(&spec, NULL, &error), "rope is NULL");
  CHECK_INVALID(ropewalk_rope_plan(NULL, &plan, &error), "rope is NULL");
  CHECK_INVALID(ropewalk_rope_plan(rope, NULL, &error), "plan is NULL");
  CHECK_INVALID(ropewalk_angles_create(NULL, &error), "angles is NULL");
  CHECK_INVALID(ropewalk_angles_assign(NULL, rope, &at, NULL, &error), "angles is NULL");
  CHECK_INVALID(ropewalk_angles_assign(angles, NULL, &at, NULL, &error), "rope is NULL");
  CHECK_INVALID(ropewalk_angles_assign(angles, rope, NULL, NULL, &error), "positions is NULL");
  CHECK_INVALID(ropewalk_angles_assign_rows(NULL, &spec, &rows, ROPEWALK_F32, &error),
                "angles is NULL");
  CHECK_INVALID(ropewalk_angles_assign_rows(angles, NULL, &rows, ROPEWALK_F32, &error),
                "spec is NULL");
  CHECK_INVALID(ropewalk_angles_assign_rows(angles, &spec, NULL, ROPEWALK_F32, &error),
                "rows is NULL");
  CHECK_INVALID(ropewalk_angles_assign_table(NULL, &spec, &rows, &at, ROPEWALK_F32, &error),
                "angles is NULL");
  CHECK_INVALID(ropewalk_angles_assign_table(angles, NULL, &rows, &at, ROPEWALK_F32, &error),
                "spec is NULL");
  CHECK_INVALID(ropewalk_angles_assign_table(angles, &spec, NULL, &at, ROPEWALK_F32, &error),
                "table is NULL");
  CHECK_INVALID(ropewalk_angles_assign_table(angles, &spec, &rows, NULL, ROPEWALK_F32, &error),
                "positions is NULL");
  CHECK_INVALID(ropewalk_angles_shape(NULL, NULL, NULL, NULL, NULL, &error), "angles is NULL");
  CHECK_INVALID(ropewalk_angles_read_compact_f32(NULL, c, c, 1, &error), "angles is NULL");
  CHECK_INVALID(ropewalk_angles_read_compact_f64(NULL, d, d, 1, &error), "angles is NULL");
  CHECK_INVALID(ropewalk_angles_read_duplicated_f32(NULL, c, c, 1, &error), "angles is NULL");
  CHECK_INVALID(ropewalk_angles_read_duplicated_f64(NULL, d, d, 1, &error), "angles is NULL");
  CHECK_INVALID(ropewalk_angles_read_complex_f32(NULL, c, 1, &error), "angles is NULL");
  CHECK_INVALID(ropewalk_angles_read_complex_f64(NULL, d, 1, &error), "angles is NULL");
  CHECK_INVALID(ropewalk_check(NULL, NULL, NULL, NULL, &ok, &error), "rope is NULL");
  CHECK_INVALID(ropewalk_check(rope, NULL, NULL, NULL, NULL, &error), "ok is NULL");

#define CHECK_NULLS(name)                                                                        \
  CHECK_INVALID(ropewalk_##name(NULL, &q, &k, &at, NULL, &error), "rope is NULL");               \
  CHECK_INVALID(ropewalk_##name(rope, NULL, &k, &at, NULL, &error), "q is NULL");                \
  CHECK_INVALID(ropewalk_##name(rope, &q, &k, NULL, NULL, &error), "positions is NULL");         \
  CHECK_INVALID(ropewalk_##name##_into(NULL, &q, NULL, &at, &k, NULL, NULL, &error),             \
                "rope is NULL");                                                                 \
  CHECK_INVALID(ropewalk_##name##_into(rope, NULL, NULL, &at, &k, NULL, NULL, &error),           \
                "q is NULL");                                                                    \
  CHECK_INVALID(ropewalk_##name##_into(rope, &q, NULL, NULL, &k, NULL, NULL, &error),            \
                "positions is NULL");                                                            \
  CHECK_INVALID(ropewalk_##name##_into(rope, &q, NULL, &at, NULL, NULL, NULL, &error),           \
                "out_q is NULL");                                                                \
  CHECK_INVALID(ropewalk_##name##_into(rope, &q, &k, &at, &q, NULL, NULL, &error),               \
                "out_k is NULL");                                                                \
  CHECK_INVALID(ropewalk_##name##_into(rope, &q, NULL, &at, &q, &k, NULL, &error), "k is NULL"); \
  CHECK_INVALID(ropewalk_##name##_angles(NULL, &q, &k, NULL, &error), "angles is NULL");         \
  CHECK_INVALID(ropewalk_##name##_angles(angles, NULL, &k, NULL, &error), "q is NULL");          \
  CHECK_INVALID(ropewalk_##name##_angles_into(NULL, &q, NULL, &k, NULL, NULL, &error),           \
                "angles is NULL");                                                               \
  CHECK_INVALID(ropewalk_##name##_angles_into(angles, NULL, NULL, &k, NULL, NULL, &error),       \
                "q is NULL");                                                                    \
  CHECK_INVALID(ropewalk_##name##_angles_into(angles, &q, NULL, NULL, NULL, NULL, &error),       \
                "out_q is NULL");                                                                \
  CHECK_INVALID(ropewalk_##name##_angles_into(angles, &q, &k, &q, NULL, NULL, &error),           \
                "out_k is NULL");
  CHECK_NULLS(rotate)
  CHECK_NULLS(unrotate)
  CHECK_NULLS(backward)
#undef CHECK_NULLS
  CHECK_INVALID(ropewalk_rerotate(NULL, rope, &k, &at, &at, NULL, &error), "old_rope is NULL");
  CHECK_INVALID(ropewalk_rerotate(rope, NULL, &k, &at, &at, NULL, &error), "new_rope is NULL");
  CHECK_INVALID(ropewalk_rerotate(rope, rope, NULL, &at, &at, NULL, &error), "keys is NULL");
  CHECK_INVALID(ropewalk_rerotate(rope, rope, &k, NULL, &at, NULL, &error), "from is NULL");
  CHECK_INVALID(ropewalk_rerotate(rope, rope, &k, &at, NULL, NULL, &error), "to is NULL");
  CHECK_INVALID(ropewalk_rerotate_into(rope, rope, &k, &at, &at, NULL, NULL, &error),
                "out is NULL");
}

static void data_that_is_null_is_named(void) {
  ropewalk_tensor q = x_view(), k = y_view();
  const ropewalk_positions at = ropewalk_positions_from(0);
  q.data = NULL;
  CHECK_INVALID(ropewalk_rotate(rope, &q, NULL, &at, NULL, &error), "q is null");
  q = x_view();
  k.data = NULL;
  CHECK_INVALID(ropewalk_rotate(rope, &q, &k, &at, NULL, &error), "k is null");
  k.shape[2] = 0;  // no heads: nothing to be read
  CHECK_OK(ropewalk_rotate(rope, &q, &k, &at, NULL, &error), error);

  const ropewalk_positions no_ids = ropewalk_positions_i32(NULL, 1, 1, kTokens);
  CHECK_INVALID(ropewalk_rotate(rope, &q, NULL, &no_ids, NULL, &error), "positions are null");
  const ropewalk_positions no_starts = ropewalk_positions_starts(NULL, 1, kTokens);
  CHECK_INVALID(ropewalk_rotate(rope, &q, NULL, &no_starts, NULL, &error),
                "positions.starts is NULL");
  const ropewalk_positions no_lengths = ropewalk_positions_packed_i64(NULL, 2, NULL);
  CHECK_INVALID(ropewalk_rotate(rope, &q, NULL, &no_lengths, NULL, &error),
                "positions.ids is NULL");
  ropewalk_spec spec = ropewalk_spec_default(kDim);
  ropewalk_rope* made = NULL;
  spec.frequency_count = 4;
  CHECK_INVALID(ropewalk_rope_create(&spec, &made, &error), "spec.frequencies is NULL");
}

static void destroying_nothing_is_nothing(void) {
  ropewalk_rope_destroy(NULL);
  ropewalk_angles_destroy(NULL);
}

static void an_error_is_optional(void) {
  const ropewalk_tensor q = x_view();
  const ropewalk_positions at = ropewalk_positions_from(0);
  CHECK(ropewalk_rotate(rope, &q, NULL, &at, NULL, NULL) == ROPEWALK_OK);
  CHECK(ropewalk_rotate(NULL, &q, NULL, &at, NULL, NULL) == ROPEWALK_INVALID_ARGUMENT);
}

static void success_empties_the_message(void) {
  const ropewalk_tensor q = x_view();
  const ropewalk_positions at = ropewalk_positions_from(0);
  CHECK_INVALID(ropewalk_rotate(NULL, &q, NULL, &at, NULL, &error), "rope");
  CHECK_OK(ropewalk_rotate(rope, &q, NULL, &at, NULL, &error), error);
  CHECK(error.status == ROPEWALK_OK && error.message[0] == '\0');
}

static void a_spec_that_cannot_be_is_refused(void) {
  ropewalk_rope* made = NULL;
#define CHECK_SPEC(change, word)                                     \
  do {                                                               \
    ropewalk_spec spec = ropewalk_spec_default(kDim);                \
    ropewalk_scaling scaling = ROPEWALK_SCALING_INIT;                \
    (void)scaling;                                                   \
    change;                                                          \
    CHECK_INVALID(ropewalk_rope_create(&spec, &made, &error), word); \
    CHECK(made == NULL);                                             \
  } while (0)
  CHECK_SPEC(spec.head_dim = 0, "head_dim 0");
  CHECK_SPEC(spec.head_dim = 7, "head_dim 7 is odd");
  CHECK_SPEC(spec.rotary_dim = 5, "rotary_dim 5");
  CHECK_SPEC(spec.rotary_dim = 0, "rotary_dim 0");
  CHECK_SPEC(spec.rotary_dim = 10, "rotary_dim 10 is larger than head_dim 8");
  CHECK_SPEC(spec.rotary_offset = -1, "rotary_offset -1");
  CHECK_SPEC(spec.window_parts = 3, "window_parts 3");
  CHECK_SPEC(spec.base = 0, "base 0");
  CHECK_SPEC(spec.base = (double)NAN, "base nan");
  CHECK_SPEC(spec.attention_factor = 0, "attention_factor 0");
  CHECK_SPEC(spec.clockwise = 2, "spec.clockwise is 2");
  CHECK_SPEC(spec.pairing = (ropewalk_pairing)2, "spec.pairing is 2");
  CHECK_SPEC(spec.pairing = ROPEWALK_PAIRING_NOT_GIVEN, "spec.pairing is -1");
  CHECK_SPEC(spec.output_pairing = (ropewalk_pairing)-2, "spec.output_pairing is -2");
  CHECK_SPEC(spec.axes_order = (ropewalk_axes_order)5, "spec.axes_order is 5");
  CHECK_SPEC((spec.scaling = &scaling, scaling.type = (ropewalk_scaling_type)11),
             "spec.scaling.type is 11");
  CHECK_SPEC((spec.scaling = &scaling, scaling.type = ROPEWALK_SCALING_LINEAR), "wants factor");
  CHECK_SPEC((spec.scaling = &scaling, scaling.factor = 2), "takes no factor");
  CHECK_SPEC((spec.scaling = &scaling, scaling.truncate = 2), "spec.scaling.truncate is 2");
  CHECK_SPEC(spec.frequency_rounding = (ropewalk_frequency_rounding)2,
             "spec.frequency_rounding is 2");
  CHECK_SPEC((spec.frequencies = (const double[]){1}, spec.frequency_count = 1),
             "frequencies has 1 values");
  CHECK_SPEC((spec.frequencies = (const double[]){1}, spec.frequency_count = -1),
             "spec.frequencies has the count -1");
  CHECK_SPEC((spec.frequencies = (const double[]){1}, spec.frequency_count = INT64_MAX),
             "spec.frequencies has the count");
  CHECK_SPEC((spec.sections = (const int64_t[]){1, 2}, spec.section_count = 2),
             "add up to 3, want 4");
  CHECK_SPEC((spec.axis_of_pair = (const int64_t[]){0, 0, 0, 16}, spec.axis_of_pair_count = 4),
             "axis_of_pair[3] is 16");
#undef CHECK_SPEC
}

static void tensors_that_do_not_fit_are_refused(void) {
  const ropewalk_positions at = ropewalk_positions_from(0);
  ropewalk_tensor q = ropewalk_tensor_bthd(x, ROPEWALK_F32, 1, kTokens, 2, 4), k = y_view();
  CHECK_REFUSED(ropewalk_rotate(rope, &q, &k, &at, NULL, &error), ROPEWALK_SHAPE_MISMATCH,
                "q has head_dim 4", error);
  q = x_view();
  k.shape[1] = 1;
  CHECK_REFUSED(ropewalk_rotate(rope, &q, &k, &at, NULL, &error), ROPEWALK_SHAPE_MISMATCH,
                "batch and tokens must be equal", error);
  k = y_view();
  k.dtype = ROPEWALK_F16;
  CHECK_REFUSED(ropewalk_rotate_into(rope, &q, NULL, &at, &k, NULL, NULL, &error),
                ROPEWALK_SHAPE_MISMATCH, "out_q has dtype f16", error);
  q.dtype = (ropewalk_dtype)4;
  CHECK_INVALID(ropewalk_rotate(rope, &q, NULL, &at, NULL, &error), "q.dtype is 4");
  q.dtype = ROPEWALK_DTYPE_NOT_GIVEN;
  CHECK_INVALID(ropewalk_rotate(rope, &q, NULL, &at, NULL, &error), "q.dtype is -1");
  q = x_view();
  k = y_view();
  k.dtype = (ropewalk_dtype)260;  // f32 in its lowest byte
  CHECK_INVALID(ropewalk_rotate(rope, &q, &k, &at, NULL, &error), "k.dtype is 260");
  q.shape[2] = -1;
  CHECK_INVALID(ropewalk_rotate(rope, &q, NULL, &at, NULL, &error), "q has shape [1, 2, -1, 8]");
  q = x_view();
  q.strides[1] = INT64_MAX;
  CHECK_INVALID(ropewalk_rotate(rope, &q, NULL, &at, NULL, &error), "larger than the memory");
}

static void memory_that_overlaps_is_refused(void) {
  const ropewalk_positions at = ropewalk_positions_from(0);
  const ropewalk_tensor q = x_view();
  ropewalk_tensor k = x_view();
  CHECK_REFUSED(ropewalk_rotate(rope, &q, &k, &at, NULL, &error), ROPEWALK_OVERLAP, "q overlaps k",
                error);
  k = ropewalk_tensor_bthd(x + 1, ROPEWALK_F32, 1, 1, 1, kDim);
  const ropewalk_tensor first = ropewalk_tensor_bthd(x, ROPEWALK_F32, 1, 1, 1, kDim);
  CHECK_REFUSED(ropewalk_rotate_into(rope, &first, NULL, &at, &k, NULL, NULL, &error),
                ROPEWALK_OVERLAP, "out_q overlaps q", error);
  ropewalk_tensor narrow = x_view();
  narrow.strides[1] = 0;
  CHECK_REFUSED(ropewalk_rotate(rope, &narrow, NULL, &at, NULL, &error), ROPEWALK_OVERLAP,
                "q of shape", error);
  CHECK_REFUSED(ropewalk_rerotate(rope, rope, &narrow, &at, &at, NULL, &error), ROPEWALK_OVERLAP,
                "keys of shape", error);
  const ropewalk_positions inside = ropewalk_positions_f32(x, 1, 1, kTokens);
  CHECK_REFUSED(ropewalk_rotate(rope, &q, NULL, &inside, NULL, &error), ROPEWALK_OVERLAP,
                "positions", error);
}

static void positions_that_cannot_be_are_refused(void) {
  const ropewalk_tensor q = x_view();
  const int64_t ids[kTokens] = {1, 2}, falling[] = {0, 3, 2};
  const double infinite[kTokens] = {1, (double)INFINITY};
#define CHECK_POSITIONS(made, status, word)                                                        \
  do {                                                                                             \
    const ropewalk_positions positions = made;                                                     \
    CHECK_REFUSED(ropewalk_rotate(rope, &q, NULL, &positions, NULL, &error), status, word, error); \
  } while (0)
#define CHECK_POSITIONS_INVALID(made, word) CHECK_POSITIONS(made, ROPEWALK_INVALID_ARGUMENT, word)
  CHECK_POSITIONS(ropewalk_positions_i64(ids, 1, 1, 1), ROPEWALK_SHAPE_MISMATCH, "shape [1, 1]");
  CHECK_POSITIONS(ropewalk_positions_from_tokens(0, 3), ROPEWALK_SHAPE_MISMATCH, "positions");
  // -1 would mean that the tensor knows: not where memory is read.
  CHECK_POSITIONS_INVALID(ropewalk_positions_i64(ids, 1, 1, -1), "positions.tokens is -1");
  CHECK_POSITIONS_INVALID(ropewalk_positions_from_tokens(0, -2), "positions.tokens is -2");
  CHECK_POSITIONS_INVALID(ropewalk_positions_i64(ids, 0, 1, 2), "positions.axes is 0");
  CHECK_POSITIONS_INVALID(ropewalk_positions_i64(ids, 1, -1, 2), "positions.batch is -1");
  CHECK_POSITIONS_INVALID(ropewalk_positions_i64(ids, INT64_MAX, 1, 2), "larger than the memory");
  CHECK_POSITIONS_INVALID(ropewalk_positions_i64(ids, 1, INT64_MAX / 4, INT64_MAX / 4),
                          "larger than the memory");
  CHECK_POSITIONS_INVALID(ropewalk_positions_starts(ids, -1, 2), "positions.batch is -1");
  CHECK_POSITIONS_INVALID(ropewalk_positions_starts(ids, 1, -2), "positions.tokens is -2");
  CHECK_POSITIONS_INVALID(ropewalk_positions_f64(infinite, 1, 1, 2), "positions[1] is inf");
  CHECK_POSITIONS_INVALID(ropewalk_positions_from(INT64_MAX), "64-bit integer");
  CHECK_POSITIONS_INVALID(ropewalk_positions_packed_i64(falling, 3, NULL),
                          "lengths[2] = 2 is less");
  CHECK_POSITIONS_INVALID(ropewalk_positions_packed_i64(falling, 0, NULL), "positions.count is 0");
  CHECK_POSITIONS_INVALID(ropewalk_positions_contiguous(3, 2, 0, 0), "tokens 3 is not a multiple");
  CHECK_POSITIONS_INVALID(ropewalk_positions_zigzag(8, 2, 2, 0), "rank 2");
  CHECK_POSITIONS_INVALID(ropewalk_positions_ids((ropewalk_positions_kind)10, ids, 1, 1, 2),
                          "positions.kind is 10");
  CHECK_POSITIONS_INVALID(ropewalk_positions_ids((ropewalk_positions_kind)-1, ids, 1, 1, 2),
                          "positions.kind is -1");
  const ropewalk_positions odd =
      ropewalk_positions_ids(ROPEWALK_POSITIONS_I64, (const char*)ids + 4, 1, 1, 1);
  const ropewalk_tensor one = ropewalk_tensor_bthd(x, ROPEWALK_F32, 1, 1, 1, kDim);
  CHECK_INVALID(ropewalk_rotate(rope, &one, NULL, &odd, NULL, &error), "no multiple of 8");
#undef CHECK_POSITIONS_INVALID
#undef CHECK_POSITIONS
}

// Each form of each operation looks at its options.
static void a_wrong_target_is_refused_by_every_call(void) {
  const ropewalk_tensor q = x_view(), out = y_view();
  const ropewalk_positions at = ropewalk_positions_from_tokens(0, kTokens);
  ropewalk_options options = ROPEWALK_OPTIONS_INIT;
  options.target = (ropewalk_target)6;
  const char* const word = "options.target is 6";
#define CHECK_FORMS(operation)                                                                  \
  CHECK_INVALID(ropewalk_##operation(rope, &q, NULL, &at, &options, &error), word);             \
  CHECK_INVALID(ropewalk_##operation##_into(rope, &q, NULL, &at, &out, NULL, &options, &error), \
                word);                                                                          \
  CHECK_INVALID(ropewalk_##operation##_angles(angles, &q, NULL, &options, &error), word);       \
  CHECK_INVALID(                                                                                \
      ropewalk_##operation##_angles_into(angles, &q, NULL, &out, NULL, &options, &error), word)
  CHECK_FORMS(rotate);
  CHECK_FORMS(unrotate);
  CHECK_FORMS(backward);
#undef CHECK_FORMS
  CHECK_INVALID(ropewalk_rerotate(rope, rope, &q, &at, &at, &options, &error), word);
  CHECK_INVALID(ropewalk_rerotate_into(rope, rope, &q, &at, &at, &out, &options, &error), word);
  ropewalk_check_options wrong = ROPEWALK_CHECK_OPTIONS_INIT;
  wrong.target = (ropewalk_target)6;
  int32_t ok = 0;
  CHECK_INVALID(ropewalk_check(rope, &wrong, NULL, NULL, &ok, &error), word);
}

static void data_that_is_not_aligned_is_refused(void) {
  static int64_t words[4];
  const char* const odd = (const char*)words + 1;
  const ropewalk_tensor q = x_view();
  ropewalk_positions at = ropewalk_positions_starts((const int64_t*)(const void*)odd, 1, kTokens);
  CHECK_INVALID(ropewalk_rotate(rope, &q, NULL, &at, NULL, &error), "no multiple of 8");
  at = ropewalk_positions_packed_i32((const int32_t*)(const void*)odd, 2, NULL);
  CHECK_INVALID(ropewalk_rotate(rope, &q, NULL, &at, NULL, &error), "no multiple of 4");
  ropewalk_spec spec = ropewalk_spec_default(2);
  spec.frequencies = (const double*)(const void*)odd;
  spec.frequency_count = 1;
  ropewalk_rope* none = NULL;
  CHECK_INVALID(ropewalk_rope_create(&spec, &none, &error), "no multiple of 8");
}

static void positions_of_a_start_take_no_ids(void) {
  const int32_t ids[kTokens] = {3, 4};
  const ropewalk_tensor q = x_view();
  const ropewalk_positions at = ropewalk_positions_ids(ROPEWALK_POSITIONS_FROM, ids, 1, 1, kTokens);
  CHECK_INVALID(ropewalk_rotate(rope, &q, NULL, &at, NULL, &error), "takes no ids");
}

static void options_that_cannot_be_are_refused(void) {
  const ropewalk_tensor q = x_view();
  const ropewalk_positions at = ropewalk_positions_from_tokens(0, kTokens);
  ropewalk_options options = ROPEWALK_OPTIONS_INIT;
  options.target = (ropewalk_target)6;
  CHECK_INVALID(ropewalk_rotate(rope, &q, NULL, &at, &options, &error), "options.target is 6");
#if defined(__x86_64__)
  options.target = ROPEWALK_TARGET_NEON;
#else
  options.target = ROPEWALK_TARGET_AVX2;
#endif
  CHECK_REFUSED(ropewalk_rotate(rope, &q, NULL, &at, &options, &error), ROPEWALK_UNSUPPORTED,
                ropewalk_target_name(options.target), error);

  const ropewalk_spec spec = ropewalk_spec_default(kDim);
  const ropewalk_given_rows rows = ROPEWALK_GIVEN_ROWS_INIT;
  CHECK_INVALID(ropewalk_angles_assign_rows(angles, &spec, &rows, (ropewalk_dtype)9, &error),
                "dtype is 9");
#define CHECK_ANGLES_OPTIONS(change, wanted, word)                                                 \
  do {                                                                                             \
    ropewalk_angles_options wrong = ROPEWALK_ANGLES_OPTIONS_INIT;                                  \
    ropewalk_xpos xpos = ROPEWALK_XPOS_INIT;                                                       \
    (void)xpos;                                                                                    \
    change;                                                                                        \
    CHECK_REFUSED(ropewalk_angles_assign(angles, rope, &at, &wrong, &error), wanted, word, error); \
  } while (0)
  CHECK_ANGLES_OPTIONS(wrong.dtype = (ropewalk_dtype)7, ROPEWALK_INVALID_ARGUMENT,
                       "options.dtype is 7");
  CHECK_ANGLES_OPTIONS(wrong.as_seen_in = (ropewalk_dtype)-2, ROPEWALK_INVALID_ARGUMENT,
                       "options.as_seen_in is -2");
  CHECK_ANGLES_OPTIONS(wrong.as_seen_in = ROPEWALK_F64, ROPEWALK_INVALID_ARGUMENT,
                       "as_seen_in f64");
  CHECK_ANGLES_OPTIONS(wrong.factor = 0, ROPEWALK_INVALID_ARGUMENT, "factor is 0");
  CHECK_ANGLES_OPTIONS(wrong.token_factor_count = 1, ROPEWALK_INVALID_ARGUMENT,
                       "options.token_factors is NULL");
  CHECK_ANGLES_OPTIONS((wrong.token_factors = (const double[]){1}, wrong.token_factor_count = 1),
                       ROPEWALK_SHAPE_MISMATCH, "token_factors has 1 values");
  CHECK_ANGLES_OPTIONS((wrong.xpos = &xpos, xpos.role = (ropewalk_xpos_role)2),
                       ROPEWALK_INVALID_ARGUMENT, "options.xpos.role is 2");
  CHECK_ANGLES_OPTIONS((wrong.xpos = &xpos, xpos.scale_base = 0), ROPEWALK_INVALID_ARGUMENT,
                       "scale_base 0");
  CHECK_ANGLES_OPTIONS((wrong.run = &options, options.target = (ropewalk_target)-1),
                       ROPEWALK_INVALID_ARGUMENT, "options.run.target is -1");
#undef CHECK_ANGLES_OPTIONS
}

static void angles_that_do_not_fit_are_refused(void) {
  ropewalk_angles* none = NULL;
  CHECK_OK(ropewalk_angles_create(&none, &error), error);
  const ropewalk_tensor q = x_view();
  CHECK_INVALID(ropewalk_rotate_angles(none, &q, NULL, NULL, &error), "angles have no rows yet");
  ropewalk_angles_destroy(none);
  const ropewalk_tensor one = ropewalk_tensor_bthd(x, ROPEWALK_F32, 1, 1, 1, kDim);
  CHECK_REFUSED(ropewalk_rotate_angles(angles, &one, NULL, NULL, &error), ROPEWALK_SHAPE_MISMATCH,
                "angles are for any batch and 2 tokens", error);
}

static void ropes_of_other_windows_are_refused(void) {
  ropewalk_spec spec = ropewalk_spec_default(kDim);
  spec.rotary_dim = 4;
  ropewalk_rope* other = NULL;
  CHECK_OK(ropewalk_rope_create(&spec, &other, &error), error);
  const ropewalk_tensor k = x_view();
  const ropewalk_positions at = ropewalk_positions_from(0);
  CHECK_REFUSED(ropewalk_rerotate(rope, other, &k, &at, &at, NULL, &error), ROPEWALK_SHAPE_MISMATCH,
                "rotary_dim 8 to rotary_dim 4", error);
  ropewalk_rope_destroy(other);
}

int main(void) {
  const ropewalk_spec spec = ropewalk_spec_default(kDim);
  const ropewalk_positions at = ropewalk_positions_from_tokens(5, kTokens);
  CHECK_OK(ropewalk_rope_create(&spec, &rope, &error), error);
  CHECK_OK(ropewalk_angles_create(&angles, &error), error);
  CHECK_OK(ropewalk_angles_assign(angles, rope, &at, NULL, &error), error);
  float before[2][kCount];
  fill_elements(x, ROPEWALK_F32, kCount, 1);
  fill_elements(y, ROPEWALK_F32, kCount, 2);

  RUN(destroying_nothing_is_nothing);
  RUN(an_error_is_optional);  // at position 0, and 1
  RUN(success_empties_the_message);
  RUN(data_that_is_null_is_named);
  memcpy(before[0], x, sizeof(x));
  memcpy(before[1], y, sizeof(y));
  RUN(a_null_argument_is_named);
  RUN(a_spec_that_cannot_be_is_refused);
  RUN(tensors_that_do_not_fit_are_refused);
  RUN(memory_that_overlaps_is_refused);
  RUN(positions_that_cannot_be_are_refused);
  RUN(a_wrong_target_is_refused_by_every_call);
  RUN(data_that_is_not_aligned_is_refused);
  RUN(positions_of_a_start_take_no_ids);
  RUN(options_that_cannot_be_are_refused);
  RUN(angles_that_do_not_fit_are_refused);
  RUN(ropes_of_other_windows_are_refused);
  CHECK(memcmp(x, before[0], sizeof(x)) == 0 && memcmp(y, before[1], sizeof(y)) == 0);

  ropewalk_angles_destroy(angles);
  ropewalk_rope_destroy(rope);
  return test_failures == 0 ? 0 : 1;
}
