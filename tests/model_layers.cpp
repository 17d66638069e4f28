// Which layers rotate, and what families say of them.

#include <gtest/gtest.h>

#include <cmath>
#include <ropewalk/error.hpp>
#include <ropewalk/model.hpp>

#include "model_config.hpp"

namespace ropewalk::testing {
namespace {

// ---- Layers. ----

TEST(ModelLayers, of_baichuan_the_7b_rotates_and_the_13b_does_not) {
  const auto of = [](const std::string& sizes) {
    return Model::from_config(R"({"model_type": "baichuan", )" + sizes + "}");
  };
  const Model small = of(R"("hidden_size": 4096, "num_attention_heads": 32,
                            "num_hidden_layers": 32, "max_position_embeddings": 4096)");
  EXPECT_TRUE(small.warnings().empty());
  EXPECT_EQ(small.layer(31).spec(), Spec({.head_dim = 128,
                                          .rotary_dim = 128,
                                          .base = 10000.0,
                                          .frequency_rounding = FrequencyRounding::kFloat32}));
  const Model large = of(R"("hidden_size": 5120, "num_attention_heads": 40,
                            "num_hidden_layers": 40, "model_max_length": 4096)");
  EXPECT_FALSE(large.layer(0).rotates());
  EXPECT_TRUE(large.warnings().empty());
}

TEST(ModelLayers, a_llama_has_one_kind_of_layer) {
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

TEST(ModelLayers, layers_of_two_bases_are_two_kinds_in_the_order_of_their_first) {
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

TEST(ModelLayers, a_lone_kind_has_the_name_that_the_file_has) {
  const Model model = Model::from_config(llama(
      R"("num_hidden_layers": 2, "layer_types": ["sliding_attention", "sliding_attention"])"));
  ASSERT_EQ(model.kinds().size(), 1u);
  EXPECT_EQ(&model.kind("sliding_attention"), &model.kinds()[0]);
}

TEST(ModelLayers, a_list_that_is_too_long_is_warned_about) {
  EXPECT_EQ(warnings(R"({"model_type": "smollm3", "head_dim": 64, "num_hidden_layers": 2,
                         "no_rope_layers": [1, 1, 0]})"),
            "no_rope_layers: 3 layers, of which the first 2 are read\n");
}

TEST(ModelLayers, layers_without_rope_do_not_rotate) {
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

TEST(ModelLayers, layers_of_a_sliding_type_follow_the_flat_block) {
  const Model model = Model::from_config(
      llama(R"("num_hidden_layers": 2, "layer_types": ["sliding_attention", "full_attention"],
               "rope_scaling": {"type": "linear", "factor": 4})"));
  ASSERT_EQ(model.kinds().size(), 2u);
  EXPECT_EQ(model.kinds()[0].spec(), model.kinds()[1].spec());
}

TEST(ModelLayers, the_family_may_leave_sliding_layers_unscaled) {
  const Model model = Model::from_config(
      R"({"model_type": "olmo3", "hidden_size": 4096, "num_attention_heads": 32,
          "num_hidden_layers": 4, "max_position_embeddings": 65536, "rope_theta": 500000,
          "rope_scaling": {"factor": 8.0, "original_max_position_embeddings": 8192,
                           "rope_type": "yarn"}})");
  EXPECT_EQ(model.kind("sliding_attention").spec().scaling(), Scaling{});
  EXPECT_EQ(model.kind("sliding_attention").spec().base(), 500000);
  EXPECT_EQ(model.kind("full_attention").spec().scaling().type, Scaling::Type::kYarn);
}

TEST(ModelLayers, a_base_and_a_width_of_each_layer_are_read_from_lists) {
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
                  "rope_theta: 2 values, and none for layer 2"));
}

TEST(ModelLayers, a_layer_may_have_a_width_of_its_own) {
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

TEST(ModelLayers, families_have_their_pairing) {
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

TEST(ModelLayers, an_unknown_type_is_read_by_its_keys_and_warned_about) {
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

TEST(ModelLayers, what_is_no_pure_rotation_is_refused_by_name) {
  for (const char* name : {"vjepa2", "lightglue"}) {
    const std::string why =
        refusal(R"({"model_type": ")" + std::string(name) + R"(", "hidden_size": 64})");
    EXPECT_TRUE(has(why, name) && has(why, "is no rotation by one axis per pair: the ")) << why;
  }
  EXPECT_TRUE(has(refusal(R"({"model_type": "efficientloftr", "hidden_size": 64})"),
                  "efficientloftr_spec of vision.hpp"));
  EXPECT_TRUE(has(refusal(with_scaling(R"({"rope_type": "default", "use_fope": true})")), "FoPE"));
  EXPECT_TRUE(
      has(refusal(with_scaling(R"({"rope_type": "telechat3-yarn", "factor": 2})")), "vLLM"));
}

TEST(ModelLayers, latent_attention_rotates_the_end_of_the_head) {
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

TEST(ModelLayers, queries_that_are_scaled_with_their_position_are_reported) {
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

TEST(ModelLayers, sections_have_the_order_of_the_family) {
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

}  // namespace
}  // namespace ropewalk::testing
