// What happens to unfinished files when a signal ends the process.

#ifndef ROPEWALK_CLI_INTERRUPT_HPP_
#define ROPEWALK_CLI_INTERRUPT_HPP_

#include <csignal>
#include <string>

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

}  // namespace ropewalk::cli

#endif  // ROPEWALK_CLI_INTERRUPT_HPP_
