#include "overlap.hpp"

#include <gtest/gtest.h>

#include <set>

#include "elements.hpp"

namespace ropewalk::testing {
namespace {

// Every element's offset, by walking.
std::multiset<std::int64_t> offsets(const ConstTensorView& view, const float* origin) {
  std::multiset<std::int64_t> result;
  const std::int64_t start = static_cast<const float*>(view.data) - origin;
  for (std::int64_t b = 0; b < view.shape[0]; ++b) {
    for (std::int64_t t = 0; t < view.shape[1]; ++t) {
      for (std::int64_t h = 0; h < view.shape[2]; ++h) {
        for (std::int64_t e = 0; e < view.shape[3]; ++e) {
          result.insert(start + b * view.strides[0] + t * view.strides[1] + h * view.strides[2] +
                        e * view.strides[3]);
        }
      }
    }
  }
  return result;
}

bool really_overlap(const ConstTensorView& a, const ConstTensorView& b, const float* origin) {
  const auto of_a = offsets(a, origin);
  for (const std::int64_t offset : offsets(b, origin)) {
    if (of_a.count(offset) != 0) return true;
  }
  return false;
}

bool really_overlaps_itself(const ConstTensorView& view, const float* origin) {
  const auto all = offsets(view, origin);
  return std::set<std::int64_t>(all.begin(), all.end()).size() != all.size();
}

TEST(Overlap, is_exact_for_views_of_the_same_strides) {
  std::vector<float> memory(4000);
  float* middle = memory.data() + 2000;
  std::mt19937_64 random(1);
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  int overlapping = 0, apart = 0;
  for (int n = 0; n < 20000; ++n) {
    const Dims strides = {draw(-60, 60), draw(-30, 30), draw(-12, 12), 1};
    const Dims a_shape = {draw(1, 3), draw(1, 4), draw(1, 3), draw(1, 6)};
    const Dims b_shape = {draw(1, 3), draw(1, 4), draw(1, 3), draw(1, 6)};
    const ConstTensorView a = TensorView{middle, DType::kF32, a_shape, strides};
    const ConstTensorView b = TensorView{middle + draw(-80, 80), DType::kF32, b_shape, strides};
    const bool really = really_overlap(a, b, memory.data());
    ASSERT_EQ(may_overlap(a, b), really) << n;
    ASSERT_EQ(may_overlap(b, a), really) << n;
    ASSERT_EQ(may_overlap_itself(a), really_overlaps_itself(a, memory.data())) << n;
    (really ? overlapping : apart) += 1;
  }
  EXPECT_GT(overlapping, 1000);
  EXPECT_GT(apart, 1000);
}

TEST(Overlap, q_and_k_inside_one_fused_row_are_apart) {
  std::vector<float> fused(5 * 7 * 8);  // 5 tokens of 4 + 2 + 1 heads of 8
  const TensorView q{fused.data(), DType::kF32, {1, 5, 4, 8}, {0, 56, 8, 1}};
  const TensorView k{fused.data() + 32, DType::kF32, {1, 5, 2, 8}, {99, 56, 8, 1}};
  EXPECT_FALSE(may_overlap(q, k));
  const TensorView k_too_wide{fused.data() + 24, DType::kF32, {1, 5, 2, 8}, {0, 56, 8, 1}};
  EXPECT_TRUE(may_overlap(q, k_too_wide));
}

TEST(Overlap, other_strides_are_refused_as_soon_as_the_ranges_meet) {
  std::vector<float> memory(100);
  const TensorView a{memory.data(), DType::kF32, {1, 3, 1, 2}, {0, 4, 0, 1}};
  const TensorView b{memory.data() + 2, DType::kF32, {1, 2, 1, 2}, {0, 8, 0, 1}};
  EXPECT_TRUE(may_overlap(a, b));  // though they are apart
  const TensorView c{memory.data() + 10, DType::kF32, {1, 2, 1, 2}, {0, 8, 0, 1}};
  EXPECT_FALSE(may_overlap(a, c));
}

TEST(Overlap, a_view_that_is_off_by_a_part_of_an_element_overlaps) {
  std::vector<float> memory(100);
  auto* bytes = reinterpret_cast<char*>(memory.data());
  const TensorView a{bytes, DType::kBf16, {1, 3, 1, 2}, {0, 4, 0, 1}};
  const TensorView b{bytes + 5, DType::kBf16, {1, 3, 1, 2}, {0, 4, 0, 1}};
  EXPECT_TRUE(may_overlap(a, b));
}

TEST(Overlap, empty_views_overlap_nothing) {
  float x[4];
  const TensorView empty{x, DType::kF32, {1, 0, 1, 4}, {4, 4, 4, 1}};
  const TensorView full{x, DType::kF32, {1, 1, 1, 4}, {4, 4, 4, 1}};
  EXPECT_FALSE(may_overlap(empty, full));
  EXPECT_FALSE(may_overlap(full, empty));
  EXPECT_FALSE(may_overlap_itself(empty));
}

TEST(Overlap, a_range_larger_than_the_memory_is_said) {
  float x[4];
  Bytes bytes{};
  const TensorView far{x, DType::kF32, {2, 1, 1, 4}, {INT64_MAX, 4, 4, 1}};
  EXPECT_FALSE(byte_range(far, bytes));
  const TensorView back{x, DType::kF32, {2, 1, 1, 4}, {INT64_MIN, 4, 4, 1}};
  EXPECT_FALSE(byte_range(back, bytes));
  // Sums that would wrap in 128 bits.
  constexpr std::int64_t kHuge = (std::int64_t{1} << 62) + 1;
  for (const auto& [shape, strides] :
       {std::pair{Dims{1, INT64_MAX, 1, 4}, Dims{0, INT64_MIN, 0, 1}},
        {Dims{kHuge, kHuge, 1, 4}, Dims{INT64_MIN, INT64_MIN, 0, 1}},
        {Dims{2, kHuge, 1, 4}, Dims{-(kHuge - 1), INT64_MIN, 0, 1}}}) {
    EXPECT_FALSE(byte_range(TensorView{x, DType::kF64, shape, strides}, bytes));
  }
  const TensorView fine{x, DType::kF32, {1, 1, 1, 4}, {INT64_MIN, 4, 4, 1}};
  EXPECT_TRUE(byte_range(fine, bytes));
  EXPECT_EQ(bytes.end - bytes.first, 16u);
}

}  // namespace
}  // namespace ropewalk::testing
