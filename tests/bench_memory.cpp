#include "bench/memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "bench/copy.hpp"
#include "bench/overhead.hpp"
#include "bench/parallel.hpp"
#include "bench/work.hpp"

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
    ASSERT_EQ(rows.size(), 4 * (1 + copy_loops().size()));
    std::size_t row = 0;
    for (const std::int64_t set : working_sets(kCaches)) {
      EXPECT_EQ(rows[row].loop, "limit");
      EXPECT_EQ(rows[row].bytes, set);
      EXPECT_EQ(rows[row].threads, threads);
      for (const CopyLoop& loop : copy_loops()) {
        EXPECT_EQ(rows[++row].loop, loop.name);
        EXPECT_EQ(rows[row].bytes, set / 2);
      }
      ++row;
    }
  }
}

TEST(BenchOverhead, what_each_token_takes_is_no_overhead) {
  EXPECT_EQ(overhead_of(130, 430, 4), 30);  // 30 and 100 a token
  EXPECT_EQ(overhead_of(100, 200, 2), 0);
}

}  // namespace
}  // namespace ropewalk::bench
