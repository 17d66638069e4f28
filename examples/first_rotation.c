#include <ropewalk/ropewalk.h>
#include <stdio.h>

// One sequence of 5 tokens, 32 heads of queries, 8 of keys: [batch, tokens, heads, head_dim].
static float q[5 * 32 * 128], k[5 * 8 * 128];

int main(void) {
  for (int i = 0; i < 5 * 32 * 128; ++i) q[i] = 1;
  for (int i = 0; i < 5 * 8 * 128; ++i) k[i] = 1;

  // The plan, made once per model: any position, no table.
  ropewalk_spec spec = ropewalk_spec_default(128);
  spec.base = 500000;
  ropewalk_rope* rope = NULL;
  ropewalk_error error = ROPEWALK_ERROR_INIT;
  ropewalk_status status = ropewalk_rope_create(&spec, &rope, &error);

  // In place. The tokens stand at positions 1000000, 1000001, ... 1000004.
  if (status == ROPEWALK_OK) {
    const ropewalk_tensor q_view = ropewalk_tensor_bthd(q, ROPEWALK_F32, 1, 5, 32, 128);
    const ropewalk_tensor k_view = ropewalk_tensor_bthd(k, ROPEWALK_F32, 1, 5, 8, 128);
    const ropewalk_positions positions = ropewalk_positions_from(1000000);
    status = ropewalk_rotate(rope, &q_view, &k_view, &positions, NULL, &error);
  }
  ropewalk_rope_destroy(rope);
  if (status != ROPEWALK_OK) {
    fprintf(stderr, "first_rotation: %s\n", error.message);
    return 1;
  }

  // The first pair turns by 1 radian per position: cos(1000000) - sin(1000000).
  printf("q[0] = %.5f\n", q[0]);
  return 0;
}
