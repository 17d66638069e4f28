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
  EXPECT_EQ(refusal(theta("NaN")), R"(config.json: rope_theta: got a string "NaN", want a number)");
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
