#include "bench/work.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace ropewalk::bench {
namespace {

std::string case_label(const Case& what) {
  return label({what, Pairing::kHalves, false, Target::kScalar});
}

std::size_t kept(const Filter& filter) {
  const std::vector<Case> cases = all_cases();
  return static_cast<std::size_t>(std::count_if(
      cases.begin(), cases.end(), [&](const Case& what) { return filter.keeps(what); }));
}

TEST(BenchWork, a_label_says_all_that_makes_a_row) {
  const Case what = {Work::kRotateQk, DType::kBf16, {512, 40, 128}, Layout::kBhtd, Where::kRandom};
  EXPECT_EQ(label({what, Pairing::kAdjacent, true, Target::kAvx2}),
            "rotate_qk bf16 adjacent 512x40x128 bhtd ready random AVX2");
}

TEST(BenchWork, no_case_is_listed_twice) {
  std::set<std::string> labels;
  for (const Case& what : all_cases()) EXPECT_TRUE(labels.insert(case_label(what)).second);
}

TEST(BenchWork, every_work_dtype_and_layout_is_measured) {
  for (const Work work : kWorks) EXPECT_GT(kept({.work = work}), 0U) << name(work);
  for (const Layout layout : kLayouts) EXPECT_GT(kept({.layout = layout}), 0U) << name(layout);
  for (const DType dtype : {DType::kF32, DType::kBf16, DType::kF16, DType::kF64}) {
    EXPECT_EQ(kept({.work = Work::kRotate, .dtype = dtype, .shape = Shape{1, 32, 128}}), 1U);
  }
}

TEST(BenchWork, what_a_case_must_be_it_is) {
  for (const Case& what : all_cases()) {
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
  const Case what = {Work::kRotate, DType::kF16, {1, 32, 128}, Layout::kBthd, Where::kConsecutive};
  EXPECT_TRUE(Filter{}.keeps(what));
  EXPECT_TRUE((Filter{Work::kRotate, DType::kF16, Layout::kBthd, Shape{1, 32, 128}}.keeps(what)));
  EXPECT_FALSE(Filter{.work = Work::kAngles}.keeps(what));
  EXPECT_FALSE(Filter{.dtype = DType::kF32}.keeps(what));
  EXPECT_FALSE(Filter{.layout = Layout::kBhtd}.keeps(what));
  EXPECT_FALSE((Filter{.work = Work::kRotate, .shape = Shape{1, 32, 64}}.keeps(what)));
}

}  // namespace
}  // namespace ropewalk::bench
