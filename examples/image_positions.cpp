// Two images in a vision tower, then one of them in the prompt of its language model.

#include <cstdio>
#include <ropewalk/ropewalk.hpp>
#include <vector>

namespace rw = ropewalk;

int main() {
  // [tower]
  // Qwen2.5-VL's tower: heads of 80, patches in blocks of 2 x 2, two images in one row of tokens.
  const rw::Rope tower(rw::qwen_vision_spec({.head_dim = 80}));
  const std::vector<rw::Grid> images = {{.rows = 4, .columns = 6, .merge = 2},
                                        {.rows = 2, .columns = 2, .merge = 2}};
  const rw::PositionIds patches = rw::image_positions(images);  // [2, 1, 28]: row, column
  std::vector<float> q(28 * 16 * 80, 1.0F);
  rw::rotate(tower, rw::TensorView::bthd(q.data(), rw::DType::kF32, {1, 28, 16, 80}),
             patches.positions());
  // [/tower]
  std::printf("q[27][0][0] = %.6f\n", static_cast<double>(q[27 * 16 * 80]));

  // [prompt]
  // The language model: pairs turn with t, h or w, and the prompt says where its tokens stand.
  const rw::Rope rope(rw::Spec(
      {.head_dim = 128, .base = 1e6, .axes = rw::Axes{{16, 24, 24}, rw::Axes::Order::kBlocks}}));
  const rw::TokenPositions prompt =
      rw::token_positions({rw::Run::text(3), rw::Run::image(4, 6), rw::Run::text(2)},
                          rw::sequence_rules("qwen2_5_vl"));  // ids [3, 1, 11]
  rw::Angles angles;
  angles.assign(rope, prompt.ids.positions());                 // the prompt, once for all layers
  angles.assign(rope, rw::Positions::starts(prompt.next, 1));  // then the first generated token
  // [/prompt]
  for (std::int64_t axis = 0; axis < 3; ++axis) {
    std::printf("%c:", "thw"[axis]);
    for (std::int64_t t = 0; t < prompt.ids.shape.tokens; ++t) {
      std::printf(" %lld", static_cast<long long>(prompt.ids.at(axis, 0, t)));
    }
    std::printf(", then %lld\n", static_cast<long long>(prompt.next[0]));
  }
}
