// Rotates one head of four elements and checks it: what each way to use the library builds and runs.

#include <ropewalk/ropewalk.hpp>

#include "formula.h"

int main() {
  const ropewalk::Rope rope(ropewalk::Spec({.head_dim = 4, .base = 100.0}));
  float x[4] = {1, 2, 3, 4};
  ropewalk::rotate(rope, ropewalk::TensorView::bthd(x, {1, 1, 1, 4}), ropewalk::Positions::from(3));
  return is_rotated(x) ? 0 : 1;
}
