#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ropewalk/error.hpp>
#include <ropewalk/tensor.hpp>
#include <ropewalk/version.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "bench/machine.hpp"
#include "bench/measure.hpp"
#include "bench/measured_case.hpp"
#include "bench/verdict.hpp"
#include "bench/work.hpp"
#include "message.hpp"
#include "plan.hpp"
#include "verbs.hpp"

namespace ropewalk::cli {
namespace {

constexpr std::array kDTypeList = {DType::kF32, DType::kBf16, DType::kF16, DType::kF64};
constexpr std::int64_t kMostRounds = 1'000'000;

struct BenchVerb {
  explicit BenchVerb(CLI::App& verb);

  std::string work, dtype, layout, shape, target;
  std::string rounds = "15";
  bool json = false;
};

BenchVerb::BenchVerb(CLI::App& verb) {
  const auto option = [&](const char* flag, std::string& text, const char* type, const char* help) {
    verb.add_option(flag, text, help)->type_name(type)->check(refuse_empty);
  };
  option("--work", work, "NAME", "Only rotate, rotate_qk, rotate_out or angles");
  option("--dtype", dtype, "NAME", "Only f32, bf16, f16 or f64");
  option("--layout", layout, "NAME", "Only bthd or bhtd");
  option("--shape", shape, "TxHxD", "Only so many tokens, heads and elements of a head: 1x32x128");
  option("--target", target, "NAME",
         "Instead of the CPU's best: SCALAR, AVX2, AVX3, AVX3_BF16 or NEON");
  option("--rounds", rounds, "N", "Of which the median is taken; by default 15");
  verb.add_flag("--json", json, "Print JSON");
  verb.footer(
      "Times are held against the limit: the fastest of some loops that read, scale and write the\n"
      "same bytes, in the same run (for angles, that write them). They are of the one thread that\n"
      "runs, so other processes count little. GB/s are the bytes read and written. All rows take\n"
      "about a minute.\n"
      "Exit codes: 0 done, 1 a result is wrong or a limit not to be believed, 2 wrong usage.");
}

// The one of `all` that has this name.
template <class Value>
Value named(const char* flag, const std::string& text, std::span<const Value> all) {
  std::string names;
  for (const Value& value : all) {
    if (name(value) == text) return value;
    names += message(names.empty() ? "" : &value == &all.back() ? " or " : ", ", name(value));
  }
  throw UsageError(message(flag, " ", text, ": want ", names));
}

template <class Value>
std::optional<Value> named_if_given(const char* flag, const std::string& text,
                                    std::span<const Value> all) {
  if (text.empty()) return {};
  return named(flag, text, all);
}

bench::Shape shape_of(const std::string& text) {
  bench::Shape shape{};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const auto [after, error] = std::from_chars(at, end, shape[i]);
    const bool is_last = i + 1 == shape.size();
    if (error != std::errc() || (is_last ? after != end : after == end || *after != 'x')) {
      throw UsageError(message("--shape ", text, ": want TOKENSxHEADSxHEAD_DIM, as 1x32x128"));
    }
    at = after + 1;
  }
  return shape;
}

std::vector<bench::Case> cases_of(const BenchVerb& options) {
  const bench::Filter filter = {
      .work = named_if_given<bench::Work>("--work", options.work, bench::kWorks),
      .dtype = named_if_given<DType>("--dtype", options.dtype, kDTypeList),
      .layout = named_if_given<bench::Layout>("--layout", options.layout, bench::kLayouts),
      .shape = options.shape.empty() ? std::optional<bench::Shape>() : shape_of(options.shape)};
  std::vector<bench::Case> cases = bench::all_cases();
  std::erase_if(cases, [&](const bench::Case& what) { return !filter.keeps(what); });
  if (cases.empty()) {
    throw UsageError("--work, --dtype, --layout and --shape leave nothing to measure; drop one");
  }
  return cases;
}

Target target_of(const BenchVerb& options) {
  constexpr Target kTargets[] = {Target::kScalar, Target::kAvx2, Target::kAvx3, Target::kAvx3Bf16,
                                 Target::kNeon};
  return named_if_given<Target>("--target", options.target, kTargets).value_or(Target::kBest);
}

bench::MeasureOptions measure_options_of(const BenchVerb& options) {
  const std::int64_t rounds = parse_int64("--rounds", options.rounds);
  if (rounds < 1 || rounds > kMostRounds) {
    throw UsageError(message("--rounds ", rounds, ": want 1 to ", kMostRounds));
  }
  return {.rounds = static_cast<int>(rounds)};
}

std::string shape_text(const bench::Row& row) {
  const bench::Shape& shape = row.what.shape;
  return message(shape[0], "x", shape[1], "x", shape[2]);
}

std::string size_text(std::int64_t bytes) {
  if (bytes == 0) return "?";
  return bytes < 1 << 20 ? message(bytes >> 10, " KiB") : message(bytes >> 20, " MiB");
}

std::string header_line(const bench::Machine& machine) {
  return message(machine.cpu, ", ", machine.cores, " cores, L1 ", size_text(machine.l1d_bytes),
                 ", L2 ", size_text(machine.l2_bytes), ", L3 ", size_text(machine.l3_bytes), "; ",
                 machine.os, "; ropewalk ", machine.version, ", ", machine.compiler, "; ",
                 machine.date);
}

constexpr const char* kTableHead =
    "work        dtype  pairing   shape        layout  angles  positions    target             ns"
    "     GB/s  of limit";

std::string table_line(const bench::Row& row) {
  char line[160];
  std::snprintf(line, sizeof(line), "%-11s %-6s %-9s %-12s %-7s %-7s %-12s %-9s %11.*f %8.1f %9.2f",
                text(name(row.what.work)).c_str(), text(name(row.what.dtype)).c_str(),
                text(name(row.pairing)).c_str(), shape_text(row).c_str(),
                text(name(row.what.layout)).c_str(), row.is_ready ? "ready" : "fresh",
                text(name(row.what.where)).c_str(), text(name(row.target)).c_str(),
                row.times.ns < 100 ? 1 : 0, row.times.ns,
                static_cast<double>(row.what.moved_bytes()) / row.times.ns, row.fraction());
  return line;
}

nlohmann::ordered_json json_of(const bench::Machine& machine) {
  return {{"cpu", machine.cpu},
          {"cores", machine.cores},
          {"l1d_bytes", machine.l1d_bytes},
          {"l2_bytes", machine.l2_bytes},
          {"l3_bytes", machine.l3_bytes},
          {"os", machine.os},
          {"compiler", machine.compiler},
          {"ropewalk", machine.version},
          {"date", machine.date}};
}

nlohmann::ordered_json json_of(const bench::Row& row) {
  return {{"work", name(row.what.work)},       {"dtype", name(row.what.dtype)},
          {"pairing", name(row.pairing)},      {"shape", row.what.shape},
          {"layout", name(row.what.layout)},   {"angles", row.is_ready ? "ready" : "fresh"},
          {"positions", name(row.what.where)}, {"threads", 1},
          {"target", name(row.target)},        {"ns", row.times.ns},
          {"limit_ns", row.times.limit_ns},    {"fraction", row.fraction()}};
}

// The rows of a case. One that beats the limit for good is put into `beaten`.
std::vector<bench::Row> rows_of(const bench::Case& what, Target target,
                                const bench::MeasureOptions& options, const bench::Machine& machine,
                                std::vector<bench::Row>& beaten) {
  bench::MeasuredCase measured(what, target);
  const std::string wrong = measured.check();
  if (!wrong.empty()) throw std::runtime_error(message(wrong, "; not measured"));
  const bool in_cache = bench::is_in_cache(what.touched_bytes(), machine.l2_bytes);
  const auto is_beaten = [&](const bench::Row& row) {
    return bench::beats_limit(row.times, in_cache);
  };
  std::vector<bench::Row> rows;
  const bool plausible = bench::measure_until_plausible(
      [&] { rows = measured.measure(options, bench::thread_clock()); },
      [&] { return std::any_of(rows.begin(), rows.end(), is_beaten); });
  if (!plausible) std::copy_if(rows.begin(), rows.end(), std::back_inserter(beaten), is_beaten);
  return rows;
}

std::string disbelief(const std::vector<bench::Row>& beaten) {
  char fraction[32];
  std::snprintf(fraction, sizeof(fraction), "%.2f", beaten.front().fraction());
  const std::string more = beaten.size() > 1 ? message(" and ", beaten.size() - 1, " more") : "";
  return message(
      label(beaten.front()), more, ": ", fraction, " of the limit, time and again; in ",
      "cache nothing can be faster, so the limit is measured wrong: run it again when the ",
      "machine does nothing else");
}

int run(const BenchVerb& options) {
  const std::vector<bench::Case> cases = cases_of(options);
  const Target target = target_of(options);
  const bench::MeasureOptions measure_options = measure_options_of(options);
  const bench::Machine machine = bench::this_machine();
  if (!is_supported(target)) {
    throw Error(ErrorCode::kUnsupported,
                message("--target ", options.target, " is not to be had on this machine; leave it ",
                        "out for the best that is"));
  }
  if (!options.json) std::cout << header_line(machine) << '\n' << kTableHead << '\n';
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  std::vector<bench::Row> beaten;
  for (const bench::Case& what : cases) {
    for (const bench::Row& row : rows_of(what, target, measure_options, machine, beaten)) {
      if (options.json) {
        list.push_back(json_of(row));
      } else {
        std::cout << table_line(row) << '\n' << std::flush;  // the whole takes a minute
      }
    }
  }
  if (options.json) {
    const nlohmann::ordered_json report = {{"machine", json_of(machine)},
                                           {"rows", std::move(list)}};
    std::cout << report.dump() << '\n';
  }
  if (!beaten.empty()) throw std::runtime_error(disbelief(beaten));
  return 0;
}

}  // namespace

Verb add_bench(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("bench", "Measure the speed, as a share of the machine's");
  const auto options = std::make_shared<BenchVerb>(*verb);
  return {verb, [options] { return run(*options); }};
}

}  // namespace ropewalk::cli
