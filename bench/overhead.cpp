#include "bench/overhead.hpp"

#include <ropewalk/ropewalk.h>

#include <array>
#include <cstdint>
#include <memory>
#include <ropewalk/rotate.hpp>
#include <stdexcept>
#include <vector>

namespace ropewalk::bench {
namespace {

// Few heads, so that all tokens stay in the first level of the cache.
constexpr std::int64_t kHeadDim = 128, kQHeads = 8, kKHeads = 2;
constexpr int kMany = 4;
constexpr std::int64_t kPosition = 1000;

struct Memory {
  std::vector<float> q = std::vector<float>(kMany * kQHeads * kHeadDim, 0.5F);
  std::vector<float> k = std::vector<float>(kMany * kKHeads * kHeadDim, 0.5F);
};

Contender cpp_call(const Rope& rope, Memory& memory, std::int64_t tokens) {
  return {[] {},
          [&, tokens](std::int64_t calls) {
            for (std::int64_t i = 0; i < calls; ++i) {
              rotate(rope, TensorView::bthd(memory.q.data(), {1, tokens, kQHeads, kHeadDim}),
                     TensorView::bthd(memory.k.data(), {1, tokens, kKHeads, kHeadDim}),
                     Positions::from(kPosition));
            }
          }};
}

Contender c_call(const ropewalk_rope* rope, Memory& memory, std::int64_t tokens) {
  return {[] {},
          [&memory, rope, tokens](std::int64_t calls) {
            for (std::int64_t i = 0; i < calls; ++i) {
              const ropewalk_tensor q =
                  ropewalk_tensor_bthd(memory.q.data(), ROPEWALK_F32, 1, tokens, kQHeads, kHeadDim);
              const ropewalk_tensor k =
                  ropewalk_tensor_bthd(memory.k.data(), ROPEWALK_F32, 1, tokens, kKHeads, kHeadDim);
              const ropewalk_positions positions = ropewalk_positions_from(kPosition);
              ropewalk_rotate(rope, &q, &k, &positions, nullptr, nullptr);
            }
          }};
}

using CRope = std::unique_ptr<ropewalk_rope, decltype(&ropewalk_rope_destroy)>;

CRope c_rope() {
  const ropewalk_spec spec = ropewalk_spec_default(kHeadDim);
  ropewalk_rope* rope = nullptr;
  ropewalk_error error = ROPEWALK_ERROR_INIT;
  if (ropewalk_rope_create(&spec, &rope, &error) != ROPEWALK_OK) {
    throw std::runtime_error(error.message);
  }
  return {rope, &ropewalk_rope_destroy};
}

}  // namespace

double overhead_of(double ns_of_one, double ns_of_many, int many) {
  return ns_of_one - (ns_of_many - ns_of_one) / (many - 1);
}

Overhead measure_overhead(const MeasureOptions& options, const Clock& clock) {
  Memory memory;
  const Rope rope(Spec({.head_dim = kHeadDim}));
  const CRope of_c = c_rope();
  const std::array contenders = {cpp_call(rope, memory, 1), cpp_call(rope, memory, kMany),
                                 c_call(of_c.get(), memory, 1), c_call(of_c.get(), memory, kMany)};
  const std::vector<double> ns = measure(contenders, options, clock);
  return {overhead_of(ns[0], ns[1], kMany), overhead_of(ns[2], ns[3], kMany)};
}

}  // namespace ropewalk::bench
