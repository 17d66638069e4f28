#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <numbers>
#include <optional>
#include <ropewalk/model.hpp>
#include <string>
#include <utility>
#include <vector>

#include "message.hpp"
#include "plan.hpp"
#include "verbs.hpp"

namespace ropewalk::cli {
namespace {

struct InspectVerb {
  explicit InspectVerb(CLI::App& verb) : plan(verb) {
    verb.add_flag("--all", all, "A line for every pair");
    verb.add_flag("--json", json, "Print JSON");
  }

  PlanOptions plan;
  bool all = false;
  bool json = false;
};

// Positions that one turn takes; infinite for a pair that stands still.
double wavelength(double frequency) { return 2 * std::numbers::pi / std::abs(frequency); }

std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.6g", value);
  return text;
}

std::string wavelength_text(double frequency) {
  return frequency == 0 ? "never turns" : short_number(wavelength(frequency));
}

// The first of the two elements of a pair is its place in the window, as the Spec says.
std::string elements_of(const Spec& spec, std::int64_t pair) {
  const std::int64_t part = spec.rotary_dim() / spec.window_parts();  // elements of a part
  const std::int64_t i = pair % (part / 2);
  const bool halves = spec.pairing() == Pairing::kHalves;
  const std::int64_t first = spec.rotary_offset() + pair / (part / 2) * part + (halves ? i : 2 * i);
  return message(first, ", ", first + (halves ? part / 2 : 1));
}

// All pairs, or enough of them to see how the frequencies fall: the first, the last, and evenly
// between.
std::vector<std::int64_t> pairs_shown(std::int64_t pairs, bool all) {
  constexpr std::int64_t kRows = 9;
  const std::int64_t rows = all ? pairs : std::min(pairs, kRows);
  std::vector<std::int64_t> shown;
  for (std::int64_t row = 0; row < rows; ++row) {
    shown.push_back(rows == 1 ? 0 : row * (pairs - 1) / (rows - 1));
  }
  return shown;
}

// A column of a table, its text to the right.
std::string column(std::size_t width, std::string text) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

void print_pairs(const Rope& rope, bool all) {
  const std::vector<std::uint8_t>& axes = rope.spec().axis_of_pair();
  const auto print = [&](auto pair, std::string elements, auto axis, std::string frequency,
                         std::string positions) {
    std::cout << column(6, message(pair)) << column(16, std::move(elements));
    if (!axes.empty()) std::cout << column(6, message(axis));
    std::cout << column(16, std::move(frequency)) << column(16, std::move(positions)) << '\n';
  };
  print("pair", "elements", "axis", "frequency", "wavelength");
  const auto pairs = static_cast<std::int64_t>(rope.frequencies().size());
  for (const std::int64_t pair : pairs_shown(pairs, all)) {
    const auto i = static_cast<std::size_t>(pair);
    const double frequency = rope.frequencies()[i];
    print(pair, elements_of(rope.spec(), pair), axes.empty() ? 0 : axes[i], short_number(frequency),
          wavelength_text(frequency));
  }
}

void print_extremes(const Rope& rope) {
  const auto slower = [](double a, double b) { return std::abs(a) < std::abs(b); };
  const auto [slow, fast] =
      std::minmax_element(rope.frequencies().begin(), rope.frequencies().end(), slower);
  for (const auto& [name, pair] : {std::pair("fastest", fast), std::pair("slowest", slow)}) {
    std::cout << name << " pair " << pair - rope.frequencies().begin() << ", wavelength "
              << wavelength_text(*pair) << '\n';
  }
}

void print_turns(const Rope& rope, std::optional<std::int64_t> length) {
  const std::vector<std::int64_t> lengths =
      length ? std::vector<std::int64_t>{*length}
             : std::vector<std::int64_t>{4096, 32768, 131072, 1048576};
  for (const std::int64_t within : lengths) {
    const auto turns = std::count_if(
        rope.frequencies().begin(), rope.frequencies().end(),
        [&](double frequency) { return wavelength(frequency) <= static_cast<double>(within); });
    std::cout << "within " << within << " positions, " << turns << " of "
              << rope.frequencies().size() << " pairs complete a turn\n";
  }
}

nlohmann::ordered_json json_of(const Rope& rope) {
  using Json = nlohmann::ordered_json;
  Json layer = {{"layer_type", "full_attention"}, {"layer_indices", Json::array()}};
  layer["rotates"] = true;
  layer["spec"] = Json::parse(spec_to_json(rope.spec()));
  layer["frequencies"] = rope.frequencies();
  layer["attention_factor"] = rope.attention_factor();
  layer["softmax_scale_factor"] = 1.0;
  return {{"model_type", nullptr}, {"layers", Json::array({layer})}, {"warnings", Json::array()}};
}

int run(const InspectVerb& options) {
  const Rope rope = options.plan.rope();
  if (options.json) {
    std::cout << json_of(rope).dump() << '\n';
    return 0;
  }
  std::cout << summary(rope) << "\n\n";
  print_pairs(rope, options.all);
  std::cout << "\nFrequencies are in radians per position, wavelengths in positions.\n";
  print_extremes(rope);
  print_turns(rope, options.plan.length());
  return 0;
}

}  // namespace

Verb add_inspect(CLI::App& app) {
  CLI::App* verb =
      app.add_subcommand("inspect", "Show which rotation it is: frequencies, wavelengths");
  const auto options = std::make_shared<InspectVerb>(*verb);
  return {verb, [options] { return run(*options); }};
}

}  // namespace ropewalk::cli
