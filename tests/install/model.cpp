// The same rotation, of a Spec that is read: wants ropewalk::model, and by it ropewalk::ropewalk.

#include <ropewalk/model.hpp>
#include <ropewalk/ropewalk.hpp>

#include "formula.h"

int main() {
  const ropewalk::Rope rope(ropewalk::spec_from_json(R"({"head_dim": 4, "base": 100})"));
  float x[4] = {1, 2, 3, 4};
  ropewalk::rotate(rope, ropewalk::TensorView::bthd(x, {1, 1, 1, 4}), ropewalk::Positions::from(3));
  return is_rotated(x) ? 0 : 1;
}
