// Whether a limit can be believed.

#ifndef ROPEWALK_BENCH_VERDICT_HPP_
#define ROPEWALK_BENCH_VERDICT_HPP_

#include <cstdint>
#include <functional>

namespace ropewalk::bench {

struct Times {
  double ns;        // of a call
  double limit_ns;  // of the fastest loop that reads and writes the same bytes
};

// Whether all bytes that a call touches stay in a core's own cache: at most half of its L2, the rest
// being for rows, positions and the program. Of a CPU that does not tell, 256 KiB is taken for its
// L2. The last-level cache is no measure: other cores, and other guests of the machine, share it.
bool is_in_cache(std::int64_t bytes, std::int64_t l2_bytes);

// Whether a call is more than 5 % faster than the limit, which in cache nothing can be that moves the
// same bytes: the limit is then measured wrong. Out of cache, memory may be in a better mood for one
// than for the other, and nothing follows.
bool beats_limit(const Times& times, bool is_in_cache);

// Measures, up to four times while the limit is beaten, as on a busy machine it sometimes is.
// Returns whether it was not, in the last.
bool measure_until_plausible(const std::function<void()>& measure,
                             const std::function<bool()>& is_limit_beaten);

}  // namespace ropewalk::bench

#endif  // ROPEWALK_BENCH_VERDICT_HPP_
