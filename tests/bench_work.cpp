#include "bench/work.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <ropewalk/error.hpp>
#include <set>

namespace ropewalk::bench {
namespace {

constexpr Caches kCaches = {32 << 10, 1 << 20, 32 << 20};

std::string case_label(const Case& what) { return label({what, Pairing::kHalves, false}); }

std::size_t kept(const Filter& filter) {
  const std::vector<Case> cases = all_cases(kCaches, Target::kBest);
  return static_cast<std::size_t>(std::count_if(
      cases.begin(), cases.end(), [&](const Case& what) { return filter.keeps(what); }));
}

TEST(BenchWork, a_label_says_all_that_makes_a_row) {
  Case what = {Work::kRotateQk, DType::kBf16,   {512, 40, 128},
               Layout::kBhtd,   Where::kRandom, Target::kAvx2};
  EXPECT_EQ(label({what, Pairing::kAdjacent, true}),
            "rotate_qk bf16 adjacent 512x40x128 bhtd ready random AVX2, 1 thread");
  what.threads = 2;
  EXPECT_EQ(label({what, Pairing::kHalves, false}),
            "rotate_qk bf16 halves 512x40x128 bhtd fresh random AVX2, 2 threads");
}

TEST(BenchWork, any_shape_has_cases_of_every_work_dtype_and_layout) {
  const auto count = [](const Shape& shape) { return cases_of(shape, Target::kBest).size(); };
  EXPECT_EQ(count({1, 4, 2}), 2 * 2 * 4);  // no k of a fifth of 4 heads
  EXPECT_EQ(count({1, 5, 2}), 3 * 2 * 4);
  // 2^17 elements: of 16 bits just worth two threads.
  EXPECT_EQ(count({1024, 1, 128}), 2 * 2 * 4 * 2);
  EXPECT_EQ(count({1023, 1, 128}), 2 * 2 * (4 + 2));
  for (const Shape& shape : {Shape{0, 1, 2}, Shape{1, -1, 2}, Shape{1, 1, 3}, Shape{1, 1, 0},
                             Shape{1 << 20, 1, 256}, Shape{INT64_MAX, INT64_MAX, INT64_MAX - 1}}) {
    EXPECT_THROW((void)count(shape), Error) << shape[0] << "x" << shape[1] << "x" << shape[2];
  }
}

TEST(BenchWork, no_case_is_listed_twice) {
  // Of these caches some sets have shapes that are listed anyway; of these targets one may be the best.
  for (const std::int64_t l3 : {1 << 20, 16 << 20, 32 << 20}) {
    for (const Target target : {Target::kBest, Target::kScalar, Target::kAvx2}) {
      std::set<std::string> labels;
      for (const Case& what : all_cases({32 << 10, 512 << 10, l3}, target)) {
        EXPECT_TRUE(labels.insert(case_label(what)).second) << case_label(what);
      }
    }
  }
}

TEST(BenchWork, what_is_measured_on_two_threads_is_measured_on_one) {
  const std::vector<Case> cases = all_cases(kCaches, Target::kBest);
  for (Case what : cases) {
    what.threads = 1;
    EXPECT_NE(std::find(cases.begin(), cases.end(), what), cases.end()) << case_label(what);
  }
}

TEST(BenchWork, a_target_that_is_forced_is_the_only_one) {
  for (const Case& what : all_cases(kCaches, Target::kScalar)) {
    EXPECT_EQ(what.target, Target::kScalar);
  }
}

TEST(BenchWork, other_targets_than_the_best_are_supported_and_not_the_best) {
  const auto targets = compiled_targets();
  const auto best = std::find_if(targets.begin(), targets.end(), is_supported);
  for (const Case& what : all_cases(kCaches, Target::kBest)) {
    EXPECT_TRUE(is_supported(what.target));
    EXPECT_NE(what.target, *best);
  }
}

TEST(BenchWork, working_sets_lie_inside_each_level_and_beyond_the_last) {
  using Sets = std::array<std::int64_t, 4>;
  EXPECT_EQ(working_sets(kCaches), (Sets{16 << 10, 512 << 10, 16 << 20, 128 << 20}));
  EXPECT_EQ(working_sets({48 << 10, 2 << 20, 96 << 20}),
            (Sets{24 << 10, 1 << 20, 48 << 20, 256 << 20}));
  for (const std::int64_t bytes : working_sets({})) EXPECT_GT(bytes, 0);
}

TEST(BenchWork, each_working_set_is_filled_and_two_threads_have_one_of_the_second_level) {
  const std::vector<Case> cases = all_cases(kCaches, Target::kBest);
  for (const std::int64_t bytes : working_sets(kCaches)) {
    EXPECT_TRUE(std::any_of(cases.begin(), cases.end(), [&](const Case& what) {
      return what.work == Work::kRotate && what.threads == 1 && what.bytes() == bytes;
    })) << bytes;
  }
  EXPECT_GE(kept({.shape = Shape{32, 32, 128}, .threads = 2}), 1U);   // L2 / 2, of f32
  EXPECT_GE(kept({.shape = Shape{64, 32, 128}, .threads = 2}), 1U);   // L2 / 2 for each
  EXPECT_GE(kept({.shape = Shape{512, 32, 128}, .threads = 2}), 1U);  // L3
}

TEST(BenchWork, every_work_dtype_and_layout_is_measured) {
  for (const Work work : kWorks) EXPECT_GT(kept({.work = work}), 0U) << name(work);
  for (const Layout layout : kLayouts) EXPECT_GT(kept({.layout = layout}), 0U) << name(layout);
  for (const DType dtype : {DType::kF32, DType::kBf16, DType::kF16, DType::kF64}) {
    EXPECT_GE(kept({.work = Work::kRotate, .dtype = dtype, .shape = Shape{1, 32, 128}}), 1U);
  }
}

// What the kernels are judged by. Of other targets than the best only what this CPU has.
TEST(BenchWork, the_list_has_decode_prefill_few_heads_wide_heads_and_both_layouts) {
  const Case wanted[] = {
      {Work::kRotate, DType::kF32, {1, 32, 128}},
      {Work::kRotate, DType::kF16, {1, 32, 128}},
      {Work::kRotate, DType::kBf16, {1, 32, 128}},
      {Work::kRotate, DType::kF32, {512, 32, 128}},
      {Work::kRotate, DType::kF16, {512, 32, 128}},
      {Work::kRotate, DType::kBf16, {512, 32, 128}},
      {Work::kRotate, DType::kF32, {4096, 32, 128}},
      {Work::kRotate, DType::kF16, {16384, 32, 128}},
      {Work::kRotate, DType::kBf16, {16384, 32, 128}},
      {Work::kRotate, DType::kF32, {4096, 1, 64}},
      {Work::kRotate, DType::kBf16, {4096, 1, 64}},
      {Work::kRotate, DType::kF32, {4096, 8, 128}},
      {Work::kRotate, DType::kF32, {64, 32, 128}, Layout::kBthd, Where::kRandom},
      {Work::kRotateQk, DType::kF32, {1, 40, 128}},
      {Work::kRotate, DType::kF32, {1, 16, 256}},
      {Work::kRotate, DType::kF32, {2048, 32, 256}},
      {Work::kRotate, DType::kF32, {512, 32, 128}, Layout::kBhtd},
      {Work::kRotate, DType::kF32, {4096, 32, 128}, Layout::kBhtd},
      {Work::kRotateOut, DType::kF32, {4096, 32, 128}},
      {Work::kAngles, DType::kF32, {4096, 1, 128}},
      {.work = Work::kRotate, .dtype = DType::kF32, .shape = {512, 32, 128}, .threads = 2},
  };
  const std::vector<Case> cases = all_cases(kCaches, Target::kBest);
  for (const Case& what : wanted) {
    EXPECT_EQ(std::count(cases.begin(), cases.end(), what), 1) << case_label(what);
  }
}

TEST(BenchWork, what_a_case_must_be_it_is) {
  for (const Case& what : all_cases(kCaches, Target::kBest)) {
    const auto& [tokens, heads, head_dim] = what.shape;
    EXPECT_TRUE(what.work != Work::kRotateQk || heads % 5 == 0) << case_label(what);
    const bool is_row = heads == 1 && (what.dtype == DType::kF32 || what.dtype == DType::kF64);
    EXPECT_TRUE(what.work != Work::kAngles || is_row) << case_label(what);
    EXPECT_EQ(what.bytes() % 4, 0) << case_label(what);
  }
}

TEST(BenchWork, bytes_are_those_of_both_tensors_and_both_ways) {
  Case what = {Work::kRotate, DType::kBf16, {2, 3, 4}, Layout::kBthd, Where::kConsecutive};
  EXPECT_EQ(what.bytes(), 48);
  EXPECT_EQ(what.touched_bytes(), 48);
  EXPECT_EQ(what.moved_bytes(), 96);
  what.work = Work::kRotateOut;
  EXPECT_EQ(what.touched_bytes(), 96);
  EXPECT_EQ(what.moved_bytes(), 96);
  what.work = Work::kAngles, what.dtype = DType::kF32;
  EXPECT_EQ(what.touched_bytes(), 96);
  EXPECT_EQ(what.moved_bytes(), 96);
}

TEST(BenchWork, a_filter_keeps_what_has_all_that_it_names) {
  const Case what = {Work::kRotate, DType::kF16, {1, 32, 128}};
  EXPECT_TRUE(Filter{}.keeps(what));
  EXPECT_TRUE((Filter{Work::kRotate, DType::kF16, Layout::kBthd, Shape{1, 32, 128}}.keeps(what)));
  EXPECT_FALSE(Filter{.work = Work::kAngles}.keeps(what));
  EXPECT_FALSE(Filter{.dtype = DType::kF32}.keeps(what));
  EXPECT_FALSE(Filter{.layout = Layout::kBhtd}.keeps(what));
  EXPECT_FALSE((Filter{.work = Work::kRotate, .shape = Shape{1, 32, 64}}.keeps(what)));
  EXPECT_TRUE(Filter{.threads = 1}.keeps(what));
  EXPECT_FALSE(Filter{.threads = 2}.keeps(what));
}

}  // namespace
}  // namespace ropewalk::bench
