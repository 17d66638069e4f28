// What a spec says becomes the plan; version, names, targets, check.

#include "test.h"

static ropewalk_error error = ROPEWALK_ERROR_INIT;

static ropewalk_rope* new_rope(const ropewalk_spec* spec) {
  ropewalk_rope* rope = NULL;
  CHECK_OK(ropewalk_rope_create(spec, &rope, &error), error);
  return rope;
}

static ropewalk_plan plan_of(const ropewalk_rope* rope) {
  ropewalk_plan plan = ROPEWALK_PLAN_INIT;
  CHECK_OK(ropewalk_rope_plan(rope, &plan, &error), error);
  return plan;
}

static void the_library_is_of_this_header(void) {
  CHECK(ropewalk_version() == ROPEWALK_VERSION);
  CHECK(ROPEWALK_VERSION ==
        10000 * ROPEWALK_VERSION_MAJOR + 100 * ROPEWALK_VERSION_MINOR + ROPEWALK_VERSION_PATCH);
}

static void what_is_not_given_has_its_default(void) {
  const ropewalk_spec spec = ropewalk_spec_default(128);
  ropewalk_rope* rope = new_rope(&spec);
  const ropewalk_plan plan = plan_of(rope);
  CHECK(plan.head_dim == 128 && plan.rotary_dim == 128 && plan.rotary_offset == 0);
  CHECK(plan.window_parts == 1 && plan.pairs == 64 && plan.axes == 1 && plan.clockwise == 0);
  CHECK(plan.pairing == ROPEWALK_HALVES && plan.output_pairing == ROPEWALK_HALVES);
  CHECK(plan.attention_factor == 1);
  CHECK(plan.axis_of_pair == NULL);
  for (int64_t i = 0; i < plan.pairs; ++i) {
    CHECK_NEAR(plan.frequencies[i], frequency(10000, i, 128), 1e-16);
  }
  ropewalk_rope_destroy(rope);
}

// The rotary_dim follows the offset, the output_pairing the pairing.
static void every_field_of_a_spec_arrives(void) {
  const int64_t sections[] = {2, 1, 1};
  ropewalk_scaling scaling = ROPEWALK_SCALING_INIT;
  scaling.type = ROPEWALK_SCALING_LINEAR;
  scaling.factor = 4;
  ropewalk_spec spec = ropewalk_spec_default(20);
  spec.rotary_offset = 4;
  spec.window_parts = 2;
  spec.pairing = ROPEWALK_ADJACENT;
  spec.clockwise = 1;
  spec.base = 500;
  spec.scaling = &scaling;
  spec.attention_factor = 0.5;
  ropewalk_rope* rope = new_rope(&spec);
  ropewalk_plan plan = plan_of(rope);
  CHECK(plan.rotary_dim == 16 && plan.rotary_offset == 4 && plan.window_parts == 2);
  CHECK(plan.pairing == ROPEWALK_ADJACENT && plan.output_pairing == ROPEWALK_ADJACENT);
  CHECK(plan.clockwise == 1 && plan.attention_factor == 0.5 && plan.pairs == 8);
  // Each part starts again at i = 0, with the exponent over its own width; divided by the factor.
  for (int64_t i = 0; i < 8; ++i) {
    CHECK_NEAR(plan.frequencies[i], frequency(500, i % 4, 8) / 4, 1e-16);
  }
  ropewalk_rope_destroy(rope);

  spec = ropewalk_spec_default(8);
  spec.output_pairing = ROPEWALK_ADJACENT;
  spec.sections = sections;
  spec.section_count = 3;
  spec.axes_order = ROPEWALK_ROUND_ROBIN;
  rope = new_rope(&spec);
  plan = plan_of(rope);
  CHECK(plan.pairing == ROPEWALK_HALVES && plan.output_pairing == ROPEWALK_ADJACENT);
  CHECK(plan.axes == 3);
  CHECK(memcmp(plan.axis_of_pair, (const uint8_t[]){0, 1, 2, 0}, 4) == 0);
  ropewalk_rope_destroy(rope);
}

// A turn is frac(ω / 2π) 2^64; for ω = 0 it is nothing, and clockwise turns the other way.
// ω of a rope with this scaling, for texts of this length.
static double scaled(const ropewalk_scaling* scaling, double base, int64_t length, int pair,
                     double* attention_factor) {
  ropewalk_spec spec = ropewalk_spec_default(8);
  spec.base = base;
  spec.scaling = scaling;
  ropewalk_rope* rope = NULL;
  CHECK_OK(ropewalk_rope_create_for_length(&spec, length, &rope, &error), error);
  const ropewalk_plan plan = plan_of(rope);
  const double omega = plan.frequencies[pair];
  *attention_factor = plan.attention_factor;
  ropewalk_rope_destroy(rope);
  return omega;
}

// Each field is given where it shows: a field that got lost or changed places changes a number here.
static void every_field_of_a_scaling_arrives(void) {
  const double ones[] = {1, 1, 1, 1}, twos[] = {2, 2, 2, 2};
  double m = 0;
  ropewalk_scaling scaling = ROPEWALK_SCALING_INIT;
  scaling.type = ROPEWALK_SCALING_NTK;
  scaling.alpha = 8;
  CHECK_NEAR(scaled(&scaling, 10000, ROPEWALK_NOT_GIVEN, 3, &m), 0.001 / 8, 1e-15);

  scaling = (ropewalk_scaling)ROPEWALK_SCALING_INIT;
  scaling.type = ROPEWALK_SCALING_DYNAMIC;
  scaling.factor = 2;
  scaling.original_max_position_embeddings = 100;
  CHECK_NEAR(scaled(&scaling, 10000, 100, 3, &m), 0.001, 1e-15);
  CHECK_NEAR(scaled(&scaling, 10000, 200, 3, &m), 0.001 / 3, 1e-15);  // 2 x 200 / 100 - 1

  scaling = (ropewalk_scaling)ROPEWALK_SCALING_INIT;
  scaling.type = ROPEWALK_SCALING_LLAMA3;
  scaling.factor = 4;
  scaling.low_freq_factor = 1;
  scaling.high_freq_factor = 3;
  scaling.original_max_position_embeddings = 1257;  // pair 2 turns 2.0006 times: half way
  const double turns = 1257 * 0.01 / 6.283185307179586476925286766559;
  const double share = (turns - 1) / 2;
  CHECK_NEAR(scaled(&scaling, 10000, 1, 2, &m), 0.01 * ((1 - share) / 4 + share), 1e-15);

  scaling = (ropewalk_scaling)ROPEWALK_SCALING_INIT;
  scaling.type = ROPEWALK_SCALING_LONGROPE;
  scaling.short_factor = ones;
  scaling.long_factor = twos;
  scaling.divisor_count = 4;
  scaling.attention_factor = 1.5;
  scaling.original_max_position_embeddings = 50;
  CHECK_NEAR(scaled(&scaling, 10000, 50, 1, &m), 0.1, 1e-15);
  CHECK_NEAR(scaled(&scaling, 10000, 51, 1, &m), 0.05, 1e-15);
  CHECK(m == 1.5);
  scaling.short_mscale = 1.25;
  scaling.long_mscale = 1.75;
  scaled(&scaling, 10000, 50, 1, &m);
  CHECK(m == 1.25);
  scaled(&scaling, 10000, 51, 1, &m);
  CHECK(m == 1.75);

  scaling = (ropewalk_scaling)ROPEWALK_SCALING_INIT;
  scaling.type = ROPEWALK_SCALING_PROPORTIONAL;
  scaling.rotating_pairs = 2;
  CHECK_NEAR(scaled(&scaling, 10000, ROPEWALK_NOT_GIVEN, 1, &m), 0.1, 1e-15);
  CHECK(scaled(&scaling, 10000, ROPEWALK_NOT_GIVEN, 2, &m) == 0);

  scaling = (ropewalk_scaling)ROPEWALK_SCALING_INIT;
  scaling.type = ROPEWALK_SCALING_DIVISORS;
  scaling.divisors = twos;
  scaling.divisor_count = 4;
  CHECK_NEAR(scaled(&scaling, 10000, ROPEWALK_NOT_GIVEN, 1, &m), 0.05, 1e-15);
}

// The pair that turns n times within L is 8 ln(L / 2πn) / (2 ln base): with base 10000 and L = 2π 1000,
// pair 3 turns once, pair 2 ten times, pair 1 a hundred times.
static void every_field_of_yarn_arrives(void) {
  double m = 0;
  ropewalk_scaling scaling = ROPEWALK_SCALING_INIT;
  scaling.type = ROPEWALK_SCALING_YARN;
  scaling.factor = 4;
  scaling.original_max_position_embeddings = 6283;
  scaling.beta_fast = 100;
  scaling.beta_slow = 1;
  scaling.truncate = 0;
  CHECK_NEAR(scaled(&scaling, 10000, ROPEWALK_NOT_GIVEN, 1, &m), 0.1, 1e-5);
  CHECK_NEAR(scaled(&scaling, 10000, ROPEWALK_NOT_GIVEN, 2, &m), 0.01 * (0.5 + 0.5 / 4), 1e-6);
  CHECK_NEAR(scaled(&scaling, 10000, ROPEWALK_NOT_GIVEN, 3, &m), 0.001 / 4, 1e-7);
  CHECK_NEAR(m, 1 + 0.1 * log(4), 1e-15);
  scaling.extrapolation_factor = 0;  // linear
  CHECK_NEAR(scaled(&scaling, 10000, ROPEWALK_NOT_GIVEN, 1, &m), 0.1 / 4, 1e-15);
  scaling.mscale = 0.5;
  scaling.mscale_all_dim = 2;
  scaled(&scaling, 10000, ROPEWALK_NOT_GIVEN, 1, &m);
  CHECK_NEAR(m, (1 + 0.05 * log(4)) / (1 + 0.2 * log(4)), 1e-15);
  scaling.attention_factor = 3;
  scaled(&scaling, 10000, ROPEWALK_NOT_GIVEN, 1, &m);
  CHECK(m == 3);
  scaling.extrapolation_factor = ROPEWALK_NOT_GIVEN;
  scaling.beta_fast = 40;  // between pairs 1 and 2: cut to 1
  scaling.truncate = 1;
  CHECK_NEAR(scaled(&scaling, 10000, ROPEWALK_NOT_GIVEN, 1, &m), 0.1, 1e-15);

  ropewalk_spec spec = ropewalk_spec_default(4);
  spec.frequency_rounding = ROPEWALK_ROUNDING_FLOAT32;
  ropewalk_rope* rope = new_rope(&spec);
  CHECK(plan_of(rope).frequencies[1] == (double)0.01F);
  ropewalk_rope_destroy(rope);
  CHECK_REFUSED(ropewalk_rope_create_for_length(&spec, 0, &rope, &error), ROPEWALK_INVALID_ARGUMENT,
                "length 0 is less than 1", error);
}

static void turns_are_shares_of_a_whole_turn(void) {
  const double radians[] = {0, 1, -1, 0.001};
  const long double two_pi = 6.283185307179586476925286766559L;
  ropewalk_spec spec = ropewalk_spec_default(8);
  spec.frequencies = radians;
  spec.frequency_count = 4;
  for (int clockwise = 0; clockwise < 2; ++clockwise) {
    spec.clockwise = clockwise;
    ropewalk_rope* rope = new_rope(&spec);
    const ropewalk_plan plan = plan_of(rope);
    for (int i = 0; i < 4; ++i) {
      CHECK(plan.frequencies[i] == radians[i]);
      const long double tau = (clockwise ? -1 : 1) * radians[i] / two_pi;
      CHECK_NEAR((long double)plan.ratios[2 * i] + plan.ratios[2 * i + 1], tau, 1e-18L);
      CHECK_NEAR(plan.ratios[2 * i], tau, 1e-16L);  // the high one first
      CHECK_NEAR((long double)plan.turns[i] * 0x1p-64L, tau < 0 ? tau + 1 : tau, 1e-18L);
    }
    ropewalk_rope_destroy(rope);
  }
}

static void a_rope_keeps_nothing_of_the_callers(void) {
  double* radians = malloc(2 * sizeof(*radians));
  int64_t* axes = malloc(2 * sizeof(*axes));
  radians[0] = 0.5, radians[1] = 0.25;
  axes[0] = 0, axes[1] = 1;
  ropewalk_spec spec = ropewalk_spec_default(4);
  spec.frequencies = radians;
  spec.frequency_count = 2;
  spec.axis_of_pair = axes;
  spec.axis_of_pair_count = 2;
  ropewalk_rope* rope = new_rope(&spec);
  free(radians);
  free(axes);
  const ropewalk_plan plan = plan_of(rope);
  CHECK(plan.frequencies[0] == 0.5 && plan.frequencies[1] == 0.25);
  CHECK(plan.axis_of_pair[0] == 0 && plan.axis_of_pair[1] == 1);
  ropewalk_rope_destroy(rope);
}

static void every_value_has_a_name_and_no_other_has(void) {
  const char* const statuses[] = {"ok",        "invalid argument", "shape mismatch",
                                  "overlap",   "unsupported",      "bad format",
                                  "I/O error", "out of memory",    "internal error"};
  for (int i = 0; i < 9; ++i) {
    CHECK(strcmp(ropewalk_status_name((ropewalk_status)i), statuses[i]) == 0);
  }
  CHECK(strcmp(ropewalk_pairing_name(ROPEWALK_HALVES), "halves") == 0);
  CHECK(strcmp(ropewalk_pairing_name(ROPEWALK_ADJACENT), "adjacent") == 0);
  CHECK(strcmp(ropewalk_scaling_name(ROPEWALK_SCALING_DEFAULT), "default") == 0);
  CHECK(strcmp(ropewalk_scaling_name(ROPEWALK_SCALING_LINEAR), "linear") == 0);
  CHECK(strcmp(ropewalk_axes_order_name(ROPEWALK_GGML_CYCLE), "ggml_cycle") == 0);
  CHECK(strcmp(ropewalk_dtype_name(ROPEWALK_F32), "f32") == 0);
  CHECK(strcmp(ropewalk_dtype_name(ROPEWALK_BF16), "bf16") == 0);
  CHECK(strcmp(ropewalk_dtype_name(ROPEWALK_F16), "f16") == 0);
  CHECK(strcmp(ropewalk_dtype_name(ROPEWALK_F64), "f64") == 0);
  CHECK(strcmp(ropewalk_target_name(ROPEWALK_TARGET_BEST), "best") == 0);
  CHECK(strcmp(ropewalk_target_name(ROPEWALK_TARGET_AVX3_BF16), "AVX3_BF16") == 0);
  for (int wrong = -1; wrong < 200; wrong += 100) {
    CHECK(strcmp(ropewalk_status_name((ropewalk_status)wrong), "unknown") == 0);
    CHECK(strcmp(ropewalk_pairing_name((ropewalk_pairing)wrong), "unknown") == 0);
    CHECK(strcmp(ropewalk_scaling_name((ropewalk_scaling_type)wrong), "unknown") == 0);
    CHECK(strcmp(ropewalk_axes_order_name((ropewalk_axes_order)wrong), "unknown") == 0);
    CHECK(strcmp(ropewalk_dtype_name((ropewalk_dtype)wrong), "unknown") == 0);
    CHECK(strcmp(ropewalk_target_name((ropewalk_target)wrong), "unknown") == 0);
  }
}

static void the_list_of_targets_ends_with_one_that_can_be_had(void) {
  ropewalk_target targets[8] = {ROPEWALK_TARGET_BEST};
  const int64_t count = ropewalk_compiled_targets(NULL, 0);
  CHECK(count >= 1 && count <= 8);
  CHECK(ropewalk_compiled_targets(targets, 1) == count);
  CHECK(targets[0] != ROPEWALK_TARGET_BEST && targets[1] == ROPEWALK_TARGET_BEST);
  CHECK(ropewalk_compiled_targets(targets, -1) == count);
  CHECK(ropewalk_compiled_targets(targets, 8) == count);
  CHECK(ropewalk_is_supported(targets[count - 1]) == 1);
  CHECK(ropewalk_is_supported(ROPEWALK_TARGET_BEST) == 1);
  CHECK(ropewalk_is_supported((ropewalk_target)-1) == 0);
  CHECK(ropewalk_is_supported((ropewalk_target)99) == 0);
}

// ---- check ----

typedef struct {
  int rows, scores, f64;
  double worst;  // the sum of all
} seen;

static void see(void* context, const ropewalk_check_row* row) {
  seen* all = context;
  ++all->rows;
  all->scores += strcmp(row->property, "scores") == 0;
  all->f64 += row->dtype == ROPEWALK_F64;
  all->worst += row->worst;
  CHECK(row->size == sizeof(*row));
  CHECK(row->ok == 1 && row->worst <= row->bound);
  CHECK(row->has_shift == (strcmp(row->property, "scores") == 0));
  CHECK(row->has_shift == (row->shift != 0));
}

static void the_properties_hold_and_are_seen_one_by_one(void) {
  const ropewalk_spec spec = ropewalk_spec_default(32);
  ropewalk_rope* rope = new_rope(&spec);
  ropewalk_check_options options = ROPEWALK_CHECK_OPTIONS_INIT;
  options.q_heads = 4;
  options.k_heads = 2;
  options.tokens = 8;
  options.positions_below = 100;
  options.seed = 3;
  options.target = ROPEWALK_TARGET_BEST;
  seen all = {0, 0, 0, 0};
  int32_t ok = -1;
  CHECK_OK(ropewalk_check(rope, &options, see, &all, &ok, &error), error);
  CHECK(ok == 1);
  CHECK(all.rows == 4 * all.f64 && all.scores == 16);
  // Each option is looked at: other data, other errors.
  for (int option = 0; option < 5; ++option) {
    ropewalk_check_options other = options;
    if (option == 1) other.seed = 4;
    if (option == 2) other.tokens = 9;
    if (option == 3) other.positions_below = 99;
    if (option == 4) other.q_heads = 6;
    seen again = {0, 0, 0, 0};
    CHECK_OK(ropewalk_check(rope, &other, see, &again, &ok, &error), error);
    CHECK((again.worst == all.worst) == (option == 0));
  }
  ok = -1;
  options = (ropewalk_check_options)ROPEWALK_CHECK_OPTIONS_INIT;
  options.tokens = 4;
  CHECK_OK(ropewalk_check(rope, &options, NULL, NULL, &ok, &error), error);
  CHECK(ok == 1);
  options.positions_below = INT64_MAX;
  CHECK_REFUSED(ropewalk_check(rope, &options, NULL, NULL, &ok, &error), ROPEWALK_INVALID_ARGUMENT,
                "positions_below 9223372036854775807 is not between 1 and 2^61", error);
  options.positions_below = 100;
  options.k_heads = 3;
  CHECK_REFUSED(ropewalk_check(rope, &options, NULL, NULL, &ok, &error), ROPEWALK_INVALID_ARGUMENT,
                "k_heads 3", error);
  CHECK_REFUSED(ropewalk_check(rope, NULL, NULL, NULL, NULL, &error), ROPEWALK_INVALID_ARGUMENT,
                "ok is NULL", error);
  ropewalk_rope_destroy(rope);
}

int main(void) {
  RUN(the_library_is_of_this_header);
  RUN(what_is_not_given_has_its_default);
  RUN(every_field_of_a_spec_arrives);
  RUN(every_field_of_a_scaling_arrives);
  RUN(every_field_of_yarn_arrives);
  RUN(turns_are_shares_of_a_whole_turn);
  RUN(a_rope_keeps_nothing_of_the_callers);
  RUN(every_value_has_a_name_and_no_other_has);
  RUN(the_list_of_targets_ends_with_one_that_can_be_had);
  RUN(the_properties_hold_and_are_seen_one_by_one);
  return test_failures == 0 ? 0 : 1;
}
