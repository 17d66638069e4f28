// A GGUF -> a Spec for each layer, as llama.cpp would rotate it.
//
// Frequencies are not rounded: ggml forms no ω_i, it multiplies the angle from pair to pair in float,
// which no rounding of ω_i describes. What the file says is kept in double.

#include "model-gguf.hpp"

#include <algorithm>
#include <numeric>

namespace ropewalk {
namespace {

using formats::Gguf;

constexpr std::string_view kTensors[] = {"rope_freqs.weight", "rope_factors_long.weight",
                                         "rope_factors_short.weight"};

// The keys under rope. that are read, some by some architectures only.
constexpr std::string_view kKnown[] = {"rope.dimension_count",
                                       "rope.dimension_count_per_layer",
                                       "rope.dimension_count_swa",
                                       "rope.dimension_sections",
                                       "rope.freq_base",
                                       "rope.freq_base_per_layer",
                                       "rope.freq_base_swa",
                                       "rope.scale_linear",
                                       "rope.scaling.type",
                                       "rope.scaling.factor",
                                       "rope.scaling.alpha",
                                       "rope.scaling.attn_factor",
                                       "rope.scaling.finetuned",
                                       "rope.scaling.original_context_length",
                                       "rope.scaling.yarn_attn_factor",
                                       "rope.scaling.yarn_beta_fast",
                                       "rope.scaling.yarn_beta_slow",
                                       "rope.scaling.yarn_ext_factor",
                                       "rope.scaling.yarn_log_multiplier"};

std::string architecture_name(const Gguf& file, std::string_view path) {
  constexpr const char* kKey = "general.architecture";
  const auto found = file.keys.find(kKey);
  const auto* const name =
      found == file.keys.end() ? nullptr : std::get_if<std::string>(&found->second);
  if (name == nullptr || name->empty()) {
    const bool is_missing = found == file.keys.end();
    const std::string_view what = is_missing        ? "missing"
                                  : name == nullptr ? "is no string"
                                                    : "is empty";
    throw Error(ErrorCode::kBadFormat,
                message(path, ": ", kKey, ": ", what, ", want a string; is it a model?"));
  }
  const auto is_plain = [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '-' || letter == '_' || letter == '.';
  };
  if (name->size() > 100 || !std::all_of(name->begin(), name->end(), is_plain)) {
    throw Error(ErrorCode::kBadFormat, message(path, ": ", kKey,
                                               ": is not a name of up to 100 "
                                               "letters, digits, hyphens and underscores"));
  }
  if (*name == "clip") {
    throw Error(ErrorCode::kUnsupported,
                message(path, ": ", kKey,
                        ": clip is a projector of images, whose rotation is not in "
                        "its metadata; give the model beside it"));
  }
  return *name;
}

// The Specs of layers: sliding or not, with a width and a base of their own or not.
class Kinds {
 public:
  Kinds(const GgufModel& model, const GgufScaling& scaling)
      : model_(model), keys_(model.keys), scaling_(scaling) {}

  // Made once for layers that are alike.
  const std::optional<Spec>& spec(const GgufLayer& layer);

 private:
  [[nodiscard]] std::optional<Spec> make(const GgufLayer& layer) const;
  [[nodiscard]] std::int64_t head_dim(bool is_sliding) const;
  [[nodiscard]] std::int64_t rotary_dim(const GgufLayer& layer, std::int64_t head_dim) const;
  [[nodiscard]] double base(const GgufLayer& layer) const;
  void set_axes(SpecFields& fields) const;

  const GgufModel& model_;
  const GgufKeys& keys_;
  const GgufScaling& scaling_;
  std::vector<std::pair<GgufLayer, std::optional<Spec>>> made_;
};

std::int64_t Kinds::head_dim(bool is_sliding) const {
  struct Key {
    const char* name;
    bool of_sliding;
    bool of_latent;  // of a head as it is before the heads are compressed
  };
  constexpr Key kKeys[] = {{"attention.key_length_mla_swa", true, true},
                           {"attention.key_length_swa", true, false},
                           {"attention.key_length_mla", false, true},
                           {"attention.key_length", false, false}};
  for (const Key& key : kKeys) {
    if (key.of_sliding && !is_sliding) continue;
    if (key.of_latent && !model_.architecture.window_is_last) continue;
    if (const auto length = keys_.integer(key.name)) return *length;
  }
  const auto width = keys_.integer("embedding_length");
  const auto heads = keys_.integers("attention.head_count");
  if (!width || !heads) {
    keys_.refuse("attention.key_length", "missing, and so is ",
                 width ? "attention.head_count" : "embedding_length", "; want the width of a head");
  }
  // Layers without attention have none.
  const auto first = std::find_if(heads->begin(), heads->end(), [](auto n) { return n > 0; });
  if (first == heads->end()) keys_.refuse("attention.head_count", "has no heads");
  return *width / *first;
}

std::int64_t Kinds::rotary_dim(const GgufLayer& layer, std::int64_t head_dim) const {
  constexpr const char* kKey = "rope.dimension_count";
  constexpr const char* kSlidingKey = "rope.dimension_count_swa";
  const char* const key = layer.is_sliding && keys_.has(kSlidingKey) ? kSlidingKey : kKey;
  std::int64_t width = 0;
  if (layer.rotary_dim) {
    width = *layer.rotary_dim;
  } else {
    width = keys_.integer(key).value_or(head_dim);
    if (!layer.is_sliding && model_.architecture.half_width_on_full) width /= 2;
  }
  if (width > head_dim || width % 2 != 0) {
    keys_.refuse(key, width, " is not an even number up to ", head_dim, ", the width of a head");
  }
  return width;
}

double Kinds::base(const GgufLayer& layer) const {
  const Sliding& sliding = model_.architecture.sliding;
  const char* key = "rope.freq_base";
  double otherwise = Spec::kDefaultBase;
  if (sliding.when == Sliding::When::kRatios) {
    if (!layer.is_sliding) key = "attention.compress_rope_freq_base";
  } else if (layer.is_sliding && !layer.base) {
    if (sliding.copies_base) otherwise = keys_.number(key).value_or(otherwise);
    key = "rope.freq_base_swa";
  }
  const double base = layer.base ? *layer.base : keys_.number(key).value_or(otherwise);
  if (!(base >= 0x1p-30)) keys_.refuse(key, base, " is not at least 2^-30");
  return base;
}

constexpr std::int64_t kMaxSection = std::int64_t{1} << 20;

// ggml_mrope_cache_init: the axis of pair i, with the sections repeating over the pairs.
std::int64_t axis_of(std::int64_t i, const std::vector<std::int64_t>& sections, bool cycles) {
  const std::int64_t sector =
      i % std::accumulate(sections.begin(), sections.end(), std::int64_t{0});
  if (cycles) {
    const std::int64_t axis = sector % 3;
    return sector < 3 * sections[static_cast<std::size_t>(axis)] ? axis : 3;
  }
  std::int64_t axis = 0;
  for (std::int64_t end = sections[0]; sector >= end;)
    end += sections[static_cast<std::size_t>(++axis)];
  return axis;
}

void Kinds::set_axes(SpecFields& fields) const {
  constexpr const char* kKey = "rope.dimension_sections";
  const Architecture& architecture = model_.architecture;
  const bool wants =
      architecture.rotation == Rotation::kBlocks || architecture.rotation == Rotation::kCycle;
  if (!keys_.has(kKey)) {
    if (wants) keys_.refuse(kKey, "missing, want the number of pairs of each axis");
    return;
  }
  auto sections = *keys_.integers(kKey);
  if (sections.size() > 4) keys_.refuse(kKey, "has ", sections.size(), " elements, want at most 4");
  if (std::any_of(sections.begin(), sections.end(), [](auto n) { return n > kMaxSection; })) {
    keys_.refuse(kKey, bracketed(sections), " has a section above 2^20");
  }
  sections.resize(4);
  // use_mrope
  if (!wants && !(architecture.sections_are_optional && sections[0] > 0 && sections[1] > 0)) {
    // All on the first axis is as if there were none.
    if (std::any_of(sections.begin() + 1, sections.end(), [](auto n) { return n != 0; })) {
      model_.builder.warn(keys_.line(kKey, "is not read for this architecture"));
    }
    return;
  }
  const std::int64_t sum = std::accumulate(sections.begin(), sections.end(), std::int64_t{0});
  if (sum == 0) keys_.refuse(kKey, "has no pairs");
  fields.pairing = Pairing::kHalves;  // of whatever these architectures pair without sections
  const bool cycles = architecture.rotation == Rotation::kCycle;
  const std::int64_t pairs = *fields.rotary_dim / 2;
  std::vector<std::int64_t> axes(static_cast<std::size_t>(pairs));
  for (std::int64_t i = 0; i < pairs; ++i)
    axes[static_cast<std::size_t>(i)] = axis_of(i, sections, cycles);
  if (cycles && std::find(axes.begin(), axes.end(), 3) != axes.end()) {
    model_.builder.warn(keys_.line(kKey,
                                   "the pairs behind the last whole cycle turn with axis 3, as in "
                                   "ggml; with axis 0 in transformers"));
  }
  if (sum != pairs) {
    fields.axis_of_pair = std::move(axes);
    return;
  }
  while (sections.size() > 1 && sections.back() == 0 && (!cycles || sections.size() > 3)) {
    sections.pop_back();
  }
  fields.axes = Axes{sections, cycles ? Axes::Order::kGgmlCycle : Axes::Order::kBlocks};
}

const std::optional<Spec>& Kinds::spec(const GgufLayer& layer) {
  const auto alike = [&](const auto& each) {
    return each.first.is_sliding == layer.is_sliding && each.first.rotary_dim == layer.rotary_dim &&
           each.first.base == layer.base;
  };
  const auto found = std::find_if(made_.begin(), made_.end(), alike);
  if (found != made_.end()) return found->second;
  return made_.emplace_back(layer, make(layer)).second;
}

std::optional<Spec> Kinds::make(const GgufLayer& layer) const {
  const Architecture& architecture = model_.architecture;
  if (architecture.rotation == Rotation::kNone) return {};
  SpecFields fields;
  fields.head_dim = head_dim(layer.is_sliding);
  if (fields.head_dim < 1 || fields.head_dim > std::int64_t{1} << 20) {
    keys_.refuse("attention.key_length", fields.head_dim, " is no width of a head");
  }
  fields.rotary_dim = rotary_dim(layer, fields.head_dim);
  if (*fields.rotary_dim == 0) return {};
  if (architecture.window_is_last) fields.rotary_offset = fields.head_dim - *fields.rotary_dim;
  fields.pairing =
      architecture.rotation == Rotation::kAdjacent ? Pairing::kAdjacent : Pairing::kHalves;
  fields.base = base(layer);
  scaling_.apply(fields, layer.is_sliding);
  set_axes(fields);
  try {
    return Spec(std::move(fields));
  } catch (const Error& error) {
    throw Error(error.code(), message(keys_.path(), ": ", layer.is_sliding ? "sliding" : "full",
                                      " layers: ", error.what()));
  }
}

// llama.cpp's build_attn_inp_attn_scale: 1 + scale ln(1 + floor((p + offset) / length)).
std::optional<QueryScale> query_scale(const GgufModel& model, const GgufScaling& scaling,
                                      bool rotates, bool any_slides) {
  const GgufKeys& keys = model.keys;
  // The Llama 4 that has chunks, in layers that do not rotate; its numbers are not in the file.
  if (model.architecture.name == "llama4") {
    if (rotates || !any_slides) return {};
    return QueryScale{.scale = 0.1, .offset = 1, .length = 8192};
  }
  if (!model.architecture.has_temperature) return {};
  const double scale = keys.number("attention.temperature_scale").value_or(0);
  if (scale == 0) return {};
  constexpr const char* kLength = "attention.temperature_length";
  const std::int64_t length = keys.integer(kLength).value_or(scaling.trained());
  if (length < 1) keys.refuse(kLength, length, " is not at least 1");
  return QueryScale{.scale = scale, .length = length};
}

void warn_of_keys(const GgufModel& model, std::string_view architecture) {
  const std::string prefix = message(architecture, ".");
  for (auto key = model.file.keys.lower_bound(prefix + "rope."); key != model.file.keys.end();
       ++key) {
    if (!key->first.starts_with(prefix + "rope.")) break;
    const std::string name = key->first.substr(prefix.size());
    if (std::find(std::begin(kKnown), std::end(kKnown), name) != std::end(kKnown)) continue;
    model.builder.warn(model.keys.line(formats::shown(name), "is not known, and not read"));
  }
}

void warn_of_architecture(const GgufModel& model, std::string_view path) {
  const Architecture& architecture = model.architecture;
  if (!architecture.is_known) {
    model.builder.warn(message(path, ": architecture ", architecture.name,
                               " is not known: assumed adjacent pairs, and all layers alike"));
  }
  const std::string_view refused = architecture.refused_key;
  if (!refused.empty() && model.keys.integer(refused).value_or(0) != 0) {
    model.keys.unsupported(refused, *model.keys.integer(refused),
                           " makes it another model, which is not read; give the model that it "
                           "drafts for");
  }
  if (architecture.name == "gptj") {
    model.builder.warn(message(path,
                               ": llama.cpp does not run gptj; its pairs are adjacent, as in "
                               "transformers"));
  }
  const bool has_sliding = architecture.sliding.when != Sliding::When::kNever;
  for (const char* key : {"rope.freq_base_swa", "rope.dimension_count_swa"}) {
    if (!has_sliding && model.keys.has(key)) {
      model.builder.warn(model.keys.line(key, "is not read for this architecture"));
    }
  }
  if (architecture.name == "gpt-oss" && model.keys.string("rope.scaling.type") == "yarn") {
    model.builder.warn(model.keys.line(
        "rope.scaling.type",
        "ggml rounds yarn's range to whole pairs; gpt-oss itself and transformers do not"));
  }
}

// Baichuan-13B has linear biases instead, and nothing but its size tells it from the 7B.
bool is_baichuan_13b(const GgufModel& model, std::size_t layers) {
  return model.architecture.name == "baichuan" && layers == 40;
}

void add_layers(const GgufModel& model, const GgufScaling& scaling) {
  Kinds kinds(model, scaling);
  const std::vector<GgufLayer> layers = gguf_layers(model);
  const bool none = is_baichuan_13b(model, layers.size());
  const auto is_sliding = [](const GgufLayer& layer) { return layer.is_sliding; };
  const bool any_slides = std::any_of(layers.begin(), layers.end(), is_sliding);
  for (const GgufLayer& layer : layers) {
    LayerDescription description;
    if (!layer.has_attention) {
      description.layer_type = "linear_attention";
      model.builder.add_layer(std::move(description));
      continue;
    }
    if (layer.is_sliding) {
      description.layer_type =
          model.architecture.name == "llama4" ? "chunked_attention" : "sliding_attention";
    }
    if (layer.rotates && !none) description.spec = kinds.spec(layer);
    if (description.spec) description.softmax_scale_factor = scaling.softmax_scale_factor();
    description.query_scale = query_scale(model, scaling, description.spec.has_value(), any_slides);
    model.builder.add_layer(std::move(description));
  }
}

}  // namespace

Model model_from_gguf(const formats::Source& source) {
  const Gguf file = formats::read_gguf(source, kTensors);
  const std::string name = architecture_name(file, source.name);
  const Architecture architecture = architecture_of(name);
  const GgufKeys keys(file, source.name, name);
  ModelBuilder builder(name);
  const GgufModel model{file, keys, architecture, builder};
  warn_of_architecture(model, source.name);
  warn_of_keys(model, name);
  const GgufScaling scaling(model);
  if (const auto length = keys.integer("context_length"); length.value_or(0) > 0) {
    builder.set_trained_length(*length);
  }
  add_layers(model, scaling);
  return std::move(builder).build();
}

}  // namespace ropewalk
