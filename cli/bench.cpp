#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <memory>
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
#include "bench/parallel.hpp"
#include "bench/verdict.hpp"
#include "bench/work.hpp"
#include "bench_report.hpp"
#include "message.hpp"
#include "plan.hpp"
#include "printed.hpp"
#include "verbs.hpp"

namespace ropewalk::cli {
namespace {

constexpr std::array kDTypeList = {DType::kF32, DType::kBf16, DType::kF16, DType::kF64};
constexpr std::int64_t kMostRounds = 1'000'000;

struct BenchVerb {
  explicit BenchVerb(CLI::App& verb);

  std::string work, dtype, layout, shape, threads, target;
  std::string rounds = "15";
  bool json = false;
};

BenchVerb::BenchVerb(CLI::App& verb) {
  const auto option = [&](const char* flag, std::string& text, const char* type, const char* help) {
    verb.add_option(flag, text, help)->type_name(type)->check(refuse_empty);
  };
  option("--work", work, "NAME",
         "Only rotate, rotate_qk, rotate_out or angles; or memory (the limit, copies, fork and\n"
         "join) or overhead (of a call, beyond its kernels)");
  option("--dtype", dtype, "NAME", "Only f32, bf16, f16 or f64");
  option("--layout", layout, "NAME", "Only bthd or bhtd");
  option("--shape", shape, "TxHxD",
         "Only so many tokens, heads and elements of a head: 1x32x128; any, if need be with\n"
         "--work, --dtype, --layout or --threads to say which rows of it");
  option("--threads", threads, "N", "Only on 1 or on 2 threads");
  option("--target", target, "NAME",
         "Instead of the CPU's best: SCALAR, AVX2, AVX3, AVX3_BF16 or NEON");
  option("--rounds", rounds, "N", "Of which the median is taken; by default 15");
  verb.add_flag("--json", json, "Print JSON");
  verb.footer(
      "Times are held against the limit: the fastest of some loops that read, scale and write the\n"
      "same bytes, in the same run (for angles, that write them), on as many threads. Every "
      "element\n"
      "is compared with the formula first. One thread is timed by how long it runs, so other "
      "processes\n"
      "count little; two by the clock on the wall, so nothing else should run. GB/s are the bytes "
      "read\n"
      "and written. All rows take about two minutes.\n"
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

// A value of --work: cases; or, without a work, what is measured beside them.
struct WorkName {
  std::string_view text;
  std::optional<bench::Work> work = {};
};
std::string_view name(const WorkName& work) { return work.text; }

constexpr std::string_view kMemory = "memory", kOverhead = "overhead";

std::optional<WorkName> work_of(const BenchVerb& options) {
  std::vector<WorkName> names;
  for (const bench::Work work : bench::kWorks) names.push_back({name(work), work});
  names.push_back({kMemory});
  names.push_back({kOverhead});
  return named_if_given<WorkName>("--work", options.work, names);
}

std::optional<int> threads_of(const BenchVerb& options) {
  if (options.threads.empty()) return {};
  const std::int64_t threads = parse_int64("--threads", options.threads);
  if (std::find(bench::kThreads.begin(), bench::kThreads.end(), threads) == bench::kThreads.end()) {
    throw UsageError(message("--threads ", threads, ": want 1 or 2"));
  }
  const int most = bench::most_threads();
  if (threads > most) {
    throw Error(
        ErrorCode::kUnsupported,
        message("--threads ", threads, ": only ", most, " to be had: cores that this process ",
                "may run on, OMP_NUM_THREADS, or a build without OpenMP"));
  }
  return static_cast<int>(threads);
}

std::vector<bench::Case> cases_of(const bench::Shape& shape, Target target) {
  try {
    return bench::cases_of(shape, target);
  } catch (const Error& error) {
    throw UsageError(message("--shape ", error.what()));
  }
}

// "--work memory and --dtype f32", of those that were given.
std::string filters_of(const BenchVerb& options) {
  const std::pair<const char*, const std::string*> all[] = {{"--work ", &options.work},
                                                            {"--dtype ", &options.dtype},
                                                            {"--layout ", &options.layout},
                                                            {"--shape ", &options.shape},
                                                            {"--threads ", &options.threads}};
  std::string text;
  for (const auto& [flag, value] : all) {
    if (!value->empty()) text += message(text.empty() ? "" : " and ", flag, *value);
  }
  return text;
}

struct Plan {
  std::vector<bench::Case> cases;
  std::vector<int> memory = {};  // on so many threads
  bool overhead = false;
};

// Everything, or what the filters leave. What is measured beside the cases has none of their properties.
Plan plan_of(const BenchVerb& options, Target target, const bench::Caches& caches) {
  const std::optional<WorkName> work = work_of(options);
  const bench::Filter filter = {
      .work = work ? work->work : std::nullopt,
      .dtype = named_if_given<DType>("--dtype", options.dtype, kDTypeList),
      .layout = named_if_given<bench::Layout>("--layout", options.layout, bench::kLayouts),
      .shape = options.shape.empty() ? std::optional<bench::Shape>() : shape_of(options.shape),
      .threads = threads_of(options)};
  const int most_threads = bench::most_threads();
  Plan plan;
  bool lacks_threads = false;
  const auto add = [&](const std::vector<bench::Case>& cases) {
    for (const bench::Case& what : cases) {
      if ((work && !work->work) || !filter.keeps(what)) continue;
      if (what.threads <= most_threads) {
        plan.cases.push_back(what);
      } else {
        lacks_threads = true;
      }
    }
  };
  add(bench::all_cases(caches, target));
  if (plan.cases.empty() && filter.shape) add(cases_of(*filter.shape, target));
  const bool beside = !filter.dtype && !filter.layout && !filter.shape;
  if (beside && (work ? work->text == kMemory : true)) {
    for (const int threads : bench::kThreads) {
      if (threads <= most_threads && filter.threads.value_or(threads) == threads) {
        plan.memory.push_back(threads);
      }
    }
  }
  plan.overhead =
      beside && (work ? work->text == kOverhead : true) && filter.threads.value_or(1) == 1;
  if (plan.cases.empty() && plan.memory.empty() && !plan.overhead) {
    throw UsageError(message(filters_of(options), " leave nothing to measure; drop one"));
  }
  if (lacks_threads) print_warning("only 1 thread is to be had: rows of 2 are left out");
  return plan;
}

// The rows of a case. One that beats the limit for good is put into `beaten`.
std::vector<bench::Row> rows_of(const bench::Case& what, const bench::MeasureOptions& options,
                                const bench::Machine& machine, std::vector<bench::Row>& beaten) {
  bench::MeasuredCase measured(what);
  const std::string wrong = measured.check();
  if (!wrong.empty()) throw std::runtime_error(message(wrong, "; not measured"));
  // Of several threads one may have to wait for a core, and nothing follows.
  const bool in_cache =
      what.threads == 1 && bench::is_in_cache(what.touched_bytes(), machine.caches.l2_bytes);
  const bench::Clock clock = what.threads == 1 ? bench::thread_clock() : bench::wall_clock();
  const auto is_beaten = [&](const bench::Row& row) {
    return bench::beats_limit(row.times, in_cache);
  };
  std::vector<bench::Row> rows;
  const bool plausible = bench::measure_until_plausible(
      [&] { rows = measured.measure(options, clock); },
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

// How many rows of two threads there are where even the limit is slower than on one.
std::size_t disturbed(const std::vector<bench::Row>& rows) {
  const auto is_slower_than = [](const bench::Row& row, const bench::Row& other) {
    bench::Case what = row.what;
    what.threads = 1;
    return what == other.what && row.pairing == other.pairing && row.is_ready == other.is_ready &&
           row.times.limit_ns > other.times.limit_ns;
  };
  return static_cast<std::size_t>(
      std::count_if(rows.begin(), rows.end(), [&](const bench::Row& row) {
        return row.what.threads > 1 &&
               std::any_of(rows.begin(), rows.end(),
                           [&](const bench::Row& other) { return is_slower_than(row, other); });
      }));
}

std::vector<bench::Row> rows_of(const Plan& plan, const bench::MeasureOptions& options,
                                const bench::Machine& machine, bool is_printed,
                                std::vector<bench::Row>& beaten) {
  std::vector<bench::Row> all;
  if (is_printed && !plan.cases.empty()) std::cout << kRowsHead << '\n';
  for (const bench::Case& what : plan.cases) {
    for (const bench::Row& row : rows_of(what, options, machine, beaten)) {
      // The whole takes minutes.
      if (is_printed) std::cout << line_of(row) << '\n' << std::flush;
      all.push_back(row);
    }
  }
  return all;
}

std::optional<Bare> bare_of(const Plan& plan, const bench::MeasureOptions& options,
                            const bench::Machine& machine) {
  if (plan.memory.empty()) return {};
  Bare bare;
  for (const int threads : plan.memory) {
    const auto rows = bench::measure_memory(machine.caches, threads, options);
    bare.memory.insert(bare.memory.end(), rows.begin(), rows.end());
    if (threads > 1) bare.fork_join_ns = bench::measure_fork_join(threads, options);
  }
  return bare;
}

int run(const BenchVerb& options) {
  const Target target = target_of(options);
  const bench::MeasureOptions measure_options = measure_options_of(options);
  const bench::Machine machine = bench::this_machine();
  const Plan plan = plan_of(options, target, machine.caches);
  if (!is_supported(target)) {
    std::string names;
    for (const Target there : compiled_targets()) {
      if (is_supported(there)) names += message(names.empty() ? "" : ", ", name(there));
    }
    throw UsageError(message("--target ", options.target,
                             " is not to be had on this machine, which has ", names));
  }
  if (!options.json) std::cout << header_line(machine) << '\n';
  std::vector<bench::Row> beaten;
  const std::vector<bench::Row> rows =
      rows_of(plan, measure_options, machine, !options.json, beaten);
  const std::optional<Bare> bare = bare_of(plan, measure_options, machine);
  std::optional<bench::Overhead> overhead;
  if (plan.overhead) overhead = bench::measure_overhead(measure_options, bench::thread_clock());
  if (options.json) {
    std::cout << json_of(machine, bare, overhead, rows).dump() << '\n';
  } else {
    if (bare) std::cout << lines_of(*bare);
    if (overhead) std::cout << line_of(*overhead) << '\n';
  }
  if (const std::size_t count = disturbed(rows); count > 0) {
    print_warning(message(count,
                          " rows on 2 threads, where even the limit is slower than on 1: is ",
                          "something else running, or are the two cores one?"));
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
