#include "model_gguf.hpp"

namespace ropewalk::testing {
namespace {

TEST(ModelGgufScaling, rope_freqs_of_a_llama3_give_its_frequencies) {
  const Model model =
      model_of(file_of("llama")
                   .f32("llama.rope.freq_base", 500000)
                   .floats("rope_freqs.weight", llama3_divisors(500000, 64, 8, 1, 4, 8192)));
  EXPECT_EQ(model.layer(0).spec().scaling().type, Scaling::Type::kDivisors);
  expect_frequencies(model.layer(0).spec(), {}, "llama3_1_8b");
}

TEST(ModelGgufScaling, rope_factors_are_longrope_and_the_length_picks) {
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

TEST(ModelGgufScaling, a_factor_is_linear_unless_the_type_says_otherwise) {
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

TEST(ModelGgufScaling, yarn_is_read_with_every_key) {
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

TEST(ModelGgufScaling, what_yarn_ignores_or_assumes_is_said) {
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

TEST(ModelGgufScaling, latent_attention_rotates_the_end_of_the_head_and_scales_the_softmax) {
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

TEST(ModelGgufScaling, a_log_multiplier_of_one_leaves_cos_and_sin_alone) {
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

TEST(ModelGgufScaling, yarn_leaves_sliding_layers_that_are_not_scaled_alone) {
  const Model model = model_of(yarn_file("gemma3", 8).u32("gemma3.attention.sliding_window", 1024));
  EXPECT_EQ(model.layer(0).spec(), Spec({.head_dim = 128, .rotary_dim = 128, .base = 10000.0}));
  EXPECT_NEAR(frequencies(model.layer(5).spec()).attention_factor, 1.2079441541679836, 1e-15);
}

TEST(ModelGgufScaling, an_alpha_is_ntk) {
  const Model model = model_of(file_of("hunyuan_vl")
                                   .string("hunyuan_vl.rope.scaling.type", "none")
                                   .f32("hunyuan_vl.rope.scaling.alpha", 1000)
                                   .i32s("hunyuan_vl.rope.dimension_sections", {16, 16, 16, 16}));
  // The base becomes 10000 x 1000^(128/126).
  EXPECT_NEAR(frequencies(model.layer(0).spec()).radians[1], std::pow(11158839.925, -1.0 / 64),
              1e-9);
}

TEST(ModelGgufScaling, an_alpha_changes_the_base_of_whatever_else_there_is) {
  // llama.cpp, src/models/hunyuan-vl.cpp: the base becomes 10000 x 1000^(128/126).
  const double base = 10000 * std::pow(1000.0, 128.0 / 126);
  const std::string key = "hunyuan_vl.rope.scaling.alpha";
  const Model yarn = model_of(yarn_file("hunyuan_vl", 4).f32(key, 1000));
  EXPECT_EQ(yarn.layer(0).spec().scaling().type, Scaling::Type::kYarn);
  EXPECT_NEAR(yarn.layer(0).spec().base(), base, 1e-6);
  const Model divided = model_of(file_of("hunyuan_vl")
                                     .f32(key, 1000)
                                     .floats("rope_freqs.weight", std::vector<float>(64, 2.0F)));
  EXPECT_NEAR(frequencies(divided.layer(0).spec()).radians[1], std::pow(base, -1.0 / 64) / 2,
              1e-15);
  EXPECT_EQ(warnings(model_of(file_of("llama").f32("llama.rope.scaling.alpha", 1000))),
            "x.gguf: llama.rope.scaling.alpha: 1000 is not read for this architecture\n");
  EXPECT_EQ(
      warnings(model_of(file_of("hunyuan-dense").f32("hunyuan-dense.rope.scaling.alpha", -1))),
      "x.gguf: hunyuan-dense.rope.scaling.alpha: -1 is not read: it is no number above 0\n");
}

// ggml's rope_yarn: the divided angle is blended with its factor-th part, and m is as without divisors.
TEST(ModelGgufScaling, divisors_divide_what_yarn_makes) {
  const auto divisors = llama3_divisors(10000, 64, 8, 1, 4, 8192);
  const Spec both =
      model_of(yarn_file("llama", 4).floats("rope_freqs.weight", divisors)).layer(0).spec();
  const Spec yarn = model_of(yarn_file("llama", 4)).layer(0).spec();
  const Frequencies made = frequencies(both), wanted = frequencies(yarn);
  for (std::size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(made.radians[i], wanted.radians[i] / double{divisors[i]}) << i;
  }
  EXPECT_EQ(made.attention_factor, wanted.attention_factor);
}

TEST(ModelGgufScaling, pairs_with_a_divisor_of_1e30_stand_still) {
  std::vector<float> divisors(64, 1e30F);
  std::fill_n(divisors.begin(), 16, 1.0F);
  GgufFile file = file_of("gemma4");
  file.bools("gemma4.attention.sliding_window_pattern", std::vector<bool>(8))
      .f32("gemma4.rope.scaling.factor", 2)
      .floats("rope_freqs.weight", divisors);
  EXPECT_EQ(model_of(file).layer(0).spec().scaling(),
            (Scaling{.type = Scaling::Type::kProportional, .factor = 2.0, .rotating_pairs = 16}));
  // Where not all of the head is rotated, the exponent is another one.
  const Spec narrow = model_of(file_of("llama", 8, 256)
                                   .u32("llama.rope.dimension_count", 128)
                                   .floats("rope_freqs.weight", divisors))
                          .layer(0)
                          .spec();
  EXPECT_EQ(narrow.scaling().type, Scaling::Type::kDivisors);
  EXPECT_EQ(frequencies(narrow).radians[16], std::pow(10000.0, -0.25) / double{1e30F});
}

TEST(ModelGgufScaling, a_scaling_that_cannot_be_applied_is_an_error) {
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
      refusal(yarn_file("llama", 4)
                  .floats("rope_factors_long.weight", ones)
                  .floats("rope_factors_short.weight", ones)),
      "unsupported: x.gguf: tensor rope_factors_short.weight beside rope.scaling.type yarn: both "
      "at once are not supported");
  EXPECT_EQ(refusal(file_of("llama").floats("rope_freqs.weight", {1.0F})),
            "x.gguf: tensor rope_freqs.weight has 1 values, want 64, the number of pairs");
  EXPECT_EQ(refusal(file_of("llama").floats("rope_freqs.weight", std::vector<float>(64, 0.0F))),
            "x.gguf: full layers: scaling divisors[0] 0 is not a number from 2^-100 to 2^100");
  EXPECT_EQ(
      refusal(file_of("dflash").u32("dflash.hyper_connection.count", 4)),
      "unsupported: x.gguf: dflash.hyper_connection.count: 4 makes it another model, which is "
      "not read; give the model that it drafts for");
  EXPECT_EQ(
      refusal(GgufFile().string("general.architecture", "clip")),
      "unsupported: x.gguf: general.architecture: clip is a projector of images, whose rotation "
      "is not in its metadata; give the model beside it");
}

}  // namespace
}  // namespace ropewalk::testing
