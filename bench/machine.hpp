// The machine and the program that measured.

#ifndef ROPEWALK_BENCH_MACHINE_HPP_
#define ROPEWALK_BENCH_MACHINE_HPP_

#include <cstdint>
#include <string>

namespace ropewalk::bench {

// Of one core, and the last level shared by several. 0: unknown.
struct Caches {
  std::int64_t l1d_bytes = 0, l2_bytes = 0, l3_bytes = 0;
};

struct Machine {
  std::string cpu;         // "AMD EPYC 9R14"
  std::int64_t cores = 0;  // that this system may use
  Caches caches;
  std::string os;        // "Linux 6.1.0 x86_64"
  std::string compiler;  // "GCC 12.2.0, Release"
  std::string version;   // of ropewalk
  std::string date;      // UTC, "2026-08-01T12:00:00Z"
};

Machine this_machine();

}  // namespace ropewalk::bench

#endif  // ROPEWALK_BENCH_MACHINE_HPP_
