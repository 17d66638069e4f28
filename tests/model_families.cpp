#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "message.hpp"
#include "model-families.hpp"
#include "model_config.hpp"

namespace ropewalk {
namespace {

std::vector<std::string> types_of(const Family& family) {
  std::istringstream words{std::string(family.model_types)};
  std::vector<std::string> types;
  for (std::string word; words >> word;) types.push_back(word);
  return types;
}

TEST(ModelFamilies, every_model_type_has_one_row) {
  std::set<std::string> seen;
  for (const Family& family : families()) {
    EXPECT_FALSE(family.evidence.empty()) << family.model_types;
    for (const std::string& type : types_of(family)) {
      EXPECT_TRUE(seen.insert(type).second) << type;
      EXPECT_EQ(find_family(type), &family) << type;
    }
  }
  EXPECT_GE(seen.size(), 100u);
  EXPECT_EQ(find_family("llam"), nullptr);
  EXPECT_EQ(find_family("qwen2 qwen3_moe"), nullptr);
  EXPECT_EQ(find_family(""), nullptr);
}

// ---- Names that checkpoints have and transformers has not. ----

struct Published {
  const char* config;
  std::int64_t head_dim;
  std::int64_t rotary_dim;
  Pairing pairing = Pairing::kHalves;
  double base = 10000;
};

TEST(ModelFamilies, names_that_only_checkpoints_have_are_known) {
  constexpr Pairing kAdjacent = Pairing::kAdjacent;
  const Published published[] = {
      {R"({"model_type": "RefinedWebModel", "alibi": false, "hidden_size": 4544, "n_head": 71,
           "n_layer": 32, "multi_query": true})",
       64, 64},
      {R"({"model_type": "RefinedWeb", "alibi": false, "hidden_size": 8192, "n_head": 128,
           "n_head_kv": 8, "n_layer": 60})",
       64, 64},
      {R"({"model_type": "orion", "hidden_size": 5120, "num_attention_heads": 40,
           "num_hidden_layers": 40, "max_position_embeddings": 4096, "rope_theta": 10000.0})",
       128, 128},
      {R"({"model_type": "deepseek", "hidden_size": 2048, "num_attention_heads": 16,
           "num_hidden_layers": 28, "max_position_embeddings": 4096, "rope_scaling": null,
           "rope_theta": 10000})",
       128, 128},
      {R"({"model_type": "phi-msft", "n_embd": 2560, "n_head": 32, "n_head_kv": null,
           "n_layer": 32, "n_positions": 2048, "rotary_dim": 32})",
       80, 32},
      {R"({"model_type": "mixformer-sequential", "n_embd": 2048, "n_head": 32, "n_layer": 24,
           "n_positions": 2048, "rotary_dim": 32})",
       64, 32},
      {R"({"model_type": "bailing_moe", "hidden_size": 2048, "num_attention_heads": 16,
           "num_hidden_layers": 28, "rope_scaling": null, "rope_theta": 600000})",
       128, 128, Pairing::kHalves, 600000},
      {R"({"model_type": "bailing_moe", "hidden_size": 2048, "num_attention_heads": 16,
           "head_dim": 128, "num_hidden_layers": 20, "partial_rotary_factor": 0.5,
           "rotary_dim": 64, "rope_theta": 600000})",
       128, 64, Pairing::kHalves, 600000},
      {R"({"model_type": "internlm", "hidden_size": 4096, "num_attention_heads": 32,
           "num_hidden_layers": 32, "max_position_embeddings": 2048})",
       128, 128},
      {R"({"model_type": "gpt_neo", "hidden_size": 4096, "num_heads": 16, "num_layers": 28,
           "max_position_embeddings": 2048, "jax": true, "rotary": true, "rotary_dim": 64})",
       256, 64, kAdjacent},
  };
  for (const Published& each : published) {
    const Model model = Model::from_config(each.config);
    EXPECT_TRUE(model.warnings().empty()) << each.config;
    ASSERT_EQ(model.kinds().size(), 1u) << each.config;
    EXPECT_EQ(model.layer(0).spec(), Spec({.head_dim = each.head_dim,
                                           .rotary_dim = each.rotary_dim,
                                           .pairing = each.pairing,
                                           .base = each.base,
                                           .frequency_rounding = FrequencyRounding::kFloat32}))
        << each.config;
  }
}

TEST(ModelFamilies, falcon_with_alibi_does_not_rotate_under_any_of_its_names) {
  for (const char* const name : {"falcon", "RefinedWeb", "RefinedWebModel"}) {
    const Model model = Model::from_config(message(
        R"({"model_type": ")", name, R"(", "alibi": true, "hidden_size": 2048, "n_head": 32})"));
    EXPECT_FALSE(model.layer(0).rotates()) << name;
  }
}

TEST(ModelFamilies, gpt_neo_rotates_only_where_its_config_says_so) {
  const Model model = Model::from_config(
      R"({"model_type": "gpt_neo", "hidden_size": 2048, "num_heads": 16, "num_layers": 24})");
  EXPECT_FALSE(model.layer(0).rotates());
}

TEST(ModelFamilies, kimi_k2_5_is_kimi_k2_with_and_without_a_text_config) {
  const std::string keys =
      R"("hidden_size": 7168, "num_attention_heads": 64, "num_hidden_layers": 61, "kv_lora_rank": 512,
         "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "rope_theta": 50000.0,
         "max_position_embeddings": 262144, "rope_scaling": {"type": "yarn", "factor": 64.0,
         "beta_fast": 32.0, "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0,
         "original_max_position_embeddings": 4096})";
  const std::string flat = R"({"model_type": "kimi_k25", )" + keys + "}";
  const Spec spec = testing::spec_of(flat);
  EXPECT_EQ(spec, testing::spec_of(R"({"model_type": "kimi_k2", )" + keys + "}"));
  EXPECT_EQ(spec, testing::spec_of(R"({"model_type": "kimi_k25", "text_config": {)" + keys + "}}"));
  EXPECT_EQ(spec.pairing(), Pairing::kAdjacent);
  EXPECT_EQ(spec.output_pairing(), Pairing::kHalves);
  EXPECT_EQ(spec.rotary_offset(), 128);
  EXPECT_EQ(testing::warnings(flat), "");
}

// base (factor length / trained - (factor - 1))^(d / (d - 2)), the factor 1 where there is none.
TEST(ModelFamilies, internlm_has_its_rule_in_a_block_named_rotary) {
  const auto config = [](const std::string& rotary) {
    return R"({"model_type": "internlm", "hidden_size": 5120, "num_attention_heads": 40,
               "num_hidden_layers": 60, "max_position_embeddings": 4096, "rotary": )" +
           rotary + "}";
  };
  const Spec dynamic = testing::spec_of(config(R"({"base": 10000, "type": "dynamic"})"));
  EXPECT_EQ(frequencies(dynamic, 4096).radians, frequencies(dynamic).radians);
  const double base = 10000 * std::pow(2.0, 128.0 / 126.0);
  EXPECT_NEAR(frequencies(dynamic, 8192).radians[1] / std::pow(base, -2.0 / 128.0), 1, 1e-7);
  const std::string by_two = config(R"({"base": 10000, "type": "dynamic", "scaling_factor": 2.0})");
  EXPECT_NEAR(frequencies(testing::spec_of(by_two), 8192).radians[1] /
                  std::pow(10000 * std::pow(3.0, 128.0 / 126.0), -2.0 / 128.0),
              1, 1e-7);
  EXPECT_EQ(testing::warnings(by_two), "");
  const Spec origin = testing::spec_of(config(R"({"base": 50000, "type": "origin"})"));
  EXPECT_EQ(origin.base(), 50000);
  EXPECT_EQ(origin.scaling(), Scaling{});
  EXPECT_EQ(testing::refusal(config(R"({"base": 10000, "type": "other"})"))
                .find("config.json: rotary.type: \"other\" is not known"),
            0u);
  EXPECT_EQ(testing::refusal(config(R"({"base": "much", "type": "origin"})"))
                .find("config.json: rotary.base: "),
            0u);
}

TEST(ModelFamilies, glm_4_5_is_of_one_axis_and_glm_4_5v_of_three) {
  const std::string keys =
      R"("hidden_size": 4096, "num_attention_heads": 96, "head_dim": 128, "num_hidden_layers": 46,
         "partial_rotary_factor": 0.5, "rope_theta": 1000000})";
  EXPECT_TRUE(testing::spec_of(R"({"model_type": "glm4_moe", )" + keys).axis_of_pair().empty());
  const auto axes = testing::spec_of(R"({"model_type": "glm4v_moe_text", )" + keys).axis_of_pair();
  ASSERT_EQ(axes.size(), 32u);
  for (std::size_t i = 0; i < axes.size(); ++i) EXPECT_EQ(axes[i], i < 8 ? 0 : i < 20 ? 1 : 2);
}

// ---- The table of docs/models.md. ----

std::string pairing_text(const Family& family) {
  if (!family.refused.empty()) return "refused: " + std::string(family.refused);
  if (family.unrotated == Unrotated::kAll) return "no rotation";
  std::string text(name(family.pairing));
  if (family.output_pairing != family.pairing) {
    text += message(" in, ", name(family.output_pairing), " out");
  }
  return text + (family.clockwise ? ", clockwise" : "");
}

std::string base_text(const Family& family) {
  std::string text = family.base ? message(*family.base) : "";
  if (family.base_key != "rope_theta") text += message(" (", family.base_key, ")");
  if (family.local_base != 0) {
    text += message("; sliding ", family.local_base, " (", family.local_key, ")");
  }
  return text;
}

std::string width_text(const Family& family) {
  std::string text;
  if (family.head_dim != 0) text += message("head_dim ", family.head_dim);
  const std::string_view separator = text.empty() ? "" : ", ";
  if (family.rotary_dim != 0) text += message(separator, "rotary_dim ", family.rotary_dim);
  if (family.partial != 1) text += message(separator, family.partial, " of it");
  return text;
}

std::string layers_text(const Family& family) {
  using Kind = LayerPattern::Kind;
  std::string text;
  const LayerPattern& layers = family.layers;
  switch (layers.kind) {
    case Kind::kNone:
    case Kind::kRotatesIsOther: break;
    case Kind::kLastIsFull: text = message("every ", layers.period, "th is full"); break;
    case Kind::kFirstIsFull: text = message("0, ", layers.period, " ... are full"); break;
    case Kind::kSecondIsFull: text = message("1, ", 1 + layers.period, " ... are full"); break;
    case Kind::kFromLast:
      text = message("every ", layers.period, "th before the last is full");
      break;
    case Kind::kCycle: text = message("in turn ", layers.full); break;
  }
  if (layers.first != 0) text += message(", the first ", layers.first, " ", layers.first_type);
  if (layers.last_is_full) text += ", and the last";
  if (family.sliding == Sliding::kOwnBaseUnscaled || family.sliding == Sliding::kUnscaled) {
    text += ", sliding ones unscaled";
  }
  if (family.unrotated == Unrotated::kFull) text += ", which do not rotate";
  if (family.unrotated == Unrotated::kFullIfSlid) text += ", which do not rotate if others slide";
  if (family.unrotated == Unrotated::kListed)
    text = "every 4th, or by no_rope_layers, does not rotate";
  if (!family.block.empty()) text += message(text.empty() ? "" : "; ", "a block of the class");
  if (!family.only_if_key.empty()) {
    text = message("rotate if ", family.only_if_key, " is ", family.only_if_value);
  }
  if (family.sections[0] != 0) {
    text += message(text.empty() ? "" : "; ", "axes ", name(family.axes), " ",
                    bracketed(family.sections));
  }
  return text;
}

std::string table() {
  std::string text =
      "| model_type | pairing | base | width | layers, axes | evidence "
      "|\n|---|---|---|---|---|---|\n";
  for (const Family& family : families()) {
    std::string types;
    for (const std::string& type : types_of(family)) types += (types.empty() ? "" : ", ") + type;
    text += message("| ", types, " | ", pairing_text(family), " | ", base_text(family), " | ",
                    width_text(family), " | ", layers_text(family), " | ", family.evidence, " |\n");
  }
  return text;
}

TEST(ModelFamilies, the_table_in_docs_is_that_of_the_code) {
  std::ifstream file(ROPEWALK_MODELS_DOC);
  std::stringstream document;
  document << file.rdbuf();
  EXPECT_NE(document.str().find(table()), std::string::npos) << "docs/models.md wants this table:\n"
                                                             << table();
}

}  // namespace
}  // namespace ropewalk
