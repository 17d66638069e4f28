#include "bench/measured_case.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <ropewalk/error.hpp>

#include "elements.hpp"

namespace ropewalk::bench {
namespace {

TEST(BenchMeasuredCase, results_are_right_on_every_target) {
  for (const Target target : testing::supported_targets()) {
    for (Case what : all_cases({}, target)) {
      what.shape[0] = std::min<std::int64_t>(what.shape[0], 8);  // takes long enough
      EXPECT_EQ(MeasuredCase(what).check(), "");
    }
  }
}

TEST(BenchMeasuredCase, results_and_loops_of_the_limit_are_right_on_two_threads) {
  for (const Work work : {Work::kRotate, Work::kRotateQk, Work::kRotateOut}) {
    // Enough to be split, and no even number of lines for each.
    const Case what = {.work = work, .dtype = DType::kF32, .shape = {33, 20, 130}, .threads = 2};
    EXPECT_EQ(MeasuredCase(what).check(), "");
  }
}

TEST(BenchMeasuredCase, both_pairings_and_fresh_and_ready_angles_are_measured_in_order) {
  std::uint64_t now = 0;
  const Clock clock = [&now] { return now += 1'000'000; };
  const Case what = {Work::kRotateQk, DType::kF16, {2, 10, 64}, Layout::kBhtd, Where::kRandom};
  const std::vector<Row> rows = MeasuredCase(what).measure({.rounds = 1}, clock);
  ASSERT_EQ(rows.size(), 4U);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].pairing, i < 2 ? Pairing::kHalves : Pairing::kAdjacent);
    EXPECT_EQ(rows[i].is_ready, i % 2 == 1);
    EXPECT_EQ(rows[i].what.target, testing::supported_targets().front());
    EXPECT_EQ(rows[i].times.ns, 1'000'000);
    EXPECT_EQ(rows[i].times.limit_ns, 1'000'000);
    EXPECT_EQ(rows[i].fraction(), 1);
  }
}

TEST(BenchMeasuredCase, the_limit_is_the_fastest_loop) {
  // Of the readings in a round, two belong to each of the four rotations and of the loops: the last
  // loop is given less time than the others.
  const std::size_t contenders = 4 + limit_loops().size();
  std::size_t readings = 0;
  std::uint64_t now = 0;
  const Clock clock = [&] {
    const std::size_t contender = readings++ / 2 % contenders;
    now += contender + 1 == contenders ? 200'000 : 1'000'000;
    return now;
  };
  const Case what = {Work::kRotate, DType::kF32, {1, 2, 64}};
  for (const Row& row : MeasuredCase(what).measure({.rounds = 1}, clock)) {
    EXPECT_EQ(row.times.ns, 1'000'000);
    EXPECT_EQ(row.times.limit_ns, 200'000);
    EXPECT_EQ(row.fraction(), 0.2);
  }
}

TEST(BenchMeasuredCase, a_target_that_is_not_to_be_had_is_refused) {
  for (const Target target : {Target::kNeon, Target::kAvx2}) {
    if (is_supported(target)) continue;
    const Case what = {
        .work = Work::kRotate, .dtype = DType::kF32, .shape = {1, 2, 64}, .target = target};
    EXPECT_THROW(MeasuredCase(what).check(), Error);
  }
}

}  // namespace
}  // namespace ropewalk::bench
