// A config.json of Hugging Face -> a Model.

#include "model-config.hpp"

#include <algorithm>
#include <array>
#include <ropewalk/vision.hpp>

namespace ropewalk {
namespace {

constexpr int kMaxDepth = 64;

// Python writes NaN and Infinity, which are no JSON. As strings they are refused where a number is
// wanted, and do no harm where none is read.
std::string quote_non_numbers(std::string_view text) {
  constexpr std::array<std::string_view, 3> kWords = {"NaN", "-Infinity", "Infinity"};
  std::string result;
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') inside = !inside;
    if (inside && text[i] == '\\' && i + 1 < text.size()) result += text[i++];
    const std::string_view rest = text.substr(i);
    const auto word = std::find_if(kWords.begin(), kWords.end(), [&](std::string_view each) {
      return !inside && rest.starts_with(each);
    });
    if (word == kWords.end()) {
      result += text[i];
      continue;
    }
    result += message("\"", *word, "\"");
    i += word->size() - 1;
  }
  return result;
}

// Inside the config of a model of several parts, that of its language model.
Keys language_part(const Json& config) {
  constexpr std::array<std::string_view, 6> kParts = {"text_config",       "language_config",
                                                      "llm_config",        "thinker_config",
                                                      "text_model_config", "language_model_config"};
  Keys keys(config, "");
  for (int depth = 0; depth < 4; ++depth) {
    const auto part = std::find_if(kParts.begin(), kParts.end(), [&](std::string_view key) {
      const Json* const value = keys.find(key);
      return value != nullptr && value->is_object() && !value->empty();
    });
    if (part == kParts.end()) break;
    keys = Keys(*keys.find(*part), keys.path(*part));
  }
  return keys;
}

std::string model_type_in(const Json& config, const Keys& part) {
  for (const Keys& keys : {part, Keys(config, "")}) {
    const Json* const type = keys.find("model_type");
    if (type == nullptr) continue;
    std::string name = name_in(*type, keys.path("model_type"));
    if (!name.empty()) return name;
  }
  return "";
}

bool has_rope_keys(const Keys& keys) {
  constexpr std::array<std::string_view, 11> kRopeKeys = {
      "rope_theta",         "rope_scaling",     "rope_parameters",       "rotary_emb_base",
      "rotary_pct",         "rotary_dim",       "partial_rotary_factor", "rope_ratio",
      "rope_freq_constant", "qk_rope_head_dim", "rotary_emb_fraction"};
  return std::any_of(kRopeKeys.begin(), kRopeKeys.end(), [&](std::string_view key) {
    return keys.object().contains(std::string(key));
  });
}

const Family& family_of(const std::string& model_type, const Keys& keys, ModelBuilder& builder) {
  static constexpr Family kUnknown = {};
  if (const RefusedForm* refused = refused_form(model_type)) {
    throw Error(ErrorCode::kUnsupported,
                message(keys.path("model_type"), ": ", model_type,
                        " is no rotation by one axis per pair: ", refused->reason));
  }
  const Family* family = find_family(model_type);
  // A flat config of what is the language model of several parts.
  if (family == nullptr) family = find_family(model_type + "_text");
  if (family == nullptr) {
    if (!has_rope_keys(keys)) {
      throw Error(ErrorCode::kUnsupported,
                  message(keys.path("model_type"), ": ", quoted(model_type),
                          " is not known, and there is no key of RoPE to go by"));
    }
    builder.warn(message(keys.path("model_type"), ": ", quoted(model_type),
                         " is not known: read by its keys, pairing assumed halves"));
    return kUnknown;
  }
  if (!family->refused.empty()) {
    throw Error(ErrorCode::kUnsupported,
                message(keys.path("model_type"), ": ", model_type, ": ", family->refused));
  }
  return *family;
}

bool is_empty(const Json* block, const Keys& keys, std::string_view key) {
  if (block == nullptr) return true;
  if (block->is_string() && block->get_ref<const std::string&>().empty()) return true;
  if (!block->is_object()) refuse_type(keys.path(key), *block, "an object");
  return block->empty();
}

bool has_objects(const Json& block) {
  return std::any_of(block.begin(), block.end(),
                     [](const Json& value) { return value.is_object(); });
}

// InternLM's first version has {"base": 10000, "type": "dynamic", "scaling_factor": 1.0}, with another
// word for what is not scaled. Under this key GPT-J has true.
Json internlm_block(const Keys& config) {
  const Json* const given = config.find("rotary");
  Json block = Json::object();
  if (given == nullptr || !given->is_object()) return block;
  const Keys rotary(*given, config.path("rotary"));
  for (const auto& [key, value] : given->items()) {
    if (key == "base" || key == "scaling_factor" || value.is_null()) continue;
    block[key] = key == "type" && value == "origin" ? Json("default") : value;
  }
  if (const auto base = rotary.get<double>("base")) block["rope_theta"] = *base;
  if (rotary.find("type") != nullptr && block["type"] == "dynamic") {
    block["factor"] = rotary.get<double>("scaling_factor").value_or(1.0);
  }
  return block;
}

Model read_config(std::string_view text) {
  const Json config = parse_json(quote_non_numbers(text), "a config.json", kMaxDepth);
  if (!config.is_object()) refuse_type("config", config, "an object");
  const Keys keys = language_part(config);
  const std::string model_type = model_type_in(config, keys);
  ModelBuilder builder(model_type);
  const Config reading{keys, family_of(model_type, keys, builder), builder};
  if (const auto length = reading.trained_length()) builder.set_trained_length(*length);
  const Layers layers = layers_of(reading);
  const RopeBlocks blocks(reading);
  for (const Layer& layer : layers.list) {
    LayerDescription description = describe(reading, blocks, layer);
    if (layers.counted) {
      builder.add_layer(std::move(description));
    } else {
      builder.add_kind(std::move(description));
    }
  }
  return std::move(builder).build();
}

}  // namespace

const Json* Keys::find(std::string_view key) const {
  const auto found = object_->find(std::string(key));
  return found == object_->end() || found->is_null() ? nullptr : &*found;
}

bool Keys::is_null(std::string_view key) const {
  const auto found = object_->find(std::string(key));
  return found != object_->end() && found->is_null();
}

std::optional<std::int64_t> Config::trained_length() const {
  for (const std::string_view key : {"max_position_embeddings", "n_positions",
                                     "max_sequence_length", "max_seq_len", "seq_length"}) {
    const auto length = keys.get<std::int64_t>(key);
    if (!length) continue;
    if (*length < 1) refuse_json(keys.path(key), ": ", *length, " is not an integer from 1");
    return length;
  }
  return std::nullopt;
}

// Of two spellings both may be there, if they do not contradict each other.
RopeBlocks::RopeBlocks(const Config& config) {
  for (const std::string_view key : {"rope_parameters", "rope_scaling"}) {
    const Json* const given = config.keys.find(key);
    if (is_empty(given, config.keys, key)) continue;
    for (const auto& [name, value] : given->items()) {
      if (block_.contains(name) && block_[name] != value) {
        refuse_json(config.keys.path(key), ".", name, ": ", value.dump(), " beside ", path_, ".",
                    name, " ", block_[name].dump(), ": want one value");
      }
      block_[name] = value;
    }
    if (path_.empty()) path_ = config.keys.path(key);
  }
  if (path_.empty()) {
    block_ = internlm_block(config.keys);
    if (!block_.empty()) path_ = config.keys.path("rotary");
  }
  if (path_.empty()) {
    path_ = config.keys.path("rope_parameters");
    const bool is_absent = config.keys.find("rope_parameters") == nullptr;
    if (is_absent && !config.family.block.empty())
      block_ = parse_json(config.family.block, "", kMaxDepth);
  }
  nested_ = has_objects(block_);
  for (const auto& [key, value] : block_.items()) {
    if (value.is_object() && is_rope_key(key)) {
      refuse_type(joined(path_, key), value, "one value, or blocks by types of layers");
    }
    if (nested_ && !value.is_object() && !value.is_null()) {
      config.warn(joined(path_, key), ": ignored, beside a block for each type of layer");
    }
  }
}

std::optional<Keys> RopeBlocks::of(const Config& config, std::string_view layer_type) const {
  static const Json kNothing = Json::object();
  if (!nested_) return Keys(block_, path_);
  std::string type(layer_type);
  const auto& [sliding, others] = config.family.labels;
  if (!sliding.empty() && !block_.contains(type)) {
    type = layer_type == "sliding_attention" ? sliding : others;
  }
  const std::string path = joined(path_, type);
  const auto found = block_.find(type);
  // Families with a base for each type of layer fill in what is missing.
  const bool has_own = config.family.sliding != Sliding::kAsFull;
  if (found == block_.end() || (found->is_null() && has_own)) {
    if (has_own) return Keys(kNothing, path);
    refuse_json(path, ": missing, there are layers of this type");
  }
  if (found->is_null()) return std::nullopt;
  if (!found->is_object()) refuse_type(path, *found, "an object");
  return Keys(*found, path);
}

Model Model::from_config(std::string_view json, std::string_view name) {
  try {
    return read_config(json);
  } catch (const Error& error) {
    const bool is_unsupported = error.code() == ErrorCode::kUnsupported;
    throw Error(is_unsupported ? ErrorCode::kUnsupported : ErrorCode::kBadFormat,
                message(name, ": ", error.what()));
  }
}

}  // namespace ropewalk
