// The decisions of docs/models.md, and what is said of a config that is wrong.

#include <gtest/gtest.h>

#include <cmath>
#include <ropewalk/error.hpp>
#include <ropewalk/frequencies.hpp>
#include <ropewalk/model.hpp>

namespace ropewalk {
namespace {

// A Llama with heads of 128, and these keys.
std::string llama(const std::string& keys) {
  return R"({"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32,
             "max_position_embeddings": 8192, "rope_theta": 10000.0)" +
         (keys.empty() ? "" : ", " + keys) + "}";
}

std::string with_scaling(const std::string& block) { return llama("\"rope_scaling\": " + block); }

Spec spec_of(const std::string& config) { return Model::from_config(config).layer(0).spec(); }

// The message of the Error that reading this config ends in.
std::string refusal(const std::string& config) {
  try {
    Model::from_config(config, "config.json");
  } catch (const Error& error) {
    EXPECT_NE(error.code(), ErrorCode::kInvalidArgument);
    return error.what();
  }
  return "accepted";
}

std::string warnings(const std::string& config) {
  const Model model = Model::from_config(config);
  std::string all;
  for (const std::string& line : model.warnings()) all += line + "\n";
  return all;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

double attention_factor(const std::string& config) {
  return frequencies(spec_of(config)).attention_factor;
}

// ---- Layers. ----

TEST(ModelConfig, a_llama_has_one_kind_of_layer) {
  const Model model = Model::from_config(llama(R"("num_hidden_layers": 3)"));
  EXPECT_EQ(model.model_type(), "llama");
  EXPECT_EQ(model.trained_length(), 8192);
  ASSERT_EQ(model.kinds().size(), 1u);
  EXPECT_EQ(model.kinds()[0].layer_type(), "full_attention");
  EXPECT_EQ(model.kinds()[0].layer_indices().size(), 3u);
  EXPECT_TRUE(model.warnings().empty());
  EXPECT_EQ(&model.layer(2), &model.kinds()[0]);
  EXPECT_THROW((void)model.layer(3), Error);
  EXPECT_THROW((void)model.kind("sliding_attention"), Error);
  const Spec& spec = model.layer(0).spec();
  EXPECT_EQ(spec.head_dim(), 128);
  EXPECT_EQ(spec.pairing(), Pairing::kHalves);
  EXPECT_EQ(spec.frequency_rounding(), FrequencyRounding::kFloat32);
}

TEST(ModelConfig, layers_of_two_bases_are_two_kinds_in_the_order_of_their_first) {
  const Model model = Model::from_config(
      R"({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "hidden_size": 2560,
          "num_hidden_layers": 12, "rope_scaling": {"factor": 8.0, "rope_type": "linear"}}})");
  EXPECT_EQ(model.model_type(), "gemma3_text");
  ASSERT_EQ(model.kinds().size(), 2u);
  EXPECT_EQ(model.kinds()[0].layer_type(), "sliding_attention");
  EXPECT_EQ(model.kinds()[0].spec().base(), 10000);
  EXPECT_EQ(model.kinds()[0].spec().scaling(), Scaling{});
  EXPECT_EQ(model.kind("full_attention").spec().base(), 1e6);
  EXPECT_EQ(model.kind("full_attention").spec().scaling(), (Scaling{Scaling::Type::kLinear, 8.0}));
  EXPECT_EQ(model.kind("full_attention").spec().head_dim(), 256);
  const auto full = model.kind("full_attention").layer_indices();
  EXPECT_EQ(std::vector<std::int64_t>(full.begin(), full.end()),
            (std::vector<std::int64_t>{5, 11}));
}

TEST(ModelConfig, layers_without_rope_do_not_rotate) {
  const auto rotating = [](const std::string& config) {
    const Model model = Model::from_config(config);
    std::string pattern;
    for (std::int64_t i = 0; i < 8; ++i) pattern += model.layer(i).rotates() ? '1' : '0';
    return pattern;
  };
  const std::string size =
      R"("hidden_size": 256, "num_attention_heads": 4, "num_hidden_layers": 8)";
  EXPECT_EQ(rotating(R"({"model_type": "smollm3", )" + size + "}"), "11101110");
  EXPECT_EQ(rotating(R"({"model_type": "smollm3", "no_rope_layer_interval": 2, )" + size + "}"),
            "10101010");
  EXPECT_EQ(
      rotating(R"({"model_type": "smollm3", "no_rope_layers": [1,0,0,1,1,1,1,0], )" + size + "}"),
      "10011110");
  EXPECT_EQ(rotating(R"({"model_type": "llama4_text", )" + size + "}"), "11101110");
  EXPECT_EQ(rotating(R"({"model_type": "cohere2", )" + size + "}"), "11101110");
  EXPECT_EQ(rotating(R"({"model_type": "exaone4", "sliding_window": 64, )" + size + "}"),
            "11101110");
  EXPECT_EQ(rotating(R"({"model_type": "exaone4", "sliding_window": null, )" + size + "}"),
            "11111111");
  EXPECT_EQ(rotating(R"({"model_type": "qwen3_next", )" + size + "}"), "00010001");
  EXPECT_EQ(rotating(R"({"model_type": "lfm2", "full_attn_idxs": [2, 5], )" + size + "}"),
            "00100100");
  EXPECT_EQ(rotating(R"({"model_type": "falcon", "alibi": true, )" + size + "}"), "00000000");
  EXPECT_EQ(rotating(R"({"model_type": "falcon", "alibi": false, )" + size + "}"), "11111111");
  EXPECT_EQ(rotating(R"({"model_type": "nemotron_h", "rope_theta": 10000, )" + size + "}"),
            "00000000");
  EXPECT_EQ(rotating(R"({"model_type": "gpt2", )" + size + "}"), "00000000");
  EXPECT_EQ(rotating(R"({"model_type": "granitemoehybrid", "position_embedding_type": "nope", )" +
                     size + "}"),
            "00000000");
  EXPECT_EQ(rotating(R"({"model_type": "granitemoehybrid", "position_embedding_type": "rope", )" +
                     size + "}"),
            "11111111");
}

TEST(ModelConfig, layers_of_a_sliding_type_follow_the_flat_block) {
  const Model model = Model::from_config(
      llama(R"("num_hidden_layers": 2, "layer_types": ["sliding_attention", "full_attention"],
               "rope_scaling": {"type": "linear", "factor": 4})"));
  ASSERT_EQ(model.kinds().size(), 2u);
  EXPECT_EQ(model.kinds()[0].spec(), model.kinds()[1].spec());
}

TEST(ModelConfig, the_family_may_leave_sliding_layers_unscaled) {
  const Model model = Model::from_config(
      R"({"model_type": "olmo3", "hidden_size": 4096, "num_attention_heads": 32,
          "num_hidden_layers": 4, "max_position_embeddings": 65536, "rope_theta": 500000,
          "rope_scaling": {"factor": 8.0, "original_max_position_embeddings": 8192,
                           "rope_type": "yarn"}})");
  EXPECT_EQ(model.kind("sliding_attention").spec().scaling(), Scaling{});
  EXPECT_EQ(model.kind("sliding_attention").spec().base(), 500000);
  EXPECT_EQ(model.kind("full_attention").spec().scaling().type, Scaling::Type::kYarn);
}

TEST(ModelConfig, a_base_and_a_width_of_each_layer_are_read_from_lists) {
  const Model model = Model::from_config(
      R"({"model_type": "step3p5", "hidden_size": 256, "num_attention_heads": 2, "head_dim": 128,
          "num_hidden_layers": 3, "rope_theta": [10000.0, 5000000.0, 10000.0],
          "partial_rotary_factors": [1.0, 0.5, 1.0],
          "layer_types": ["sliding_attention", "full_attention", "sliding_attention"]})");
  EXPECT_EQ(model.layer(0).spec().base(), 10000);
  EXPECT_EQ(model.layer(1).spec().base(), 5e6);
  EXPECT_EQ(model.layer(1).spec().rotary_dim(), 64);
  EXPECT_EQ(&model.layer(2), &model.layer(0));
  EXPECT_TRUE(has(refusal(R"({"model_type": "step3p5", "head_dim": 128, "num_hidden_layers": 3,
                              "rope_theta": [1.0, 2.0]})"),
                  "rope_theta: 2 layers"));
}

TEST(ModelConfig, a_layer_may_have_a_width_of_its_own) {
  const std::string keys =
      R"({"model_type": "gemma4_text", "head_dim": 256, "num_hidden_layers": 2,
          "layer_types": ["sliding_attention", "full_attention"],
          "rope_parameters": {"full_attention": {"partial_rotary_factor": 0.25, "rope_theta": 1000000.0,
                                                 "rope_type": "proportional"},
                              "sliding_attention": {"rope_theta": 10000.0}}, )";
  for (const char* width :
       {R"("global_head_dim": 512})", R"("per_layer_config": {"01": {"head_dim": 512}}})",
        R"("per_layer_config": {"1": {"head_dim": 512}}})"}) {
    const Model model = Model::from_config(keys + width);
    EXPECT_EQ(model.layer(0).spec().head_dim(), 256);
    EXPECT_EQ(model.layer(1).spec().head_dim(), 512);
    EXPECT_EQ(model.layer(1).spec().rotary_dim(), 512);
    EXPECT_EQ(model.layer(1).spec().scaling().rotating_pairs, 64);
  }
}

// ---- Families. ----

TEST(ModelConfig, families_have_their_pairing) {
  const auto pairings = [](const std::string& type, const std::string& more = "") {
    const Spec spec = spec_of(R"({"model_type": ")" + type + R"(", "hidden_size": 1024,
        "num_attention_heads": 8, "num_hidden_layers": 1, "rope_theta": 10000)" +
                              more + "}");
    return std::string(name(spec.pairing())) + " " + std::string(name(spec.output_pairing())) +
           (spec.clockwise() ? " clockwise" : "");
  };
  for (const char* type : {"llama", "qwen3", "gpt_neox", "phi3", "gemma", "glm4_moe", "minicpm3"}) {
    EXPECT_EQ(pairings(type), "halves halves") << type;
  }
  for (const char* type : {"gptj", "codegen", "cohere", "glm", "glm4", "glm4v_text", "ernie4_5",
                           "helium", "moonshine", "llama4_text", "deepseek_v2", "chatglm"}) {
    const std::string more =
        std::string(type) == "moonshine" ? R"(, "partial_rotary_factor": 1)" : "";
    EXPECT_EQ(pairings(type, more), "adjacent adjacent") << type;
  }
  EXPECT_EQ(pairings("deepseek_v3"), "adjacent halves");
  EXPECT_EQ(pairings("deepseek_v3", R"(, "rope_interleave": false)"), "halves halves");
  EXPECT_EQ(pairings("nanochat"), "halves halves clockwise");
}

TEST(ModelConfig, an_unknown_type_is_read_by_its_keys_and_warned_about) {
  const std::string config =
      R"({"model_type": "spiral", "hidden_size": 64, "num_attention_heads": 2, "rope_theta": 5000})";
  EXPECT_EQ(spec_of(config).base(), 5000);
  EXPECT_EQ(spec_of(config).pairing(), Pairing::kHalves);
  EXPECT_EQ(warnings(config),
            "model_type: \"spiral\" is not known: read by its keys, pairing assumed halves\n");
  EXPECT_EQ(
      refusal(R"({"model_type": "spiral", "hidden_size": 64, "num_attention_heads": 2})"),
      "config.json: model_type: \"spiral\" is not known, and there is no key of RoPE to go by");
}

TEST(ModelConfig, what_is_no_pure_rotation_is_refused_by_name) {
  EXPECT_TRUE(has(refusal(R"({"model_type": "vjepa2", "hidden_size": 64})"), "vjepa2"));
  EXPECT_TRUE(has(refusal(with_scaling(R"({"rope_type": "default", "use_fope": true})")), "FoPE"));
  EXPECT_TRUE(
      has(refusal(with_scaling(R"({"rope_type": "telechat3-yarn", "factor": 2})")), "vLLM"));
}

TEST(ModelConfig, latent_attention_rotates_the_end_of_the_head) {
  const std::string config =
      R"({"model_type": "deepseek_v3", "hidden_size": 7168, "num_attention_heads": 128,
          "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "max_position_embeddings": 163840,
          "rope_theta": 10000, "rope_scaling": {"factor": 40, "mscale": 1.0, "mscale_all_dim": )";
  const std::string rest = R"(, "original_max_position_embeddings": 4096, "type": "yarn"}})";
  const Model model = Model::from_config(config + "1.0" + rest);
  const LayerKind& kind = model.kinds()[0];
  EXPECT_EQ(kind.spec().head_dim(), 192);
  EXPECT_EQ(kind.spec().rotary_offset(), 128);
  EXPECT_EQ(kind.spec().rotary_dim(), 64);
  EXPECT_NEAR(kind.softmax_scale_factor(), 1.8738542071, 1e-9);
  EXPECT_EQ(frequencies(kind.spec()).attention_factor, 1);
  const Model v2 = Model::from_config(config + "0.707" + rest);
  EXPECT_NEAR(v2.kinds()[0].softmax_scale_factor(), 1.5896261652, 1e-9);
}

TEST(ModelConfig, queries_that_are_scaled_with_their_position_are_reported) {
  const std::string size =
      R"("hidden_size": 256, "num_attention_heads": 4, "num_hidden_layers": 4)";
  const Model llama4 = Model::from_config(R"({"model_type": "llama4_text", )" + size + "}");
  EXPECT_FALSE(llama4.layer(0).query_scale());
  ASSERT_TRUE(llama4.layer(3).query_scale());
  EXPECT_EQ(llama4.layer(3).query_scale()->at(8190), 1);
  EXPECT_NEAR(llama4.layer(3).query_scale()->at(8191), 1 + 0.1 * std::log(2.0), 1e-15);
  const Model ministral = Model::from_config(R"({"model_type": "ministral3", )" + size +
                                             R"(, "max_position_embeddings": 262144,
          "rope_parameters": {"type": "yarn", "rope_theta": 1e6, "factor": 16.0,
              "original_max_position_embeddings": 16384, "llama_4_scaling_beta": 0.1}})");
  EXPECT_EQ(ministral.layer(0).query_scale()->at(16383), 1);
  EXPECT_NEAR(ministral.layer(0).query_scale()->at(32768), 1 + 0.1 * std::log(3.0), 1e-15);
  const Model qwen = Model::from_config(
      R"({"model_type": "qwen", "kv_channels": 128, "seq_length": 2048, "rotary_emb_base": 10000,
          "use_dynamic_ntk": true, "use_logn_attn": true, "num_hidden_layers": 1})");
  EXPECT_EQ(qwen.layer(0).query_scale()->at(100), 1);
  EXPECT_NEAR(qwen.layer(0).query_scale()->at(2048 * 2048 - 1), 2, 1e-15);
  EXPECT_EQ(qwen.layer(0).spec().scaling().type, Scaling::Type::kDynamicStepwise);
}

TEST(ModelConfig, sections_have_the_order_of_the_family) {
  const auto axes = [](const std::string& config) { return *spec_of(config).fields().axes; };
  const std::string size = R"("head_dim": 128, "num_hidden_layers": 1)";
  EXPECT_EQ(axes(R"({"model_type": "qwen2_vl", "rope_scaling": {"type": "mrope",
                     "mrope_section": [16, 24, 24]}, )" +
                 size + "}"),
            (Axes{{16, 24, 24}, Axes::Order::kBlocks}));
  EXPECT_EQ(axes(R"({"model_type": "qwen3_vl_text", "rope_theta": 5000000, )" + size + "}"),
            (Axes{{24, 20, 20}, Axes::Order::kCycle}));
  EXPECT_EQ(axes(R"({"model_type": "ernie4_5_vl_moe_text", "rope_scaling": {"type": "default",
                     "mrope_section": [22, 22, 20]}, )" +
                 size + "}"),
            (Axes{{20, 22, 22}, Axes::Order::kErnie}));
  EXPECT_EQ(axes(R"({"model_type": "hunyuan_vl", "rope_scaling": {"type": "xdrope", "alpha": 1000.0,
                     "xdrope_section": [16, 16, 16, 16]}, )" +
                 size + "}"),
            (Axes{{16, 16, 16, 16}, Axes::Order::kBlocks}));
  EXPECT_EQ(axes(R"({"model_type": "glm4v_text", "partial_rotary_factor": 0.5, "rope_scaling":
                     {"mrope_interleaved_glm": true, "mrope_section": [8, 12, 12]}, )" +
                 size + "}"),
            (Axes{{8, 12, 12}, Axes::Order::kRoundRobin}));
  EXPECT_TRUE(has(refusal(with_scaling(R"({"type": "mrope"})")), "rope_scaling.mrope_section"));
  EXPECT_TRUE(has(refusal(with_scaling(R"({"type": "mrope", "mrope_section": [1, 2, 3]})")),
                  "[1, 2, 3] add up to 6, want 64"));
}

// ---- Decisions. ----

TEST(ModelConfig, one_spelling_of_the_rule_is_enough_and_two_must_agree) {
  const Spec linear = spec_of(with_scaling(R"({"type": "linear", "factor": 8})"));
  EXPECT_EQ(spec_of(with_scaling(R"({"rope_type": "linear", "factor": 8.0})")), linear);
  EXPECT_EQ(spec_of(with_scaling(R"({"rope_type": "linear", "type": "linear", "factor": 8})")),
            linear);
  EXPECT_EQ(warnings(with_scaling(R"({"rope_type": "linear", "type": "linear", "factor": 8})")),
            "");
  EXPECT_EQ(refusal(with_scaling(R"({"rope_type": "linear", "type": "dynamic", "factor": 8})")),
            "config.json: rope_scaling.type: dynamic beside rope_type linear: want one type");
  EXPECT_EQ(spec_of(with_scaling(R"({"rope_type": "default", "type": "mrope",
                                     "mrope_section": [16, 24, 24]})"))
                .axis_of_pair()
                .size(),
            64u);
}

TEST(ModelConfig, nothing_is_no_scaling) {
  for (const char* block :
       {"null", "{}", R"("")", R"({"rope_type": "default"})", R"({"type": null})"}) {
    EXPECT_EQ(spec_of(with_scaling(block)), spec_of(llama(""))) << block;
    EXPECT_EQ(warnings(with_scaling(block)), "") << block;
  }
  EXPECT_EQ(refusal(with_scaling(R"("{\"type\": \"linear\"}")")),
            "config.json: rope_scaling: got a string, want an object");
  EXPECT_EQ(refusal(with_scaling("[1]")),
            "config.json: rope_scaling: got an array, want an object");
  EXPECT_TRUE(has(refusal(with_scaling(R"({"factor": 8})")), "rope_scaling.rope_type: missing"));
}

TEST(ModelConfig, the_explicit_factor_of_yarn_wins) {
  const std::string config =
      with_scaling(R"({"type": "yarn", "factor": 4, "original_max_position_embeddings": 6554})");
  EXPECT_EQ(spec_of(config).scaling().factor, 4);
  EXPECT_TRUE(has(warnings(config), "rope_scaling.factor: 4 is taken"));
  EXPECT_EQ(spec_of(with_scaling(R"({"type": "yarn", "factor": null,
                                     "original_max_position_embeddings": 2048})"))
                .scaling()
                .factor,
            4);
}

TEST(ModelConfig, without_an_original_length_the_context_is_taken_and_warned_about) {
  for (const char* block :
       {R"({"type": "yarn", "factor": 4})",
        R"({"type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4})"}) {
    EXPECT_EQ(spec_of(with_scaling(block)).scaling().original_max_position_embeddings, 8192);
    EXPECT_TRUE(has(warnings(with_scaling(block)),
                    "rope_scaling.original_max_position_embeddings: missing, took "
                    "max_position_embeddings 8192\n"));
  }
}

TEST(ModelConfig, mscale_counts_only_together_with_mscale_all_dim) {
  const std::string yarn =
      R"({"type": "yarn", "factor": 16, "original_max_position_embeddings": 512, )";
  EXPECT_NEAR(attention_factor(with_scaling(yarn + R"("mscale": 0.5})")), 1.2772588722, 1e-9);
  EXPECT_TRUE(
      has(warnings(with_scaling(yarn + R"("mscale": 0.5})")), "rope_scaling.mscale: counts"));
  EXPECT_EQ(attention_factor(with_scaling(yarn + R"("mscale": 1.0, "mscale_all_dim": 1.0})")), 1);
  EXPECT_EQ(attention_factor(with_scaling(yarn + R"("attention_factor": 1.0})")), 1);
  EXPECT_TRUE(has(warnings(with_scaling(yarn + R"("attn_factor": 2.0})")), "vLLM"));
}

std::string longrope(const std::string& keys) {
  std::string list = "[1.0";
  for (int i = 1; i < 64; ++i) list += ", 1.5";
  list += "]";
  return llama(R"("rope_scaling": {"type": "longrope", "short_factor": )" + list +
               R"(, "long_factor": )" + list + "}, " + keys);
}

TEST(ModelConfig, longrope_of_no_more_than_its_original_length_has_m_1) {
  EXPECT_EQ(attention_factor(longrope(R"("original_max_position_embeddings": 8192)")), 1);
  EXPECT_EQ(attention_factor(longrope(R"("original_max_position_embeddings": 16384)")), 1);
  EXPECT_NEAR(attention_factor(longrope(R"("original_max_position_embeddings": 4096)")),
              std::sqrt(1 + std::log(2.0) / std::log(4096.0)), 1e-15);
}

TEST(ModelConfig, the_number_of_longrope_factors_is_checked) {
  const std::string config =
      longrope(R"("original_max_position_embeddings": 4096, "head_dim": 96)");
  EXPECT_TRUE(has(refusal(config), "rope_scaling.short_factor: has 64 values, want 48"));
}

TEST(ModelConfig, rotary_dim_is_honoured_and_must_not_contradict) {
  EXPECT_EQ(spec_of(llama(R"("rotary_dim": 64)")).rotary_dim(), 64);
  EXPECT_EQ(spec_of(llama(R"("rotary_dim": 64, "partial_rotary_factor": 0.5)")).rotary_dim(), 64);
  EXPECT_TRUE(has(refusal(llama(R"("rotary_dim": 64, "partial_rotary_factor": 0.25)")),
                  "rotary_dim: 64 beside a partial_rotary_factor of 0.25, which is 32"));
  EXPECT_EQ(spec_of(R"({"model_type": "stablelm", "head_dim": 80, "rotary_dim": 40})").rotary_dim(),
            40);
  EXPECT_EQ(spec_of(R"({"model_type": "stablelm", "head_dim": 80})").rotary_dim(), 20);
}

TEST(ModelConfig, a_part_of_the_head_that_comes_out_odd_is_refused) {
  EXPECT_TRUE(has(refusal(llama(R"("head_dim": 64, "partial_rotary_factor": 0.3)")),
                  "0.3 of head_dim 64 is 19"));
  EXPECT_EQ(spec_of(llama(R"("head_dim": 192, "partial_rotary_factor": 0.334)")).rotary_dim(), 64);
  for (const char* factor : {"0", "-0.5", "1.5"}) {
    EXPECT_TRUE(has(refusal(llama(std::string(R"("partial_rotary_factor": )") + factor)),
                    "is not a number above 0 and up to 1"))
        << factor;
  }
}

TEST(ModelConfig, the_base_inside_the_block_wins_over_a_default_beside_it) {
  EXPECT_EQ(spec_of(llama(R"("rope_parameters": {"rope_theta": 500000})")).base(), 500000);
  EXPECT_TRUE(
      has(warnings(llama(R"("rope_parameters": {"rope_theta": 500000})")), "500000 is taken"));
  EXPECT_EQ(
      refusal(R"({"model_type": "llama", "head_dim": 64, "rope_theta": 20000,
                        "rope_parameters": {"rope_theta": 500000}})"),
      "config.json: rope_parameters.rope_theta: 500000 beside rope_theta 20000: want one value");
}

TEST(ModelConfig, a_base_that_is_none_is_refused) {
  const auto theta = [](const std::string& value) {
    return R"({"model_type": "llama", "head_dim": 64, "rope_theta": )" + value + "}";
  };
  EXPECT_EQ(refusal(theta("0")),
            "config.json: rope_theta: 0 is not a finite number of at least 2^-30");
  EXPECT_EQ(refusal(theta("-1")),
            "config.json: rope_theta: -1 is not a finite number of at least 2^-30");
  EXPECT_EQ(refusal(theta(R"("1e6")")), "config.json: rope_theta: got a string, want a number");
  EXPECT_EQ(refusal(theta("NaN")), "config.json: rope_theta: got a string, want a number");
  EXPECT_EQ(refusal(theta("true")), "config.json: rope_theta: got a boolean, want a number");
  const std::string missing = R"({"model_type": "llama", "head_dim": 64})";
  EXPECT_EQ(spec_of(missing).base(), 10000);
  EXPECT_EQ(warnings(missing), "rope_theta: missing, took 10000\n");
  EXPECT_EQ(spec_of(theta("null")), spec_of(missing));
}

TEST(ModelConfig, infinity_where_nothing_is_read_does_no_harm) {
  EXPECT_EQ(spec_of(llama(R"("time_step_limit": [0.0, Infinity], "name": "a \"NaN\" b")")),
            spec_of(llama("")));
}

// ---- Errors and warnings. ----

TEST(ModelConfig, an_error_names_file_key_value_and_what_is_allowed) {
  EXPECT_EQ(refusal(with_scaling(R"({"type": "linear", "factor": 0.5})")),
            "config.json: rope_scaling.factor: 0.5 is not a number from 1 to 2^40");
  EXPECT_EQ(refusal(with_scaling(R"({"type": "linear", "factor": "8"})")),
            "config.json: rope_scaling.factor: got a string, want a number");
  EXPECT_EQ(refusal(with_scaling(R"({"type": "linear"})")),
            "config.json: rope_scaling: type linear wants factor");
  EXPECT_EQ(refusal(with_scaling(R"({"type": "dynamic"})")),
            "config.json: rope_scaling.factor: missing, type dynamic wants it, or alpha");
  EXPECT_EQ(refusal(with_scaling(R"({"type": "spiral", "factor": 8})")),
            "config.json: rope_scaling.type: \"spiral\" is not known, want one of: default, mrope, "
            "linear, dynamic, xdrope, yarn, llama3, longrope, su, proportional");
  EXPECT_EQ(
      refusal(llama(R"("layer_types": ["full_attention"],
                             "rope_parameters": {"full_attention": {"rope_type": "linear",
                                                                    "factor": -2}})")),
      "config.json: rope_parameters.full_attention.factor: -2 is not a number from 1 to 2^40");
  EXPECT_EQ(refusal(R"({"model_type": "qwen2", "rope_theta": 10000})"),
            "config.json: head_dim: missing, want it, or hidden_size and num_attention_heads");
  EXPECT_EQ(refusal("[1]"), "config.json: config: got an array, want an object");
  EXPECT_TRUE(has(refusal(llama(R"("rope_theta": 5)")), "rope_theta: given twice"));
  EXPECT_TRUE(
      has(refusal(llama(R"("num_hidden_layers": 1000000000)")), "num_hidden_layers: 1000000000"));
  EXPECT_TRUE(has(refusal(llama(R"("num_hidden_layers": 0)")), "num_hidden_layers: 0"));
}

TEST(ModelConfig, a_block_for_a_type_of_layer_must_be_there) {
  EXPECT_EQ(
      refusal(llama(R"("layer_types": ["full_attention", "sliding_attention"],
                             "rope_parameters": {"full_attention": {"rope_type": "default"}})")),
      "config.json: rope_parameters.sliding_attention: missing, there are layers of this type");
  const Model model =
      Model::from_config(llama(R"("layer_types": ["full_attention", "sliding_attention"],
               "rope_parameters": {"full_attention": null,
                                   "sliding_attention": {"rope_type": "default"}})"));
  EXPECT_FALSE(model.layer(0).rotates());
  EXPECT_TRUE(model.layer(1).rotates());
}

TEST(ModelConfig, keys_of_a_block_that_are_not_read_are_one_warning_each) {
  EXPECT_EQ(
      warnings(with_scaling(R"({"type": "linear", "factor": 8, "colour": 1, "beta_fast": 32})")),
      "rope_scaling.beta_fast: ignored, type linear has no such key\n"
      "rope_scaling.colour: ignored, not a key that is known here\n");
}

TEST(ModelConfig, two_blocks_must_not_contradict_each_other) {
  EXPECT_EQ(spec_of(llama(R"("rope_parameters": {"rope_type": "linear", "factor": 8},
                             "rope_scaling": {"rope_type": "linear", "factor": 8})")),
            spec_of(with_scaling(R"({"type": "linear", "factor": 8})")));
  EXPECT_EQ(refusal(llama(R"("rope_parameters": {"rope_type": "linear", "factor": 8},
                             "rope_scaling": {"rope_type": "linear", "factor": 4})")),
            "config.json: rope_scaling.factor: 4 beside rope_parameters.factor 8: want one value");
}

TEST(ModelConfig, integers_and_real_numbers_mean_the_same) {
  EXPECT_EQ(spec_of(with_scaling(R"({"type": "llama3", "factor": 8, "low_freq_factor": 1,
                                     "high_freq_factor": 4, "original_max_position_embeddings": 8192})")),
            spec_of(with_scaling(R"({"type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                                     "high_freq_factor": 4.0,
                                     "original_max_position_embeddings": 8192.0})")));
}

}  // namespace
}  // namespace ropewalk
