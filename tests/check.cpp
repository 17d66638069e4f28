#include <gtest/gtest.h>

#include <ropewalk/check.hpp>

#include "elements.hpp"

namespace ropewalk::testing {
namespace {

TEST(Check, every_property_holds_on_every_target) {
  for (const Target target : supported_targets()) {
    for (const Pairing pairing : kPairings) {
      for (const double m : {1.0, 1.2772588722239781}) {
        const Rope rope(
            Spec({.head_dim = 80, .rotary_dim = 32, .pairing = pairing, .attention_factor = m}));
        for (const CheckRow& row :
             check(rope, {.q_heads = 4, .k_heads = 2, .tokens = 16, .target = target})) {
          EXPECT_TRUE(row.ok) << row.property << " " << row.worst << " > " << row.bound;
          EXPECT_LE(row.worst, row.bound);
        }
      }
    }
  }
}

TEST(Check, has_a_row_for_every_property_dtype_and_shift) {
  std::vector<std::string> seen;
  for (const CheckRow& row : check(Rope(Spec({.head_dim = 16})), {.q_heads = 2, .k_heads = 1})) {
    seen.push_back(std::string(name(row.dtype)) + " " + row.property +
                   (row.shift ? " " + std::to_string(*row.shift) : ""));
  }
  std::vector<std::string> wanted;
  for (const std::string dtype : {"f32 ", "bf16 "}) {
    for (const std::string property : {"position 0", "length", "angle", "scores 3", "scores 1000",
                                       "scores 1000000", "scores 10000000", "pairings"}) {
      wanted.push_back(dtype + property);
    }
  }
  EXPECT_EQ(seen, wanted);
}

TEST(Check, measures_something_and_the_same_for_the_same_seed) {
  const Rope rope(Spec({.head_dim = 64}));
  const auto one = check(rope, {.seed = 5}), again = check(rope, {.seed = 5}),
             other = check(rope, {.seed = 6});
  bool differs = false;
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].worst, again[i].worst);
    differs = differs || one[i].worst != other[i].worst;
    if (one[i].property == "length" || one[i].property == "angle" || one[i].property == "scores") {
      EXPECT_GT(one[i].worst, 0.001 * one[i].bound) << one[i].property;  // bounds mean something
    }
  }
  EXPECT_TRUE(differs);
}

TEST(Check, refuses_heads_that_do_not_group) {
  const Rope rope(Spec({.head_dim = 8}));
  EXPECT_EQ(error_of([&] { check(rope, {.q_heads = 6, .k_heads = 4}); }),
            "q_heads 6 is no multiple of k_heads 4");
  EXPECT_EQ(error_of([&] { check(rope, {.tokens = 0}); }), "tokens 0 is less than 1");
}

}  // namespace
}  // namespace ropewalk::testing
