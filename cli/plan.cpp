#include "plan.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <ropewalk/error.hpp>
#include <ropewalk/model.hpp>
#include <string_view>

#include "formats/file.hpp"
#include "message.hpp"
#include "verbs.hpp"

namespace ropewalk::cli {
namespace {

constexpr std::uint64_t kMaxSpecBytes = std::uint64_t{16} << 20;

enum class Kind { kInteger, kNumber, kName, kSwitch };

// A row for each scalar key of a Spec.
struct Flag {
  const char* flag;
  const char* key;
  Kind kind;
  const char* help;
};

constexpr Flag kFlags[] = {
    {"--head-dim", "head_dim", Kind::kInteger, "Elements of a head"},
    {"--rotary-dim", "rotary_dim", Kind::kInteger,
     "Elements of a head that are rotated, the window; by default all from its offset on"},
    {"--rotary-offset", "rotary_offset", Kind::kInteger,
     "Where in the head the window begins; by default at 0"},
    {"--pairing", "pairing", Kind::kName, "halves (the default) or adjacent"},
    {"--output-pairing", "output_pairing", Kind::kName,
     "The pairing of what is written; by default the same"},
    {"--clockwise", "clockwise", Kind::kSwitch, "Turn the other way"},
    {"--window-parts", "window_parts", Kind::kInteger,
     "The window in so many equal parts, paired inside each; by default 1"},
    {"--base", "base", Kind::kNumber, "The constant of the frequencies; by default 10000"},
    {"--attention-factor", "attention_factor", Kind::kNumber,
     "A factor on cos and sin, instead of the rule's"},
};

template <class Number>
bool parse(std::string_view text, Number& number) {
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  return result.ec == std::errc() && result.ptr == end;
}

template <class Number>
Number parse_or_refuse(const std::string& flag, const std::string& text, std::string_view wanted) {
  Number number = 0;
  if (!parse(text, number)) throw UsageError(message(flag, " ", text, ": want ", wanted));
  return number;
}

// The text of a flag as the value of its key.
nlohmann::json value_of(const Flag& flag, const std::string& text) {
  std::int64_t integer = 0;
  double number = 0;
  switch (flag.kind) {
    case Kind::kName: return text;
    case Kind::kInteger:
      if (parse(text, integer)) return integer;
      throw UsageError(message(flag.key, " ", text, " is not an integer of 64 bits"));
    case Kind::kNumber:
      // Infinity and NaN, which the parser takes, have no form in JSON.
      if (parse(text, number) && std::isfinite(number)) return number;
      throw UsageError(message(flag.key, " ", text, " is not a finite number"));
    case Kind::kSwitch: return true;
  }
  return nullptr;
}

// By way of the JSON, so that flags and files have one reader, with one set of messages.
Spec spec_of_flags(const std::map<std::string, std::string>& values) {
  nlohmann::json object = nlohmann::json::object();
  for (const Flag& flag : kFlags) {
    const auto found = values.find(flag.key);
    if (found != values.end()) object[flag.key] = value_of(flag, found->second);
  }
  using Json = nlohmann::json;
  const std::string json = object.dump(-1, ' ', false, Json::error_handler_t::replace);
  try {
    return spec_from_json(json);
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
}

Spec spec_of_file(const std::string& path) {
  const std::string json = formats::InputFile(path).text(kMaxSpecBytes);
  try {
    return spec_from_json(json);
  } catch (const Error& error) {
    throw Error(error.code(), message(path, ": ", error.what()));
  }
}

// What few ropes have.
std::string window_of(const Spec& spec) {
  std::string line;
  if (spec.rotary_offset() != 0) line += message("from ", spec.rotary_offset(), ", ");
  if (spec.window_parts() != 1) line += message("in ", spec.window_parts(), " parts, ");
  line += name(spec.pairing());
  if (spec.output_pairing() != spec.pairing()) {
    line += message(" to ", name(spec.output_pairing()));
  }
  if (spec.clockwise()) line += ", clockwise";
  if (!spec.axis_of_pair().empty()) {
    const auto last = std::max_element(spec.axis_of_pair().begin(), spec.axis_of_pair().end());
    line += message(", axes ", *last + 1);
  }
  return line;
}

}  // namespace

std::string summary(const Rope& rope) {
  const Spec& spec = rope.spec();
  std::string line = message("head_dim ", spec.head_dim(), ", rotary_dim ", spec.rotary_dim(), ", ",
                             window_of(spec), ", ");
  if (spec.frequencies()) {
    line += message(spec.frequencies()->size(), " given frequencies");
  } else {
    line += message("base ", spec.base());
    const Scaling scaling = spec.scaling();
    if (scaling.type != Scaling::Type::kDefault) {
      line += message(", ", name(scaling.type), " scaling");
      if (scaling.factor) line += message(" by ", *scaling.factor);
    }
  }
  return line + message(", attention factor ", rope.attention_factor());
}

PlanOptions::PlanOptions(CLI::App& verb) {
  verb.add_option("--spec", spec_file_, "A JSON file that says which rope; instead of the flags")
      ->type_name("FILE")
      ->check(refuse_empty)
      ->group("Which rope");
  verb.add_option("--length", length_,
                  "How many positions it is for, where the scaling depends on that")
      ->type_name("N")
      ->check(refuse_empty)
      ->group("Which rope");
  for (const Flag& flag : kFlags) {
    const auto store = [this, key = flag.key](const std::string& value) { values_[key] = value; };
    if (flag.kind == Kind::kSwitch) {
      verb.add_flag_callback(flag.flag, [store] { store("true"); }, flag.help)->group("Which rope");
      continue;
    }
    verb.add_option_function<std::string>(flag.flag, store, flag.help)
        ->type_name("VALUE")
        ->group("Which rope");
  }
}

std::optional<std::int64_t> PlanOptions::length() const {
  if (length_.empty()) return std::nullopt;
  const std::int64_t length = parse_int64("--length", length_);
  if (length < 1) throw UsageError(message("--length ", length, " is less than 1"));
  return length;
}

Rope PlanOptions::rope() const {
  if (spec_file_.empty() && values_.empty()) {
    throw UsageError("say which rope: --spec FILE, or --head-dim N and what else is not default");
  }
  if (spec_file_.empty()) return Rope(spec_of_flags(values_), length());
  for (const Flag& flag : kFlags) {
    if (values_.count(flag.key) != 0) {
      throw UsageError(message(flag.flag, " beside --spec: put it into the file, or give no file"));
    }
  }
  return Rope(spec_of_file(spec_file_), length());
}

std::int64_t parse_int64(const std::string& flag, const std::string& text) {
  return parse_or_refuse<std::int64_t>(flag, text, "an integer of 64 bits");
}

std::uint64_t parse_uint64(const std::string& flag, const std::string& text) {
  return parse_or_refuse<std::uint64_t>(flag, text, "an integer from 0 to 2^64 - 1");
}

}  // namespace ropewalk::cli
