#include <cstdio>
#include <ropewalk/ropewalk.hpp>
#include <vector>

namespace rw = ropewalk;

int main() {
  // The plan, made once per model: any position, no table.
  const rw::Rope rope(rw::Spec({.head_dim = 128, .base = 500000.0}));

  // One sequence of 5 tokens, 32 heads of queries, 8 of keys: [batch, tokens, heads, head_dim].
  std::vector<float> q(5 * 32 * 128, 1.0F);
  std::vector<float> k(5 * 8 * 128, 1.0F);

  // In place. The tokens stand at positions 1000000, 1000001, ... 1000004.
  rw::rotate(rope, rw::TensorView::bthd(q.data(), {1, 5, 32, 128}),
             rw::TensorView::bthd(k.data(), {1, 5, 8, 128}), rw::Positions::from(1'000'000));

  // The first pair turns by 1 radian per position: cos(1000000) - sin(1000000).
  std::printf("q[0] = %.5f\n", static_cast<double>(q[0]));
}
