// The pipeline in the order in which it is called. The README quotes its parts.
//
// All elements are 1 to begin with, so that the first element of a head at position p, whose pair
// turns by 1 radian per position, becomes cos p - sin p: that is what is checked here.

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <ropewalk/openmp.hpp>
#include <ropewalk/ropewalk.hpp>
#include <vector>

namespace rw = ropewalk;

constexpr std::int64_t kTokens = 3, kHeads = 4, kHeadDim = 128;

int failed = 0;

void expect(const char* what, double got, double wanted, double bound = 2e-6) {
  const bool ok = std::abs(got - wanted) <= bound;
  std::printf("%-32s %9.6f  %s\n", what, got, ok ? "ok" : "FAILED");
  if (!ok) failed = 1;
}

double at(double position) { return std::cos(position) - std::sin(position); }

int main() {
  std::vector<float> q_data(kTokens * kHeads * kHeadDim, 1.0F), k_data = q_data, x_data = q_data;

  // [rope]
  // Made once per model, shared by threads, never changed.
  const rw::Spec spec({.head_dim = 128, .base = 500000.0});
  const rw::Rope rope(spec);
  // [/rope]

  // [views]
  // [batch, tokens, heads, head_dim], dense.
  const auto q = rw::TensorView::bthd(q_data.data(), {1, 3, 4, 128});
  // [batch, heads, tokens, head_dim]: the shape is given in the same order, the strides differ.
  const auto k = rw::TensorView::bhtd(k_data.data(), {1, 3, 4, 128});

  // One fused row per token, | 4 heads of q | 2 of k | 2 of v |, in bf16: the stride of tokens is
  // the row.
  constexpr std::int64_t kRow = (4 + 2 + 2) * 128;
  std::vector<std::uint16_t> rows(3 * kRow, 0x3f80);  // 1 in bf16
  const rw::TensorView fused_q{
      rows.data(), rw::DType::kBf16, {1, 3, 4, 128}, {3 * kRow, kRow, 128, 1}};
  const rw::TensorView fused_k{
      rows.data() + 4 * 128, rw::DType::kBf16, {1, 3, 2, 128}, {3 * kRow, kRow, 128, 1}};
  // [/views]

  // [rotate]
  rw::rotate(rope, q, k, rw::Positions::from(1000));  // in place: tokens at 1000, 1001, 1002

  const std::vector<float> ones(3 * 4 * 128,
                                1.0F);  // to another place, from memory that is only read
  rw::rotate(rope, rw::ConstTensorView::bthd(ones.data(), {1, 3, 4, 128}),
             rw::Positions::from(1000), rw::TensorView::bthd(x_data.data(), {1, 3, 4, 128}));
  // [/rotate]
  expect("q, token 2", q_data[2 * kHeads * kHeadDim], at(1002));
  expect("k, token 2", k_data[2 * kHeadDim], at(1002));
  expect("to another place, token 2", x_data[2 * kHeads * kHeadDim], at(1002));
  x_data = ones;

  // [positions]
  const std::vector<std::int64_t> starts = {1000};      // one per sequence of the batch
  const std::vector<std::int32_t> ids = {0, 1, 7};      // one per token, in any order
  const std::vector<double> real = {0.0, 0.5, 7.25};    // real numbers, too
  const std::vector<std::int32_t> lengths = {0, 2, 3};  // sequences of 2 and 1 tokens, packed
  const rw::Positions forms[] = {rw::Positions::starts(starts), rw::Positions::ids(ids),
                                 rw::Positions::ids(real), rw::Positions::packed(lengths)};
  // [/positions]
  const double last[] = {1002, 7, 7.25, 0};
  for (int i = 0; i < 4; ++i) {
    std::vector<float> data(kTokens * kHeads * kHeadDim, 1.0F);
    rw::rotate(rope, rw::TensorView::bthd(data.data(), {1, 3, 4, 128}), forms[i]);
    expect("a form of positions, token 2", data[2 * kHeads * kHeadDim], at(last[i]));
  }

  // [angles]
  rw::Angles angles;                                  // keeps its memory from step to step
  angles.assign(rope, rw::Positions::from(1000, 3));  // once per step: 3 tokens from 1000 on
  for (int layer = 0; layer < 1; ++layer) {           // for all layers
    rw::rotate(angles, fused_q, fused_k);
  }
  // [/angles]
  // bf16 has 8 bits: compared to two decimals.
  const auto bits = static_cast<std::uint32_t>(rows[2 * kRow]) << 16;
  expect("fused q, token 2, to 2^-8", std::bit_cast<float>(bits), at(1002), 0x1p-8);

  // [operations]
  const auto x = rw::TensorView::bthd(x_data.data(), {1, 3, 4, 128});
  const auto from = rw::Positions::from(1000), to = rw::Positions::from(5);
  rw::rotate(rope, x, from);
  rw::rerotate(rope, rope, x, from, to);  // cached keys move: as if rotated at `to`
  rw::unrotate(rope, x, to);              // undone, up to rounding
  rw::backward(rope, x, to);              // of a gradient: the adjoint of rotate
  // [/operations]
  expect("backward, token 2", x_data[2 * kHeads * kHeadDim], at(-7));

  // [threads]
  rw::rotate(rope, q, k, rw::Positions::from(0), {.parallel = rw::openmp()});  // with -fopenmp
  // [/threads]

  // [errors]
  try {
    rw::rotate(rope, rw::TensorView::bthd(q_data.data(), {1, 3, 4, 96}), rw::Positions::from(0));
  } catch (const rw::Error& error) {  // nothing was written
    std::printf("%s\n", error.what());
  }
  // [/errors]
  return failed;
}
