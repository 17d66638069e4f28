#include "bench_report.hpp"

#include <cstdio>

#include "message.hpp"

namespace ropewalk::cli {
namespace {

std::string shape_text(const bench::Row& row) {
  const bench::Shape& shape = row.what.shape;
  return message(shape[0], "x", shape[1], "x", shape[2]);
}

std::string size_text(std::int64_t bytes) {
  if (bytes == 0) return "?";
  return bytes < 1 << 20 ? message(bytes >> 10, " KiB") : message(bytes >> 20, " MiB");
}

int decimals(double ns) { return ns < 100 ? 1 : 0; }

nlohmann::ordered_json json_of(const bench::Machine& machine) {
  return {{"cpu", machine.cpu},
          {"cores", machine.cores},
          {"l1d_bytes", machine.caches.l1d_bytes},
          {"l2_bytes", machine.caches.l2_bytes},
          {"l3_bytes", machine.caches.l3_bytes},
          {"os", machine.os},
          {"compiler", machine.compiler},
          {"ropewalk", machine.version},
          {"date", machine.date}};
}

nlohmann::ordered_json json_of(const bench::MemoryRow& row) {
  return {{"loop", row.loop}, {"bytes", row.bytes}, {"threads", row.threads}, {"ns", row.ns}};
}

nlohmann::ordered_json json_of(const bench::Row& row) {
  return {{"work", name(row.what.work)},       {"dtype", name(row.what.dtype)},
          {"pairing", name(row.pairing)},      {"shape", row.what.shape},
          {"layout", name(row.what.layout)},   {"angles", row.is_ready ? "ready" : "fresh"},
          {"positions", name(row.what.where)}, {"threads", row.what.threads},
          {"target", name(row.what.target)},   {"ns", row.times.ns},
          {"limit_ns", row.times.limit_ns},    {"fraction", row.fraction()}};
}

template <class Row>
nlohmann::ordered_json list_of(const std::vector<Row>& rows) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Row& row : rows) list.push_back(json_of(row));
  return list;
}

}  // namespace

std::string header_line(const bench::Machine& machine) {
  return message(machine.cpu, ", ", machine.cores, " cores, L1 ",
                 size_text(machine.caches.l1d_bytes), ", L2 ", size_text(machine.caches.l2_bytes),
                 ", L3 ", size_text(machine.caches.l3_bytes), "; ", machine.os, "; ropewalk ",
                 machine.version, ", ", machine.compiler, "; ", machine.date);
}

const char* const kRowsHead =
    "work        dtype  pairing   shape        layout  angles  positions    target     threads"
    "          ns     GB/s  of limit";

std::string line_of(const bench::Row& row) {
  char line[192];
  std::snprintf(
      line, sizeof(line), "%-11s %-6s %-9s %-12s %-7s %-7s %-12s %-10s %-7d %11.*f %8.1f %9.2f",
      text(name(row.what.work)).c_str(), text(name(row.what.dtype)).c_str(),
      text(name(row.pairing)).c_str(), shape_text(row).c_str(), text(name(row.what.layout)).c_str(),
      row.is_ready ? "ready" : "fresh", text(name(row.what.where)).c_str(),
      text(name(row.what.target)).c_str(), row.what.threads, decimals(row.times.ns), row.times.ns,
      static_cast<double>(row.what.moved_bytes()) / row.times.ns, row.fraction());
  return line;
}

std::string lines_of(const Bare& bare) {
  std::string lines = "without the library   size       threads          ns     GB/s\n";
  char line[96];
  for (const bench::MemoryRow& row : bare.memory) {
    std::snprintf(line, sizeof(line), "%-21s %-10s %-7d %11.*f %8.1f\n", row.loop.c_str(),
                  size_text(row.bytes).c_str(), row.threads, decimals(row.ns), row.ns,
                  2.0 * static_cast<double>(row.bytes) / row.ns);
    lines += line;
  }
  if (bare.fork_join_ns) {
    std::snprintf(line, sizeof(line), "%-32s %-7d %11.*f\n", "fork and join", 2,
                  decimals(*bare.fork_join_ns), *bare.fork_join_ns);
    lines += line;
  }
  return lines;
}

std::string line_of(const bench::Overhead& overhead) {
  char line[128];
  std::snprintf(line, sizeof(line), "a decode call beyond its kernels: C++ %.1f ns, C %.1f ns",
                overhead.cpp_ns, overhead.c_ns);
  return line;
}

nlohmann::ordered_json json_of(const bench::Machine& machine, const std::optional<Bare>& bare,
                               const std::optional<bench::Overhead>& overhead,
                               const std::vector<bench::Row>& rows) {
  nlohmann::ordered_json report = {{"machine", json_of(machine)}};
  if (bare) {
    report["machine"]["memory"] = list_of(bare->memory);
    if (bare->fork_join_ns) report["machine"]["fork_join_ns"] = *bare->fork_join_ns;
  }
  if (overhead) report["overhead"] = {{"cpp_ns", overhead->cpp_ns}, {"c_ns", overhead->c_ns}};
  report["rows"] = list_of(rows);
  return report;
}

}  // namespace ropewalk::cli
