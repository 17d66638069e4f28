#include "bench/limit.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace ropewalk::bench {
namespace {

constexpr float kUntouched = 99;
constexpr std::size_t kMargin = 1;  // also makes what follows unaligned

// Values of which all are different, with a margin on both sides.
std::vector<float> values(std::size_t count) {
  std::vector<float> x(count + 2 * kMargin, kUntouched);
  for (std::size_t i = 0; i < count; ++i) x[kMargin + i] = 1 + static_cast<float>(i) / 4096;
  return x;
}

std::vector<float> scaled(std::vector<float> x, float factor) {
  for (std::size_t i = kMargin; i + kMargin < x.size(); ++i) x[i] *= factor;
  return x;
}

TEST(BenchLimit, there_are_four_loops_of_different_names_or_more) {
  std::set<std::string> names;
  for (const LimitLoops& loop : limit_loops()) names.insert(loop.name);
  EXPECT_GE(names.size(), 4U);
  EXPECT_EQ(names.size(), limit_loops().size());
}

TEST(BenchLimit, every_loop_does_all_elements_and_no_others) {
  for (const LimitLoops& loop : limit_loops()) {
    for (const std::size_t count :
         {0U, 1U, 3U, 15U, 16U, 31U, 64U, 127U, 128U, 129U, 1000U, 4096U}) {
      SCOPED_TRACE(std::string(loop.name) + ", " + std::to_string(count));
      const std::vector<float> x = values(count);
      for (const float factor : {-1.0F, 2.5F}) {
        std::vector<float> in_place = x;
        loop.scale(in_place.data() + kMargin, count, factor);
        EXPECT_EQ(in_place, scaled(x, factor));
        std::vector<float> out(x.size(), kUntouched);
        loop.scale_to(x.data() + kMargin, out.data() + kMargin, count, factor);
        EXPECT_EQ(out, scaled(x, factor));
      }
      std::vector<float> written = x;
      loop.write(written.data() + kMargin, count, 1.5F);
      std::vector<float> wanted(x.size(), kUntouched);
      std::fill_n(wanted.begin() + kMargin, count, 1.5F);
      EXPECT_EQ(written, wanted);
    }
  }
}

}  // namespace
}  // namespace ropewalk::bench
