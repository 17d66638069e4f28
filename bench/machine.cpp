#include "bench/machine.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <ropewalk/version.hpp>

#include "message.hpp"

namespace ropewalk::bench {
namespace {

std::string cpu_name(const std::string& architecture) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != line.npos) return line.substr(colon + 2);
  }
  return architecture;  // on aarch64 there are only numbers
}

std::string compiler() {
#if defined(__clang__)
  const std::string name = message("Clang ", __clang_version__);
#else
  const std::string name = message("GCC ", __VERSION__);
#endif
  const std::string build = ROPEWALK_BENCH_BUILD;
  return build.empty() ? name : message(name, ", ", build);
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  char text[32] = "";
  if (const std::tm* utc = std::gmtime(&now)) {
    std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", utc);
  }
  return text;
}

// Of the first core: "32K" -> 32768. sysconf takes no account of what a guest is given: 256 MiB of L3
// where it is 32.
std::int64_t cache_bytes(int level) {
  for (int index = 0;; ++index) {
    const std::string cache = message("/sys/devices/system/cpu/cpu0/cache/index", index, "/");
    std::ifstream level_file(cache + "level"), type_file(cache + "type"), size_file(cache + "size");
    int found = 0;
    std::string type;
    if (!(level_file >> found) || !(type_file >> type)) return 0;
    std::int64_t size = 0;
    char unit = 0;
    if (found == level && type != "Instruction" && size_file >> size) {
      size_file >> unit;
      return unit == 'K' ? size << 10 : unit == 'M' ? size << 20 : size;
    }
  }
}

}  // namespace

Machine this_machine() {
  utsname system{};
  uname(&system);
  Machine machine;
  machine.cpu = cpu_name(system.machine);
  machine.cores = std::max(0L, sysconf(_SC_NPROCESSORS_ONLN));
  machine.caches = {cache_bytes(1), cache_bytes(2), cache_bytes(3)};
  machine.os = message(system.sysname, " ", system.release, " ", system.machine);
  machine.compiler = compiler();
  machine.version =
      message(ROPEWALK_VERSION_MAJOR, ".", ROPEWALK_VERSION_MINOR, ".", ROPEWALK_VERSION_PATCH);
  machine.date = utc_now();
  return machine;
}

}  // namespace ropewalk::bench
