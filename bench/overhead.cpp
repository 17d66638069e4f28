#include "bench/overhead.hpp"

#include <ropewalk/ropewalk.h>

#include <array>
#include <cstdint>
#include <memory>
#include <ropewalk/rotate.hpp>
#include <stdexcept>
#include <vector>

#include "kernels.hpp"

namespace ropewalk::bench {
namespace {

constexpr std::int64_t kHeadDim = 128, kQHeads = 32, kKHeads = 8;
constexpr std::size_t kPairs = kHeadDim / 2;
constexpr std::int64_t kPosition = 1000;

struct Memory {
  std::vector<float> q = std::vector<float>(kQHeads * kHeadDim, 0.5F);
  std::vector<float> k = std::vector<float>(kKHeads * kHeadDim, 0.5F);
};

// A contender's one call, many times.
template <class Call>
Contender repeated(Call call) {
  return {[] {},
          [call](std::int64_t calls) {
            for (std::int64_t i = 0; i < calls; ++i) call();
          }};
}

// The jobs that a call comes to, and the memory that they want.
class Kernels {
 public:
  Kernels(const Rope& rope, Memory& memory) : rope_(rope) {
    angles_ = {rope_.turns().data(), &kPosition, true,  nullptr, kPairs, 1,
               row_.data(),          2 * kPairs, kPairs};
    q_ = job_of(memory.q.data(), kQHeads);
    k_ = job_of(memory.k.data(), kKHeads);
  }
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;

  void run() const {
    table_.angles[0](angles_);
    table_.turn[0](q_);
    table_.turn[0](k_);
  }

 private:
  kernels::TurnJob job_of(float* data, std::size_t heads) {
    constexpr auto kHead = static_cast<std::ptrdiff_t>(kHeadDim * sizeof(float));
    const kernels::Pairs pairs{0, kPairs, false};
    kernels::TurnJob job{};
    job.rows = row_.data();
    job.row_stride = 2 * kPairs;
    job.sines = kPairs;
    job.cos_scale = job.sin_scale = 1;
    job.pairs = kPairs;
    job.tokens = 1;
    job.heads = heads;
    job.in = {data, kHead, kHead, sizeof(float), pairs};
    job.out = {data, kHead, kHead, sizeof(float), pairs};
    job.fits_cache = true;
    return job;
  }

  Rope rope_;
  const kernels::Table& table_ = *kernels::table_for(Target::kBest);
  alignas(64) std::array<float, 2 * kPairs> row_{};
  kernels::AngleJob angles_;
  kernels::TurnJob q_, k_;
};

void call_cpp(const Rope& rope, Memory& memory) {
  rotate(rope, TensorView::bthd(memory.q.data(), {1, 1, kQHeads, kHeadDim}),
         TensorView::bthd(memory.k.data(), {1, 1, kKHeads, kHeadDim}), Positions::from(kPosition));
}

void call_c(const ropewalk_rope* rope, Memory& memory) {
  const ropewalk_tensor q =
      ropewalk_tensor_bthd(memory.q.data(), ROPEWALK_F32, 1, 1, kQHeads, kHeadDim);
  const ropewalk_tensor k =
      ropewalk_tensor_bthd(memory.k.data(), ROPEWALK_F32, 1, 1, kKHeads, kHeadDim);
  const ropewalk_positions positions = ropewalk_positions_from(kPosition);
  ropewalk_rotate(rope, &q, &k, &positions, nullptr, nullptr);
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

void check_same(const Memory& a, const Memory& b) {
  if (a.q != b.q || a.k != b.k) throw std::runtime_error("a call and its kernels differ");
}

}  // namespace

Overhead measure_overhead(const MeasureOptions& options, const Clock& clock) {
  const Rope rope(Spec({.head_dim = kHeadDim}));
  const CRope of_c = c_rope();
  std::array<Memory, 3> memory;
  const Kernels kernels(rope, memory[0]);
  kernels.run();
  call_cpp(rope, memory[1]);
  call_c(of_c.get(), memory[2]);
  check_same(memory[0], memory[1]);
  check_same(memory[0], memory[2]);
  // All in the same memory, so that no contender finds its own better placed.
  const std::array contenders = {repeated([&] { kernels.run(); }),
                                 repeated([&] { call_cpp(rope, memory[0]); }),
                                 repeated([&] { call_c(of_c.get(), memory[0]); })};
  // A small difference of large times: more rounds than one time wants.
  MeasureOptions more = options;
  more.rounds *= 5;
  const std::vector<double> ns = measure(contenders, more, clock);
  return {ns[1] - ns[0], ns[2] - ns[0]};
}

}  // namespace ropewalk::bench
