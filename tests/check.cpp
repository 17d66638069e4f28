#include <gtest/gtest.h>

#include <ropewalk/check.hpp>

#include "elements.hpp"

namespace ropewalk::testing {
namespace {

TEST(Check, every_property_holds_on_every_target) {
  for (const Target target : supported_targets()) {
    for (const Pairing pairing : kPairings) {
      for (const double m : {1.0, 1.2772588722239781}) {
        const Rope rope(Spec({.head_dim = 80,
                              .rotary_dim = 36,
                              .rotary_offset = 3,
                              .pairing = pairing,
                              .output_pairing = Pairing::kHalves,
                              .clockwise = m != 1,
                              .window_parts = 3,
                              .attention_factor = m}));
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
  for (const CheckRow& row : check(Rope(Spec({.head_dim = 16})), {.q_heads = 2, .k_heads = 2})) {
    seen.push_back(std::string(name(row.dtype)) + " " + row.property +
                   (row.shift ? " " + std::to_string(*row.shift) : ""));
  }
  std::vector<std::string> wanted;
  for (const std::string dtype : {"f32 ", "bf16 ", "f16 ", "f64 "}) {
    for (const std::string property :
         {"position 0", "length", "angle", "scores 3", "scores 1000", "scores 1000000",
          "scores 10000000", "pairings", "unrotate", "backward", "rerotate"}) {
      wanted.push_back(dtype + property);
    }
  }
  EXPECT_EQ(seen, wanted);
}

TEST(Check, measures_something_and_the_same_for_the_same_seed) {
  const Rope rope(Spec({.head_dim = 64}));
  const auto one = check(rope, {.tokens = 16, .seed = 5}),
             again = check(rope, {.tokens = 16, .seed = 5}),
             other = check(rope, {.tokens = 16, .seed = 6});
  bool differs = false;
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].worst, again[i].worst);
    differs = differs || one[i].worst != other[i].worst;
    if (one[i].property != "position 0" && one[i].property != "pairings") {
      // (In f64 the bound is mostly that of phases, whose errors cancel.)
      EXPECT_GT(one[i].worst, one[i].dtype == DType::kF64 ? 0 : 1e-3 * one[i].bound)
          << one[i].property;  // bounds mean something
    }
  }
  EXPECT_TRUE(differs);
}

TEST(Check, heads_of_any_allowed_size_are_checked_in_little_memory) {
  for (const std::int64_t dim : {128, 1024, 1025, 5000, 1 << 20}) {
    const Spec spec({.head_dim = dim, .rotary_dim = 2});
    const CheckOptions options = check_options_for(spec);
    EXPECT_LE(options.tokens * options.q_heads * dim, std::int64_t{1} << 24) << dim;
    EXPECT_EQ(options.tokens == 64, dim <= 1024);
  }
}

TEST(Check, refuses_heads_that_do_not_group) {
  const Rope rope(Spec({.head_dim = 8}));
  EXPECT_EQ(error_of([&] { check(rope, {.q_heads = 6, .k_heads = 4}); }),
            "q_heads 6 is no multiple of k_heads 4");
  EXPECT_EQ(error_of([&] { check(rope, {.tokens = 0}); }), "tokens 0 is not between 1 and 2^20");
}

}  // namespace
}  // namespace ropewalk::testing
