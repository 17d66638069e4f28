#include "bench/verdict.hpp"

#include <gtest/gtest.h>

namespace ropewalk::bench {
namespace {

TEST(BenchVerdict, only_more_than_five_percent_ahead_and_in_cache_beats_the_limit) {
  EXPECT_FALSE(beats_limit({.ns = 200, .limit_ns = 100}, true));
  EXPECT_FALSE(beats_limit({.ns = 100, .limit_ns = 100}, true));
  EXPECT_FALSE(beats_limit({.ns = 100, .limit_ns = 104}, true));
  EXPECT_TRUE(beats_limit({.ns = 100, .limit_ns = 106}, true));
  EXPECT_FALSE(beats_limit({.ns = 100, .limit_ns = 106}, false));
}

TEST(BenchVerdict, in_cache_is_half_of_the_second_level) {
  constexpr std::int64_t kKiB = 1024;
  EXPECT_TRUE(is_in_cache(256 * kKiB, 512 * kKiB));
  EXPECT_FALSE(is_in_cache(256 * kKiB + 1, 512 * kKiB));
  EXPECT_TRUE(is_in_cache(128 * kKiB, 0));  // of a CPU that does not tell
  EXPECT_FALSE(is_in_cache(128 * kKiB + 1, 0));
}

// How often is measured where the limit is beaten so many times, and what is said in the end.
std::pair<int, bool> measured(int times_beaten) {
  int measurements = 0;
  const bool plausible = measure_until_plausible([&] { ++measurements; },
                                                 [&] { return measurements <= times_beaten; });
  return {measurements, plausible};
}

TEST(BenchVerdict, a_beaten_limit_is_measured_anew_three_times) {
  EXPECT_EQ(measured(0), std::pair(1, true));
  EXPECT_EQ(measured(1), std::pair(2, true));
  EXPECT_EQ(measured(3), std::pair(4, true));
  EXPECT_EQ(measured(4), std::pair(4, false));
  EXPECT_EQ(measured(100), std::pair(4, false));
}

}  // namespace
}  // namespace ropewalk::bench
