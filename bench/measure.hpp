// Contenders measured beside one another: in each round every contender has its turn, and each round
// begins with another one, so that what the machine does meanwhile meets all of them alike.

#ifndef ROPEWALK_BENCH_MEASURE_HPP_
#define ROPEWALK_BENCH_MEASURE_HPP_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace ropewalk::bench {

// Nanoseconds from some moment on, never going back. A test gives one of its own.
using Clock = std::function<std::uint64_t()>;

// How long the calling thread has run. Work on one thread takes as long by this clock as by that on
// the wall, but for the time in which another process had its core: with five processes on two cores,
// batches of a millisecond and more were timed up to 20 times too long by the other.
Clock thread_clock();

// The clock on the wall, for what runs on several threads: the other counts only one of them.
Clock wall_clock();

struct Contender {
  // Puts its data into the memory that the contenders share; not timed.
  std::function<void()> prepare;
  // What is timed: so many calls, one after another.
  std::function<void(std::int64_t calls)> run;
};

struct MeasureOptions {
  int rounds = 15;                   // from 1
  std::uint64_t batch_ns = 100'000;  // calls are timed so many at once that it takes this long
};

// Of an even number of values, the mean of the two in the middle. values is not empty.
double median(std::vector<double> values);

// Who has which turn: 0 1 2, 1 2 0, 2 0 1, ...
std::vector<std::size_t> order_of_round(std::size_t round, std::size_t contenders);

// Nanoseconds per call of each contender, the median of the rounds. A round before the first finds
// out how many calls make a batch and is not counted.
std::vector<double> measure(std::span<const Contender> contenders, const MeasureOptions& options,
                            const Clock& clock);

}  // namespace ropewalk::bench

#endif  // ROPEWALK_BENCH_MEASURE_HPP_
