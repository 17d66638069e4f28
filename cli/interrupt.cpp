#include "interrupt.hpp"

#include <unistd.h>

#include <climits>
#include <cstring>

namespace ropewalk::cli {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU, SIGPIPE};

// A handler can reach nothing but globals, and may only touch what needs no allocation.
constexpr int kMaxFiles = 2;  // q and k
char files[kMaxFiles][PATH_MAX];
volatile std::sig_atomic_t file_count = 0;
volatile std::sig_atomic_t line_is_drawn = 0;

sigset_t handled_signals() noexcept {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kSignals) sigaddset(&set, signal);
  return set;
}

void remove_and_die(int signal) {
  for (int i = 0; i < file_count; ++i) ::unlink(files[i]);
  if (line_is_drawn != 0 && ::write(STDERR_FILENO, kEraseLine.data(), kEraseLine.size()) < 0) {
    line_is_drawn = 0;  // the terminal is gone; there is nobody to tell
  }
  // SA_RESETHAND has restored the default: this one is delivered on return, and ends the process.
  ::raise(signal);
}

void install_handlers() {
  struct sigaction action {};
  action.sa_handler = remove_and_die;
  action.sa_mask = handled_signals();
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int signal : kSignals) {
    struct sigaction before {};
    ::sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) ::sigaction(signal, &action, nullptr);
  }
}

}  // namespace

SignalsHeld::SignalsHeld() noexcept {
  const sigset_t held = handled_signals();
  ::sigprocmask(SIG_BLOCK, &held, &before_);
}

SignalsHeld::~SignalsHeld() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

void remove_on_signal(const std::string& path) {
  // Longer paths cannot be opened, and this one was.
  if (file_count == kMaxFiles || path.size() >= PATH_MAX) return;
  if (file_count == 0) install_handlers();
  std::memcpy(files[file_count], path.c_str(), path.size() + 1);
  file_count = file_count + 1;
}

void forget_removals() noexcept { file_count = 0; }

void erase_line_on_signal(bool is_drawn) noexcept { line_is_drawn = is_drawn ? 1 : 0; }

}  // namespace ropewalk::cli
