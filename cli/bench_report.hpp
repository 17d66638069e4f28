// What bench prints: lines for people, JSON for programs.

#ifndef ROPEWALK_CLI_BENCH_REPORT_HPP_
#define ROPEWALK_CLI_BENCH_REPORT_HPP_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/machine.hpp"
#include "bench/memory.hpp"
#include "bench/overhead.hpp"
#include "bench/work.hpp"

namespace ropewalk::cli {

// What the machine does without the library.
struct Bare {
  std::vector<bench::MemoryRow> memory;
  std::optional<double> fork_join_ns;  // of two threads, if there are
};

std::string header_line(const bench::Machine& machine);
extern const char* const kRowsHead;
std::string line_of(const bench::Row& row);
std::string lines_of(const Bare& bare);
std::string line_of(const bench::Overhead& overhead);

// {"machine", "overhead", "rows"}; what was not measured is left out.
nlohmann::ordered_json json_of(const bench::Machine& machine, const std::optional<Bare>& bare,
                               const std::optional<bench::Overhead>& overhead,
                               const std::vector<bench::Row>& rows);

}  // namespace ropewalk::cli

#endif  // ROPEWALK_CLI_BENCH_REPORT_HPP_
