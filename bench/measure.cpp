#include "bench/measure.hpp"

#include <algorithm>
#include <ctime>

namespace ropewalk::bench {
namespace {

// Nanoseconds per call. calls is how many make a batch, and grows if they turn out not to.
double turn(const Contender& contender, std::int64_t& calls, const MeasureOptions& options,
            const Clock& clock) {
  contender.prepare();
  // What the turn before left in caches and predictors is overwritten by its own.
  contender.run(std::max<std::int64_t>(1, calls / 8));
  while (true) {
    const std::uint64_t start = clock();
    contender.run(calls);
    const std::uint64_t elapsed = clock() - start;
    if (elapsed >= options.batch_ns) {
      return static_cast<double>(elapsed) / static_cast<double>(calls);
    }
    calls *= 2;
  }
}

Clock clock_of(clockid_t id) {
  return [id] {
    std::timespec now{};
    clock_gettime(id, &now);
    constexpr std::uint64_t kPerSecond = 1'000'000'000;
    return static_cast<std::uint64_t>(now.tv_sec) * kPerSecond +
           static_cast<std::uint64_t>(now.tv_nsec);
  };
}

}  // namespace

Clock thread_clock() { return clock_of(CLOCK_THREAD_CPUTIME_ID); }

Clock wall_clock() { return clock_of(CLOCK_MONOTONIC); }

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::vector<std::size_t> order_of_round(std::size_t round, std::size_t contenders) {
  std::vector<std::size_t> order(contenders);
  for (std::size_t i = 0; i < contenders; ++i) order[i] = (round + i) % contenders;
  return order;
}

std::vector<double> measure(std::span<const Contender> contenders, const MeasureOptions& options,
                            const Clock& clock) {
  std::vector<std::int64_t> calls(contenders.size(), 1);
  std::vector<std::vector<double>> times(contenders.size());
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    turn(contenders[i], calls[i], options, clock);
  }
  for (std::size_t round = 0; round < static_cast<std::size_t>(options.rounds); ++round) {
    for (const std::size_t i : order_of_round(round, contenders.size())) {
      times[i].push_back(turn(contenders[i], calls[i], options, clock));
    }
  }
  std::vector<double> medians;
  medians.reserve(times.size());
  for (const std::vector<double>& of_one : times) medians.push_back(median(of_one));
  return medians;
}

}  // namespace ropewalk::bench
