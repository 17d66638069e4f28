// Each form of positions: a head of one pair that turns by 1 radian per position shows where it
// stood.

#include "test.h"

enum { kMost = 16 };

// Rotates [batch, tokens] heads of (1, 0) by the positions, and checks that they stood at `wanted`.
static void check_stands(const ropewalk_positions* positions, int64_t batch, int64_t tokens,
                         const double* wanted) {
  ropewalk_error error = ROPEWALK_ERROR_INIT;
  const ropewalk_spec spec = ropewalk_spec_default(2);
  ropewalk_rope* rope = NULL;
  ropewalk_angles* angles = NULL;
  ropewalk_angles_options options = ROPEWALK_ANGLES_OPTIONS_INIT;
  options.dtype = ROPEWALK_F64;
  CHECK_OK(ropewalk_rope_create(&spec, &rope, &error), error);
  CHECK_OK(ropewalk_angles_create(&angles, &error), error);
  for (int ready = 0; ready < 2; ++ready) {
    // Angles must know how many tokens there are.
    if (ready && positions->tokens == ROPEWALK_NOT_GIVEN &&
        (positions->kind == ROPEWALK_POSITIONS_FROM ||
         positions->kind == ROPEWALK_POSITIONS_STARTS)) {
      CHECK_REFUSED(ropewalk_angles_assign(angles, rope, positions, &options, &error),
                    ROPEWALK_INVALID_ARGUMENT, "positions", error);
      continue;
    }
    double x[kMost][2];
    for (int i = 0; i < kMost; ++i) x[i][0] = 1, x[i][1] = 0;
    const ropewalk_tensor view = ropewalk_tensor_bthd(x, ROPEWALK_F64, batch, tokens, 1, 2);
    if (ready) {
      CHECK_OK(ropewalk_angles_assign(angles, rope, positions, &options, &error), error);
      CHECK_OK(ropewalk_rotate_angles(angles, &view, NULL, NULL, &error), error);
    } else {
      CHECK_OK(ropewalk_rotate(rope, &view, NULL, positions, NULL, &error), error);
    }
    for (int64_t i = 0; i < batch * tokens; ++i) {
      CHECK_NEAR(x[i][0], cosl(wanted[i]), 1e-14);
      CHECK_NEAR(x[i][1], sinl(wanted[i]), 1e-14);
    }
  }
  ropewalk_angles_destroy(angles);
  ropewalk_rope_destroy(rope);
}

static void a_start_counts_on(void) {
  const double wanted[] = {-2, -1, 0, -2, -1, 0};
  ropewalk_positions positions = ropewalk_positions_from(-2);
  check_stands(&positions, 2, 3, wanted);
  positions = ropewalk_positions_from_tokens(-2, 3);
  check_stands(&positions, 2, 3, wanted);
}

static void every_sequence_has_its_start(void) {
  const int64_t starts[] = {10, -4};
  const double wanted[] = {10, 11, -4, -3};
  ropewalk_positions positions = ropewalk_positions_starts(starts, 2, ROPEWALK_NOT_GIVEN);
  check_stands(&positions, 2, 2, wanted);
  positions = ropewalk_positions_starts(starts, 2, 2);
  check_stands(&positions, 2, 2, wanted);
}

static void ids_of_every_type_are_where_tokens_stand(void) {
  const int32_t i32[] = {3, 1, -2, 9};
  const int64_t i64[] = {3, 1, -2, 9};
  const float f32[] = {3.5F, 1.25F, -2, 9};
  const double f64[] = {3.5, 1.25, -2, 9};
  const double whole[] = {3, 1, -2, 9};
  ropewalk_positions positions = ropewalk_positions_i32(i32, 1, 2, 2);
  check_stands(&positions, 2, 2, whole);
  positions = ropewalk_positions_i64(i64, 1, 1, 4);
  check_stands(&positions, 1, 4, whole);
  positions = ropewalk_positions_f32(f32, 1, 2, 2);
  check_stands(&positions, 2, 2, f64);
  positions = ropewalk_positions_f64(f64, 1, 2, 2);
  check_stands(&positions, 2, 2, f64);
  positions = ropewalk_positions_ids(ROPEWALK_POSITIONS_F64, f64, 1, 2, 2);
  check_stands(&positions, 2, 2, f64);
}

static void packed_sequences_begin_again(void) {
  const int32_t lengths_i32[] = {0, 2, 2, 5};
  const int64_t lengths_i64[] = {0, 2, 2, 5}, starts[] = {100, 200, 300};
  const double from_0[] = {0, 1, 0, 1, 2}, from_starts[] = {100, 101, 300, 301, 302};
  ropewalk_positions positions = ropewalk_positions_packed_i32(lengths_i32, 4, NULL);
  check_stands(&positions, 1, 5, from_0);
  positions = ropewalk_positions_packed_i64(lengths_i64, 4, NULL);
  check_stands(&positions, 1, 5, from_0);
  positions = ropewalk_positions_packed_i32(lengths_i32, 4, starts);
  check_stands(&positions, 1, 5, from_starts);
  positions = ropewalk_positions_packed_i64(lengths_i64, 4, starts);
  check_stands(&positions, 1, 5, from_starts);
}

static void ranks_hold_their_slices(void) {
  const double contiguous[] = {1008, 1009, 1010, 1011}, zigzag[] = {1004, 1005, 1010, 1011};
  ropewalk_positions positions = ropewalk_positions_contiguous(16, 4, 2, 1000);
  check_stands(&positions, 1, 4, contiguous);
  positions = ropewalk_positions_zigzag(16, 4, 2, 1000);
  check_stands(&positions, 1, 4, zigzag);
}

static void every_pair_turns_with_its_axis(void) {
  ropewalk_error error = ROPEWALK_ERROR_INIT;
  const double radians[] = {1, 1, 1};
  const int64_t sections[] = {1, 1, 1}, axis_of_pair[] = {0, 1, 2};
  const int32_t ids[3][2] = {{5, 6}, {50, 60}, {500, 600}};  // [axes, batch 1, tokens]
  const ropewalk_positions positions = ropewalk_positions_i32(&ids[0][0], 3, 1, 2);
  for (int by_sections = 0; by_sections < 2; ++by_sections) {
    ropewalk_spec spec = ropewalk_spec_default(6);
    spec.pairing = ROPEWALK_ADJACENT;
    spec.frequencies = radians;
    spec.frequency_count = 3;
    spec.sections = by_sections ? sections : NULL;
    spec.section_count = by_sections ? 3 : 0;
    spec.axis_of_pair = by_sections ? NULL : axis_of_pair;
    spec.axis_of_pair_count = by_sections ? 0 : 3;
    ropewalk_rope* rope = NULL;
    CHECK_OK(ropewalk_rope_create(&spec, &rope, &error), error);
    double x[2][6] = {{1, 0, 1, 0, 1, 0}, {1, 0, 1, 0, 1, 0}};
    const ropewalk_tensor view = ropewalk_tensor_bthd(x, ROPEWALK_F64, 1, 2, 1, 6);
    CHECK_OK(ropewalk_rotate(rope, &view, NULL, &positions, NULL, &error), error);
    for (int token = 0; token < 2; ++token) {
      for (int axis = 0; axis < 3; ++axis) {
        CHECK_NEAR(x[token][2 * axis], cosl(ids[axis][token]), 1e-14);
        CHECK_NEAR(x[token][2 * axis + 1], sinl(ids[axis][token]), 1e-14);
      }
    }
    ropewalk_rope_destroy(rope);
  }
}

int main(void) {
  RUN(a_start_counts_on);
  RUN(every_sequence_has_its_start);
  RUN(ids_of_every_type_are_where_tokens_stand);
  RUN(packed_sequences_begin_again);
  RUN(ranks_hold_their_slices);
  RUN(every_pair_turns_with_its_axis);
  return test_failures == 0 ? 0 : 1;
}
