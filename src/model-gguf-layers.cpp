// Which layers of a GGUF have attention, a sliding window, a rope. The rules are llama.cpp's:
// src/llama-hparams.cpp (set_swa_pattern) and src/models/*.cpp.

#include <algorithm>
#include <iterator>

#include "model-gguf.hpp"

namespace ropewalk {
namespace {

using When = Sliding::When;

constexpr std::int64_t kMaxLayers = 4096;  // llama.cpp's is 512

constexpr const char* kPattern = "attention.sliding_window_pattern";

std::int64_t want_integer(const GgufKeys& keys, const char* key, const char* what) {
  const auto value = keys.integer(key);
  if (!value) keys.refuse(key, "missing, want ", what);
  return *value;
}

bool is_zero(std::int64_t number) { return number == 0; }

bool slides(const GgufModel& model, std::int64_t main_layers) {
  const GgufKeys& keys = model.keys;
  const auto window = keys.integer("attention.sliding_window");
  switch (model.architecture.sliding.when) {
    case When::kNever: return false;
    case When::kAlways: return true;
    case When::kWithWindow: return window.value_or(0) > 0;
    case When::kUnlessZero: return window != 0;
    case When::kLayers64: return main_layers == 64;
    case When::kRatios: return true;
  }
  return false;
}

// For each layer a value, from a key that has one for each. It may have none for the last ones, which
// predict further tokens: they have the one given.
std::vector<std::int64_t> per_layer(const GgufKeys& keys, const char* key, std::int64_t main_layers,
                                    std::int64_t layers, std::int64_t last = 0) {
  auto values = *keys.integers(key);
  const auto size = static_cast<std::int64_t>(values.size());
  if (size < main_layers || size > layers) {
    keys.refuse(key, "has ", size, " elements, want ", layers, ", one for each layer");
  }
  values.resize(static_cast<std::size_t>(layers), last);
  return values;
}

// Where a key that has one value, or one for each layer, is 0. Nowhere if there is no such key.
std::vector<bool> zeros(const GgufKeys& keys, const char* key, std::int64_t main_layers,
                        std::size_t layers) {
  const auto values = keys.integers(key);
  if (!values) return std::vector<bool>(layers);
  if (!keys.is_array(key)) return std::vector<bool>(layers, is_zero(values->front()));
  const auto each = per_layer(keys, key, main_layers, static_cast<std::int64_t>(layers), 1);
  std::vector<bool> result;
  std::transform(each.begin(), each.end(), std::back_inserter(result), is_zero);
  return result;
}

// Which of the layers slide. The last ones, which predict further tokens, never do.
void set_sliding(const GgufModel& model, std::int64_t main_layers, std::vector<GgufLayer>& result) {
  const GgufKeys& keys = model.keys;
  const Sliding& rule = model.architecture.sliding;
  const auto layers = static_cast<std::int64_t>(result.size());
  if (!slides(model, main_layers)) return;
  if (rule.when == When::kRatios) {
    constexpr const char* kRatios = "attention.compress_ratios";
    if (!keys.is_array(kRatios)) keys.refuse(kRatios, "missing, want a ratio for each layer");
    const auto ratios = per_layer(keys, kRatios, main_layers, layers);
    for (std::size_t i = 0; i < result.size(); ++i) result[i].is_sliding = is_zero(ratios[i]);
    return;
  }
  if (keys.is_array(kPattern)) {
    const auto pattern = per_layer(keys, kPattern, main_layers, layers);
    for (std::size_t i = 0; i < result.size(); ++i) result[i].is_sliding = !is_zero(pattern[i]);
    return;
  }
  const auto given = keys.integer(kPattern);
  if (!given && rule.period == 0) keys.refuse(kPattern, "missing, want which layers slide");
  const std::int64_t period = given.value_or(rule.period);
  for (std::int64_t i = 0; i < main_layers; ++i) {
    const bool is_full = period != 0 && i % period == (rule.full_first ? 0 : period - 1);
    result[static_cast<std::size_t>(i)].is_sliding = !is_full;
  }
}

void set_attention(const GgufModel& model, std::int64_t main_layers,
                   std::vector<GgufLayer>& result) {
  const GgufKeys& keys = model.keys;
  constexpr const char* kRecurrent = "attention.recurrent_layers";
  constexpr const char* kPeriod = "full_attention_interval";
  const std::int64_t usual = model.architecture.attention_period;
  std::optional<std::vector<std::int64_t>> recurrent;
  if (usual != 0 && keys.is_array(kRecurrent)) {
    recurrent = per_layer(keys, kRecurrent, main_layers, static_cast<std::int64_t>(result.size()));
  }
  const std::int64_t period = usual != 0 ? keys.integer(kPeriod).value_or(usual) : 1;
  if (period == 0) keys.refuse(kPeriod, "0 is not at least 1");
  const auto no_heads = zeros(keys, "attention.head_count", main_layers, result.size());
  const auto no_keys = zeros(keys, "attention.head_count_kv", main_layers, result.size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    const bool is_main = static_cast<std::int64_t>(i) < main_layers;
    const bool is_recurrent = recurrent
                                  ? !is_zero((*recurrent)[i])
                                  : is_main && (static_cast<std::int64_t>(i) + 1) % period != 0;
    result[i].has_attention = !is_recurrent && !no_heads[i] && !no_keys[i];
  }
}

// Widths and bases of layers one by one: Step-3.5 in ik_llama.cpp (github.com/ikawrakow/ik_llama.cpp,
// src/llama-hparams.cpp), or a list where others have one number.
template <class Value>
void set_each(const GgufKeys& keys, const char* key, const std::vector<Value>& values,
              std::optional<Value> GgufLayer::*field, std::vector<GgufLayer>& result) {
  if (values.size() != result.size()) {
    keys.refuse(key, "has ", values.size(), " elements, want ", result.size(),
                ", one for each layer");
  }
  for (std::size_t i = 0; i < result.size(); ++i) result[i].*field = values[i];
}

void set_ropes(const GgufModel& model, std::int64_t main_layers, std::vector<GgufLayer>& result) {
  if (model.architecture.rotating != Rotating::kByPattern) return;
  const auto none = zeros(model.keys, "attention.rope_pattern", main_layers, result.size());
  for (std::size_t i = 0; i < result.size(); ++i) result[i].has_rope = !none[i];
}

void set_widths_and_bases(const GgufKeys& keys, std::vector<GgufLayer>& result) {
  for (const char* key : {"rope.dimension_count", "rope.dimension_count_per_layer"}) {
    if (keys.is_array(key))
      set_each(keys, key, *keys.integers(key), &GgufLayer::rotary_dim, result);
  }
  for (const char* key : {"rope.freq_base", "rope.freq_base_per_layer"}) {
    if (keys.is_array(key)) set_each(keys, key, *keys.numbers(key), &GgufLayer::base, result);
  }
}

bool rotates(const GgufModel& model, std::size_t i, const GgufLayer& layer, bool any_slides,
             std::size_t layers) {
  switch (model.architecture.rotating) {
    case Rotating::kAll: return true;
    case Rotating::kSliding: return layer.is_sliding || !any_slides;
    case Rotating::kSlidingOrDense:
      return layer.is_sliding || static_cast<std::int64_t>(i) <
                                     model.keys.integer("leading_dense_block_count").value_or(0);
    case Rotating::kNotLastOf4: return (i + 1) % 4 != 0;
    case Rotating::kNotFirstOf4: return !any_slides || layers == 4 || i % 4 != 0;
    case Rotating::kIfFinetuned: return model.keys.truth("rope.scaling.finetuned").value_or(true);
    case Rotating::kByPattern: return layer.has_rope;
  }
  return true;
}

}  // namespace

std::vector<GgufLayer> gguf_layers(const GgufModel& model) {
  const GgufKeys& keys = model.keys;
  const std::int64_t layers = want_integer(keys, "block_count", "the number of layers");
  if (layers < 1 || layers > kMaxLayers) {
    keys.refuse("block_count", layers, " is not between 1 and ", kMaxLayers);
  }
  const std::int64_t further = keys.integer("nextn_predict_layers").value_or(0);
  if (further >= layers) {
    keys.refuse("nextn_predict_layers", further, " is not below block_count ", layers);
  }
  const std::int64_t main_layers = layers - further;
  std::vector<GgufLayer> result(static_cast<std::size_t>(layers));
  set_sliding(model, main_layers, result);
  set_attention(model, main_layers, result);
  set_ropes(model, main_layers, result);
  set_widths_and_bases(keys, result);
  const bool any_slides = slides(model, main_layers);
  // llama4 without a window: "always use rope".
  const bool all = model.architecture.sliding.when == When::kUnlessZero && !any_slides;
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i].rotates =
        result[i].has_attention && (all || rotates(model, i, result[i], any_slides, result.size()));
  }
  return result;
}

}  // namespace ropewalk
