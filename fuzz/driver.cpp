// Runs a fuzz target on mutations of its seeds:
//
//   fuzz_gguf [--iterations N | --seconds S] [--seed N] [--first N] [--print]
//
// Every input follows from the seed and its number alone, so one that fails can be had again: the
// number is printed, and --seed S --first N --iterations 1 [--print] runs [or prints] it.

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <random>

#include "target.hpp"

extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace {

struct Options {
  std::uint64_t iterations = 10'000, seconds = 0, seed = 1, first = 0;
  bool print = false;
};

Options options;
std::uint64_t current = 0;

void tell_which() {
  char line[128];
  const int size = std::snprintf(line, sizeof(line), "input --seed %llu --first %llu failed\n",
                                 static_cast<unsigned long long>(options.seed),
                                 static_cast<unsigned long long>(current));
  std::fwrite(line, 1, static_cast<std::size_t>(size), stderr);
}

void on_signal(int signal) {
  tell_which();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

// One change to the input. Sizes stay below a few MiB: a thousand bytes hold every case there is.
class Mutator {
 public:
  Mutator(std::uint64_t seed, std::uint64_t number)
      : random_(seed * 0x9E3779B97F4A7C15u + number) {}

  std::string input(const std::vector<std::string>& seeds, const std::vector<std::string>& words) {
    std::string text = seeds[below(seeds.size())];
    // Half of them are changed once, so that they are read to where that is.
    const std::uint64_t changes = below(2) == 0 ? 1 : 2 + below(6);
    for (std::uint64_t i = 0; i < changes; ++i) change(text, seeds, words);
    return text;
  }

 private:
  std::uint64_t below(std::uint64_t limit) { return limit == 0 ? 0 : random_() % limit; }

  void change(std::string& text, const std::vector<std::string>& seeds,
              const std::vector<std::string>& words) {
    const std::size_t at = below(text.size() + 1);
    const std::size_t length = std::min<std::size_t>(below(below(64) + 1), text.size() - at);
    // Most of them leave what follows in its place, which binary formats want.
    switch (below(12)) {
      case 0:
      case 1:
        if (at < text.size()) text[at] ^= static_cast<char>(1 << below(8));
        break;
      case 2:
        if (at < text.size()) text[at] = static_cast<char>(random_());
        break;
      case 3:
      case 4: overwrite_number(text, at); break;
      case 5:
      case 6: overwrite(text, at, words[below(words.size())]); break;
      case 7: text.erase(at, length); break;
      case 8: text.insert(at, text.substr(at, length)); break;
      case 9: text.insert(at, words[below(words.size())]); break;
      case 10: text.replace(at, length, words[below(words.size())]); break;
      default: end(text, at, seeds[below(seeds.size())]); break;
    }
  }

  static void overwrite(std::string& text, std::size_t at, std::string_view word) {
    const std::size_t size = std::min(word.size(), text.size() - at);
    std::memcpy(text.data() + at, word.data(), size);
  }

  // By a number of 1 to 8 bytes, near a limit.
  void overwrite_number(std::string& text, std::size_t at) {
    const std::uint64_t number = (std::uint64_t{1} << below(64)) + below(5) - 2;
    char bytes[sizeof(number)];
    std::memcpy(bytes, &number, sizeof(number));
    overwrite(text, at, {bytes, std::size_t{1} << below(4)});
  }

  // Cuts it off, and may go on with the end of another.
  void end(std::string& text, std::size_t at, const std::string& other) {
    text.resize(at);
    if (below(2) == 0) text += other.substr(below(other.size() + 1));
  }

  std::mt19937_64 random_;
};

bool parse(int count, char** arguments) {
  for (int i = 1; i < count; ++i) {
    const std::string_view name = arguments[i];
    if (name == "--print") {
      options.print = true;
      continue;
    }
    std::uint64_t* const value = name == "--iterations" ? &options.iterations
                                 : name == "--seconds"  ? &options.seconds
                                 : name == "--seed"     ? &options.seed
                                 : name == "--first"    ? &options.first
                                                        : nullptr;
    if (value == nullptr || ++i == count) return false;
    const std::string_view text = arguments[i];
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
    if (error != std::errc() || end != text.data() + text.size()) return false;
  }
  return true;
}

bool is_done(std::uint64_t count, std::chrono::steady_clock::time_point start) {
  if (options.seconds == 0) return count >= options.iterations;
  return std::chrono::steady_clock::now() - start >= std::chrono::seconds(options.seconds);
}

}  // namespace

int main(int count, char** arguments) {
  if (!parse(count, arguments)) {
    std::fprintf(stderr,
                 "usage: %s [--iterations N | --seconds S] [--seed N] [--first N] [--print]\n",
                 arguments[0]);
    return 2;
  }
  for (const int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGBUS, SIGILL})
    std::signal(signal, on_signal);
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(tell_which);
  const auto seeds = ropewalk::fuzz::seeds();
  const auto words = ropewalk::fuzz::words();
  const auto start = std::chrono::steady_clock::now();
  std::uint64_t done = 0;
  for (current = options.first; !is_done(done, start); ++current, ++done) {
    const std::string input = Mutator(options.seed, current).input(seeds, words);
    if (options.print) std::fwrite(input.data(), 1, input.size(), stdout);
    // A copy of the exact size, so that a sanitizer sees a read past the end.
    const std::vector<std::uint8_t> exact(input.begin(), input.end());
    LLVMFuzzerTestOneInput(exact.data(), exact.size());
  }
  std::fprintf(stderr, "%llu inputs\n", static_cast<unsigned long long>(done));
  return 0;
}
