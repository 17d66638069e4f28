#include "bench/memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <utility>

#include "bench/arithmetic.hpp"
#include "bench/copy.hpp"
#include "bench/overhead.hpp"
#include "bench/parallel.hpp"
#include "bench/work.hpp"
#include "reference.hpp"

namespace ropewalk::bench {
namespace {

TEST(BenchCopy, every_loop_copies_all_elements_and_no_others) {
  constexpr std::size_t kLine = 16;
  alignas(64) static float to[5 * kLine];
  std::vector<float> x(4 * kLine + 1);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  for (const CopyLoop& loop : copy_loops()) {
    for (std::size_t count = 0; count <= 4 * kLine; count += kLine) {
      std::fill(std::begin(to), std::end(to), -1.0F);
      loop.copy(x.data() + 1, to, count);  // x of any alignment
      for (std::size_t i = 0; i < std::size(to); ++i) {
        EXPECT_EQ(to[i], i < count ? x[i + 1] : -1.0F) << loop.name << ", " << count;
      }
    }
  }
}

TEST(BenchConvert, every_loop_scales_and_rounds_to_nearest_even_and_no_others) {
  constexpr std::size_t kCount = 256;
  std::mt19937 random(1);
  for (const ConvertLoop& loop : convert_loops()) {
    SCOPED_TRACE(std::string(loop.name) + (loop.is_bf16 ? ", bf16" : ", f16"));
    const auto value = loop.is_bf16 ? &reference::from_bf16 : &reference::from_f16;
    const auto bits = loop.is_bf16 ? &reference::to_bf16 : &reference::to_f16;
    std::vector<std::uint16_t> x(kCount + 1);
    // Of magnitudes 2^-4 to 2^4, so that a product is exact in float.
    std::uniform_real_distribution<double> exponent(-4, 4), sign(-1, 1);
    for (std::uint16_t& element : x) {
      element = bits(std::copysign(std::exp2(exponent(random)), sign(random)));
    }
    for (const float factor : {-1.0F, 1.375F}) {
      std::vector<std::uint16_t> y = x;
      loop.scale(y.data(), kCount, factor);
      for (std::size_t i = 0; i < kCount; ++i) {
        EXPECT_EQ(y[i], bits(value(x[i]) * factor)) << i << ", " << value(x[i]);
      }
      EXPECT_EQ(y[kCount], x[kCount]);
    }
  }
}

TEST(BenchTurn, every_loop_turns_its_pairs_and_no_others) {
  constexpr std::size_t kCount = 256;
  // Angles whose products with small integers are exact.
  constexpr float kCos = 0.5F, kSin = -0.25F;
  for (const TurnLoop& loop : turn_loops()) {
    SCOPED_TRACE(std::string(loop.name) + (loop.is_adjacent ? ", adjacent" : ", halves"));
    std::vector<float> x(kCount + 1);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * i % 97);
    std::vector<float> y = x;
    loop.turn(y.data(), kCount, kCos, kSin);
    for (std::size_t i = 0; i < kCount; ++i) {
      const bool is_first = loop.is_adjacent ? i % 2 == 0 : i % 64 < 32;
      const std::size_t partner = loop.is_adjacent ? i ^ 1 : i ^ 32;
      const float sin = is_first ? -kSin : kSin;
      EXPECT_EQ(y[i], x[i] * kCos + x[partner] * sin) << i;
    }
    EXPECT_EQ(y[kCount], x[kCount]);
  }
}

TEST(BenchParallel, every_thread_has_its_task_once) {
  for (const int threads : {1, 2}) {
    std::vector<int> calls(2, 0);
    const ParallelFor parallel = parallel_of(threads);
    on_threads(parallel, [&](std::int64_t i) { ++calls[static_cast<std::size_t>(i)]; });
    EXPECT_EQ(calls[0], 1);
    EXPECT_EQ(calls[1], parallel.run != nullptr ? 1 : 0);
  }
  EXPECT_EQ(parallel_of(1).run, nullptr);
  EXPECT_GE(most_threads(), 1);
}

TEST(BenchMemory, every_loop_has_a_row_in_every_working_set) {
  constexpr Caches kCaches = {1 << 10, 4 << 10, 16 << 10};
  const MeasureOptions quick = {.rounds = 1, .batch_ns = 1};
  for (const int threads : {1, 2}) {
    const std::vector<MemoryRow> rows = measure_memory(kCaches, threads, quick);
    std::vector<std::pair<std::string, std::int64_t>> wanted, given;
    for (const std::int64_t set : working_sets(kCaches)) {
      wanted.emplace_back("limit", set);
      if (!convert_loops().empty()) {
        wanted.emplace_back("limit_bf16", set);
        wanted.emplace_back("limit_f16", set);
      }
      if (!turn_loops().empty()) {
        wanted.emplace_back("limit_halves", set);
        wanted.emplace_back("limit_adjacent", set);
      }
      for (const CopyLoop& loop : copy_loops()) wanted.emplace_back(loop.name, set / 2);
    }
    for (const MemoryRow& row : rows) {
      given.emplace_back(row.loop, row.bytes);
      EXPECT_EQ(row.threads, threads);
      EXPECT_GT(row.ns, 0);
    }
    EXPECT_EQ(given, wanted);
  }
}

TEST(BenchOverhead, is_what_a_call_takes_more_than_its_kernels) {
  // A clock by which everything takes as long. That both leave the same bits is asked inside.
  std::uint64_t now = 0;
  const Overhead overhead =
      measure_overhead({.rounds = 3, .batch_ns = 1}, [&] { return now += 1000; });
  EXPECT_EQ(overhead.cpp_ns, 0);
  EXPECT_EQ(overhead.c_ns, 0);
}

}  // namespace
}  // namespace ropewalk::bench
