#include "bench/measure.hpp"

#include <gtest/gtest.h>

#include <string>

namespace ropewalk::bench {
namespace {

TEST(BenchMeasure, median_is_the_middle_or_the_mean_of_two) {
  EXPECT_EQ(median({7}), 7);
  EXPECT_EQ(median({9, 1, 5}), 5);
  EXPECT_EQ(median({9, 1, 5, 2}), 3.5);
  EXPECT_EQ(median({1, 1, 1, 1e9, 1e9}), 1);
}

TEST(BenchMeasure, each_round_begins_with_another_contender) {
  using Order = std::vector<std::size_t>;
  EXPECT_EQ(order_of_round(0, 3), (Order{0, 1, 2}));
  EXPECT_EQ(order_of_round(1, 3), (Order{1, 2, 0}));
  EXPECT_EQ(order_of_round(2, 3), (Order{2, 0, 1}));
  EXPECT_EQ(order_of_round(3, 3), (Order{0, 1, 2}));
  EXPECT_EQ(order_of_round(5, 1), (Order{0}));
}

// A world in which calls take the time that they say.
struct World {
  std::uint64_t now = 123;
  std::uint64_t last_read = 0;
  std::string turns;                   // a letter for each preparation
  std::vector<std::uint64_t> batches;  // what passed between two readings of the clock

  Clock clock() {
    return [this] {
      batches.push_back(now - last_read);
      last_read = now;
      return now;
    };
  }
  Contender contender(char letter, std::uint64_t ns) {
    return {[this, letter] { turns += letter, now += 5'000'000; },
            [this, ns](std::int64_t calls) { now += ns * static_cast<std::uint64_t>(calls); }};
  }
};

TEST(BenchMeasure, the_time_of_a_call_is_what_it_takes) {
  World world;
  const std::vector<Contender> contenders = {world.contender('a', 3), world.contender('b', 170),
                                             world.contender('c', 2'000'000)};
  EXPECT_EQ(measure(contenders, {}, world.clock()), (std::vector<double>{3, 170, 2'000'000}));
}

TEST(BenchMeasure, every_contender_has_a_turn_in_every_round_in_rotated_order) {
  World world;
  const std::vector<Contender> contenders = {
      world.contender('a', 200'000), world.contender('b', 200'000), world.contender('c', 200'000)};
  measure(contenders, {.rounds = 4}, world.clock());
  EXPECT_EQ(world.turns,
            "abc"
            "abc"
            "bca"
            "cab"
            "abc");  // the first finds the batches
}

TEST(BenchMeasure, a_batch_takes_as_long_as_asked_and_what_is_prepared_is_not_timed) {
  World world;
  const std::vector<Contender> contenders = {world.contender('a', 7)};
  measure(contenders, {.rounds = 3, .batch_ns = 10'000}, world.clock());
  // 2048 calls are the first power of two that takes 10 us; between turns, the clock is read after
  // what was prepared and after warming up by an eighth.
  const std::uint64_t batch = 2048 * std::uint64_t{7}, between = 5'000'000 + batch / 8;
  const std::vector<std::uint64_t> last(world.batches.end() - 6, world.batches.end());
  EXPECT_EQ(last, (std::vector<std::uint64_t>{between, batch, between, batch, between, batch}));
}

TEST(BenchMeasure, a_batch_that_seemed_long_enough_by_chance_grows) {
  World world;
  int runs = 0;
  const Contender contender = {[] {},
                               [&](std::int64_t calls) {
                                 // At first something else has the machine.
                                 if (++runs <= 2) world.now += 1'000'000;
                                 world.now += 100 * static_cast<std::uint64_t>(calls);
                               }};
  EXPECT_EQ(measure(std::span(&contender, 1), {}, world.clock()), std::vector<double>{100});
  EXPECT_GE(world.batches.back(), 100'000U);
}

TEST(BenchMeasure, a_round_out_of_line_changes_nothing) {
  World world;
  int turns = 0;
  const Contender contender = {[&] { ++turns; },
                               [&](std::int64_t calls) {
                                 const std::uint64_t ns = turns % 3 == 0 ? 900'000 : 300'000;
                                 world.now += ns * static_cast<std::uint64_t>(calls);
                               }};
  EXPECT_EQ(measure(std::span(&contender, 1), {}, world.clock()), std::vector<double>{300'000});
}

}  // namespace
}  // namespace ropewalk::bench
