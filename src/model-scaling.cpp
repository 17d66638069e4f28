// A block of rope keys -> the scaling rule.

#include <algorithm>
#include <array>
#include <cmath>

#include "model-config.hpp"
#include "words.hpp"

namespace ropewalk {
namespace {

// A name that configs use -> the rule, and the keys that it takes. Those that are of another rule stand in
// configs, too, and count for nothing there.
struct Rule {
  std::string_view name;
  Scaling::Type type;
  std::string_view takes;
};
constexpr std::string_view kYarnKeys =
    " factor original_max_position_embeddings beta_fast beta_slow truncate mscale mscale_all_dim "
    "attention_factor extrapolation_factor ";
constexpr std::string_view kLongropeKeys =
    " short_factor long_factor original_max_position_embeddings factor attention_factor "
    "short_mscale "
    "long_mscale ";
constexpr std::array kRules = {
    Rule{"default", Scaling::Type::kDefault, ""},
    Rule{"mrope", Scaling::Type::kDefault, ""},
    Rule{"linear", Scaling::Type::kLinear, " factor "},
    Rule{"dynamic", Scaling::Type::kDynamic, " factor alpha "},
    Rule{"xdrope", Scaling::Type::kDynamic, " alpha "},
    Rule{"yarn", Scaling::Type::kYarn, kYarnKeys},
    Rule{"llama3", Scaling::Type::kLlama3,
         " factor low_freq_factor high_freq_factor original_max_position_embeddings "},
    Rule{"longrope", Scaling::Type::kLongrope, kLongropeKeys},
    Rule{"su", Scaling::Type::kLongrope, kLongropeKeys},
    Rule{"proportional", Scaling::Type::kProportional, " factor "},
};

// Rules of other programs, which the named ones do not replace.
constexpr std::array kElsewhere = {
    std::pair{std::string_view("ntk"), std::string_view("vLLM's, also of the fastest pair")},
    std::pair{std::string_view("telechat3-yarn"), std::string_view("vLLM's, with a slope of 0.07")},
    std::pair{std::string_view("deepseek_llama_scaling"), std::string_view("vLLM's")},
    std::pair{std::string_view("openpangu"), std::string_view("vLLM's")},
    std::pair{std::string_view("axial"), std::string_view("of image towers")},
};

// Keys of a block that are read elsewhere, or mean the same whatever they are.
constexpr std::string_view kOtherKeys =
    " rope_type type rope_theta partial_rotary_factor mrope_section mrope_interleaved "
    "mrope_interleaved_glm xdrope_section llama_4_scaling_beta max_position_embeddings "
    "original_max_position_embeddings ";
constexpr std::string_view kScalingKeys =
    " factor alpha original_max_position_embeddings beta_fast beta_slow truncate mscale "
    "mscale_all_dim attention_factor extrapolation_factor low_freq_factor high_freq_factor "
    "short_factor long_factor short_mscale long_mscale ";

const Rule& rule_named(const Keys& block, std::string_view key, const std::string& name) {
  const auto rule = std::find_if(kRules.begin(), kRules.end(),
                                 [&](const Rule& each) { return each.name == name; });
  if (rule != kRules.end()) return *rule;
  for (const auto& [other, why] : kElsewhere) {
    if (other != name) continue;
    throw Error(ErrorCode::kUnsupported,
                message(block.path(key), ": ", quoted(name), " is not supported: ", why));
  }
  std::string known;
  for (const Rule& each : kRules) known += message(known.empty() ? "" : ", ", each.name);
  refuse_json(block.path(key), ": ", quoted(name), " is not known, want one of: ", known);
}

const Rule* rule_at(const Keys& block, std::string_view key) {
  const Json* const value = block.find(key);
  if (value == nullptr) return nullptr;
  if (!value->is_string()) refuse_type(block.path(key), *value, "a string");
  return &rule_named(block, key, value->get<std::string>());
}

// Of rope_type and type.
const Rule& rule_in(const Keys& block) {
  const Rule* const rope_type = rule_at(block, "rope_type");
  const Rule* const type = rule_at(block, "type");
  if (rope_type != nullptr && type != nullptr && rope_type->type != type->type) {
    refuse_json(block.path("type"), ": ", type->name, " beside rope_type ", rope_type->name,
                ": want one type");
  }
  if (rope_type != nullptr) return *rope_type;
  if (type != nullptr) return *type;
  for (const std::string_view key :
       {"factor", "alpha", "short_factor", "long_factor", "low_freq_factor", "beta_fast"}) {
    if (block.find(key) != nullptr) {
      refuse_json(block.path("rope_type"), ": missing beside ", key, ", want the rule's name");
    }
  }
  return kRules.front();
}

std::int64_t trained_or_refuse(const Config& config, const Keys& block, std::string_view rule) {
  const auto trained = config.trained_length();
  if (!trained) {
    refuse_json(config.keys.path("max_position_embeddings"), ": missing, ", block.path(),
                " of type ", rule, " wants it");
  }
  return *trained;
}

// Phi-3 has it beside the block, and there it wins, as in transformers.
void add_original(const Config& config, const Keys& block, std::string_view rule, Json& scaling) {
  constexpr std::string_view kKey = "original_max_position_embeddings";
  const auto inside = block.get<std::int64_t>(kKey);
  const auto outside = config.keys.get<std::int64_t>(kKey);
  if (outside && inside && *outside != *inside) {
    config.warn(config.keys.path(kKey), ": ", *outside, " is taken, not ", block.path(kKey), " ",
                *inside);
  }
  if (!inside && !outside) {
    const std::int64_t trained = trained_or_refuse(config, block, rule);
    config.warn(block.path(kKey), ": missing, took max_position_embeddings ", trained);
    scaling[kKey] = trained;
    return;
  }
  scaling[kKey] = outside ? *outside : *inside;
}

bool has_original(const Config& config, const Keys& block) {
  constexpr std::string_view kKey = "original_max_position_embeddings";
  return block.find(kKey) != nullptr || config.keys.find(kKey) != nullptr;
}

// How often the original length the new one is, where the config does not say it.
void add_factor(const Config& config, const Keys& block, const Rule& rule, Json& scaling) {
  const auto original = scaling["original_max_position_embeddings"].get<std::int64_t>();
  const bool is_longrope = rule.type == Scaling::Type::kLongrope;
  const auto trained = config.trained_length();
  if (!scaling.contains("factor")) {
    // Where m is given, nothing else depends on the factor.
    if (is_longrope && (scaling.contains("attention_factor") || scaling.contains("short_mscale"))) {
      scaling["factor"] = 1.0;
      return;
    }
    if (original < 1) return;  // refused by Spec
    if (!is_longrope && !has_original(config, block)) {
      refuse_json(block.path("factor"), ": missing, type ", rule.name,
                  " wants it, or original_max_position_embeddings");
    }
    scaling["factor"] = static_cast<double>(trained_or_refuse(config, block, rule.name)) /
                        static_cast<double>(original);
  } else if (trained && original > 0 && scaling["factor"].is_number()) {
    const double ratio = static_cast<double>(*trained) / static_cast<double>(original);
    // A context no longer than the original says nothing: Qwen2.5's documents have such a config.
    if (ratio != 1 && scaling["factor"].get<double>() != ratio) {
      config.warn(
          block.path("factor"), ": ", scaling["factor"].get<double>(),
          " is taken, not max_position_embeddings / original_max_position_embeddings, which is ",
          ratio);
    }
  }
  // A text no longer than the original: m is 1.
  if (is_longrope && scaling["factor"].is_number()) {
    const double factor = scaling["factor"].get<double>();
    if (factor > 0 && factor < 1) scaling["factor"] = 1.0;
  }
}

void finish_yarn(const Config& config, const Keys& block, Json& scaling) {
  for (const char* const key : {"beta_fast", "beta_slow"}) {
    if (scaling.contains(key) && scaling[key] == 0) scaling.erase(key);
  }
  const auto given = [&](std::string_view key) {
    return scaling.contains(key) && scaling[std::string(key)] != 0;
  };
  if (given("mscale") != given("mscale_all_dim") && !scaling.contains("attention_factor")) {
    const std::string_view there = given("mscale") ? "mscale" : "mscale_all_dim";
    config.warn(block.path(there), ": counts only together with ",
                given("mscale") ? "mscale_all_dim" : "mscale", "; DeepSeek's own code differs");
  }
}

void finish_dynamic(const Config& config, const Keys& block, Json& scaling) {
  if (scaling.contains("alpha")) {  // HunYuan's configs have a factor of 1 beside it
    scaling.erase("factor");
    return;
  }
  if (!scaling.contains("factor")) {
    refuse_json(block.path("factor"), ": missing, type dynamic wants it, or alpha");
  }
  scaling["original_max_position_embeddings"] = trained_or_refuse(config, block, "dynamic");
}

}  // namespace

BlockRule rule_of(const Config& config, const Keys& block, std::int64_t head_dim, double partial) {
  if (block.is_true("use_fope")) {
    throw Error(ErrorCode::kUnsupported,
                message(block.path("use_fope"), ": learned mixtures (FoPE) are no rotation"));
  }
  const Rule& rule = rule_in(block);
  if (rule.type == Scaling::Type::kDefault) return {};
  Json scaling = {{"type", name(rule.type)}};
  for (const std::string& key : words_of(rule.takes)) {
    if (const Json* const value = block.find(key)) scaling[key] = *value;
  }
  if (has_word(rule.takes, "original_max_position_embeddings")) {
    add_original(config, block, rule.name, scaling);
  }
  switch (rule.type) {
    case Scaling::Type::kYarn:
      finish_yarn(config, block, scaling);
      add_factor(config, block, rule, scaling);
      break;
    case Scaling::Type::kLongrope: add_factor(config, block, rule, scaling); break;
    case Scaling::Type::kDynamic: finish_dynamic(config, block, scaling); break;
    case Scaling::Type::kProportional:
      scaling["rotating_pairs"] =
          static_cast<std::int64_t>(std::floor(partial * static_cast<double>(head_dim) / 2));
      break;
    default: break;
  }
  return {scaling_from_json(scaling, block.path()), rule.type == Scaling::Type::kProportional};
}

bool is_rope_key(std::string_view key) {
  return has_word(kOtherKeys, key) || has_word(kScalingKeys, key);
}

bool scales(std::string_view key, const Json& value) {
  if (key != "rope_type" && key != "type") {
    return has_word(kScalingKeys, key) && !has_word(kOtherKeys, key);
  }
  return value.is_string() && value != "default" && value != "mrope";
}

bool scales(const Keys& block) { return rule_in(block).type != Scaling::Type::kDefault; }

void warn_of_unread(const Config& config, const Keys& block) {
  const Rule& rule = rule_in(block);
  for (const auto& [key, value] : block.object().items()) {
    if (value.is_null() || has_word(kOtherKeys, key) || has_word(rule.takes, key)) continue;
    if (key == "attn_factor") {
      config.warn(block.path(key), ": ignored, as transformers does; vLLM multiplies by it");
    } else if (has_word(kScalingKeys, key)) {
      config.warn(block.path(key), ": ignored, type ", rule.name, " has no such key");
    } else {
      config.warn(block.path(key), ": ignored, not a key that is known here");
    }
  }
}

}  // namespace ropewalk
