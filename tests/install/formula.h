// What a rotation must give, by the formula and nothing of ropewalk: for C and for C++.

#include <math.h>
#include <stdio.h>

// Whether y is the head (1, 2, 3, 4) at position 3, base 100: the pairs (1, 3) and (2, 4) have turned
// by 3 x 100^0 = 3 and 3 x 100^(-2/4) = 0.3 radians.
static int is_rotated(const float* y) {
  const double expected[4] = {1 * cos(3.0) - 3 * sin(3.0), 2 * cos(0.3) - 4 * sin(0.3),
                              1 * sin(3.0) + 3 * cos(3.0), 2 * sin(0.3) + 4 * cos(0.3)};
  for (int i = 0; i < 4; ++i) {
    if (!(fabs(y[i] - expected[i]) < 1e-5)) {
      printf("y[%d] = %.9g, by the formula %.9g\n", i, (double)y[i], expected[i]);
      return 0;
    }
  }
  puts("rotated");
  return 1;
}
