// The list of targets: fixed, and every one that this CPU has is really run.

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iostream>

#include "elements.hpp"
#include "kernels.hpp"

namespace ropewalk::testing {
namespace {

// What the operating system says of the CPU, apart from Highway's and the compiler's detection.
bool cpu_has(Target target) {
  std::ifstream file("/proc/cpuinfo");
  std::string line, flags = " ";
  while (std::getline(file, line)) {
    if (line.starts_with("flags") || line.starts_with("Features")) flags = line + " ";
  }
  const auto all = [&](std::initializer_list<const char*> wanted) {
    return std::all_of(wanted.begin(), wanted.end(), [&](const std::string& flag) {
      return flags.find(" " + flag + " ") != std::string::npos;
    });
  };
  const bool avx2 = all({"avx2", "fma", "f16c", "bmi1", "bmi2", "abm"});
  const bool avx3 = avx2 && all({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"});
  switch (target) {
    case Target::kAvx2: return avx2;
    case Target::kAvx3: return avx3;
    case Target::kAvx3Bf16: return avx3 && all({"avx512_bf16"});
    default: return true;
  }
}

TEST(Version, the_list_of_targets_is_fixed) {
#if defined(__x86_64__)
  const std::vector<Target> fixed = {Target::kAvx3Bf16, Target::kAvx3, Target::kAvx2,
                                     Target::kScalar};
#else
  const std::vector<Target> fixed = {Target::kNeon};
#endif
  const auto compiled = compiled_targets();
  EXPECT_EQ(std::vector<Target>(compiled.begin(), compiled.end()), fixed);
}

TEST(Version, every_target_of_the_list_that_this_cpu_has_is_run_when_forced) {
  std::string missing;
  for (const Target target : compiled_targets()) {
    EXPECT_EQ(is_supported(target), cpu_has(target)) << name(target);
    if (!cpu_has(target)) {
      missing += " " + std::string(name(target));
      continue;
    }
    ASSERT_NE(kernels::table_for(target), nullptr) << name(target);
    EXPECT_EQ(kernels::table_for(target)->target, target);
    const Rope rope(Spec({.head_dim = 64}));
    Elements x = random_elements(DType::kF32, 64, 1);
    EXPECT_NO_THROW(rotate(rope, view(x, {1, 1, 1, 64}), Positions::from(5), {.target = target}));
  }
  if (!missing.empty()) std::cout << "not run, this CPU lacks:" << missing << "\n";
  if (std::getenv("ROPEWALK_REQUIRE_ALL_TARGETS") != nullptr) {
    EXPECT_EQ(missing, "") << "ROPEWALK_REQUIRE_ALL_TARGETS is set";
  }
}

TEST(Version, the_best_target_is_the_first_supported_one) {
  ASSERT_FALSE(supported_targets().empty());
  EXPECT_EQ(kernels::table_for(Target::kBest)->target, supported_targets().front());
  EXPECT_TRUE(is_supported(Target::kBest));
}

TEST(Version, a_target_that_is_not_to_be_had_is_an_error) {
  const Rope rope(Spec({.head_dim = 64}));
  Elements x = random_elements(DType::kF32, 64, 1);
#if defined(__x86_64__)
  const Target foreign = Target::kNeon;
#else
  const Target foreign = Target::kAvx2;
#endif
  EXPECT_EQ(
      error_of(
          [&] { rotate(rope, view(x, {1, 1, 1, 64}), Positions::from(5), {.target = foreign}); }),
      "target " + std::string(name(foreign)) + " is not to be had in this build or on this CPU");
}

}  // namespace
}  // namespace ropewalk::testing
