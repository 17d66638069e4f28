#include "bench/verdict.hpp"

namespace ropewalk::bench {
namespace {

constexpr double kMostAhead = 1.05;
constexpr int kTries = 4;
constexpr std::int64_t kL2IfUnknown = 256 << 10;

}  // namespace

bool is_in_cache(std::int64_t bytes, std::int64_t l2_bytes) {
  return bytes <= (l2_bytes > 0 ? l2_bytes : kL2IfUnknown) / 2;
}

bool beats_limit(const Times& times, bool is_in_cache) {
  return is_in_cache && times.ns * kMostAhead < times.limit_ns;
}

bool measure_until_plausible(const std::function<void()>& measure,
                             const std::function<bool()>& is_limit_beaten) {
  for (int i = 0; i < kTries; ++i) {
    measure();
    if (!is_limit_beaten()) return true;
  }
  return false;
}

}  // namespace ropewalk::bench
