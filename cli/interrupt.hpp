// What happens to unfinished files, and to the terminal, when a signal ends the process.

#ifndef ROPEWALK_CLI_INTERRUPT_HPP_
#define ROPEWALK_CLI_INTERRUPT_HPP_

#include <csignal>
#include <string>
#include <string_view>

namespace ropewalk::cli {

// SIGINT, SIGTERM and SIGHUP wait while one of these lives: a file must not come into being, or get
// its name, without being noted or forgotten below.
class SignalsHeld {
 public:
  SignalsHeld() noexcept;
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;
  ~SignalsHeld();

 private:
  sigset_t before_;
};

// From here on SIGINT, SIGTERM and SIGHUP remove this file (two at most), and then end the process
// as they would have. A signal that is ignored, as under nohup, stays ignored.
void remove_on_signal(const std::string& path);

// There is nothing left to remove.
void forget_removals() noexcept;

// What removes a line from a terminal.
inline constexpr std::string_view kEraseLine = "\r\033[K";

// Whether the line on the terminal that stderr is must be erased first, when that happens.
void erase_line_on_signal(bool is_drawn) noexcept;

}  // namespace ropewalk::cli

#endif  // ROPEWALK_CLI_INTERRUPT_HPP_
