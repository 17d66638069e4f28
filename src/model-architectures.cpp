// From llama.cpp (github.com/ggml-org/llama.cpp, read in versions of April to October 2026, the last
// f6ed9c86): the type of rope from llama_model_rope_type of src/llama-model.cpp, the rest from
// load_arch_hparams and the graph of src/models/*.cpp. Names as in LLM_ARCH_NAMES of src/llama-arch.cpp,
// every one of them.

#include "model-architectures.hpp"
#include "words.hpp"

#include <algorithm>
#include <iterator>

namespace ropewalk {
namespace {

using When = Sliding::When;

// Those without peculiarities.
struct Group {
  Rotation rotation;
  std::string_view names;  // separated by spaces
};

constexpr Group kGroups[] = {
    // starcoder is NORM in the enumeration and bert is NEOX, but their graphs have learned positions
    // and no rope.
    {Rotation::kNone,
     "gpt2 mpt refact bloom mamba mamba2 jamba jina-bert-v2 t5 t5encoder jais rwkv6 rwkv6qwen2 "
     "rwkv7 "
     "arwkv7 wavtokenizer-dec nemotron_h nemotron_h_moe kimi-linear kimi-k3 glm5-next starcoder "
     "bert"},
    // gptj is NONE there because it is not implemented; GPT-J rotates adjacent pairs.
    {Rotation::kAdjacent,
     "llama llada deci baichuan internlm2 minicpm xverse command-r olmo arctic deepseek chatglm "
     "chameleon "
     "bailingmoe neo-bert arcee ernie4_5 ernie4_5-moe eagle3 llama-embed maincoder nanbeige "
     "pockettts "
     "gptj"},
    // deepseek2-ocr is NORM in the enumeration, but its graph asks for NEOX.
    {Rotation::kHalves,
     "falcon falcon-h1 grok dbrx jina-bert-v3 nomic-bert nomic-bert-moe eurobert stablelm bitnet "
     "qwen "
     "qwen2 dream qwen2moe qwen3 qwen3moe llada-moe rnd1 olmoe phi2 phi3 phimoe plamo plamo2 gemma "
     "starcoder2 openelm gptneox codeshell orion nemotron exaone bailingmoe2 dots1 hunyuan-moe "
     "jais2 "
     "hy_v3 lfm2 lfm2moe seed_oss grovemoe apertus minimax-m2 minimax-m3 cogvlm pangu-embedded "
     "talkie deepseek2-ocr"},
    {Rotation::kBlocks, "qwen2vl paddleocr"},
    {Rotation::kCycle, "qwen3vl qwen3vlmoe qwen3tts"},
};

constexpr Sliding copied(When when, std::int64_t period, bool full_first = false) {
  return {when, period, full_first, true, true, false};
}

constexpr Architecture kArchitectures[] = {
    {.name = "gemma2", .rotation = Rotation::kHalves, .sliding = copied(When::kAlways, 2)},
    {.name = "gpt-oss", .rotation = Rotation::kHalves, .sliding = copied(When::kAlways, 2)},
    {.name = "gemma3", .rotation = Rotation::kHalves, .sliding = {When::kWithWindow, 6}},
    {.name = "gemma3n", .rotation = Rotation::kHalves, .sliding = {When::kAlways, 5}},
    {.name = "gemma-embedding", .rotation = Rotation::kHalves, .sliding = {When::kAlways, 6}},
    {.name = "gemma4",
     .rotation = Rotation::kHalves,
     .sliding = {When::kAlways},
     .factors_on_full_only = true},
    {.name = "gemma4-assistant",
     .rotation = Rotation::kHalves,
     .sliding = {When::kAlways},
     .factors_on_full_only = true},
    {.name = "modern-bert", .rotation = Rotation::kHalves, .sliding = {When::kWithWindow, 3, true}},
    {.name = "plamo3", .rotation = Rotation::kHalves, .sliding = {When::kWithWindow, 8}},
    {.name = "mimo2", .rotation = Rotation::kHalves, .sliding = {When::kAlways}},
    {.name = "step35",
     .rotation = Rotation::kHalves,
     .sliding = {When::kAlways},
     .factors_on_full_only = true,
     .half_width_on_full = true},
    // OLMo 3, Laguna, Mellum: "regular rope with no yarn" in sliding layers.
    {.name = "olmo2",
     .rotation = Rotation::kHalves,
     .sliding = {When::kWithWindow, 4, false, true, false, true}},
    {.name = "laguna",
     .rotation = Rotation::kHalves,
     .sliding = {When::kWithWindow, 4, true, true, false, true}},
    {.name = "mellum",
     .rotation = Rotation::kHalves,
     .sliding = {When::kWithWindow, 4, false, true, false, true}},
    {.name = "llama4",
     .rotation = Rotation::kAdjacent,
     .sliding = copied(When::kUnlessZero, 4),
     .rotating = Rotating::kNotLastOf4},
    {.name = "cohere2",
     .rotation = Rotation::kAdjacent,
     .sliding = copied(When::kAlways, 4),
     .rotating = Rotating::kSliding},
    {.name = "muse-glimmer",
     .rotation = Rotation::kAdjacent,
     .sliding = {When::kAlways, 0, false, true},
     .rotating = Rotating::kSliding},
    {.name = "cohere2moe",
     .rotation = Rotation::kAdjacent,
     .sliding = copied(When::kAlways, 4, true),
     .rotating = Rotating::kSlidingOrDense},
    {.name = "exaone4",
     .rotation = Rotation::kHalves,
     .sliding = copied(When::kLayers64, 4),
     .rotating = Rotating::kSliding},
    {.name = "exaone-moe",
     .rotation = Rotation::kHalves,
     .sliding = copied(When::kAlways, 4),
     .rotating = Rotating::kSliding},
    {.name = "afmoe",
     .rotation = Rotation::kHalves,
     .sliding = copied(When::kWithWindow, 4),
     .rotating = Rotating::kNotLastOf4},
    {.name = "smallthinker",
     .rotation = Rotation::kHalves,
     .sliding = copied(When::kWithWindow, 4, true),
     .rotating = Rotating::kNotFirstOf4},
    {.name = "smollm3", .rotation = Rotation::kAdjacent, .rotating = Rotating::kNotLastOf4},
    // rope.scaling.finetuned serves them as "has rope".
    {.name = "granite", .rotation = Rotation::kAdjacent, .rotating = Rotating::kIfFinetuned},
    {.name = "granitemoe", .rotation = Rotation::kAdjacent, .rotating = Rotating::kIfFinetuned},
    {.name = "granitehybrid", .rotation = Rotation::kAdjacent, .rotating = Rotating::kIfFinetuned},
    {.name = "graniteswitch", .rotation = Rotation::kAdjacent, .rotating = Rotating::kIfFinetuned},
    {.name = "granite_swa",
     .rotation = Rotation::kAdjacent,
     .sliding = copied(When::kAlways, 0),
     .rotating = Rotating::kByPattern},
    {.name = "qwen3next", .rotation = Rotation::kHalves, .attention_period = 4},
    {.name = "qwen35", .rotation = Rotation::kCycle, .attention_period = 4},
    {.name = "qwen35moe", .rotation = Rotation::kCycle, .attention_period = 4},
    {.name = "qwen4exp", .rotation = Rotation::kCycle, .attention_period = 4},
    {.name = "minimax-01", .rotation = Rotation::kHalves, .attention_period = 8},
    {.name = "glm4", .rotation = Rotation::kAdjacent, .sections_are_optional = true},
    {.name = "glm4moe", .rotation = Rotation::kHalves, .sections_are_optional = true},
    {.name = "hunyuan_vl",
     .rotation = Rotation::kHalves,
     .sections_are_optional = true,
     .has_alpha = true},
    {.name = "hunyuan-dense", .rotation = Rotation::kHalves, .has_alpha = true},
    // A draft of DeepSeek-V4 is built as that model is.
    {.name = "dflash",
     .rotation = Rotation::kHalves,
     .sections_are_optional = true,
     .refused_key = "hyper_connection.count"},
    // Multi-head latent attention. yarn_log_multiplier is a tenth of mscale_all_dim.
    {.name = "deepseek2",
     .rotation = Rotation::kAdjacent,
     .window_is_last = true,
     .magnitude_in_softmax = true,
     .log_multiplier = 0.1F,
     .has_temperature = true},
    {.name = "mistral4",
     .rotation = Rotation::kAdjacent,
     .window_is_last = true,
     .magnitude_in_softmax = true,
     .log_multiplier = 0.1F,
     .has_temperature = true},
    {.name = "deepseek32",
     .rotation = Rotation::kAdjacent,
     .window_is_last = true,
     .magnitude_in_softmax = true,
     .log_multiplier = 0.1F},
    {.name = "glm-dsa",
     .rotation = Rotation::kAdjacent,
     .window_is_last = true,
     .magnitude_in_softmax = true,
     .log_multiplier = 0.1F},
    {.name = "bailingmoe3", .rotation = Rotation::kAdjacent, .window_is_last = true},
    {.name = "hy_v4", .rotation = Rotation::kAdjacent, .window_is_last = true},
    {.name = "dots3note",
     .rotation = Rotation::kAdjacent,
     .sliding = {When::kAlways, 0, false, false, true},
     .window_is_last = true},
    {.name = "plm", .rotation = Rotation::kAdjacent, .window_is_last = true},
    {.name = "minicpm3", .rotation = Rotation::kHalves, .window_is_last = true},
    // Two bases, by the ratio of compression; no magnitude anywhere.
    {.name = "deepseek4",
     .rotation = Rotation::kAdjacent,
     .sliding = {When::kRatios, 0, false, true, false, true},
     .window_is_last = true},
    {.name = "mistral3",
     .rotation = Rotation::kAdjacent,
     .log_multiplier = 1,
     .has_temperature = true},
};

}  // namespace

Architecture architecture_of(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kArchitectures), std::end(kArchitectures),
                                         [&](const Architecture& row) { return row.name == name; });
  if (found != std::end(kArchitectures)) return *found;
  for (const Group& group : kGroups) {
    if (has_word(group.names, name)) return {.name = name, .rotation = group.rotation};
  }
  return {.name = name, .rotation = Rotation::kAdjacent, .log_multiplier = 1, .is_known = false};
}

}  // namespace ropewalk
