#include "bench/memory.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>

#include "bench/arithmetic.hpp"
#include "bench/copy.hpp"
#include "bench/limit.hpp"
#include "bench/parallel.hpp"
#include "bench/work.hpp"

namespace ropewalk::bench {
namespace {

// All loops take whole blocks of so many bytes.
constexpr std::size_t kBlock = 256;
constexpr float kFactor = -1.0F;

// A loop over bytes first .. first + count of what it reads, kBlock each.
struct Loop {
  std::string name;
  std::size_t bytes;  // that it reads
  std::function<void(std::size_t first, std::size_t count)> run;
};

// Loops of one name stand side by side.
std::vector<Loop> loops_over(std::byte* memory, std::size_t bytes) {
  std::vector<Loop> loops;
  for (const LimitLoops& limit : limit_loops()) {
    loops.push_back({"limit", bytes, [=](std::size_t first, std::size_t count) {
                       limit.scale(reinterpret_cast<float*>(memory + first), count / sizeof(float),
                                   kFactor);
                     }});
  }
  for (const bool is_bf16 : {true, false}) {
    for (const ConvertLoop& loop : convert_loops()) {
      if (loop.is_bf16 != is_bf16) continue;
      loops.push_back(
          {is_bf16 ? "limit_bf16" : "limit_f16", bytes, [=](std::size_t first, std::size_t count) {
             loop.scale(reinterpret_cast<std::uint16_t*>(memory + first),
                        count / sizeof(std::uint16_t), kFactor);
           }});
    }
  }
  for (const bool is_adjacent : {false, true}) {
    for (const TurnLoop& loop : turn_loops()) {
      if (loop.is_adjacent != is_adjacent) continue;
      loops.push_back({is_adjacent ? "limit_adjacent" : "limit_halves", bytes,
                       [=](std::size_t first, std::size_t count) {
                         loop.turn(reinterpret_cast<float*>(memory + first), count / sizeof(float),
                                   0.6F, 0.8F);
                       }});
    }
  }
  const std::size_t half = bytes / 2 / kBlock * kBlock;
  for (const CopyLoop& loop : copy_loops()) {
    loops.push_back({loop.name, half, [=](std::size_t first, std::size_t count) {
                       loop.copy(reinterpret_cast<const float*>(memory + first),
                                 reinterpret_cast<float*>(memory + half + first),
                                 count / sizeof(float));
                     }});
  }
  return loops;
}

// Each thread has its share of a loop's blocks.
Contender contender(const Loop& loop, const ParallelFor& parallel) {
  return {[] {},
          [&loop, parallel](std::int64_t calls) {
            const std::size_t blocks = loop.bytes / kBlock;
            const auto tasks = static_cast<std::size_t>(parallel.threads);
            for (std::int64_t call = 0; call < calls; ++call) {
              on_threads(parallel, [&](std::int64_t task) {
                const auto i = static_cast<std::size_t>(task);
                const std::size_t first = blocks * i / tasks, last = blocks * (i + 1) / tasks;
                loop.run(first * kBlock, (last - first) * kBlock);
              });
            }
          }};
}

}  // namespace

std::vector<MemoryRow> measure_memory(const Caches& caches, int threads,
                                      const MeasureOptions& options) {
  const ParallelFor parallel = parallel_of(threads);
  std::vector<MemoryRow> rows;
  for (const std::int64_t set : working_sets(caches)) {
    const std::size_t bytes = static_cast<std::size_t>(set) / kBlock * kBlock;
    // Floats and elements of 16 bits that no CPU is slow with.
    std::vector<float> floats((bytes + kBlock) / sizeof(float), 1.5F);
    std::size_t space = bytes + kBlock;
    void* memory = floats.data();
    std::align(kBlock, bytes, memory, space);
    const std::vector<Loop> loops = loops_over(static_cast<std::byte*>(memory), bytes);
    std::vector<Contender> contenders;
    for (const Loop& loop : loops) contenders.push_back(contender(loop, parallel));
    const std::vector<double> ns =
        measure(contenders, options, threads > 1 ? wall_clock() : thread_clock());
    const std::size_t first_of_set = rows.size();
    for (std::size_t i = 0; i < loops.size(); ++i) {
      if (rows.size() > first_of_set && rows.back().loop == loops[i].name) {
        rows.back().ns = std::min(rows.back().ns, ns[i]);
      } else {
        const auto read = static_cast<std::int64_t>(loops[i].bytes);
        rows.push_back({loops[i].name, read, threads, ns[i]});
      }
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
