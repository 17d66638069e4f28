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

// What make() returns; its errors are said to be of what has this name.
template <class Make>
decltype(auto) with_name(const std::string& name, const Make& make) {
  try {
    return make();
  } catch (const Error& error) {
    throw Error(error.code(), message(name, ": ", error.what()));
  }
}

Spec spec_of_file(const std::string& path) {
  const std::string json = formats::InputFile(path).text(kMaxSpecBytes);
  return with_name(path, [&] { return spec_from_json(json); });
}

Model model_of_file(const std::string& path) {
  try {
    return Model::from_file(path);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kIo) throw;
    for (const Preset& preset : presets()) {
      if (preset.name != path) continue;
      throw Error(error.code(),
                  message(error.what(), "; for the model of this name say --preset ", path));
    }
    throw;
  }
}

// The layers that rotate, if they are all alike.
const LayerKind& only_rotating(const Model& model) {
  const LayerKind* found = nullptr;
  bool alike = true;
  std::string names;
  for (const LayerKind& kind : model.kinds()) {
    if (!kind.rotates()) continue;
    names += message(names.empty() ? "" : ", ", kind.layer_type());
    if (found != nullptr && found->spec() != kind.spec()) alike = false;
    if (found == nullptr) found = &kind;
  }
  if (found == nullptr) {
    throw Error(ErrorCode::kUnsupported, "no layer of this model rotates: it has no RoPE");
  }
  if (!alike) {
    throw Error(
        ErrorCode::kInvalidArgument,
        message("the layers of this model rotate differently: say --layer N, or --layer-type ",
                "with one of: ", names));
  }
  return *found;
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
  constexpr const char* kGroup = "Which rope";
  const auto text = [&](const char* flag, std::string& value, const char* type, const char* help) {
    verb.add_option(flag, value, help)->type_name(type)->check(refuse_empty)->group(kGroup);
  };
  text("--config", config_file_, "FILE", "A model's config.json or GGUF");
  text("--preset", preset_, "NAME", "A well-known model; ropewalk inspect --list names them");
  text("--layer", layer_, "N", "Of the model, the rope of this layer; the first is 0");
  text("--layer-type", layer_type_, "NAME",
       "Of the model, the rope of such layers: full_attention, sliding_attention ...");
  text("--spec", spec_file_, "FILE", "A JSON file that says which rope; instead of the flags");
  text("--length", length_, "N", "How many positions it is for, where the scaling depends on that");
  for (const Flag& flag : kFlags) {
    const auto store = [this, key = flag.key](const std::string& value) { values_[key] = value; };
    if (flag.kind == Kind::kSwitch) {
      verb.add_flag_callback(flag.flag, [store] { store("true"); }, flag.help)->group(kGroup);
      continue;
    }
    verb.add_option_function<std::string>(flag.flag, store, flag.help)
        ->type_name("VALUE")
        ->group(kGroup);
  }
}

std::optional<std::int64_t> PlanOptions::length() const {
  if (length_.empty()) return std::nullopt;
  const std::int64_t length = parse_int64("--length", length_);
  if (length < 1) throw UsageError(message("--length ", length, " is less than 1"));
  return length;
}

void PlanOptions::set_config(const std::string& file) {
  if (!config_file_.empty()) throw UsageError(message("--config beside ", file, ": give one file"));
  config_file_ = file;
}

std::optional<std::string> PlanOptions::first_given() const {
  for (const auto& [option, value] :
       {std::pair("--config", &config_file_), std::pair("--preset", &preset_),
        std::pair("--layer", &layer_), std::pair("--layer-type", &layer_type_),
        std::pair("--spec", &spec_file_), std::pair("--length", &length_)}) {
    if (!value->empty()) return option;
  }
  for (const Flag& flag : kFlags) {
    if (values_.count(flag.key) != 0) return flag.flag;
  }
  return std::nullopt;
}

// One source, and no flag that says nothing of it.
void PlanOptions::check_sources() const {
  std::string_view source;
  for (const auto& [option, value] :
       {std::pair("--config", &config_file_), std::pair("--preset", &preset_),
        std::pair("--spec", &spec_file_)}) {
    if (value->empty()) continue;
    if (!source.empty()) {
      throw UsageError(message(option, " beside ", source, ": give one of them"));
    }
    source = option;
  }
  if (!has_model() && !(layer_.empty() && layer_type_.empty())) {
    throw UsageError(message(layer_.empty() ? "--layer-type" : "--layer",
                             " without --config or --preset: only a model has layers"));
  }
  if (!layer_.empty() && !layer_type_.empty()) {
    throw UsageError("--layer-type beside --layer: give one of them");
  }
  for (const Flag& flag : kFlags) {
    if (source.empty() || values_.count(flag.key) == 0) continue;
    throw UsageError(
        message(flag.flag, " beside ", source, ": put it into a file for --spec, or leave it out"));
  }
  if (source.empty() && values_.empty()) {
    throw UsageError(
        "say which rope: --config FILE, --preset NAME, --spec FILE, or --head-dim N and what else "
        "is "
        "not default");
  }
}

Spec PlanOptions::spec() const {
  return spec_file_.empty() ? spec_of_flags(values_) : spec_of_file(spec_file_);
}

std::optional<Model> PlanOptions::model() const {
  check_sources();
  if (!has_model()) return std::nullopt;
  if (!layer_.empty()) parse_int64("--layer", layer_);
  static_cast<void>(length());  // wrong usage is said before a file is opened
  if (preset_.empty()) return model_of_file(config_file_);
  try {
    return Model::from_preset(preset_);
  } catch (const Error& error) {
    throw UsageError(message("--", error.what(), "; ropewalk inspect --list names them all"));
  }
}

// What messages call the source of the rope.
std::string PlanOptions::source() const {
  if (!preset_.empty()) return message("--preset ", preset_);
  return file();
}

const LayerKind* PlanOptions::kind_of(const Model& model) const {
  const auto found = [&](std::string_view flag, const std::string& value,
                         const auto& find) -> const LayerKind* {
    return with_name(message(source(), ": ", flag, " ", value), [&] { return &find(); });
  };
  if (!layer_.empty()) {
    const std::int64_t layer = parse_int64("--layer", layer_);
    return found("--layer", layer_, [&]() -> const LayerKind& { return model.layer(layer); });
  }
  if (!layer_type_.empty()) {
    return found("--layer-type", layer_type_,
                 [&]() -> const LayerKind& { return model.kind(layer_type_); });
  }
  return nullptr;
}

Rope PlanOptions::rope(const LayerKind& kind, std::optional<std::int64_t> length) const {
  return with_name(message(source(), ": ", kind.layer_type()),
                   [&] { return Rope(kind.spec(), length); });
}

Rope PlanOptions::rope(const Spec& spec, std::optional<std::int64_t> length) const {
  if (spec_file_.empty()) return Rope(spec, length);
  return with_name(spec_file_, [&] { return Rope(spec, length); });
}

Rope PlanOptions::rope(std::vector<std::string>& warnings) const {
  const std::optional<std::int64_t> length = this->length();
  const std::optional<Model> model = this->model();
  if (!model) return rope(spec(), length);
  warnings.insert(warnings.end(), model->warnings().begin(), model->warnings().end());
  if (const LayerKind* const asked = kind_of(*model)) return rope(*asked, length);
  return rope(with_name(source(), [&]() -> const LayerKind& { return only_rotating(*model); }),
              length);
}

std::int64_t parse_int64(const std::string& flag, const std::string& text) {
  return parse_or_refuse<std::int64_t>(flag, text, "an integer of 64 bits");
}

std::uint64_t parse_uint64(const std::string& flag, const std::string& text) {
  return parse_or_refuse<std::uint64_t>(flag, text, "an integer from 0 to 2^64 - 1");
}

}  // namespace ropewalk::cli
