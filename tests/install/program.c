// Rotates one head of four elements and checks it, in C.

#include <ropewalk/ropewalk.h>

#include "formula.h"

int main(void) {
  float x[4] = {1, 2, 3, 4};
  ropewalk_error error = ROPEWALK_ERROR_INIT;
  ropewalk_spec spec = ropewalk_spec_default(4);
  spec.base = 100;
  ropewalk_rope* rope = NULL;
  const ropewalk_tensor tensor = ropewalk_tensor_bthd(x, ROPEWALK_F32, 1, 1, 1, 4);
  const ropewalk_positions positions = ropewalk_positions_from(3);
  if (ropewalk_rope_create(&spec, &rope, &error) != ROPEWALK_OK ||
      ropewalk_rotate(rope, &tensor, NULL, &positions, NULL, &error) != ROPEWALK_OK) {
    puts(error.message);
    return 1;
  }
  ropewalk_rope_destroy(rope);
  return is_rotated(x) ? 0 : 1;
}
