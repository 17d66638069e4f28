// A config.json of Hugging Face -> a Model.

#include "model-config.hpp"

#include <algorithm>
#include <array>
#include <ropewalk/vision.hpp>
#include <set>
#include <span>

#include "words.hpp"

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
    result += message("\"\\u0000", *word, "\"");
    i += word->size() - 1;
  }
  return result;
}

constexpr std::array<std::string_view, 6> kParts = {"text_config",       "language_config",
                                                    "llm_config",        "thinker_config",
                                                    "text_model_config", "language_model_config"};

bool is_part(const Keys& keys, std::string_view key) {
  const Json* const value = keys.find(key);
  return value != nullptr && value->is_object() && !value->empty();
}

// The file, and of the config of a model of several parts that of its language model, from the
// outermost.
std::vector<Keys> language_parts(const Json& config) {
  constexpr std::size_t kDeepest = 4;
  std::vector<Keys> parts = {Keys(config, "")};
  for (;;) {
    const Keys& keys = parts.back();
    const auto part = std::find_if(kParts.begin(), kParts.end(),
                                   [&](std::string_view key) { return is_part(keys, key); });
    if (part == kParts.end()) return parts;
    if (parts.size() > kDeepest) {
      refuse_json(keys.path(*part), ": parts within parts, want at most ", kDeepest);
    }
    parts.emplace_back(*keys.find(*part), keys.path(*part));
  }
}

// What a config says of RoPE as a whole: the keys of its blocks are one with those beside them.
struct Statement {
  Json value;
  std::string path;
};
std::map<std::string, Statement> statements_of(const Keys& keys) {
  std::map<std::string, Statement> all;
  for (const std::string_view key : {"rope_theta", "rope_scaling", "rope_parameters"}) {
    const Json* const given = keys.find(key);
    if (given == nullptr) continue;
    if (!given->is_object()) {
      if (given->is_number()) all[std::string(key)] = {*given, keys.path(key)};
      continue;
    }
    for (const auto& [name, value] : given->items()) {
      if (value.is_null()) continue;
      const bool is_type = name == "type" || name == "rope_type";
      const Json meant = !is_type           ? value
                         : value == "mrope" ? Json("default")
                         : value == "su"    ? Json("longrope")
                                            : value;
      all[is_type ? "rope_type" : name] = {meant, joined(keys.path(key), name)};
    }
  }
  return all;
}

// Only the innermost part is read; those around it may not say anything else.
void check_outer_parts(const std::vector<Keys>& parts, const Config& config) {
  for (const Keys& part : parts) {
    const bool is_read = part.path() == parts.back().path();
    const auto beside = std::count_if(kParts.begin(), kParts.end(), [&](std::string_view key) {
      return !is_read && is_part(part, key);
    });
    if (beside > 1) {
      config.warn(parts.back().path(), ": read, and not what else is named like a language model");
    }
  }
  const auto inside = statements_of(parts.back());
  for (const Keys& part : std::span(parts).first(parts.size() - 1)) {
    for (const auto& [key, outer] : statements_of(part)) {
      const auto inner = inside.find(key);
      if (inner != inside.end() && inner->second.value != outer.value) {
        refuse_json(outer.path, ": ", shown(outer.value), " beside ", inner->second.path, " ",
                    shown(inner->second.value), ": want one value");
      }
      if (inner != inside.end()) continue;
      if (scales(key, outer.value)) {
        refuse_json(outer.path, ": ", shown(outer.value), " is not read: ", parts.back().path(),
                    " is, and wants it");
      }
      if (key == "rope_theta" && outer.value != config.family.base.value_or(0)) {
        config.warn(outer.path, ": ignored, ", parts.back().path(), " is read");
      }
    }
  }
}

// Other models that bear a name of the table, told by a key.
struct OtherModel {
  std::string_view model_type;
  std::string_view object;  // that the key is in
  std::string_view key;
  std::string_view reason;
};
constexpr std::string_view kChatGlm1 =
    "this is ChatGLM-6B, which rotates each half of a head by a position of its own";
constexpr std::array kOtherModels = {
    OtherModel{"chatglm", "", "position_encoding_2d", kChatGlm1},
    OtherModel{"chatglm", "", "inner_hidden_size", kChatGlm1},
    OtherModel{"mpt", "attn_config", "rope", "MPT with RoPE is not read, only that with ALiBi"},
};

void refuse_other_models(const std::string& model_type, const Keys& keys) {
  for (const OtherModel& other : kOtherModels) {
    if (other.model_type != model_type) continue;
    const Json* const object = other.object.empty() ? &keys.object() : keys.find(other.object);
    if (object == nullptr || !object->is_object()) continue;
    const Keys inside(*object, other.object.empty() ? keys.path() : keys.path(other.object));
    const Json* const value = inside.find(other.key);
    if (value == nullptr || *value == false) continue;
    throw Error(ErrorCode::kUnsupported, message(inside.path(other.key), ": ", other.reason));
  }
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
  constexpr std::array<std::string_view, 12> kRopeKeys = {
      "rope_theta",         "rope_scaling",     "rope_parameters",       "rotary_emb_base",
      "rotary_pct",         "rotary_dim",       "partial_rotary_factor", "rope_ratio",
      "rope_freq_constant", "qk_rope_head_dim", "rotary_emb_fraction",   "rope_embedding_base"};
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
    const std::string what =
        model_type.empty() ? "missing" : message(quoted(model_type), " is not known");
    if (!has_rope_keys(keys)) {
      throw Error(ErrorCode::kUnsupported, message(keys.path("model_type"), ": ", what,
                                                   ", and there is no key of RoPE to go by"));
    }
    builder.warn(
        message(keys.path("model_type"), ": ", what, ": read by its keys, pairing assumed halves"));
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

// Types of layers that configs name, in the reading of any family.
constexpr std::string_view kLayerTypes =
    "full_attention sliding_attention chunked_attention linear_attention cross_attention "
    "indexed_attention compressed_sparse_attention heavily_compressed_attention hybrid "
    "hybrid_sliding";

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
  const std::vector<Keys> parts = language_parts(config);
  const Keys& keys = parts.back();
  const std::string model_type = model_type_in(config, keys);
  ModelBuilder builder(model_type);
  if (model_type.empty() && is_spec(config)) {
    throw Error(ErrorCode::kUnsupported,
                "is a Spec, not a model's config: read it as one, with --spec or spec_from_json");
  }
  refuse_other_models(model_type, keys);
  const Config reading{keys, family_of(model_type, keys, builder), builder};
  check_outer_parts(parts, reading);
  if (const auto length = reading.trained_length()) builder.set_trained_length(*length);
  const Layers layers = layers_of(reading);
  const RopeBlocks blocks(reading);
  blocks.check_used(reading, layers);
  std::set<std::string> seen;
  for (const Layer& layer : layers.list) {
    if (layer.rotates && seen.insert(layer.type).second) {
      if (const auto block = blocks.of(reading, layer.type)) warn_of_unread(reading, *block);
    }
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
        refuse_json(joined(config.keys.path(key), name), ": ", shown(value), " beside ",
                    path_of(name), " ", shown(block_[name]), ": want one value");
      }
      if (!block_.contains(name)) paths_[name] = joined(config.keys.path(key), name);
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
      refuse_type(path_of(key), value, "one value, or blocks by types of layers");
    }
    if (nested_ && !value.is_object() && !value.is_null()) check_beside_blocks(config, key, value);
  }
}

std::string RopeBlocks::path_of(const std::string& key) const {
  const auto found = paths_.find(key);
  return found == paths_.end() ? joined(path_, key) : found->second;
}

// Files that two releases of a program wrote to have the rule of one block beside the blocks.
void RopeBlocks::check_beside_blocks(const Config& config, const std::string& key,
                                     const Json& value) const {
  const bool is_type = key == "type" || key == "rope_type";
  const auto says_the_same = [&](const Json& block) {
    if (!block.is_object()) return false;
    const Keys keys(block, "");
    const Json* const inside = is_type && keys.find("rope_type") == nullptr ? keys.find("type")
                               : is_type                                    ? keys.find("rope_type")
                                                                            : keys.find(key);
    return inside != nullptr && *inside == value;
  };
  if (scales(key, value)) {
    if (std::any_of(block_.begin(), block_.end(), says_the_same)) return;
    refuse_json(path_of(key), ": ", shown(value),
                " beside a block for each type of layer, none of which says so: want one value");
  }
  config.warn(path_of(key), ": ignored, beside a block for each type of layer");
}

std::string RopeBlocks::label_of(const Config& config, std::string_view layer_type) const {
  const auto& [sliding, others] = config.family.labels;
  if (sliding.empty() || block_.contains(std::string(layer_type))) return std::string(layer_type);
  return std::string(layer_type == "sliding_attention" ? sliding : others);
}

void RopeBlocks::check_flat(const Config& config, const Layers& layers) const {
  const bool is_of_class = paths_.empty();
  if (is_of_class || !scales(Keys(block_, path_))) return;
  const auto rotates = [](const Layer& layer) { return layer.rotates; };
  if (std::none_of(layers.list.begin(), layers.list.end(), rotates)) {
    refuse_json(path_, ": scaling, and no layer of this model rotates");
  }
  const Sliding rule = config.family.sliding;
  const bool takes_all = rule != Sliding::kOwnBaseUnscaled && rule != Sliding::kUnscaled;
  const auto takes = [&](const Layer& layer) {
    return layer.rotates && (takes_all || layer.type != "sliding_attention");
  };
  if (std::none_of(layers.list.begin(), layers.list.end(), takes)) {
    config.warn(path_, ": not applied, all layers are of sliding_attention, which it is not for");
  }
}

void RopeBlocks::check_used(const Config& config, const Layers& layers) const {
  if (!nested_) return check_flat(config, layers);
  std::set<std::string> types;
  std::set<std::string> used;
  for (const Layer& layer : layers.list) {
    types.insert(layer.type);
    if (layer.rotates) used.insert(label_of(config, layer.type));
  }
  // Files name what other sizes of the model have.
  const Family& family = config.family;
  std::set<std::string> usual = {std::string(family.labels.first),
                                 std::string(family.labels.second)};
  if (family.layers.kind != LayerPattern::Kind::kNone) {
    for (const std::string_view names :
         {family.layers.full, family.layers.other, family.layers.first_type}) {
      for (std::string& name : words_of(names)) usual.insert(std::move(name));
    }
  }
  for (const auto& [label, value] : block_.items()) {
    if (!value.is_object() || used.contains(label) || !paths_.contains(label)) continue;
    const bool is_usual = usual.contains(label) || types.contains(label);
    if (!is_usual && !has_word(kLayerTypes, label)) {
      std::string names;
      for (const std::string& type : types) names += message(names.empty() ? "" : ", ", type);
      refuse_json(path_of(label), ": no type of layer; those of this model are: ", names);
    }
    if (scales(Keys(value, path_of(label)))) {
      config.warn(path_of(label), ": not applied, no layer of this type rotates");
    }
  }
}

std::optional<Keys> RopeBlocks::of(const Config& config, std::string_view layer_type) const {
  static const Json kNothing = Json::object();
  if (!nested_) return Keys(block_, path_);
  const std::string type = label_of(config, layer_type);
  const std::string path = path_of(type);
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
