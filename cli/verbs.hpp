// The verbs of the command line, one source each.

#ifndef ROPEWALK_CLI_VERBS_HPP_
#define ROPEWALK_CLI_VERBS_HPP_

#include <CLI/CLI.hpp>
#include <functional>
#include <stdexcept>
#include <string>

namespace ropewalk::cli {

// What can be told from the command line alone, before any file is opened: exit code 2. All else
// that goes wrong is exit code 1.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// For CLI11: a variable that was not set must not be as if its flag were not given.
inline std::string refuse_empty(const std::string& value) {
  return value.empty() ? "got an empty value" : "";
}

struct Verb {
  CLI::App* app;             // its options
  std::function<int()> run;  // returns the exit code
};

Verb add_bench(CLI::App& app);
Verb add_check(CLI::App& app);
Verb add_inspect(CLI::App& app);
Verb add_rotate(CLI::App& app);

}  // namespace ropewalk::cli

#endif  // ROPEWALK_CLI_VERBS_HPP_
