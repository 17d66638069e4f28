#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <ropewalk/check.hpp>
#include <string>
#include <vector>

#include "message.hpp"
#include "plan.hpp"
#include "printed.hpp"
#include "verbs.hpp"

namespace ropewalk::cli {
namespace {

struct CheckVerb {
  explicit CheckVerb(CLI::App& verb) : plan(verb) {
    verb.add_option("--seed", seed, "Of the random q and k; by default a new one, printed")
        ->type_name("N")
        ->check(refuse_empty);
    verb.add_flag("--json", json, "Print JSON");
  }

  PlanOptions plan;
  std::string seed;
  bool json = false;
};

std::string table_line(const CheckRow& row) {
  char line[160];
  const std::string shift = row.shift ? message(*row.shift) : "-";
  std::snprintf(line, sizeof(line), "%-12s %-5s %12s %11.3g %11.3g  %s", row.property.c_str(),
                std::string(name(row.dtype)).c_str(), shift.c_str(), row.worst, row.bound,
                row.ok ? "yes" : "NO");
  return line;
}

std::string verdict(const std::vector<CheckRow>& rows) {
  std::size_t broken = 0;
  for (const CheckRow& row : rows) broken += row.ok ? 0 : 1;
  if (broken == 0) return message("all ", rows.size(), " hold");
  return message(broken, " of ", rows.size(), " are broken");
}

nlohmann::ordered_json json_of(const std::vector<CheckRow>& rows, bool ok, std::uint64_t seed) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const CheckRow& row : rows) {
    nlohmann::ordered_json object = {{"property", row.property}, {"dtype", name(row.dtype)}};
    object["shift"] = row.shift ? nlohmann::ordered_json(*row.shift) : nullptr;
    object["worst"] = row.worst;
    object["bound"] = row.bound;
    object["ok"] = row.ok;
    list.push_back(std::move(object));
  }
  return {{"rows", std::move(list)}, {"ok", ok}, {"seed", seed}};
}

int run(const CheckVerb& options) {
  std::vector<std::string> warnings;
  const Rope rope = options.plan.rope(warnings);
  CheckOptions check_options = check_options_for(rope.spec());
  check_options.seed =
      options.seed.empty() ? std::random_device()() : parse_uint64("--seed", options.seed);
  for (const std::string& warning : warnings) print_warning(warning);
  const std::vector<CheckRow> rows = check(rope, check_options);
  bool ok = true;
  for (const CheckRow& row : rows) ok = ok && row.ok;
  if (options.json) {
    std::cout << json_of(rows, ok, check_options.seed).dump() << '\n';
  } else {
    std::cout << summary(rope) << "; seed " << check_options.seed << '\n'
              << "property     dtype        shift       worst       bound  ok\n";
    for (const CheckRow& row : rows) std::cout << table_line(row) << '\n';
    std::cout << verdict(rows) << '\n';
  }
  return ok ? 0 : 1;
}

}  // namespace

Verb add_check(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("check", "Measure the properties of a rope's rotation");
  const auto options = std::make_shared<CheckVerb>(*verb);
  return {verb, [options] { return run(*options); }};
}

}  // namespace ropewalk::cli
