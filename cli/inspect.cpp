#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <numbers>
#include <optional>
#include <ropewalk/frequencies.hpp>
#include <ropewalk/model.hpp>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "message.hpp"
#include "plan.hpp"
#include "presets.hpp"
#include "printed.hpp"
#include "verbs.hpp"

namespace ropewalk::cli {
namespace {

struct InspectVerb {
  explicit InspectVerb(CLI::App& verb) : plan(verb) {
    verb.add_option("CONFIG_OR_GGUF", file, "A model, the same as --config")
        ->type_name("FILE")
        ->check(refuse_empty);
    verb.add_flag("--all", all, "A line for every pair");
    verb.add_flag("--json", json, "Print JSON");
    verb.add_flag("--list", list, "The names that --preset takes");
  }

  PlanOptions plan;
  std::string file;
  bool all = false;
  bool json = false;
  bool list = false;
};

// The rope for so many positions, or for short texts. Throws what Rope does, with a name.
using RopeOfLength = std::function<Rope(std::optional<std::int64_t>)>;

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
  const std::int64_t part = spec.part_dim();  // elements of a part
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

void print_pairs(std::ostream& out, const Rope& rope, bool all) {
  const std::vector<std::uint8_t>& axes = rope.spec().axis_of_pair();
  const auto print = [&](auto pair, std::string elements, auto axis, std::string frequency,
                         std::string positions) {
    out << column(6, message(pair)) << column(16, std::move(elements));
    if (!axes.empty()) out << column(6, message(axis));
    out << column(16, std::move(frequency)) << column(16, std::move(positions)) << '\n';
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

void print_extremes(std::ostream& out, const Rope& rope) {
  const auto slower = [](double a, double b) { return std::abs(a) < std::abs(b); };
  const auto [slow, fast] =
      std::minmax_element(rope.frequencies().begin(), rope.frequencies().end(), slower);
  for (const auto& [name, pair] : {std::pair("fastest", fast), std::pair("slowest", slow)}) {
    out << name << " pair " << pair - rope.frequencies().begin() << ", wavelength "
        << wavelength_text(*pair) << '\n';
  }
}

// Where the scaling depends on the length, each count is that of the rope for so many positions.
void print_turns(std::ostream& out, const RopeOfLength& rope_of,
                 std::optional<std::int64_t> length) {
  const std::vector<std::int64_t> lengths =
      length ? std::vector<std::int64_t>{*length}
             : std::vector<std::int64_t>{4096, 32768, 131072, 1048576};
  const Rope shown = rope_of(std::nullopt);
  for (const std::int64_t within : lengths) {
    const Rope rope = depends_on_length(shown.spec()) ? rope_of(within) : shown;
    const auto turns = std::count_if(
        rope.frequencies().begin(), rope.frequencies().end(),
        [&](double frequency) { return wavelength(frequency) <= static_cast<double>(within); });
    out << "within " << within << " positions, " << turns << " of " << rope.frequencies().size()
        << " pairs complete a turn";
    if (!std::ranges::equal(rope.frequencies(), shown.frequencies())) {
      out << ", with the frequencies for --length " << within;
    }
    out << '\n';
  }
}

// ---- What scaling changed. ----

enum class Change : std::uint8_t { kNone, kSlower, kFaster, kStopped };

// How many times slower a pair is than without scaling: the quotient, and what that is.
std::pair<double, Change> change_of(double plain, double scaled) {
  constexpr double kRounding = 1e-6;  // of frequencies that are float32
  if (scaled == 0) return {0, plain == 0 ? Change::kNone : Change::kStopped};
  const double times = plain / scaled;
  if (std::abs(times - 1) < kRounding) return {1, Change::kNone};
  return {times, times > 1 ? Change::kSlower : Change::kFaster};
}

std::string change_text(Change change, double low, double high) {
  if (change == Change::kNone) return "as without it";
  if (change == Change::kStopped) return "stand still";
  if (change == Change::kFaster)
    return message("faster, by up to ", short_number(1 / low), " times");
  const std::string most = short_number(high);
  if (short_number(low) == most) return message("slower, by ", most, " times");
  return message("slower, by ", short_number(low), " to ", most, " times");
}

void print_scaling(std::ostream& out, const Rope& rope) {
  if (rope.spec().scaling().type == Scaling::Type::kDefault) return;
  SpecFields fields = rope.spec().fields();
  fields.scaling.reset();
  const Rope plain{Spec(fields)};
  const std::size_t pairs = rope.frequencies().size();
  const auto change = [&](std::size_t i) {
    return change_of(plain.frequencies()[i], rope.frequencies()[i]);
  };
  out << "what " << name(rope.spec().scaling().type) << " scaling does:\n";
  for (std::size_t begin = 0; begin < pairs;) {
    const Change kind = change(begin).second;
    double low = change(begin).first, high = low;
    std::size_t end = begin;
    for (; end < pairs && change(end).second == kind; ++end) {
      low = std::min(low, change(end).first);
      high = std::max(high, change(end).first);
    }
    out << "  pairs " << begin << " to " << end - 1 << ": " << change_text(kind, low, high) << '\n';
    begin = end;
  }
}

// ---- A rope, a kind of layer, a model: for people. ----

void print_rope(std::ostream& out, const RopeOfLength& rope_of, const InspectVerb& options,
                std::optional<std::int64_t> trained_length) {
  const std::optional<std::int64_t> length = options.plan.length();
  // What is shown is for the length asked for; without one, turns are counted for others, too.
  const RopeOfLength rope_of_asked = [&](std::optional<std::int64_t> of) {
    return rope_of(length ? length : of);
  };
  const Rope rope = rope_of_asked(std::nullopt);
  out << summary(rope) << "\n\n";
  print_pairs(out, rope, options.all);
  out << "\nFrequencies are in radians per position, wavelengths in positions.\n";
  print_extremes(out, rope);
  print_turns(out, rope_of_asked, length ? length : trained_length);
  print_scaling(out, rope);
  if (depends_on_length(rope.spec()) && !length) {
    out << "The scaling depends on the length. This is for short texts; see --length.\n";
  }
}

// "0-4, 6-10, 12"
std::string ranges(std::span<const std::int64_t> indices) {
  std::string text;
  for (std::size_t begin = 0; begin < indices.size();) {
    std::size_t end = begin + 1;
    while (end < indices.size() && indices[end] == indices[end - 1] + 1) ++end;
    text += message(text.empty() ? "" : ", ", indices[begin]);
    if (end - begin > 1) text += message("-", indices[end - 1]);
    begin = end;
  }
  return text;
}

std::string query_scale_text(const QueryScale& scale) {
  if (scale.kind == QueryScale::Kind::kLogN) {
    return message("max(1, ln(p + 1) / ln(", scale.length, "))");
  }
  const std::string position =
      scale.offset == 0 ? std::string("p") : message("(p + ", scale.offset, ")");
  return message("1 + ", scale.scale, " ln(1 + floor(", position, " / ", scale.length, "))");
}

void print_kind(std::ostream& out, const LayerKind& kind, const InspectVerb& options,
                const Model& model) {
  out << '\n' << one_line(kind.layer_type());
  if (!kind.layer_indices().empty()) out << ", layers " << ranges(kind.layer_indices());
  out << ": ";
  if (kind.rotates()) {
    const RopeOfLength rope_of = [&](std::optional<std::int64_t> length) {
      return options.plan.rope(kind, length);
    };
    print_rope(out, rope_of, options, model.trained_length());
  } else {
    out << "no rotation\n";
  }
  if (kind.softmax_scale_factor() != 1) {
    out << "beside the rotation, the scale of the softmax is multiplied by "
        << short_number(kind.softmax_scale_factor()) << '\n';
  }
  if (kind.query_scale()) {
    out << "beside the rotation, a query at position p is multiplied by "
        << query_scale_text(*kind.query_scale()) << '\n';
  }
}

std::vector<const LayerKind*> kinds_shown(const Model& model, const PlanOptions& plan) {
  if (const LayerKind* const asked = plan.kind_of(model)) return {asked};
  std::vector<const LayerKind*> kinds;
  for (const LayerKind& kind : model.kinds()) kinds.push_back(&kind);
  return kinds;
}

void print_model(std::ostream& out, const Model& model, const InspectVerb& options) {
  const std::vector<const LayerKind*> kinds = kinds_shown(model, options.plan);
  out << (model.model_type().empty() ? "a model without a name" : one_line(model.model_type()));
  if (model.trained_length()) out << ", context " << *model.trained_length();
  out << '\n';
  for (const std::string& warning : model.warnings()) {
    out << "warning: " << one_line(warning) << '\n';
  }
  for (const LayerKind* kind : kinds) print_kind(out, *kind, options, model);
}

// ---- For programs. Keys after softmax_scale_factor and warnings are there where they say something. ----

using OrderedJson = nlohmann::ordered_json;

OrderedJson json_of(const Rope& rope) {
  OrderedJson layer = {{"layer_type", "full_attention"}, {"layer_indices", OrderedJson::array()}};
  layer["rotates"] = true;
  layer["spec"] = OrderedJson::parse(spec_to_json(rope.spec()));
  layer["frequencies"] = rope.frequencies();
  layer["attention_factor"] = rope.attention_factor();
  layer["softmax_scale_factor"] = 1.0;
  if (depends_on_length(rope.spec())) layer["depends_on_length"] = true;
  return layer;
}

OrderedJson json_of(const QueryScale& scale) {
  if (scale.kind == QueryScale::Kind::kLogN) return {{"kind", "log_n"}, {"length", scale.length}};
  return {{"kind", "floor_log"},
          {"scale", scale.scale},
          {"offset", scale.offset},
          {"length", scale.length}};
}

OrderedJson json_of(const LayerKind& kind, const PlanOptions& plan) {
  OrderedJson layer = {{"layer_type", kind.layer_type()}, {"layer_indices", kind.layer_indices()}};
  layer["rotates"] = kind.rotates();
  layer["spec"] = nullptr;
  layer["frequencies"] = OrderedJson::array();
  layer["attention_factor"] = nullptr;
  if (kind.rotates()) {
    const Rope rope = plan.rope(kind, plan.length());
    layer["spec"] = OrderedJson::parse(spec_to_json(rope.spec()));
    layer["frequencies"] = rope.frequencies();
    layer["attention_factor"] = rope.attention_factor();
  }
  layer["softmax_scale_factor"] = kind.softmax_scale_factor();
  if (kind.rotates() && depends_on_length(kind.spec())) layer["depends_on_length"] = true;
  if (kind.query_scale()) layer["query_scale"] = json_of(*kind.query_scale());
  return layer;
}

OrderedJson json_of(const Model& model, const PlanOptions& plan) {
  OrderedJson layers = OrderedJson::array();
  for (const LayerKind* kind : kinds_shown(model, plan)) {
    layers.push_back(json_of(*kind, plan));
  }
  OrderedJson json = {{"model_type", model.model_type()},
                      {"layers", std::move(layers)},
                      {"warnings", model.warnings()}};
  if (model.trained_length()) json["trained_length"] = *model.trained_length();
  return json;
}

// In ASCII: a control character in a name is an escape.
void print_json(std::ostream& out, const OrderedJson& json) {
  out << json.dump(-1, ' ', true, OrderedJson::error_handler_t::replace) << '\n';
}

int run_list(const InspectVerb& options) {
  std::optional<std::string> other =
      options.file.empty() ? options.plan.first_given() : options.file;
  if (!other && options.all) other = "--all";
  if (other) throw UsageError(message(*other, " beside --list: leave it out"));
  if (options.json) {
    print_json(std::cout, json_of_presets());
  } else {
    print_presets();
  }
  return 0;
}

void print_plan(std::ostream& out, const InspectVerb& options) {
  if (const std::optional<Model> model = options.plan.model()) {
    if (options.json) {
      print_json(out, json_of(*model, options.plan));
    } else {
      print_model(out, *model, options);
    }
    return;
  }
  std::vector<std::string> warnings;
  const Rope rope = options.plan.rope(warnings);
  if (options.json) {
    print_json(out, {{"model_type", nullptr},
                     {"layers", OrderedJson::array({json_of(rope)})},
                     {"warnings", warnings}});
  } else {
    const RopeOfLength rope_of = [&](std::optional<std::int64_t> length) {
      return options.plan.rope(rope.spec(), length);
    };
    print_rope(out, rope_of, options, {});
  }
}

// All is made before the first byte is printed: what fails leaves no half of it.
int run(InspectVerb& options) {
  if (options.list) return run_list(options);
  if (!options.file.empty()) options.plan.set_config(options.file);
  std::ostringstream out;
  print_plan(out, options);
  std::cout << out.str();
  return 0;
}

}  // namespace

Verb add_inspect(CLI::App& app) {
  CLI::App* verb =
      app.add_subcommand("inspect", "Show which rotation it is: frequencies, wavelengths, layers");
  const auto options = std::make_shared<InspectVerb>(*verb);
  return {verb, [options] { return run(*options); }};
}

}  // namespace ropewalk::cli
