// The presets: their sources, and what is made of them.

#include <algorithm>
#include <map>
#include <regex>
#include <ropewalk/error.hpp>
#include <ropewalk/model.hpp>
#include <ropewalk/rope.hpp>

#include "conformance.hpp"

namespace ropewalk::testing {
namespace {

TEST(ModelPresets, each_says_where_its_config_was_read) {
  const std::regex repository("[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+");
  const std::regex path("[^/\\s][^\\s]*\\.(json|py)");
  const std::regex commit("[0-9a-f]{40}");
  for (const Preset& preset : presets()) {
    EXPECT_TRUE(std::regex_match(preset.repository, repository)) << preset.name;
    EXPECT_TRUE(std::regex_match(preset.path, path)) << preset.name;
    EXPECT_TRUE(std::regex_match(preset.commit, commit)) << preset.name;
    // Of a source that is a program, which of its models.
    EXPECT_EQ(preset.entry.empty(), preset.path.ends_with(".json")) << preset.name;
  }
}

TEST(ModelPresets, names_ascend_and_are_what_a_shell_takes_as_they_are) {
  std::vector<std::string> names;
  for (const Preset& preset : presets()) names.push_back(preset.name);
  EXPECT_GE(names.size(), 40u);
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  for (const std::string& name : names) {
    EXPECT_TRUE(std::regex_match(name, std::regex("[a-z0-9]+([.-][a-z0-9]+)*"))) << name;
  }
}

TEST(ModelPresets, no_two_name_the_same_place) {
  std::vector<std::string> places;
  for (const Preset& preset : presets()) {
    places.push_back(preset.repository + " " + preset.path + " " + preset.entry);
  }
  std::sort(places.begin(), places.end());
  EXPECT_EQ(std::adjacent_find(places.begin(), places.end()), places.end());
}

TEST(ModelPresets, each_is_read_as_its_config_is) {
  for (const Preset& preset : presets()) {
    const Model model = Model::from_preset(preset.name);
    const Model again = Model::from_config(preset.config);
    ASSERT_EQ(model.kinds().size(), again.kinds().size()) << preset.name;
    for (std::size_t i = 0; i < model.kinds().size(); ++i) {
      EXPECT_EQ(model.kinds()[i].rotates(), again.kinds()[i].rotates()) << preset.name;
      if (model.kinds()[i].rotates()) {
        EXPECT_EQ(model.kinds()[i].spec(), again.kinds()[i].spec()) << preset.name;
      }
    }
    const bool rotates = std::any_of(model.kinds().begin(), model.kinds().end(),
                                     [](const LayerKind& kind) { return kind.rotates(); });
    EXPECT_TRUE(rotates) << preset.name;
    EXPECT_FALSE(model.model_type().empty()) << preset.name;
  }
}

// Llama 2 and MiniCPM leave the base to the class; Devstral has mscale_all_dim 0.
TEST(ModelPresets, what_is_noticed_is_true_of_the_published_configs) {
  const std::map<std::string, std::string> expected = {
      {"llama-2-7b", "rope_theta: missing, took 10000"},
      {"minicpm-2b", "rope_theta: missing, took 10000"},
      {"devstral-2-123b",
       "rope_parameters.mscale: counts only together with mscale_all_dim; "
       "DeepSeek's own code differs"},
  };
  for (const Preset& preset : presets()) {
    const Model model = Model::from_preset(preset.name);
    std::string noticed;
    for (const std::string& warning : model.warnings()) noticed += warning;
    const auto found = expected.find(preset.name);
    EXPECT_EQ(noticed, found == expected.end() ? "" : found->second) << preset.name;
  }
}

// ---- What papers, model cards and the authors' own programs say. ----

constexpr Pairing kHalves = Pairing::kHalves;
constexpr Pairing kAdjacent = Pairing::kAdjacent;
using Type = Scaling::Type;

struct Published {
  const char* preset;
  const char* layer_type;
  std::int64_t head_dim;
  std::int64_t rotary_dim;
  Pairing pairing;
  double base;
  Type scaling;
  double factor;  // 0: none
  const char* where;
};

const Published kPublished[] = {
    {"llama-2-7b", "full_attention", 128, 128, kHalves, 1e4, Type::kDefault, 0,
     "arXiv 2302.13971, 2307.09288: RoPE as in RoFormer; 4096 / 32 heads"},
    {"codellama-7b", "full_attention", 128, 128, kHalves, 1e6, Type::kDefault, 0,
     "arXiv 2308.12950, 2.4: base period from 10,000 to 1,000,000"},
    {"llama-3-8b", "full_attention", 128, 128, kHalves, 5e5, Type::kDefault, 0,
     "arXiv 2407.21783, table 3: theta 500,000"},
    {"llama-3.1-8b", "full_attention", 128, 128, kHalves, 5e5, Type::kLlama3, 8,
     "meta-llama/llama-models, apply_scaling: scale_factor 8"},
    {"llama-3.3-70b", "full_attention", 128, 128, kHalves, 5e5, Type::kLlama3, 8,
     "as Llama 3.1; 8192 / 64 heads"},
    {"llama-3.2-1b", "full_attention", 64, 64, kHalves, 5e5, Type::kLlama3, 32,
     "meta-llama/llama-models: rope scale 32; 2048 / 32 heads"},
    {"llama-4-scout", "chunked_attention", 128, 128, kAdjacent, 5e5, Type::kLlama3, 16,
     "modeling_llama4.py: view_as_complex"},
    {"qwen2-7b", "full_attention", 128, 128, kHalves, 1e6, Type::kDefault, 0,
     "arXiv 2407.10671: base frequency from 10,000 to 1,000,000"},
    {"qwen3-0.6b", "full_attention", 128, 128, kHalves, 1e6, Type::kDefault, 0,
     "arXiv 2505.09388: ABF to 1,000,000; heads of 128, not 1024 / 16"},
    {"gemma-2b", "full_attention", 256, 256, kHalves, 1e4, Type::kDefault, 0,
     "arXiv 2403.08295, table 1: head size 256"},
    {"gemma-2-9b", "full_attention", 256, 256, kHalves, 1e4, Type::kDefault, 0,
     "arXiv 2408.00118, table 1: head size 256"},
    {"gemma-2-27b", "full_attention", 128, 128, kHalves, 1e4, Type::kDefault, 0,
     "arXiv 2408.00118, table 1: head size 128"},
    {"gemma-3-27b", "full_attention", 128, 128, kHalves, 1e6, Type::kLinear, 8,
     "arXiv 2503.19786, 2: 1M on global layers, positional interpolation by 8"},
    {"gemma-3-27b", "sliding_attention", 128, 128, kHalves, 1e4, Type::kDefault, 0,
     "arXiv 2503.19786, 2: 10k on local layers"},
    {"phi-4", "full_attention", 128, 128, kHalves, 2.5e5, Type::kDefault, 0,
     "arXiv 2412.08905, 3: base frequency 250K"},
    {"gpt-j-6b", "full_attention", 256, 64, kAdjacent, 1e4, Type::kDefault, 0,
     "mesh-transformer-jax, README: 64 dimensions of each head of 256"},
    {"pythia-12b", "full_attention", 128, 32, kHalves, 1e4, Type::kDefault, 0,
     "arXiv 2204.06745, 2.1: the first 25% of a head; 5120 / 40 heads"},
    {"stablelm-3b-4e1t", "full_attention", 80, 20, kHalves, 1e4, Type::kDefault, 0,
     "its model card: the first 25% of a head; 2560 / 32 heads"},
    {"deepseek-v2-lite", "full_attention", 192, 64, kAdjacent, 1e4, Type::kYarn, 40,
     "arXiv 2405.04434, 3.1: d_h 128, d_h^R 64, s = 40"},
    {"deepseek-v3", "full_attention", 192, 64, kAdjacent, 1e4, Type::kYarn, 40,
     "deepseek-ai/DeepSeek-V3, inference/model.py: rope_theta 10000, rope_factor 40"},
    {"gpt-oss-20b", "sliding_attention", 64, 64, kHalves, 1.5e5, Type::kYarn, 32,
     "openai/gpt-oss, model.py: rope_theta 150000, rope_scaling_factor 32"},
    {"gpt-oss-120b", "full_attention", 64, 64, kHalves, 1.5e5, Type::kYarn, 32,
     "openai/gpt-oss, model.py: rope_theta 150000, rope_scaling_factor 32"},
    {"chatglm3-6b", "full_attention", 128, 64, kAdjacent, 1e4, Type::kDefault, 0,
     "modeling_chatglm.py: rotary_dim // 2, pairs x[..., 0], x[..., 1]"},
    {"command-r", "full_attention", 128, 128, kAdjacent, 8e6, Type::kDefault, 0,
     "modeling_cohere.py: rotate_half is 0::2"},
};

TEST(ModelPresets, ropes_are_as_published) {
  for (const Published& published : kPublished) {
    SCOPED_TRACE(std::string(published.preset) + ": " + published.where);
    const Model model = Model::from_preset(published.preset);
    const Spec& spec = model.kind(published.layer_type).spec();
    EXPECT_EQ(spec.head_dim(), published.head_dim);
    EXPECT_EQ(spec.rotary_dim(), published.rotary_dim);
    EXPECT_EQ(spec.pairing(), published.pairing);
    EXPECT_EQ(spec.base(), published.base);
    EXPECT_EQ(spec.scaling().type, published.scaling);
    EXPECT_EQ(spec.scaling().factor.value_or(0), published.factor);
  }
}

// arXiv 2409.12191, 2.1: three axes; 16, 24 and 24 pairs of them in the model.
TEST(ModelPresets, qwen2_5_vl_has_three_axes) {
  const Model model = Model::from_preset("qwen2.5-vl-7b");
  const auto& axes = model.kind("full_attention").spec().axis_of_pair();
  ASSERT_EQ(axes.size(), 64u);
  for (const auto& [axis, pairs] : {std::pair(0, 16), std::pair(1, 24), std::pair(2, 24)}) {
    EXPECT_EQ(std::count(axes.begin(), axes.end(), axis), pairs);
  }
}

TEST(ModelPresets, some_layers_do_not_rotate) {
  const Model exaone = Model::from_preset("exaone-4-32b");  // arXiv 2507.11407: global NoPE, 3 : 1
  const Model scout = Model::from_preset("llama-4-scout");  // every fourth layer, from the fourth
  for (const Model* model : {&exaone, &scout}) {
    for (std::int64_t i = 0; i < 48; ++i) {
      EXPECT_EQ(model->layer(i).rotates(), i % 4 != 3) << model->model_type() << " " << i;
    }
  }
  // arXiv 2505.09388's successor: three layers of linear attention, one of full.
  const Model next = Model::from_preset("qwen3-next-80b-a3b");
  for (std::int64_t i = 0; i < 48; ++i) EXPECT_EQ(next.layer(i).rotates(), i % 4 == 3) << i;
}

// ---- Frequencies that transformers' own classes make of these models' configs. ----

struct SameAs {
  const char* preset;
  const char* layer_type;
  const char* conformance_case;
};

const SameAs kSameAs[] = {
    {"llama-2-7b", "full_attention", "llama2_7b"},
    {"llama-3-8b", "full_attention", "llama3_8b"},
    {"llama-3.1-8b", "full_attention", "llama3_1_8b"},
    {"llama-3.2-1b", "full_attention", "llama3_2_1b"},
    {"llama-3.3-70b", "full_attention", "llama3_1_405b"},  // heads of 128, too
    {"codellama-7b", "full_attention", "codellama_7b"},
    {"yi-6b", "full_attention", "yi_34b"},
    {"mixtral-8x7b", "full_attention", "mixtral_8x7b"},
    {"ministral-3-3b", "full_attention", "ministral3_8b"},
    {"qwen2.5-7b", "full_attention", "qwen2_5_7b_instruct"},
    {"qwen2.5-vl-7b", "full_attention", "qwen2_vl_7b"},
    {"qwen3-8b", "full_attention", "qwen3_8b"},
    {"qwen3-next-80b-a3b", "full_attention", "qwen3_next_80b"},
    {"gemma-2b", "full_attention", "gemma_7b"},
    {"gemma-3-1b", "full_attention", "gemma3_1b_legacy_full_attention"},
    {"gemma-3-1b", "sliding_attention", "gemma3_1b_legacy_sliding_attention"},
    {"gemma-4-e2b", "full_attention", "gemma4_e2b_full_attention"},
    {"gemma-4-e2b", "sliding_attention", "gemma4_e2b_sliding_attention"},
    {"phi-2", "full_attention", "phi2"},
    {"phi-4", "full_attention", "phi4_14b"},
    {"phi-4-mini", "full_attention", "phi4_mini_reasoning_seq16385"},
    {"gpt-j-6b", "full_attention", "gptj_6b"},
    {"stablelm-3b-4e1t", "full_attention", "stablelm_3b_4e1t"},
    {"deepseek-v2-lite", "full_attention", "deepseek_v2"},
    {"deepseek-v3", "full_attention", "deepseek_v3"},
    {"deepseek-r1", "full_attention", "deepseek_v3"},
    {"kimi-k2", "full_attention", "kimi_k2"},
    {"gpt-oss-20b", "full_attention", "gpt_oss_20b"},
    {"glm-4.5", "full_attention", "glm4_5"},
    {"olmo-3.1-32b", "full_attention", "olmo3_7b"},
};

TEST(ModelPresets, frequencies_are_those_of_transformers) {
  for (const SameAs& same : kSameAs) {
    SCOPED_TRACE(same.preset);
    const Json json = read_case("inv_freq", same.conformance_case);
    std::optional<std::int64_t> length;
    if (!json.at("seq_len").is_null()) length = json.at("seq_len").get<std::int64_t>();
    const Model model = Model::from_preset(same.preset);
    const Rope rope(model.kind(same.layer_type).spec(), length);
    const std::vector<double> wanted = floats_of(json.at("inv_freq"));
    ASSERT_EQ(rope.frequencies().size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_NEAR(rope.frequencies()[i], wanted[i], 1e-6 * wanted[i]) << i;
    }
    const double m = json.at("attention_factor");
    EXPECT_NEAR(rope.attention_factor(), m, 1e-9 * m);
  }
}

TEST(ModelPresets, an_unknown_name_is_refused_with_those_near_it) {
  const auto refusal = [](std::string_view name) -> std::string {
    try {
      Model::from_preset(name);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      return error.what();
    }
    return "accepted";
  };
  const std::string wrong = refusal("Llama3.1-8B");
  EXPECT_EQ(wrong.substr(0, 63),
            "preset \"Llama3.1-8B\" is not known; near it are llama-3.1-8b, ll");
  EXPECT_NE(refusal("gpt-oss").find("near it are gpt-oss-20b, "), std::string::npos);
  EXPECT_NE(refusal(""), "accepted");
  EXPECT_NE(refusal(std::string(100000, 'x')), "accepted");
  EXPECT_NE(refusal("llama-3.1-8b.json"), "accepted");
}

}  // namespace
}  // namespace ropewalk::testing
