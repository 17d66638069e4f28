// What the file says of one layer: base, width, scaling, axes -> a Spec.

#include <algorithm>
#include <cmath>
#include <ropewalk/error.hpp>

#include "model-config.hpp"

namespace ropewalk {
namespace {

constexpr std::string_view kSliding = "sliding_attention";

// A number that may be named in several ways, and then is the same.
struct Agreed {
  double number;
  std::string path;  // of one of its names
};

std::optional<Agreed> agreed(const Keys& keys, std::initializer_list<std::string_view> names) {
  std::optional<Agreed> found;
  for (const std::string_view name : names) {
    const auto number = keys.get<double>(name);
    if (!number) continue;
    if (found && found->number != *number) {
      refuse_json(keys.path(name), ": ", *number, " beside ", found->path, " ", found->number,
                  ": want one value");
    }
    found = Agreed{*number, keys.path(name)};
  }
  return found;
}

// An element of a list with a number for each layer.
std::optional<double> listed(const Keys& keys, std::string_view key, const Layer& layer) {
  const Json* const value = keys.find(key);
  if (value == nullptr || !value->is_array()) return std::nullopt;
  const auto i = static_cast<std::size_t>(layer.index);
  if (i >= value->size()) {
    refuse_json(keys.path(key), ": ", value->size(), " values, and none for layer ", layer.index,
                ": want one for each layer");
  }
  double number = 0;
  read((*value)[i], message(keys.path(key), "[", i, "]"), number);
  return number;
}

// ---- The base. ----

class BaseReader {
 public:
  BaseReader(const Config& config, const Keys& block, const Layer& layer, bool nested)
      : config_(config), block_(block), layer_(layer), nested_(nested) {}

  // 0 for a layer that layer_rope_theta says does not rotate.
  [[nodiscard]] double read() const {
    const Keys& keys = config_.keys;
    const Family& family = config_.family;
    if (is_local()) {
      const auto beside = keys.get<double>(family.local_key);
      const auto own = block_.get<double>("rope_theta");
      if (!own) return checked(beside.value_or(family.local_base), keys.path(family.local_key));
      if (beside && *beside != *own && *beside != family.local_base) {
        refuse_json(block_.path("rope_theta"), ": ", *own, " beside ", keys.path(family.local_key),
                    " ", *beside, ": want one value");
      }
    }
    if (const auto value = listed(keys, "layer_rope_theta", layer_)) {
      return *value == 0 ? 0 : checked(*value, keys.path("layer_rope_theta"));
    }
    if (const auto value = listed(keys, "rope_theta", layer_)) {
      return checked(*value, keys.path("rope_theta"));
    }
    const auto inside = block_.get<double>("rope_theta");
    const auto outside = is_local() ? std::nullopt : from_top();
    if (inside && outside && *inside != *outside && (!nested_ || layer_.type == "full_attention")) {
      compare(*inside, *outside);
    }
    if (inside) return checked(*inside, block_.path("rope_theta"));
    if (outside) return checked(*outside, keys.path(family.base_key));
    if (family.base) return *family.base;
    config_.warn(keys.path("rope_theta"), ": missing, took 10000");
    return Spec::kDefaultBase;
  }

 private:
  // What a Spec takes, here by the name that the file has for it.
  static double checked(double base, const std::string& path) {
    if (!std::isfinite(base) || base < 0x1p-30) {
      refuse_json(path, ": ", base, " is not a finite number of at least 2^-30");
    }
    return base;
  }

  [[nodiscard]] bool is_local() const {
    const Sliding rule = config_.family.sliding;
    return layer_.type == kSliding &&
           (rule == Sliding::kOwnBase || rule == Sliding::kOwnBaseUnscaled);
  }

  [[nodiscard]] std::optional<double> from_top() const {
    const Keys& keys = config_.keys;
    if (const Json* const inner = keys.find("attn_config"); inner && inner->is_object()) {
      const Keys dbrx(*inner, keys.path("attn_config"));
      if (const auto base = dbrx.get<double>("rope_theta")) return base;
    }
    // DeepSeek-V4 has another base under the usual name.
    const bool is_local = config_.family.local_key == "rope_theta";
    std::optional<double> base;
    if (const auto found =
            agreed(keys, {config_.family.base_key,
                          is_local ? config_.family.base_key : std::string_view("rope_theta"),
                          "rotary_emb_base", "rope_freq_constant", "rope_embedding_base"})) {
      base = found->number;
    }
    if (const auto ratio = keys.get<double>("rope_ratio")) {
      base = base.value_or(Spec::kDefaultBase) * *ratio;
    }
    return base;
  }

  // A default that a program wrote down beside the block, or two opinions.
  void compare(double inside, double outside) const {
    const std::string where = block_.path("rope_theta");
    if (outside != config_.family.base.value_or(Spec::kDefaultBase) &&
        outside != Spec::kDefaultBase) {
      refuse_json(where, ": ", inside, " beside ", config_.keys.path(config_.family.base_key), " ",
                  outside, ": want one value");
    }
    config_.warn(where, ": ", inside, " is taken, not the default ", outside, " beside the block");
  }

  const Config& config_;
  const Keys& block_;
  const Layer& layer_;
  bool nested_;
};

// ---- The window. ----

struct Window {
  std::int64_t head_dim = 0;
  std::int64_t rotary_dim = 0;
  std::int64_t offset = 0;
};

constexpr std::int64_t kMaxWidth = std::int64_t{1} << 20;

std::optional<std::int64_t> width(const Keys& keys, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    const auto value = keys.get<std::int64_t>(name);
    if (!value) continue;
    if (*value < 1 || *value > kMaxWidth) {
      refuse_json(keys.path(name), ": ", *value, " is not an integer from 1 to ", kMaxWidth);
    }
    return value;
  }
  return std::nullopt;
}

// A width of one layer. {"05": {"head_dim": 512}}: transformers 5 writes down what differs from layer to
// layer; others have swa_head_dim beside head_dim.
std::optional<std::int64_t> width_of_layer(const Config& config, const Layer& layer,
                                           const std::string& name) {
  constexpr std::string_view kKey = "per_layer_config";
  if (const Json* const layers = config.keys.find(kKey); layers && layers->is_object()) {
    for (const auto& [key, value] : layers->items()) {
      const std::size_t digits = std::min(key.find_first_not_of('0'), key.size());
      const std::string number = key.substr(std::min(digits, key.size() - (key.empty() ? 0 : 1)));
      if (number != message(layer.index) || !value.is_object()) continue;
      if (const auto own = width(Keys(value, joined(config.keys.path(kKey), key)), {name}))
        return own;
    }
  }
  return layer.type == kSliding ? width(config.keys, {"swa_" + name}) : std::nullopt;
}

std::int64_t head_dim_of(const Config& config, const RopeBlocks& blocks, const Layer& layer) {
  const Keys& keys = config.keys;
  const Family& family = config.family;
  if (const auto value = width_of_layer(config, layer, "head_dim")) return *value;
  if (layer.type != kSliding) {
    if (const auto value = width(keys, {"global_head_dim"})) return *value;
    const bool may_differ = blocks.nested() && keys.find("per_layer_config") == nullptr;
    if (family.global_head_dim != 0 && may_differ) return family.global_head_dim;
  }
  if (const auto value = width(keys, {"head_dim", "attention_head_dim", "kv_channels"})) {
    return *value;
  }
  if (family.head_dim != 0 && !keys.is_null("head_dim")) return family.head_dim;
  auto hidden = width(keys, {"attention_hidden_size", "hidden_size", "n_embd", "d_model"});
  const auto heads = width(keys, {"num_attention_heads", "n_head", "n_heads", "num_heads",
                                  "decoder_num_attention_heads"});
  if (hidden && heads) {
    if (*hidden % *heads != 0) {
      config.warn("head_dim: missing, took ", *hidden / *heads, " for ", *hidden, " / ", *heads);
    }
    return *hidden / *heads;
  }
  if (!hidden && !heads && family.usual_head_dim != 0) {
    config.warn("head_dim: missing, and so is hidden_size; took ", family.usual_head_dim);
    return family.usual_head_dim;
  }
  refuse_json(keys.path("head_dim"), ": missing, want it, or hidden_size and num_attention_heads");
}

struct Partial {
  std::optional<double> given;  // by the config
  std::string path;
  double value = 1;
};

Partial partial_of(const Config& config, const Keys& block, const Layer& layer) {
  Partial partial;
  partial.path = block.path("partial_rotary_factor");
  for (const std::string_view key : {"partial_rotary_factors", "partial_rotary_factor"}) {
    if (partial.given) break;
    partial.given = listed(config.keys, key, layer);
    if (partial.given) partial.path = config.keys.path(key);
  }
  if (!partial.given) partial.given = block.get<double>("partial_rotary_factor");
  if (!partial.given) {
    const auto found = agreed(
        config.keys, {"partial_rotary_factor", "rotary_pct", "rotary_emb_fraction", "rope_pct"});
    if (found) {
      partial.given = found->number;
      partial.path = found->path;
    }
  }
  partial.value = partial.given.value_or(config.family.partial);
  if (!(partial.value > 0 && partial.value <= 1)) {
    refuse_json(partial.path, ": ", partial.value, " is not a number above 0 and up to 1");
  }
  return partial;
}

// int(head_dim x factor), as transformers has it.
std::int64_t rotary_dim_of(const Config& config, std::int64_t head_dim, const Partial& partial) {
  const auto share = static_cast<std::int64_t>(static_cast<double>(head_dim) * partial.value);
  for (const std::string_view key :
       {"rotary_dim", "rotary_emb_dim", "rotary_ndims", "qk_rope_head_dim"}) {
    const auto given = width(config.keys, {key});
    if (!given) continue;
    if (partial.given && share != *given) {
      refuse_json(config.keys.path(key), ": ", *given, " beside a partial_rotary_factor of ",
                  *partial.given, ", which is ", share, " of head_dim ", head_dim,
                  ": want one value");
    }
    return *given;
  }
  if (!partial.given && config.family.rotary_dim != 0) return config.family.rotary_dim;
  if (share < 2 || share % 2 != 0) {
    refuse_json(partial.path, ": ", partial.value, " of head_dim ", head_dim, " is ", share,
                ", want an even number of elements from 2");
  }
  return share;
}

// Multi-head latent attention: a head of q is [nope | pe], of which pe rotates.
std::optional<Window> latent_window(const Config& config, const Layer& layer) {
  const Keys& keys = config.keys;
  if (keys.find("qk_nope_head_dim") == nullptr && keys.find("kv_lora_rank") == nullptr) return {};
  auto rotary = width_of_layer(config, layer, "qk_rope_head_dim");
  if (!rotary) rotary = width(keys, {"qk_rope_head_dim"});
  if (!rotary) return std::nullopt;
  if (const auto own = width_of_layer(config, layer, "qk_nope_head_dim")) {
    return Window{*own + *rotary, *rotary, *own};
  }
  const std::int64_t nope = keys.get<std::int64_t>("qk_nope_head_dim").value_or(0);
  if (nope < 0 || nope > kMaxWidth) {
    refuse_json(keys.path("qk_nope_head_dim"), ": ", nope, " is not an integer from 0 to ",
                kMaxWidth);
  }
  return Window{nope + *rotary, *rotary, nope};
}

// ---- Axes. ----

// transformers cycles through the axes as far as there are pairs, and the rest is the first axis's.
void fit_cycle(std::vector<std::int64_t>& sections, std::int64_t pairs) {
  const auto axes = static_cast<std::int64_t>(sections.size());
  sections[0] = pairs;
  for (std::int64_t axis = 1; axis < axes; ++axis) {
    std::int64_t& section = sections[static_cast<std::size_t>(axis)];
    section = std::min(section, (pairs - axis + axes - 1) / axes);
    sections[0] -= section;
  }
}

void add_axes(const Config& config, const Keys& block, SpecFields& fields) {
  const Family& family = config.family;
  auto sections = block.first_of<std::vector<std::int64_t>>({"mrope_section", "xdrope_section"});
  const std::int64_t pairs = *fields.rotary_dim / 2;
  if (!sections && family.equal_axes != 0) {
    sections.emplace(static_cast<std::size_t>(family.equal_axes), pairs / family.equal_axes);
  }
  if (!sections) {
    const Json* const type = block.find("type");
    if (family.sections[0] == 0) {
      if (type != nullptr && *type == "mrope") {
        refuse_json(block.path("mrope_section"), ": missing, type mrope wants it");
      }
      return;
    }
    sections.emplace(family.sections.begin(), family.sections.end());
    if (family.axes == Axes::Order::kCycle) {
      fit_cycle(*sections, pairs);
    } else if ((*sections)[0] + (*sections)[1] + (*sections)[2] != pairs) {
      config.warn(block.path("mrope_section"), ": missing, and the family's ", bracketed(*sections),
                  " does not fit ", pairs, " pairs; took one axis");
      return;
    }
  }
  Axes axes{*sections, family.axes};
  if (block.is_true("mrope_interleaved") && axes.order == Axes::Order::kBlocks) {
    axes.order = Axes::Order::kCycle;
  }
  if (block.is_true("mrope_interleaved_glm")) axes.order = Axes::Order::kRoundRobin;
  if (axes.order == Axes::Order::kErnie && axes.sections.size() == 3) {
    axes.sections = {(*sections)[2], (*sections)[0], (*sections)[1]};  // from h, w, t
  }
  fields.axes = std::move(axes);
}

// ---- The layer. ----

Pairing pairing_in(const Config& config) {
  const bool is_interleaved = config.keys.get<bool>("rope_interleave").value_or(true);
  return is_interleaved ? config.family.pairing : Pairing::kHalves;
}

// Spec's own checks speak of its fields, which in a block have the same names.
Spec spec_of(SpecFields fields, const Keys& block) {
  try {
    return Spec(std::move(fields));
  } catch (const Error& error) {
    std::string_view what = error.what();
    constexpr std::string_view kScaling = "scaling ";
    if (what.starts_with(kScaling)) what.remove_prefix(kScaling.size());
    const std::string_view key = what.substr(0, what.find_first_of(" [:"));
    if (key != "type" && block.find(key) != nullptr) {
      std::string_view rest = what.substr(key.size());
      const std::size_t index =
          rest.starts_with("[") ? std::min(rest.find(']') + 1, rest.size()) : 0;
      const std::string path = message(block.path(key), rest.substr(0, index));
      rest.remove_prefix(index);
      refuse_json(path, ": ", rest.substr(std::min<std::size_t>(1, rest.size())));
    }
    refuse_json(block.path().empty() ? "config" : block.path(), ": ", what);
  }
}

// yarn_get_mscale of transformers' modeling_deepseek_v3.py, squared: on the scale of the softmax.
double softmax_factor(const Keys& block, const Scaling& scaling) {
  const double all_dim = block.get<double>("mscale_all_dim").value_or(0);
  if (scaling.type != Scaling::Type::kYarn || all_dim == 0 || *scaling.factor <= 1) return 1;
  const double magnitude = 0.1 * all_dim * std::log(*scaling.factor) + 1;
  return magnitude * magnitude;
}

std::int64_t length_at(const Config& config, std::string_view key, std::int64_t otherwise,
                       std::int64_t least = 1) {
  const std::int64_t value = config.keys.get<std::int64_t>(key).value_or(otherwise);
  if (value < least) {
    refuse_json(config.keys.path(key), ": ", value, " is not an integer from ", least);
  }
  return value;
}

// Llama 4 scales the queries of the layers that do not rotate.
std::optional<QueryScale> scale_of_unrotated(const Config& config) {
  if (config.family.unrotated != Unrotated::kListed) return std::nullopt;
  const Json* const tuning = config.keys.find("attn_temperature_tuning");
  const bool is_llama4 = config.family.layers.kind == LayerPattern::Kind::kRotatesIsOther;
  if (!is_llama4 || (tuning != nullptr && (*tuning == false || *tuning == 0))) return std::nullopt;
  return QueryScale{QueryScale::Kind::kFloorLog,
                    config.keys.get<double>("attn_scale").value_or(0.1), 1,
                    length_at(config, "floor_scale", 8192)};
}

std::optional<QueryScale> scale_of_rotated(const Config& config, const Keys& block,
                                           const Scaling& scaling) {
  const double beta = block.get<double>("llama_4_scaling_beta").value_or(0);
  if (beta != 0 && scaling.original_max_position_embeddings) {
    return QueryScale{QueryScale::Kind::kFloorLog, beta, 0,
                      *scaling.original_max_position_embeddings};
  }
  if (config.keys.is_true("use_logn_attn")) {
    // Positions are measured by its logarithm.
    return QueryScale{QueryScale::Kind::kLogN, 0, 0, length_at(config, "seq_length", 2048, 2)};
  }
  return std::nullopt;
}

// The block in force: none for sliding layers whose family leaves them unscaled.
Keys block_for(const Config& config, const RopeBlocks& blocks, const Keys& block,
               const Layer& layer) {
  static const Json kNothing = Json::object();
  const Sliding rule = config.family.sliding;
  const bool unscaled = rule == Sliding::kOwnBaseUnscaled || rule == Sliding::kUnscaled;
  if (blocks.nested() || layer.type != kSliding || !unscaled) return block;
  return {kNothing, block.path()};
}

}  // namespace

LayerDescription describe(const Config& config, const RopeBlocks& blocks, const Layer& layer) {
  LayerDescription result{.layer_type = layer.type};
  const std::optional<Keys> given = layer.rotates ? blocks.of(config, layer.type) : std::nullopt;
  if (!given) {
    result.query_scale = scale_of_unrotated(config);
    return result;
  }
  const Keys block = block_for(config, blocks, *given, layer);
  // Without its scaling the block still has the base.
  const double base = BaseReader(config, *given, layer, blocks.nested()).read();
  if (base == 0) return result;

  const std::optional<Window> latent = latent_window(config, layer);
  Window window = latent.value_or(Window{});
  Partial partial;
  if (!latent) {
    partial = partial_of(config, *given, layer);
    window.head_dim = head_dim_of(config, blocks, layer);
  }
  BlockRule rule = rule_of(config, block, window.head_dim, partial.value);
  if (config.keys.is_true("use_dynamic_ntk")) {  // Qwen-1
    rule.scaling = {.type = Scaling::Type::kDynamicStepwise,
                    .original_max_position_embeddings = length_at(config, "seq_length", 2048)};
  }
  if (!latent) {
    window.rotary_dim =
        rule.spans_head ? window.head_dim : rotary_dim_of(config, window.head_dim, partial);
  }
  if (config.family.at_end) window.offset = window.head_dim - window.rotary_dim;
  if (rule.scaling.type == Scaling::Type::kYarn && !blocks.nested() &&
      !rule.scaling.attention_factor) {
    rule.scaling.attention_factor = config.family.yarn_factor;
  }
  SpecFields fields{.head_dim = window.head_dim,
                    .rotary_dim = window.rotary_dim,
                    .rotary_offset = window.offset,
                    .pairing = pairing_in(config),
                    .clockwise = config.family.clockwise,
                    .base = base,
                    // As the code had it that the checkpoint was trained with.
                    .frequency_rounding = FrequencyRounding::kFloat32};
  if (config.family.output_pairing != fields.pairing) {
    fields.output_pairing = config.family.output_pairing;
  }
  if (rule.scaling.type != Scaling::Type::kDefault) fields.scaling = rule.scaling;
  add_axes(config, block, fields);
  result.query_scale = scale_of_rotated(config, block, rule.scaling);
  if (latent) result.softmax_scale_factor = softmax_factor(block, rule.scaling);
  result.spec = spec_of(std::move(fields), *given);
  return result;
}

}  // namespace ropewalk
