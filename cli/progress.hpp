// A bar on the terminal while a long work goes on.

#ifndef ROPEWALK_CLI_PROGRESS_HPP_
#define ROPEWALK_CLI_PROGRESS_HPP_

#include <chrono>
#include <cstdint>

namespace ropewalk::cli {

//   rotate  43% [##############                  ] 1.2 of 2.8 GB
//
// One line on stderr, if that is a terminal, once the work has taken a second. It is erased at the
// end, so that a message has the line for itself; if a signal is the end, by its handler.
//
// (Our own: Debian 12 has no library for it, and p-ranav/indicators, which is held up for it
// elsewhere, knows neither that stderr may be no terminal nor what a signal leaves behind.)
class Progress {
 public:
  explicit Progress(std::uint64_t total_bytes);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  // So many bytes more are done.
  void add(std::uint64_t bytes);

 private:
  using Clock = std::chrono::steady_clock;

  bool is_terminal_;
  bool is_drawn_ = false;
  std::uint64_t total_;
  std::uint64_t done_ = 0;
  Clock::time_point next_;  // when to draw
};

}  // namespace ropewalk::cli

#endif  // ROPEWALK_CLI_PROGRESS_HPP_
