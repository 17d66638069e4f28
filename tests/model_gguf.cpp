#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numbers>
#include <ropewalk/error.hpp>
#include <ropewalk/frequencies.hpp>
#include <ropewalk/model.hpp>

#include "conformance.hpp"
#include "gguf_files.hpp"
#include "model.hpp"

namespace ropewalk {
namespace {

using testing::GgufFile;
using testing::Json;
using testing::read_case;

// What every model has: 8 layers, heads of 128.
GgufFile file_of(const std::string& architecture, std::uint32_t layers = 8,
                 std::uint32_t head_dim = 128) {
  GgufFile file;
  file.string("general.architecture", architecture)
      .u32(architecture + ".block_count", layers)
      .u32(architecture + ".context_length", 32768)
      .u32(architecture + ".embedding_length", 32 * head_dim)
      .u32(architecture + ".attention.head_count", 32);
  return file;
}

Model model_of(const GgufFile& file) {
  const std::string bytes = file.bytes();
  return model_from_gguf(
      formats::Source::of(std::as_bytes(std::span(bytes.data(), bytes.size())), "x.gguf"));
}

std::string refusal(const GgufFile& file) {
  try {
    model_of(file);
  } catch (const Error& error) {
    const std::string what = error.what();
    EXPECT_EQ(what.find('\n'), what.npos);
    return (error.code() == ErrorCode::kUnsupported ? "unsupported: " : "") + what;
  }
  return "accepted";
}

// Each on a line of its own.
std::string warnings(const Model& model) {
  std::string lines;
  for (const std::string& line : model.warnings()) lines += line + "\n";
  return lines;
}

// "full_attention 0 3 no, sliding_attention 1 2": the kinds, their layers, and which do not rotate.
std::string kinds(const Model& model) {
  std::string text;
  for (const LayerKind& kind : model.kinds()) {
    text += (text.empty() ? "" : ", ") + kind.layer_type();
    for (const std::int64_t layer : kind.layer_indices()) text += " " + std::to_string(layer);
    if (!kind.rotates()) text += " no";
  }
  return text;
}

void expect_frequencies(const Spec& spec, std::optional<std::int64_t> length,
                        const std::string& name) {
  const Json expected = read_case("inv_freq", name);
  const Frequencies given = frequencies(spec, length);
  const auto wanted = testing::values_of<double>(expected["inv_freq"]);
  ASSERT_EQ(given.radians.size(), wanted.size()) << name;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_NEAR(given.radians[i], wanted[i], 1e-6 * wanted[i]) << name << " pair " << i;
  }
  EXPECT_EQ(spec.rotary_dim(), expected["rotary_dim"].get<std::int64_t>()) << name;
  // GGUF has it as a float.
  EXPECT_NEAR(given.attention_factor, expected["attention_factor"].get<double>(), 1e-7) << name;
}

TEST(ModelGguf, a_llama_rotates_adjacent_pairs_of_the_whole_head) {
  const Model model = model_of(file_of("llama").f32("llama.rope.freq_base", 1e6F));
  EXPECT_EQ(model.model_type(), "llama");
  EXPECT_EQ(model.trained_length(), 32768);
  EXPECT_EQ(kinds(model), "full_attention 0 1 2 3 4 5 6 7");
  EXPECT_EQ(warnings(model), "");
  EXPECT_EQ(model.layer(7).spec(),
            Spec({.head_dim = 128, .rotary_dim = 128, .pairing = Pairing::kAdjacent, .base = 1e6}));
  EXPECT_EQ(model.layer(0).softmax_scale_factor(), 1);
  EXPECT_FALSE(model.layer(0).query_scale());
}

TEST(ModelGguf, the_architecture_says_the_pairing) {
  const auto pairing = [](const std::string& name) -> std::string {
    GgufFile file = file_of(name, 64).u32(name + ".attention.sliding_window", 4096);
    if (name == "qwen2vl" || name == "qwen3vl" || name == "qwen35") {
      file.i32s(name + ".rope.dimension_sections", {22, 21, 21, 0});
    }
    const Model model = model_of(file);
    EXPECT_EQ(warnings(model), "") << name;
    for (const LayerKind& kind : model.kinds()) {
      if (kind.rotates()) return std::string(ropewalk::name(kind.spec().pairing()));
    }
    return "none";
  };
  for (const char* adjacent :
       {"llama", "llama4", "baichuan", "internlm2", "minicpm", "command-r", "cohere2", "olmo",
        "deepseek", "deepseek2", "chatglm", "glm4", "granite", "bailingmoe", "smollm3", "ernie4_5",
        "mistral3", "mistral4", "glm-dsa"}) {
    EXPECT_EQ(pairing(adjacent), "adjacent") << adjacent;
  }
  for (const char* halves :
       {"falcon",     "stablelm",    "qwen",      "qwen2",    "qwen3",       "qwen3moe",
        "olmo2",      "phi2",        "phi3",      "gemma",    "gemma2",      "gemma3",
        "starcoder2", "gptneox",     "nemotron",  "exaone",   "exaone4",     "gpt-oss",
        "glm4moe",    "hunyuan-moe", "lfm2",      "seed_oss", "minimax-m2",  "qwen2vl",
        "qwen3vl",    "qwen35",      "qwen3next", "afmoe",    "smallthinker"}) {
    EXPECT_EQ(pairing(halves), "halves") << halves;
  }
  for (const char* none : {"gpt2", "mpt", "bloom", "mamba", "t5", "nemotron_h", "kimi-linear"}) {
    EXPECT_EQ(pairing(none), "none") << none;
  }
}

TEST(ModelGguf, an_unknown_architecture_is_assumed_adjacent_and_said) {
  const Model model = model_of(file_of("novel"));
  EXPECT_EQ(model.layer(0).spec().pairing(), Pairing::kAdjacent);
  EXPECT_EQ(
      warnings(model),
      "x.gguf: architecture novel is not known: assumed adjacent pairs, and all layers alike\n");
}

TEST(ModelGguf, the_width_of_a_head_is_given_or_follows_and_the_window_may_be_narrower) {
  const Model model = model_of(file_of("qwen3")
                                   .u32("qwen3.attention.key_length", 192)
                                   .u32("qwen3.rope.dimension_count", 64));
  EXPECT_EQ(model.layer(0).spec().head_dim(), 192);
  EXPECT_EQ(model.layer(0).spec().rotary_dim(), 64);
  EXPECT_EQ(model.layer(0).spec().rotary_offset(), 0);
}

// The divisors that converters write for llama3: Meta's rule, apart from the plain frequency.
std::vector<float> llama3_divisors(double base, int pairs, double factor, double low, double high,
                                   double trained) {
  std::vector<float> divisors;
  for (int i = 0; i < pairs; ++i) {
    const double wavelength = 2 * std::numbers::pi * std::pow(base, static_cast<double>(i) / pairs);
    const double smooth = (trained / wavelength - low) / (high - low);
    divisors.push_back(static_cast<float>(wavelength < trained / high ? 1
                                          : wavelength > trained / low
                                              ? factor
                                              : 1 / ((1 - smooth) / factor + smooth)));
  }
  return divisors;
}

TEST(ModelGguf, rope_freqs_of_a_llama3_give_its_frequencies) {
  const Model model =
      model_of(file_of("llama")
                   .f32("llama.rope.freq_base", 500000)
                   .floats("rope_freqs.weight", llama3_divisors(500000, 64, 8, 1, 4, 8192)));
  EXPECT_EQ(model.layer(0).spec().scaling().type, Scaling::Type::kDivisors);
  expect_frequencies(model.layer(0).spec(), {}, "llama3_1_8b");
}

TEST(ModelGguf, rope_factors_are_longrope_and_the_length_picks) {
  const Json config = read_case("inv_freq", "phi3_mini_128k_seq4096")["config"];
  const auto list = [&](const char* key) {
    return config["rope_scaling"][key].get<std::vector<float>>();
  };
  // Converters write the factor on cos and sin, and no type.
  GgufFile file = file_of("phi3", 32, 96);
  file.u32("phi3.rope.dimension_count", 96)
      .u32("phi3.rope.scaling.original_context_length", 4096)
      .f32("phi3.rope.scaling.attn_factor",
           static_cast<float>(std::sqrt(1 + std::log(32.0) / std::log(4096.0))))
      .floats("rope_factors_long.weight", list("long_factor"))
      .floats("rope_factors_short.weight", list("short_factor"));
  const Model model = model_of(file);
  EXPECT_EQ(warnings(model), "");
  expect_frequencies(model.layer(0).spec(), 4096, "phi3_mini_128k_seq4096");
  expect_frequencies(model.layer(0).spec(), 4097, "phi3_mini_128k_seq4097");
}

TEST(ModelGguf, a_factor_is_linear_unless_the_type_says_otherwise) {
  const auto spec = [](GgufFile file) { return model_of(file).layer(0).spec(); };
  const Scaling linear{.type = Scaling::Type::kLinear, .factor = 4.0};
  EXPECT_EQ(spec(file_of("llama").f32("llama.rope.scaling.factor", 4)).scaling(), linear);
  EXPECT_EQ(spec(file_of("llama").f32("llama.rope.scale_linear", 4)).scaling(), linear);
  EXPECT_EQ(spec(file_of("llama").f32("llama.rope.scaling.factor", 0)).scaling(), Scaling{});
  EXPECT_EQ(spec(file_of("llama").f32("llama.rope.scaling.factor", 1)).scaling(), Scaling{});
  // The newer key wins.
  EXPECT_EQ(
      spec(file_of("llama").f32("llama.rope.scaling.factor", 4).f32("llama.rope.scale_linear", 2))
          .scaling(),
      linear);
  const Model none = model_of(file_of("llama")
                                  .string("llama.rope.scaling.type", "none")
                                  .f32("llama.rope.scaling.factor", 4));
  EXPECT_EQ(none.layer(0).spec().scaling(), Scaling{});
  EXPECT_EQ(warnings(none),
            "x.gguf: llama.rope.scaling.factor: 4 is not applied: the type of scaling is none\n");
  EXPECT_EQ(frequencies(spec(file_of("llama").f32("llama.rope.scaling.attn_factor", 1.25F)))
                .attention_factor,
            1.25);
}

GgufFile yarn_file(const std::string& name, float factor) {
  return file_of(name)
      .string(name + ".rope.scaling.type", "yarn")
      .f32(name + ".rope.scaling.factor", factor)
      .u32(name + ".rope.scaling.original_context_length", 4096);
}

TEST(ModelGguf, yarn_is_read_with_every_key) {
  const Model plain = model_of(yarn_file("qwen3", 4));
  Scaling scaling{
      .type = Scaling::Type::kYarn, .factor = 4.0, .original_max_position_embeddings = 4096};
  EXPECT_EQ(plain.layer(0).spec().scaling(), scaling);
  // 1 + 0.1 ln 4
  EXPECT_NEAR(frequencies(plain.layer(0).spec()).attention_factor, 1.138629436111989, 1e-15);
  EXPECT_EQ(warnings(plain), "");
  const Model all = model_of(yarn_file("qwen3", 4)
                                 .f32("qwen3.rope.scaling.yarn_beta_fast", 16)
                                 .f32("qwen3.rope.scaling.yarn_beta_slow", 2)
                                 .f32("qwen3.rope.scaling.yarn_ext_factor", 0.5F)
                                 .f32("qwen3.rope.scaling.attn_factor", 2));
  scaling.beta_fast = 16;
  scaling.beta_slow = 2;
  scaling.extrapolation_factor = 0.5;
  EXPECT_EQ(all.layer(0).spec().scaling(), scaling);
  EXPECT_NEAR(frequencies(all.layer(0).spec()).attention_factor, 2 * 1.138629436111989, 1e-15);
}

TEST(ModelGguf, what_yarn_ignores_or_assumes_is_said) {
  const Model model = model_of(yarn_file("qwen3", 4).f32("qwen3.rope.scaling.yarn_attn_factor", 3));
  EXPECT_EQ(warnings(model),
            "x.gguf: qwen3.rope.scaling.yarn_attn_factor: 3 is not applied: with yarn, llama.cpp "
            "computes it, here 1.138629436111989\n");
  const Model assumed = model_of(file_of("qwen3")
                                     .string("qwen3.rope.scaling.type", "yarn")
                                     .f32("qwen3.rope.scaling.factor", 4));
  EXPECT_EQ(assumed.layer(0).spec().scaling().original_max_position_embeddings, 32768);
  EXPECT_EQ(
      warnings(assumed),
      "x.gguf: qwen3.rope.scaling.original_context_length: missing, context_length 32768 taken "
      "for it\n");
  EXPECT_EQ(warnings(model_of(yarn_file("qwen3", 1))),
            "x.gguf: qwen3.rope.scaling.type: yarn without a factor above 1 scales nothing\n");
  EXPECT_NE(warnings(model_of(yarn_file("gpt-oss", 32))).find("ggml rounds yarn's range"),
            std::string::npos);
  // Where there is no yarn, it is the factor.
  const Model linear = model_of(file_of("llama").f32("llama.rope.scaling.yarn_attn_factor", 3));
  EXPECT_EQ(frequencies(linear.layer(0).spec()).attention_factor, 3);
}

// DeepSeek as it is converted: heads of [128 | 64], the keys of the compressed heads beside them.
GgufFile deepseek_file(float multiplier) {
  return yarn_file("deepseek2", 40)
      .u32("deepseek2.attention.key_length", 576)
      .u32("deepseek2.attention.key_length_mla", 192)
      .u32("deepseek2.rope.dimension_count", 64)
      .f32("deepseek2.rope.scaling.yarn_log_multiplier", multiplier);
}

TEST(ModelGguf, latent_attention_rotates_the_end_of_the_head_and_scales_the_softmax) {
  const Model v3 = model_of(deepseek_file(0.1F));
  const Spec& spec = v3.layer(0).spec();
  EXPECT_EQ(spec.head_dim(), 192);
  EXPECT_EQ(spec.rotary_offset(), 128);
  EXPECT_EQ(spec.pairing(), Pairing::kAdjacent);
  expect_frequencies(spec, {}, "deepseek_v3");
  EXPECT_NEAR(v3.layer(0).softmax_scale_factor(), 1.8738542071, 1e-9);  // (0.1 ln 40 + 1)^2
  // mscale and mscale_all_dim are both 0.707.
  const Model v2 = model_of(deepseek_file(0.0707F));
  EXPECT_EQ(frequencies(v2.layer(0).spec()).attention_factor, 1);
  EXPECT_NEAR(v2.layer(0).softmax_scale_factor(), 1.5896261652, 1e-6);
  // Older files have the whole head only.
  const Model old = model_of(yarn_file("deepseek2", 40)
                                 .u32("deepseek2.attention.key_length", 192)
                                 .u32("deepseek2.rope.dimension_count", 64)
                                 .f32("deepseek2.rope.scaling.yarn_log_multiplier", 0.1F));
  EXPECT_EQ(old.layer(0).spec(), spec);
}

TEST(ModelGguf, a_log_multiplier_of_one_leaves_cos_and_sin_alone) {
  const Model model = model_of(yarn_file("mistral3", 16)
                                   .f32("mistral3.rope.scaling.yarn_log_multiplier", 1)
                                   .f32("mistral3.attention.temperature_scale", 0.1F));
  EXPECT_EQ(frequencies(model.layer(0).spec()).attention_factor, 1);
  EXPECT_EQ(model.layer(0).softmax_scale_factor(), 1);
  EXPECT_EQ(model.layer(0).query_scale(), (QueryScale{.scale = 0.1F, .offset = 0, .length = 4096}));
  // And where it is not read, it is said.
  EXPECT_EQ(
      warnings(model_of(yarn_file("qwen3", 4).f32("qwen3.rope.scaling.yarn_log_multiplier", 1))),
      "x.gguf: qwen3.rope.scaling.yarn_log_multiplier: 1 is not read for this architecture\n");
}

std::vector<std::int64_t> axes_of(const Spec& spec) {
  return {spec.axis_of_pair().begin(), spec.axis_of_pair().end()};
}

TEST(ModelGguf, sections_are_blocks_or_cycle_by_architecture) {
  const auto with = [](const std::string& name, std::uint32_t width,
                       const std::vector<std::int32_t>& sections) {
    return model_of(file_of(name, 8, width).i32s(name + ".rope.dimension_sections", sections));
  };
  const Model qwen2 = with("qwen2vl", 128, {16, 24, 24, 0});
  EXPECT_EQ(qwen2.layer(0).spec().fields().axes, (Axes{{16, 24, 24}, Axes::Order::kBlocks}));
  EXPECT_EQ(warnings(qwen2), "");
  const Model qwen3 = with("qwen3vl", 128, {24, 20, 20, 0});
  EXPECT_EQ(qwen3.layer(0).spec().fields().axes, (Axes{{24, 20, 20}, Axes::Order::kGgmlCycle}));
  const auto axes = axes_of(qwen3.layer(0).spec());
  EXPECT_EQ(std::vector(axes.begin() + 58, axes.end()),
            (std::vector<std::int64_t>{1, 2, 0, 3, 3, 0}));
  EXPECT_EQ(
      warnings(qwen3),
      "x.gguf: qwen3vl.rope.dimension_sections: the pairs behind the last whole cycle turn with "
      "axis 3, as in ggml; with axis 0 in transformers\n");
  const Model qwen35 = with("qwen35", 64, {11, 11, 10, 0});
  EXPECT_EQ(qwen35.layer(3).spec().fields().axes, (Axes{{11, 11, 10}, Axes::Order::kGgmlCycle}));
  EXPECT_EQ(warnings(qwen35), "");
  EXPECT_EQ(with("hunyuan_vl", 128, {16, 16, 16, 16}).layer(0).spec().fields().axes,
            (Axes{{16, 16, 16, 16}, Axes::Order::kBlocks}));
}

TEST(ModelGguf, sections_leave_every_frequency_to_its_pair) {
  expect_frequencies(model_of(file_of("qwen2vl")
                                  .f32("qwen2vl.rope.freq_base", 1e6F)
                                  .i32s("qwen2vl.rope.dimension_sections", {16, 24, 24, 0}))
                         .layer(0)
                         .spec(),
                     {}, "qwen2_vl_7b");
}

TEST(ModelGguf, sections_that_do_not_fill_the_window_repeat) {
  const auto axes = [](const std::string& name, const std::vector<std::int32_t>& sections) {
    const Model model =
        model_of(file_of(name, 1, 16).i32s(name + ".rope.dimension_sections", sections));
    EXPECT_FALSE(model.layer(0).spec().fields().axes);
    return axes_of(model.layer(0).spec());
  };
  using Expected = std::vector<std::int64_t>;
  EXPECT_EQ(axes("qwen2vl", {1, 2, 0, 0}), (Expected{0, 1, 1, 0, 1, 1, 0, 1}));
  EXPECT_EQ(axes("qwen2vl", {1, 1, 1, 2}), (Expected{0, 1, 2, 3, 3, 0, 1, 2}));
  EXPECT_EQ(axes("qwen2vl", {2, 20, 20}), (Expected{0, 0, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(axes("qwen3vl", {2, 1, 1, 0}), (Expected{0, 1, 2, 0, 0, 1, 2, 0}));
}

TEST(ModelGguf, glm4_with_sections_pairs_halves) {
  const GgufFile file = file_of("glm4").u32("glm4.rope.dimension_count", 64);
  EXPECT_EQ(model_of(file).layer(0).spec().pairing(), Pairing::kAdjacent);
  GgufFile with = file;
  const Model model = model_of(with.i32s("glm4.rope.dimension_sections", {8, 12, 12, 0}));
  EXPECT_EQ(model.layer(0).spec().pairing(), Pairing::kHalves);
  EXPECT_EQ(model.layer(0).spec().fields().axes, (Axes{{8, 12, 12}, Axes::Order::kBlocks}));
  GgufFile unused = file;
  unused.i32s("glm4.rope.dimension_sections", {0, 0, 0, 0});
  EXPECT_EQ(model_of(unused).layer(0).spec(), model_of(file).layer(0).spec());
}

TEST(ModelGguf, gemma3_slides_five_layers_of_six_with_a_base_of_their_own) {
  GgufFile file = file_of("gemma3", 12, 256);
  file.f32("gemma3.rope.freq_base", 1e6F).f32("gemma3.rope.scaling.factor", 8);
  EXPECT_EQ(kinds(model_of(file)), "full_attention 0 1 2 3 4 5 6 7 8 9 10 11");
  const Model model = model_of(file.u32("gemma3.attention.sliding_window", 1024));
  EXPECT_EQ(kinds(model), "sliding_attention 0 1 2 3 4 6 7 8 9 10, full_attention 5 11");
  expect_frequencies(model.kind("full_attention").spec(), {}, "gemma3_4b_legacy_full_attention");
  expect_frequencies(model.kind("sliding_attention").spec(), {},
                     "gemma3_4b_legacy_sliding_attention");
  file.f32("gemma3.rope.freq_base_swa", 20000).u32("gemma3.attention.sliding_window_pattern", 2);
  EXPECT_EQ(kinds(model_of(file)), "sliding_attention 0 2 4 6 8 10, full_attention 1 3 5 7 9 11");
  EXPECT_EQ(model_of(file).kind("sliding_attention").spec().base(), 20000);
}

TEST(ModelGguf, some_architectures_have_one_base_and_one_scaling_for_all) {
  const Model model = model_of(file_of("gpt-oss", 4, 64)
                                   .f32("gpt-oss.rope.freq_base", 150000)
                                   .string("gpt-oss.rope.scaling.type", "yarn")
                                   .f32("gpt-oss.rope.scaling.factor", 32)
                                   .u32("gpt-oss.rope.scaling.original_context_length", 4096));
  EXPECT_EQ(kinds(model), "sliding_attention 0 2, full_attention 1 3");
  EXPECT_EQ(model.layer(0).spec(), model.layer(1).spec());
  // OLMo 3: yarn in full layers only.
  const Model olmo = model_of(yarn_file("olmo2", 8)
                                  .f32("olmo2.rope.freq_base", 500000)
                                  .u32("olmo2.attention.sliding_window", 4096));
  EXPECT_EQ(kinds(olmo), "sliding_attention 0 1 2 4 5 6, full_attention 3 7");
  EXPECT_EQ(olmo.layer(0).spec(), Spec({.head_dim = 128, .rotary_dim = 128, .base = 500000.0}));
  EXPECT_EQ(olmo.layer(3).spec().scaling().type, Scaling::Type::kYarn);
}

TEST(ModelGguf, yarn_leaves_sliding_layers_that_are_not_scaled_alone) {
  const Model model = model_of(yarn_file("gemma3", 8).u32("gemma3.attention.sliding_window", 1024));
  EXPECT_EQ(model.layer(0).spec(), Spec({.head_dim = 128, .rotary_dim = 128, .base = 10000.0}));
  EXPECT_NEAR(frequencies(model.layer(5).spec()).attention_factor, 1.2079441541679836, 1e-15);
}

TEST(ModelGguf, gemma4_has_a_pattern_two_widths_and_pairs_that_stand_still) {
  std::vector<float> divisors(256, 1e30F);
  std::fill_n(divisors.begin(), 64, 1.0F);
  const Model model =
      model_of(file_of("gemma4", 3)
                   .u32("gemma4.attention.key_length", 512)
                   .u32("gemma4.attention.key_length_swa", 256)
                   .u32("gemma4.rope.dimension_count", 512)
                   .u32("gemma4.rope.dimension_count_swa", 256)
                   .f32("gemma4.rope.freq_base", 1e6F)
                   .f32("gemma4.rope.freq_base_swa", 10000)
                   .bools("gemma4.attention.sliding_window_pattern", {true, false, true})
                   .floats("rope_freqs.weight", divisors));
  EXPECT_EQ(kinds(model), "sliding_attention 0 2, full_attention 1");
  expect_frequencies(model.layer(0).spec(), {}, "gemma4_e2b_sliding_attention");
  const Frequencies full = frequencies(model.layer(1).spec());
  const auto wanted =
      testing::values_of<double>(read_case("inv_freq", "gemma4_e2b_full_attention")["inv_freq"]);
  ASSERT_EQ(full.radians.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_NEAR(full.radians[i], wanted[i], 1e-6 * wanted[i] + 1e-29) << i;
  }
}

TEST(ModelGguf, layers_that_do_not_rotate_are_known_by_architecture) {
  const auto kinds_of = [](const std::string& name, std::uint32_t window,
                           std::uint32_t layers = 8) {
    return kinds(model_of(file_of(name, layers).u32(name + ".attention.sliding_window", window)));
  };
  EXPECT_EQ(kinds_of("smollm3", 0), "full_attention 0 1 2 4 5 6, full_attention 3 7 no");
  EXPECT_EQ(kinds_of("cohere2", 4096), "sliding_attention 0 1 2 4 5 6, full_attention 3 7 no");
  EXPECT_EQ(kinds_of("exaone-moe", 128), "sliding_attention 0 1 2 4 5 6, full_attention 3 7 no");
  EXPECT_EQ(kinds_of("exaone4", 4096), "full_attention 0 1 2 3 4 5 6 7");
  EXPECT_EQ(kinds_of("exaone4", 4096, 64).substr(0, 27), "sliding_attention 0 1 2 4 5");
  EXPECT_EQ(kinds_of("llama4", 8192), "chunked_attention 0 1 2 4 5 6, full_attention 3 7 no");
  EXPECT_EQ(kinds_of("llama4", 0), "full_attention 0 1 2 3 4 5 6 7");
  EXPECT_EQ(kinds_of("smallthinker", 4096), "full_attention 0 4 no, sliding_attention 1 2 3 5 6 7");
  EXPECT_EQ(kinds_of("smallthinker", 0), "full_attention 0 1 2 3 4 5 6 7");
  EXPECT_EQ(kinds_of("afmoe", 4096), "sliding_attention 0 1 2 4 5 6, full_attention 3 7 no");
  EXPECT_EQ(kinds(model_of(file_of("baichuan", 40))).find(" no"),
            std::string("full_attention").size() + 110);
  EXPECT_EQ(kinds(model_of(file_of("granite").boolean("granite.rope.scaling.finetuned", false))),
            "full_attention 0 1 2 3 4 5 6 7 no");
  EXPECT_EQ(kinds(model_of(file_of("cohere2moe").u32("cohere2moe.leading_dense_block_count", 1))),
            "full_attention 0, sliding_attention 1 2 3 5 6 7, full_attention 4 no");
}

TEST(ModelGguf, layers_without_attention_do_not_rotate) {
  EXPECT_EQ(kinds(model_of(file_of("qwen3next"))),
            "linear_attention 0 1 2 4 5 6 no, full_attention 3 7");
  EXPECT_EQ(kinds(model_of(file_of("qwen3next").u32("qwen3next.full_attention_interval", 2))),
            "linear_attention 0 2 4 6 no, full_attention 1 3 5 7");
  EXPECT_EQ(kinds(model_of(file_of("lfm2", 4).i32s("lfm2.attention.head_count_kv", {0, 0, 8, 0}))),
            "linear_attention 0 1 3 no, full_attention 2");
}

TEST(ModelGguf, queries_of_llama4_grow_where_nothing_rotates) {
  const Model model = model_of(file_of("llama4").u32("llama4.attention.sliding_window", 8192));
  EXPECT_FALSE(model.layer(0).query_scale());
  EXPECT_EQ(model.layer(3).query_scale(), (QueryScale{.scale = 0.1, .offset = 1, .length = 8192}));
}

TEST(ModelGguf, step35_halves_the_window_of_full_layers_and_scales_only_these) {
  const auto divisors = llama3_divisors(10000, 64, 2, 1, 4, 8192);
  const Model model = model_of(file_of("step35", 2)
                                   .bools("step35.attention.sliding_window_pattern", {true, false})
                                   .floats("rope_freqs.weight", divisors));
  EXPECT_EQ(model.layer(0).spec(), Spec({.head_dim = 128, .rotary_dim = 128, .base = 10000.0}));
  EXPECT_EQ(model.layer(1).spec().rotary_dim(), 64);
  EXPECT_EQ(model.layer(1).spec().scaling().divisors,
            std::vector<double>(divisors.begin(), divisors.begin() + 32));
}

TEST(ModelGguf, deepseek4_has_two_bases_and_no_magnitude) {
  const Model model =
      model_of(yarn_file("deepseek4", 16)
                   .u32("deepseek4.attention.key_length", 512)
                   .u32("deepseek4.rope.dimension_count", 64)
                   .f32("deepseek4.attention.compress_rope_freq_base", 160000)
                   .i32s("deepseek4.attention.compress_ratios", {0, 0, 4, 128, 4, 128, 4, 0}));
  EXPECT_EQ(kinds(model), "sliding_attention 0 1 7, full_attention 2 3 4 5 6");
  EXPECT_EQ(model.layer(0).spec(), Spec({.head_dim = 512,
                                         .rotary_dim = 64,
                                         .rotary_offset = 448,
                                         .pairing = Pairing::kAdjacent,
                                         .base = 10000.0}));
  EXPECT_EQ(model.layer(2).spec().base(), 160000);
  EXPECT_EQ(model.layer(2).spec().scaling().type, Scaling::Type::kYarn);
  EXPECT_EQ(frequencies(model.layer(2).spec()).attention_factor, 1);
}

TEST(ModelGguf, an_alpha_is_ntk) {
  const Model model = model_of(file_of("hunyuan_vl")
                                   .string("hunyuan_vl.rope.scaling.type", "none")
                                   .f32("hunyuan_vl.rope.scaling.alpha", 1000)
                                   .i32s("hunyuan_vl.rope.dimension_sections", {16, 16, 16, 16}));
  // The base becomes 10000 x 1000^(128/126).
  EXPECT_NEAR(frequencies(model.layer(0).spec()).radians[1], std::pow(11158839.925, -1.0 / 64),
              1e-9);
}

TEST(ModelGguf, unknown_keys_of_the_rope_are_one_warning_each) {
  const Model model = model_of(file_of("llama")
                                   .f32("llama.rope.novel", 1)
                                   .u32("llama.rope.scaling.other\n", 1)
                                   .u32("llama.ropes", 1)
                                   .f32("llama.rope.freq_base_swa", 1)
                                   .i32s("llama.rope.dimension_sections", {1, 2}));
  EXPECT_EQ(warnings(model),
            "x.gguf: llama.rope.freq_base_swa: is not read for this architecture\n"
            "x.gguf: llama.rope.novel: is not known, and not read\n"
            "x.gguf: llama.rope.scaling.other?: is not known, and not read\n"
            "x.gguf: llama.rope.dimension_sections: is not read for this architecture\n");
}

TEST(ModelGguf, what_is_missing_or_cannot_be_is_an_error_with_its_key) {
  EXPECT_EQ(refusal(GgufFile()),
            "x.gguf: general.architecture: missing, want a string; is it a model?");
  EXPECT_EQ(refusal(GgufFile().string("general.architecture", "a b")),
            "x.gguf: general.architecture: is not a name of up to 100 letters, digits, hyphens and "
            "underscores");
  EXPECT_EQ(refusal(GgufFile().string("general.architecture", "llama")),
            "x.gguf: llama.block_count: missing, want the number of layers");
  EXPECT_EQ(
      refusal(GgufFile().string("general.architecture", "llama").u32("llama.block_count", 1)),
      "x.gguf: llama.attention.key_length: missing, and so is embedding_length; want the width "
      "of a head");
  const auto with = [](const char* key, float value) {
    return refusal(file_of("qwen3").f32(std::string("qwen3.") + key, value));
  };
  EXPECT_EQ(with("rope.freq_base", 0), "x.gguf: qwen3.rope.freq_base: 0 is not at least 2^-30");
  EXPECT_EQ(with("rope.freq_base", NAN), "x.gguf: qwen3.rope.freq_base: nan is not finite");
  EXPECT_EQ(with("rope.scaling.factor", 0.5F),
            "x.gguf: qwen3.rope.scaling.factor: 0.5 is not a number from 1, or 0 for none");
  EXPECT_EQ(with("rope.scaling.attn_factor", 0),
            "x.gguf: qwen3.rope.scaling.attn_factor: 0 is not above 0");
  EXPECT_EQ(with("rope.dimension_count", 64),
            "x.gguf: qwen3.rope.dimension_count: got a number, want an integer from 0 to 2^40");
  EXPECT_EQ(with("rope.scaling.type", 1),
            "x.gguf: qwen3.rope.scaling.type: got a number, want a string");
  EXPECT_EQ(
      refusal(file_of("qwen3").string("qwen3.rope.scaling.type", "dynamic")),
      "x.gguf: qwen3.rope.scaling.type: dynamic is not known, want none, linear, yarn or longrope");
  EXPECT_EQ(
      refusal(file_of("qwen3").u32("qwen3.rope.dimension_count", 130)),
      "x.gguf: qwen3.rope.dimension_count: 130 is not an even number up to 128, the width of a "
      "head");
  EXPECT_EQ(refusal(file_of("qwen3").u32("qwen3.rope.dimension_count", 63)),
            "x.gguf: qwen3.rope.dimension_count: 63 is not an even number up to 128, the width of "
            "a head");
  EXPECT_EQ(refusal(file_of("qwen3", 5000)),
            "x.gguf: qwen3.block_count: 5000 is not between 1 and 4096");
  EXPECT_EQ(
      refusal(file_of("qwen2vl")),
      "x.gguf: qwen2vl.rope.dimension_sections: missing, want the number of pairs of each axis");
  EXPECT_EQ(refusal(file_of("qwen2vl").i32s("qwen2vl.rope.dimension_sections", {0, 0, 0, 0})),
            "x.gguf: qwen2vl.rope.dimension_sections: has no pairs");
  EXPECT_EQ(refusal(file_of("gemma4", 3).bools("gemma4.attention.sliding_window_pattern", {true})),
            "x.gguf: gemma4.attention.sliding_window_pattern: has 1 elements, want 3, one for each "
            "layer");
}

TEST(ModelGguf, a_scaling_that_cannot_be_applied_is_an_error) {
  const std::vector<float> ones(64, 1.0F);
  EXPECT_EQ(
      refusal(file_of("phi3").string("phi3.rope.scaling.type", "longrope")),
      "unsupported: x.gguf: no tensors rope_factors_short.weight and rope_factors_long.weight, "
      "which rope.scaling.type longrope wants");
  EXPECT_EQ(
      refusal(file_of("phi3").floats("rope_factors_long.weight", ones)),
      "unsupported: x.gguf: tensor rope_factors_long.weight without rope_factors_short.weight: "
      "want both");
  EXPECT_EQ(
      refusal(yarn_file("llama", 4).floats("rope_freqs.weight", ones)),
      "unsupported: x.gguf: tensor rope_freqs.weight beside rope.scaling.type yarn: divisors and "
      "yarn at once are not supported");
  EXPECT_EQ(refusal(file_of("llama").floats("rope_freqs.weight", {1.0F})),
            "x.gguf: tensor rope_freqs.weight has 1 values, want 64, the number of pairs");
  EXPECT_EQ(refusal(file_of("llama").floats("rope_freqs.weight", std::vector<float>(64, 0.0F))),
            "x.gguf: full layers: scaling divisors[0] 0 is not a number from 2^-100 to 2^100");
  EXPECT_EQ(refusal(file_of("llama").i32s("llama.rope.freq_base_per_layer", {1, 2})),
            "unsupported: x.gguf: llama.rope.freq_base_per_layer: a value for each layer is not "
            "supported");
  EXPECT_EQ(
      refusal(GgufFile().string("general.architecture", "clip")),
      "unsupported: x.gguf: general.architecture: clip is a projector of images, whose rotation "
      "is not in its metadata; give the model beside it");
}

TEST(ModelGguf, a_file_is_known_by_its_first_bytes_and_not_by_its_name) {
  const std::string path = ::testing::TempDir() + "model_gguf.json";
  std::ofstream(path, std::ios::binary) << file_of("llama").bytes();
  EXPECT_EQ(Model::from_file(path).model_type(), "llama");
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace ropewalk
