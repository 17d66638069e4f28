// Structs of older and newer callers, sizes that were forgotten, and messages that are too long.

#include <stddef.h>

#include "test.h"

static ropewalk_error error = ROPEWALK_ERROR_INIT;

static void a_size_of_0_is_refused_with_the_name_of_its_maker(void) {
  float x[8] = {0};
  ropewalk_rope* rope = NULL;
  ropewalk_angles* angles = NULL;
  const ropewalk_spec spec = ropewalk_spec_default(8);
  CHECK_OK(ropewalk_rope_create(&spec, &rope, &error), error);
  CHECK_OK(ropewalk_angles_create(&angles, &error), error);
  const ropewalk_tensor q = ropewalk_tensor_bthd(x, ROPEWALK_F32, 1, 1, 1, 8);
  const ropewalk_positions at = ropewalk_positions_from_tokens(0, 1);
#define CHECK_SIZE_0(call, who, maker)                                       \
  do {                                                                       \
    CHECK_REFUSED(call, ROPEWALK_INVALID_ARGUMENT, who ".size is 0", error); \
    CHECK(strstr(error.message, maker) != NULL);                             \
  } while (0)
  const ropewalk_spec no_spec = {.head_dim = 8};
  ropewalk_rope* made = NULL;
  CHECK_SIZE_0(ropewalk_rope_create(&no_spec, &made, &error), "spec", "ROPEWALK_SPEC_INIT");
  const ropewalk_scaling no_scaling = {.factor = 8};
  ropewalk_spec scaled = spec;
  scaled.scaling = &no_scaling;
  CHECK_SIZE_0(ropewalk_rope_create(&scaled, &made, &error), "spec.scaling",
               "ROPEWALK_SCALING_INIT");
  ropewalk_plan no_plan = {0};
  CHECK_SIZE_0(ropewalk_rope_plan(rope, &no_plan, &error), "plan", "ROPEWALK_PLAN_INIT");
  const ropewalk_tensor no_tensor = {.data = x};
  CHECK_SIZE_0(ropewalk_rotate(rope, &no_tensor, NULL, &at, NULL, &error), "q",
               "ropewalk_tensor_bthd");
  CHECK_SIZE_0(ropewalk_rotate(rope, &q, &no_tensor, &at, NULL, &error), "k",
               "ropewalk_tensor_bthd");
  CHECK_SIZE_0(ropewalk_rotate_into(rope, &q, NULL, &at, &no_tensor, NULL, NULL, &error), "out_q",
               "ropewalk_tensor_bthd");
  const ropewalk_positions no_positions = {.start = 3};
  CHECK_SIZE_0(ropewalk_rotate(rope, &q, NULL, &no_positions, NULL, &error), "positions",
               "ropewalk_positions_from");
  const ropewalk_options no_options = {0};
  CHECK_SIZE_0(ropewalk_rotate(rope, &q, NULL, &at, &no_options, &error), "options",
               "ROPEWALK_OPTIONS_INIT");
  ropewalk_angles_options angles_options = {0};
  CHECK_SIZE_0(ropewalk_angles_assign(angles, rope, &at, &angles_options, &error), "options",
               "ROPEWALK_ANGLES_OPTIONS_INIT");
  angles_options = (ropewalk_angles_options)ROPEWALK_ANGLES_OPTIONS_INIT;
  const ropewalk_xpos no_xpos = {0};
  angles_options.xpos = &no_xpos;
  CHECK_SIZE_0(ropewalk_angles_assign(angles, rope, &at, &angles_options, &error), "options.xpos",
               "ROPEWALK_XPOS_INIT");
  const ropewalk_given_rows no_rows = {0};
  CHECK_SIZE_0(ropewalk_angles_assign_rows(angles, &spec, &no_rows, ROPEWALK_F32, &error), "rows",
               "ROPEWALK_GIVEN_ROWS_INIT");
  const ropewalk_check_options no_check = {0};
  int32_t ok = 0;
  CHECK_SIZE_0(ropewalk_check(rope, &no_check, NULL, NULL, &ok, &error), "options",
               "ROPEWALK_CHECK_OPTIONS_INIT");
  ropewalk_error no_error = {0};
  CHECK(ropewalk_rotate(rope, &q, NULL, &at, NULL, &no_error) == ROPEWALK_INVALID_ARGUMENT);
  CHECK(strstr(no_error.message, "error.size is 0: begin with ROPEWALK_ERROR_INIT") != NULL);
  ropewalk_angles_destroy(angles);
  ropewalk_rope_destroy(rope);
}

// On the heap, exactly as large as it says: what is read beyond it is an error that sanitizers see.
static void* cut(const void* whole, size_t size) {
  void* part = malloc(size);
  memcpy(part, whole, size);
  memcpy(part, &size, sizeof(size));
  return part;
}

static void a_smaller_struct_has_the_defaults_for_what_it_lacks(void) {
  ropewalk_spec whole = ropewalk_spec_default(8);
  whole.rotary_dim = 4;
  whole.base = 500;
  whole.attention_factor = 2;
  const size_t sizes[] = {offsetof(ropewalk_spec, rotary_dim),
                          offsetof(ropewalk_spec, rotary_offset), offsetof(ropewalk_spec, scaling),
                          offsetof(ropewalk_spec, sections), sizeof(whole)};
  for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); ++i) {
    ropewalk_spec* spec = cut(&whole, sizes[i]);
    ropewalk_rope* rope = NULL;
    ropewalk_plan plan = ROPEWALK_PLAN_INIT;
    CHECK_OK(ropewalk_rope_create(spec, &rope, &error), error);
    CHECK_OK(ropewalk_rope_plan(rope, &plan, &error), error);
    CHECK(plan.rotary_dim == (i >= 1 ? 4 : 8));
    CHECK_NEAR(plan.frequencies[1], frequency(i >= 2 ? 500 : 10000, 1, plan.rotary_dim), 1e-16);
    CHECK(plan.attention_factor == (i >= 3 ? 2 : 1));
    ropewalk_rope_destroy(rope);
    free(spec);
  }
}

static void a_struct_that_is_filled_in_is_not_written_beyond_its_size(void) {
  const ropewalk_spec spec = ropewalk_spec_default(8);
  const ropewalk_plan init = ROPEWALK_PLAN_INIT;
  ropewalk_rope* rope = NULL;
  CHECK_OK(ropewalk_rope_create(&spec, &rope, &error), error);
  const size_t size = offsetof(ropewalk_plan, pairs);
  ropewalk_plan* old = cut(&init, size);
  CHECK_OK(ropewalk_rope_plan(rope, old, &error), error);
  ropewalk_plan seen = ROPEWALK_PLAN_INIT;
  memcpy(&seen, old, size);
  CHECK(seen.head_dim == 8 && seen.axes == 1 && seen.size == size && seen.pairs == 0);
  free(old);

  struct {
    ropewalk_plan known;
    int64_t later;
  } new_plan = {ROPEWALK_PLAN_INIT, 17};
  new_plan.known.size = sizeof(new_plan);
  CHECK_OK(ropewalk_rope_plan(rope, &new_plan.known, &error), error);
  CHECK(new_plan.known.pairs == 4 && new_plan.known.size == sizeof(new_plan) &&
        new_plan.later == 17);
  ropewalk_rope_destroy(rope);
}

static void a_larger_struct_is_served_if_what_is_unknown_is_0(void) {
  struct {
    ropewalk_spec known;
    int64_t later;
  } spec = {ROPEWALK_SPEC_INIT, 0};
  spec.known.size = sizeof(spec);
  spec.known.head_dim = 8;
  ropewalk_rope* rope = NULL;
  CHECK_OK(ropewalk_rope_create(&spec.known, &rope, &error), error);
  ropewalk_rope_destroy(rope);
  spec.later = 1;
  CHECK_REFUSED(ropewalk_rope_create(&spec.known, &rope, &error), ROPEWALK_INVALID_ARGUMENT,
                "spec.size is", error);
  CHECK(strstr(error.message, "the rest is not 0") != NULL && rope == NULL);
}

static void a_size_that_was_not_set_is_not_believed(void) {
  ropewalk_rope* rope = NULL;
  ropewalk_spec spec = ropewalk_spec_default(8);
  const size_t sizes[] = {8, 4, 17, 20, sizeof(spec) + 1, 5000, SIZE_MAX, (size_t)1 << 40};
  for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); ++i) {
    spec.size = sizes[i];
    CHECK_REFUSED(ropewalk_rope_create(&spec, &rope, &error), ROPEWALK_INVALID_ARGUMENT,
                  "begin with ROPEWALK_SPEC_INIT", error);
  }
}

static void an_error_of_a_newer_caller_is_filled_in(void) {
  struct {
    ropewalk_error known;
    int64_t later;
  } newer = {ROPEWALK_ERROR_INIT, 17};
  newer.known.size = sizeof(newer);
  CHECK(ropewalk_angles_create(NULL, &newer.known) == ROPEWALK_INVALID_ARGUMENT);
  CHECK(strcmp(newer.known.message, "angles is NULL") == 0 && newer.later == 17);
}

static void a_message_that_is_too_long_is_cut(void) {
  // Sixteen sections of 19 digits are more than 255 bytes.
  int64_t sections[16];
  for (int i = 0; i < 16; ++i) sections[i] = INT64_MAX - i;
  ropewalk_spec spec = ropewalk_spec_default(8);
  spec.sections = sections;
  spec.section_count = 16;
  ropewalk_rope* rope = NULL;
  memset(error.message, 'x', sizeof(error.message));
  CHECK_REFUSED(ropewalk_rope_create(&spec, &rope, &error), ROPEWALK_INVALID_ARGUMENT,
                "axes sections [9223372036854775807, 9223372036854775806", error);
  CHECK(memchr(error.message, '\0', sizeof(error.message)) == error.message + 255);
}

int main(void) {
  RUN(a_size_of_0_is_refused_with_the_name_of_its_maker);
  RUN(a_smaller_struct_has_the_defaults_for_what_it_lacks);
  RUN(a_struct_that_is_filled_in_is_not_written_beyond_its_size);
  RUN(a_larger_struct_is_served_if_what_is_unknown_is_0);
  RUN(a_size_that_was_not_set_is_not_believed);
  RUN(an_error_of_a_newer_caller_is_filled_in);
  RUN(a_message_that_is_too_long_is_cut);
  return test_failures == 0 ? 0 : 1;
}
