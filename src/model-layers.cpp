// Which layers there are, of which type, and which of them rotate.

#include <algorithm>
#include <array>

#include "model-config.hpp"
#include "words.hpp"

namespace ropewalk {
namespace {

constexpr std::int64_t kMaxLayers = 10000;
constexpr std::string_view kFull = "full_attention";
constexpr std::string_view kSliding = "sliding_attention";
constexpr std::string_view kLinear = "linear_attention";

// What has no queries and keys to rotate.
bool has_attention(std::string_view type) {
  constexpr std::array kNone = {std::string_view("linear_attention"),
                                std::string_view("conv"),
                                std::string_view("mamba"),
                                std::string_view("mamba2"),
                                std::string_view("recurrent"),
                                std::string_view("mlp"),
                                std::string_view("moe")};
  return std::find(kNone.begin(), kNone.end(), type) == kNone.end();
}

std::optional<std::int64_t> count_of(const Config& config) {
  for (const std::string_view key :
       {"num_hidden_layers", "n_layer", "n_layers", "num_layers", "decoder_num_hidden_layers"}) {
    const auto count = config.keys.get<std::int64_t>(key);
    if (!count) continue;
    if (*count < 1 || *count > kMaxLayers) {
      refuse_json(config.keys.path(key), ": ", *count, " is not an integer from 1 to ", kMaxLayers);
    }
    return count;
  }
  return std::nullopt;
}

// A list of the file with a name for each layer; of more than there are, the first.
std::vector<std::string> names_at(const Config& config, std::string_view key,
                                  std::optional<std::int64_t> count) {
  const Json* const list = config.keys.find(key);
  if (list == nullptr) return {};
  const std::string path = config.keys.path(key);
  if (!list->is_array()) refuse_type(path, *list, "an array of strings");
  std::vector<std::string> names;
  for (const Json& each : *list) {
    std::string name = name_in(each, message(path, "[", names.size(), "]"));
    names.push_back(name == "attention" ? std::string(kFull) : std::move(name));
  }
  const auto size = static_cast<std::int64_t>(names.size());
  if (size > kMaxLayers) refuse_json(path, ": ", size, " layers, want at most ", kMaxLayers);
  if (count && size < *count) refuse_json(path, ": ", size, " layers, want ", *count);
  if (count && size > *count) {
    config.warn(path, ": ", size, " layers, of which the first ", *count, " are read");
    names.resize(static_cast<std::size_t>(*count));
  }
  return names;
}

std::string name_of(bool is_full, std::string_view other) {
  return std::string(is_full ? kFull : other);
}

// 0 and 1 for each layer, or the numbers of those that have full attention.
std::vector<std::string> types_from_numbers(const Config& config, std::int64_t count) {
  const Keys& keys = config.keys;
  std::vector<std::string> types;
  const auto flags = [&](std::string_view key, std::int64_t full, std::string_view other) {
    if (!types.empty()) return;
    const auto list = keys.get<std::vector<std::int64_t>>(key);
    if (!list) return;
    if (static_cast<std::int64_t>(list->size()) < count) {
      refuse_json(keys.path(key), ": ", list->size(), " layers, want ", count);
    }
    for (std::int64_t i = 0; i < count; ++i) {
      types.push_back(name_of((*list)[static_cast<std::size_t>(i)] == full, other));
    }
  };
  const auto indices = [&](std::string_view key, std::string_view other) {
    if (!types.empty()) return;
    const auto list = keys.get<std::vector<std::int64_t>>(key);
    if (!list) return;
    for (std::int64_t i = 0; i < count; ++i) {
      types.push_back(name_of(std::find(list->begin(), list->end(), i) != list->end(), other));
    }
  };
  flags("attn_type_list", 1, kLinear);                                         // MiniMax-Text-01
  flags("hybrid_layer_pattern", 0, kSliding);                                  // MiMo-V2
  const auto ratios = keys.get<std::vector<std::int64_t>>("compress_ratios");  // DeepSeek-V4
  for (std::int64_t i = 0; ratios && i < count; ++i) {
    if (static_cast<std::int64_t>(ratios->size()) < count) {
      refuse_json(keys.path("compress_ratios"), ": ", ratios->size(), " layers, want ", count);
    }
    const std::int64_t ratio = (*ratios)[static_cast<std::size_t>(i)];
    types.emplace_back(ratio <= 1    ? kSliding
                       : ratio < 128 ? "compressed_sparse_attention"
                                     : "heavily_compressed_attention");
  }
  indices("full_attn_idxs", "conv");       // LFM2
  indices("attn_layer_indices", "mamba");  // Bamba
  return types;
}

std::int64_t period_at(const Config& config, std::string_view key, std::int64_t otherwise) {
  if (key.empty()) return otherwise;
  const Json* const value = config.keys.find(key);
  if (value == nullptr) return otherwise;
  // EXAONE's "LLLG".
  if (value->is_string() && config.family.unrotated == Unrotated::kFullIfSlid) {
    const auto& letters = value->get_ref<const std::string&>();
    if (letters.empty() || letters.find_first_not_of('L') != letters.size() - 1 ||
        letters.back() != 'G') {
      refuse_json(config.keys.path(key), ": ", quoted(letters), ", want an integer or \"LLLG\"");
    }
    return static_cast<std::int64_t>(letters.size());
  }
  const std::int64_t period = config.keys.get<std::int64_t>(key).value_or(otherwise);
  if (period < 1 || period > kMaxLayers) {
    refuse_json(config.keys.path(key), ": ", period, " is not an integer from 1 to ", kMaxLayers);
  }
  return period;
}

LayerPattern pattern_of(const Config& config) {
  LayerPattern pattern = config.family.layers;
  if (config.family.unrotated == Unrotated::kFullIfSlid && config.keys.is_null("sliding_window")) {
    return {};
  }
  const bool by_key = config.keys.find("sliding_window_pattern") != nullptr;
  if (pattern.kind == LayerPattern::Kind::kNone && by_key) {
    pattern = {LayerPattern::Kind::kLastIsFull, 1, "sliding_window_pattern", kSliding};
  }
  pattern.period = period_at(config, pattern.key, pattern.period);
  if (pattern.kind == LayerPattern::Kind::kCycle) {
    pattern.period = static_cast<std::int64_t>(words_of(pattern.full).size());
  }
  return pattern;
}

std::string type_by(const LayerPattern& pattern, std::int64_t i, std::int64_t layers) {
  using Kind = LayerPattern::Kind;
  const std::int64_t period = std::max<std::int64_t>(pattern.period, 1);
  const auto either = [&](bool is_full) {
    return std::string(is_full ? pattern.full : pattern.other);
  };
  if (i < pattern.first) return std::string(pattern.first_type);
  if (pattern.last_is_full && i == layers - 1) return either(true);
  switch (pattern.kind) {
    case Kind::kNone:
    case Kind::kRotatesIsOther: break;
    case Kind::kLastIsFull: return either((i + 1) % period == 0);
    case Kind::kFirstIsFull: return either(i % period == 0);
    case Kind::kSecondIsFull: return either(i % period == 1);
    case Kind::kFromLast: return either((layers - 1 - i) % period == 0);
    case Kind::kCycle: {
      const std::vector<std::string> cycle = words_of(pattern.full);
      return cycle[static_cast<std::size_t>(i) % cycle.size()];
    }
  }
  return std::string(kFull);
}

// Attention and the mlp behind it are one layer.
std::vector<std::string> without_mlp(std::vector<std::string> types) {
  types.erase(std::remove(types.begin(), types.end(), "mlp"), types.end());
  return types;
}

std::vector<std::string> types_of(const Config& config, std::optional<std::int64_t> count) {
  for (const std::string_view key : {"layer_types", "layers_block_type"}) {
    std::vector<std::string> types = names_at(config, key, count);
    if (!types.empty()) return config.family.mlp_apart ? without_mlp(types) : types;
  }
  if (count) {
    std::vector<std::string> types = types_from_numbers(config, *count);
    if (!types.empty()) return types;
  }
  const std::vector<std::string> cycle = names_at(config, "block_types", {});  // RecurrentGemma
  const LayerPattern pattern = pattern_of(config);
  std::int64_t layers = count.value_or(pattern.first + std::max<std::int64_t>(pattern.period, 1));
  if (!count && !cycle.empty()) layers = static_cast<std::int64_t>(cycle.size());
  if (!count && config.family.unrotated == Unrotated::kListed) {
    layers = std::max(layers, period_at(config, "no_rope_layer_interval", 4));
  }
  std::vector<std::string> types;
  for (std::int64_t i = 0; i < layers; ++i) {
    types.push_back(cycle.empty() ? type_by(pattern, i, layers)
                                  : cycle[static_cast<std::size_t>(i) % cycle.size()]);
  }
  return types;
}

// Whether a family's layers rotate at all: ALiBi, a key that turns RoPE off.
bool rotates_at_all(const Config& config) {
  const Family& family = config.family;
  if (family.unrotated == Unrotated::kAll) return false;
  for (const std::string_view key : {"alibi", "use_alibi", "mla_use_nope"}) {
    const Json* const value = config.keys.find(key);
    if (value != nullptr && value->is_boolean() && value->get<bool>()) return false;
  }
  if (family.only_if_key.empty()) return true;
  const Json* const value = config.keys.find(family.only_if_key);
  if (value == nullptr) return false;
  return value->is_string() ? value->get_ref<const std::string&>() == family.only_if_value
                            : value->dump() == family.only_if_value;
}

// Applies to models of any family that have the list: 1 is a layer that rotates.
void apply_no_rope_layers(const Config& config, std::vector<Layer>& layers) {
  const auto list = config.keys.get<std::vector<std::int64_t>>("no_rope_layers");
  const bool given = list && !list->empty();
  if (!given && config.family.unrotated != Unrotated::kListed) return;
  const std::int64_t interval = period_at(config, "no_rope_layer_interval", 4);
  if (given && list->size() > layers.size()) {
    config.warn(config.keys.path("no_rope_layers"), ": ", list->size(),
                " layers, of which the first ", layers.size(), " are read");
  }
  for (Layer& layer : layers) {
    const auto i = static_cast<std::size_t>(layer.index);
    if (given && i >= list->size()) {
      refuse_json(config.keys.path("no_rope_layers"), ": ", list->size(), " layers, want ",
                  layers.size());
    }
    const bool rotates = given ? (*list)[i] != 0 : (layer.index + 1) % interval != 0;
    layer.rotates = layer.rotates && rotates;
  }
}

// Layers that look at an image have no keys of their own.
void apply_cross_attention(const Config& config, std::vector<Layer>& layers) {
  const auto list = config.keys.get<std::vector<std::int64_t>>("cross_attention_layers");
  for (const std::int64_t i : list.value_or(std::vector<std::int64_t>{})) {
    if (i < 0 || i >= static_cast<std::int64_t>(layers.size())) continue;
    layers[static_cast<std::size_t>(i)].type = "cross_attention";
    layers[static_cast<std::size_t>(i)].rotates = false;
  }
}

void apply_family(const Config& config, std::vector<Layer>& layers) {
  const Unrotated rule = config.family.unrotated;
  const bool slid = !config.keys.is_null("sliding_window");
  const bool only_sliding = rule == Unrotated::kFull || (rule == Unrotated::kFullIfSlid && slid);
  if (!only_sliding || config.keys.find("layer_rope_theta") != nullptr) return;
  for (Layer& layer : layers) layer.rotates = layer.rotates && layer.type == kSliding;
}

// Where layers are not counted: those that rotate first, and of these full_attention.
void sort_kinds(std::vector<Layer>& layers) {
  std::stable_sort(layers.begin(), layers.end(), [](const Layer& a, const Layer& b) {
    const auto rank = [](const Layer& layer) {
      return (layer.rotates ? 0 : 2) + (layer.type == kFull ? 0 : 1);
    };
    return rank(a) < rank(b);
  });
}

}  // namespace

Layers layers_of(const Config& config) {
  const std::optional<std::int64_t> count = count_of(config);
  Layers layers;
  layers.counted = count.has_value() || config.keys.find("layer_types") != nullptr;
  const bool rotates = rotates_at_all(config);
  for (std::string& type : types_of(config, count)) {
    const bool here = rotates && has_attention(type);
    layers.list.push_back({std::move(type), here, static_cast<std::int64_t>(layers.list.size())});
  }
  if (!rotates) return layers;
  apply_no_rope_layers(config, layers.list);
  apply_family(config, layers.list);
  apply_cross_attention(config, layers.list);
  const bool has_types = config.keys.find("layer_types") != nullptr;
  if (config.family.layers.kind == LayerPattern::Kind::kRotatesIsOther && !has_types &&
      !config.keys.is_null("attention_chunk_size")) {
    for (Layer& layer : layers.list) {
      layer.type = name_of(!layer.rotates, config.family.layers.other);
    }
  }
  if (!layers.counted) sort_kinds(layers.list);
  return layers;
}

}  // namespace ropewalk
