#include "progress.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "interrupt.hpp"

namespace ropewalk::cli {
namespace {

constexpr auto kSilence = std::chrono::seconds(1);
constexpr auto kInterval = std::chrono::milliseconds(100);

// One that knows how to erase a line.
bool stderr_is_terminal() {
  const char* const kind = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && kind != nullptr && std::string_view(kind) != "dumb";
}

// A job in the background leaves the line to others. (-1: it is not the terminal of our session.)
bool is_in_front() {
  const pid_t group = ::tcgetpgrp(STDERR_FILENO);
  return group == -1 || group == ::getpgrp();
}

bool is_wide() {
  constexpr unsigned short kWidth = 72;  // of the longest line below
  struct winsize size {};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_col > kWidth;
}

std::string line_of(std::uint64_t done, std::uint64_t total) {
  constexpr std::size_t kBar = 32;
  const double share = static_cast<double>(done) / static_cast<double>(total);
  char line[80];
  std::snprintf(line, sizeof(line), "\rrotate %3d%%", static_cast<int>(share * 100));
  std::string result = line;
  if (!is_wide()) return result;
  const auto full = static_cast<std::size_t>(share * kBar);
  std::snprintf(line, sizeof(line), "] %.1f of %.1f GB", static_cast<double>(done) / 1e9,
                static_cast<double>(total) / 1e9);
  return result + " [" + std::string(full, '#') + std::string(kBar - full, ' ') + line;
}

// At once, so that it does not flicker. A terminal that is gone is no reason to stop.
bool print(std::string_view line) {
  return ::write(STDERR_FILENO, line.data(), line.size()) == std::ssize(line);
}

}  // namespace

Progress::Progress(std::uint64_t total_bytes)
    : is_terminal_(stderr_is_terminal()),
      total_(std::max<std::uint64_t>(total_bytes, 1)),
      next_(Clock::now() + kSilence) {}

Progress::~Progress() {
  if (is_drawn_) print(kEraseLine);
  erase_line_on_signal(false);
}

void Progress::add(std::uint64_t bytes) {
  done_ = std::min(done_ + bytes, total_);
  if (!is_terminal_) return;
  const auto now = Clock::now();
  if (now < next_ || !is_in_front()) return;
  next_ = now + kInterval;
  is_drawn_ = true;
  erase_line_on_signal(true);
  is_terminal_ = print(line_of(done_, total_));
}

}  // namespace ropewalk::cli
