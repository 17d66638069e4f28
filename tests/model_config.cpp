// The decisions of docs/models.md, and what is said of a config that is wrong.

#include <gtest/gtest.h>

#include <cmath>
#include <ropewalk/error.hpp>
#include <ropewalk/model.hpp>

#include "model_config.hpp"

namespace ropewalk::testing {
namespace {

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

TEST(ModelConfig, a_share_is_refused_by_the_name_that_it_has) {
  const auto neox = [](const std::string& share) {
    return refusal(R"({"model_type": "gpt_neox", "head_dim": 96, "rotary_pct": )" + share + "}");
  };
  EXPECT_EQ(neox("1.5"), "config.json: rotary_pct: 1.5 is not a number above 0 and up to 1");
  EXPECT_EQ(neox("0.01"),
            "config.json: rotary_pct: 0.01 of head_dim 96 is 0, want an even number of elements "
            "from 2");
  EXPECT_EQ(neox("[0.5]"), "config.json: rotary_pct: got an array, want a number");
  EXPECT_EQ(refusal(llama(R"("partial_rotary_factor": [null])")),
            "config.json: partial_rotary_factor[0]: got null, want a number");
  EXPECT_EQ(spec_of(llama(R"("partial_rotary_factor": [0.5])")).rotary_dim(), 64);
}

TEST(ModelConfig, a_key_with_an_object_is_no_type_of_layer) {
  EXPECT_EQ(
      refusal(R"({"model_type": "olmo3", "head_dim": 128, "rope_scaling": {"rope_type": "yarn",
                        "factor": 8.0, "beta_fast": {"a": 1}}})"),
      "config.json: rope_scaling.beta_fast: got an object, want one value, or blocks by types "
      "of layers");
}

TEST(ModelConfig, names_that_cannot_be_shown_are_refused) {
  const auto type = [](const std::string& name) {
    return refusal(R"({"head_dim": 64, "rope_theta": 1, "model_type": ")" + name + "\"}");
  };
  EXPECT_EQ(
      type(R"(a\u001b[31mb)"),
      R"(config.json: model_type: "a\u001b[31mb" is not a name of up to 100 bytes on one line)");
  EXPECT_EQ(type(std::string(5000, 'a')), "config.json: model_type: \"" + std::string(100, 'a') +
                                              "...\" is not a name of up to 100 bytes on one line");
  // Cut within a character.
  std::string umlauts = "a";
  for (int i = 0; i < 100; ++i) umlauts += "\u00e4";
  EXPECT_EQ(type(umlauts).find('\n'), std::string::npos);
  EXPECT_EQ(refusal(R"({"model_type": "llama", "head_dim": 64, "layer_types": ["a\nb"]})"),
            R"(config.json: layer_types[0]: "a\nb" is not a name of up to 100 bytes on one line)");
}

// ---- Scaling that no layer would have. ----

std::string gemma3(const std::string& keys) {
  return R"({"model_type": "gemma3_text", "hidden_size": 2560, "num_attention_heads": 8,
             "head_dim": 256, "num_hidden_layers": 6, "max_position_embeddings": 131072, )" +
         keys + "}";
}

TEST(ModelConfig, a_block_of_what_is_no_type_of_layer_is_refused) {
  const std::string sliding = R"("sliding_attention": {"rope_type": "default", "rope_theta": 1e4})";
  const std::string linear = R"({"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6})";
  EXPECT_EQ(
      refusal(gemma3(R"("rope_parameters": {"full_atention": )" + linear + ", " + sliding + "}")),
      "config.json: rope_parameters.full_atention: no type of layer; those of this model are: "
      "full_attention, sliding_attention");
  EXPECT_TRUE(has(refusal(gemma3(R"("rope_parameters": {"foo_attention": )" + linear +
                                 R"(, "full_attention": )" + linear + ", " + sliding + "}")),
                  "rope_parameters.foo_attention: no type of layer"));
}

TEST(ModelConfig, scaling_that_no_layer_takes_is_refused_or_warned_about) {
  const std::string linear = R"({"rope_type": "linear", "factor": 8.0})";
  EXPECT_TRUE(has(warnings(llama(R"("rope_parameters": {"sliding_attention": )" + linear +
                                 R"(, "full_attention": {"rope_type": "default"}})")),
                  "rope_parameters.sliding_attention: not applied, no layer of this type rotates"));
  EXPECT_EQ(refusal(R"({"model_type": "gpt2", "n_embd": 768, "n_head": 12, "rope_scaling": )" +
                    linear + "}"),
            "config.json: rope_scaling: scaling, and no layer of this model rotates");
  EXPECT_EQ(
      warnings(gemma3(R"("sliding_window_pattern": 100, "rope_scaling": )" + linear)),
      "rope_scaling: not applied, all layers are of sliding_attention, which it is not for\n");
}

TEST(ModelConfig, what_stands_around_the_language_model_may_not_contradict_it) {
  const auto vl = [](const std::string& inside, const std::string& beside) {
    return R"({"model_type": "qwen2_5_vl", "text_config": {"model_type": "qwen2_5_vl_text",
        "hidden_size": 2048, "num_attention_heads": 16, "max_position_embeddings": 128000,
        "rope_theta": 1000000.0, "rope_scaling": )" +
           inside + "}, " + beside + "}";
  };
  const std::string plain = R"({"type": "default", "mrope_section": [16, 24, 24]})";
  const std::string yarn = R"({"type": "yarn", "factor": 4.0, "mrope_section": [16, 24, 24],
                               "original_max_position_embeddings": 32768})";
  EXPECT_EQ(warnings(vl(plain, R"("rope_theta": 1000000, "rope_scaling": {"rope_type": "default",
                     "type": "mrope", "mrope_section": [16, 24, 24]})")),
            "");
  EXPECT_EQ(refusal(vl(plain, R"("rope_theta": 500000)")),
            "config.json: rope_theta: 500000 beside text_config.rope_theta 1000000.0: want one "
            "value");
  EXPECT_TRUE(has(refusal(vl(plain, R"("rope_scaling": )" + yarn)), "rope_scaling."));
  EXPECT_EQ(refusal(vl("null", R"("rope_scaling": {"rope_type": "linear", "factor": 4.0})")),
            "config.json: rope_scaling.factor: 4.0 is not read: text_config is, and wants it");
}

TEST(ModelConfig, parts_within_parts_have_an_end) {
  std::string config = llama("");
  for (int i = 0; i < 10; ++i) config = R"({"text_config": )" + config + "}";
  EXPECT_TRUE(has(refusal(config), "parts within parts, want at most 4"));
}

TEST(ModelConfig, blocks_and_what_stands_beside_them_may_not_contradict) {
  const std::string blocks = R"("rope_parameters": {
      "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
      "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}})";
  EXPECT_EQ(warnings(gemma3(blocks)), "");
  EXPECT_EQ(refusal(gemma3(blocks + R"(, "rope_local_base_freq": 77777)")),
            "config.json: rope_parameters.sliding_attention.rope_theta: 10000 beside "
            "rope_local_base_freq 77777: want one value");
  EXPECT_EQ(warnings(gemma3(blocks + R"(, "rope_scaling": {"type": "linear", "factor": 8.0})")),
            "");
  EXPECT_EQ(
      refusal(gemma3(blocks + R"(, "rope_scaling": {"rope_type": "linear", "factor": 4.0})")),
      "config.json: rope_scaling.factor: 4.0 beside a block for each type of layer, none of which "
      "says so: want one value");
}

// ---- Other files, other models. ----

TEST(ModelConfig, a_spec_is_no_config) {
  EXPECT_EQ(refusal(R"({"head_dim": 128, "pairing": "halves", "base": 500000})"),
            "config.json: is a Spec, not a model's config: read it as one, with --spec or "
            "spec_from_json");
  EXPECT_EQ(refusal(R"({"hidden_size": 64})"),
            "config.json: model_type: missing, and there is no key of RoPE to go by");
}

TEST(ModelConfig, other_models_of_the_same_name_are_refused) {
  EXPECT_TRUE(has(refusal(R"({"model_type": "chatglm", "hidden_size": 4096,
      "num_attention_heads": 32, "num_layers": 28, "position_encoding_2d": true})"),
                  "config.json: position_encoding_2d: this is ChatGLM-6B"));
  EXPECT_TRUE(has(refusal(R"({"model_type": "chatglm", "hidden_size": 4096,
      "num_attention_heads": 32, "num_layers": 28, "inner_hidden_size": 16384})"),
                  "config.json: inner_hidden_size: this is ChatGLM-6B"));
  EXPECT_TRUE(has(refusal(R"({"model_type": "mpt", "d_model": 4096, "n_heads": 32,
      "attn_config": {"rope": true, "alibi": false}})"),
                  "config.json: attn_config.rope: MPT with RoPE"));
  EXPECT_EQ(refusal(R"({"model_type": "mpt", "d_model": 4096, "n_heads": 32,
      "attn_config": {"rope": false, "alibi": true}})"),
            "accepted");
}

TEST(ModelConfig, what_turns_or_moves_the_text_of_a_terminal_is_escaped) {
  EXPECT_EQ(
      refusal("{\"model_type\": \"a\u009b31mb\"}"),
      R"(config.json: model_type: "a\u009b31mb" is not a name of up to 100 bytes on one line)");
  EXPECT_EQ(warnings(with_scaling("{\"type\": \"default\", \"\u202egnp\": 1}")),
            "rope_scaling.\\u202egnp: ignored, not a key that is known here\n");
  const std::string raw = refusal("{\"a\": \x9b}");
  EXPECT_TRUE(has(raw, "not JSON")) << raw;
  EXPECT_EQ(raw.find('\x9b'), std::string::npos);
}

TEST(ModelConfig, a_file_of_junk_has_its_warnings_counted) {
  std::string block = R"({"type": "default")";
  for (int i = 0; i < 20000; ++i) block += ", \"k" + std::to_string(i) + "\": 1";
  const Model model = Model::from_config(with_scaling(block + "}"));
  ASSERT_EQ(model.warnings().size(), 101u);
  EXPECT_EQ(model.warnings()[100], "more than 100 warnings: the rest is not said");
}

TEST(ModelConfig, values_of_other_types_are_refused) {
  EXPECT_EQ(refusal(gemma3(R"("sliding_window_pattern": "LLLG")")),
            R"(config.json: sliding_window_pattern: got a string "LLLG", want an integer)");
  EXPECT_EQ(refusal(gemma3(R"("sliding_window_pattern": [1])")),
            "config.json: sliding_window_pattern: got an array, want an integer");
  EXPECT_EQ(refusal(R"({"model_type": "deepseek_v3", "rope_interleave": "x", "head_dim": 64})"),
            R"(config.json: rope_interleave: got a string "x", want true or false)");
  EXPECT_EQ(refusal(R"({"model_type": "exaone4", "head_dim": 64, "sliding_window_pattern": "GL"})"),
            R"(config.json: sliding_window_pattern: "GL", want an integer or "LLLG")");
  EXPECT_EQ(refusal(R"({"model_type": "qwen", "kv_channels": 128, "use_logn_attn": true,
                        "seq_length": 1})"),
            "config.json: seq_length: 1 is not an integer from 2");
}

TEST(ModelConfig, the_factor_of_yarn_must_be_said) {
  EXPECT_EQ(refusal(with_scaling(R"({"type": "yarn"})")),
            "config.json: rope_scaling.factor: missing, type yarn wants it, or "
            "original_max_position_embeddings");
  // As the documents of Qwen2.5 have it.
  EXPECT_EQ(warnings(with_scaling(R"({"type": "yarn", "factor": 4.0,
                                      "original_max_position_embeddings": 8192})")),
            "");
}

TEST(ModelConfig, the_base_of_phi3small_is_read) {
  EXPECT_EQ(spec_of(R"({"model_type": "phi3small", "hidden_size": 4096, "num_attention_heads": 32,
                        "rope_embedding_base": 1000000})")
                .base(),
            1e6);
}

TEST(ModelConfig, nothing_is_no_scaling) {
  for (const char* block :
       {"null", "{}", R"("")", R"({"rope_type": "default"})", R"({"type": null})"}) {
    EXPECT_EQ(spec_of(with_scaling(block)), spec_of(llama(""))) << block;
    EXPECT_EQ(warnings(with_scaling(block)), "") << block;
  }
  EXPECT_EQ(refusal(with_scaling(R"("{\"type\": \"linear\"}")")),
            R"(config.json: rope_scaling: got a string "{\"type\": \"linear\"}", want an object)");
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

TEST(ModelConfig, an_element_of_a_list_is_named) {
  std::string config = longrope(R"("original_max_position_embeddings": 4096)");
  config.replace(config.find("1.5"), 3, "0.0");
  EXPECT_TRUE(has(refusal(config), "config.json: rope_scaling.short_factor[1]: 0 is not"))
      << refusal(config);
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
  EXPECT_EQ(refusal(theta(R"("1e6")")),
            R"(config.json: rope_theta: got a string "1e6", want a number)");
  EXPECT_EQ(refusal(theta("NaN")), "config.json: rope_theta: got NaN, want a number");
  EXPECT_EQ(refusal(theta("true")), "config.json: rope_theta: got a boolean true, want a number");
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
            R"(config.json: rope_scaling.factor: got a string "8", want a number)");
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
}  // namespace ropewalk::testing
