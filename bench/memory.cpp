#include "bench/memory.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>

#include "bench/copy.hpp"
#include "bench/limit.hpp"
#include "bench/parallel.hpp"
#include "bench/work.hpp"

namespace ropewalk::bench {
namespace {

constexpr std::size_t kLine = 64 / sizeof(float);

// A loop over elements first .. first + count.
using Loop = std::function<void(std::size_t first, std::size_t count)>;

// As a contender on so many threads, each with its share of `count` elements, in whole lines.
Contender contender(const Loop& loop, std::size_t count, const ParallelFor& parallel) {
  return {[] {},
          [=](std::int64_t calls) {
            const std::size_t lines = count / kLine;
            const auto tasks = static_cast<std::size_t>(parallel.threads);
            for (std::int64_t call = 0; call < calls; ++call) {
              on_threads(parallel, [&](std::int64_t task) {
                const auto i = static_cast<std::size_t>(task);
                const std::size_t first = lines * i / tasks, last = lines * (i + 1) / tasks;
                loop(first * kLine, (last - first) * kLine);
              });
            }
          }};
}

}  // namespace

std::vector<MemoryRow> measure_memory(const Caches& caches, int threads,
                                      const MeasureOptions& options) {
  const Clock clock = threads > 1 ? wall_clock() : thread_clock();
  const ParallelFor parallel = parallel_of(threads);
  const std::vector<LimitLoops> limits = limit_loops();
  const std::vector<CopyLoop> copies = copy_loops();
  std::vector<MemoryRow> rows;
  for (const std::int64_t bytes : working_sets(caches)) {
    const std::size_t count = static_cast<std::size_t>(bytes) / sizeof(float) / kLine * kLine;
    const std::size_t half = count / 2 / kLine * kLine;
    std::vector<float> memory(count + kLine, 1.5F);
    std::size_t space = memory.size() * sizeof(float);
    void* first_line = memory.data();
    auto* const x = static_cast<float*>(std::align(64, count * sizeof(float), first_line, space));
    std::vector<Contender> contenders;
    for (const LimitLoops& limit : limits) {
      contenders.push_back(
          contender([=](std::size_t first, std::size_t n) { limit.scale(x + first, n, -1.0F); },
                    count, parallel));
    }
    for (const CopyLoop& loop : copies) {
      contenders.push_back(contender(
          [=](std::size_t first, std::size_t n) { loop.copy(x + first, x + half + first, n); },
          half, parallel));
    }
    const std::vector<double> ns = measure(contenders, options, clock);
    const auto first_copy = ns.begin() + std::ssize(limits);
    rows.push_back({"limit", bytes, threads, *std::min_element(ns.begin(), first_copy)});
    for (std::size_t i = 0; i < copies.size(); ++i) {
      rows.push_back({copies[i].name, bytes / 2, threads, ns[limits.size() + i]});
    }
  }
  return rows;
}

double measure_fork_join(int threads, const MeasureOptions& options) {
  const Contender nothing = {[] {},
                             [parallel = parallel_of(threads)](std::int64_t calls) {
                               for (std::int64_t i = 0; i < calls; ++i) {
                                 on_threads(parallel, [](std::int64_t) {});
                               }
                             }};
  return measure({&nothing, 1}, options, wall_clock()).front();
}

}  // namespace ropewalk::bench
