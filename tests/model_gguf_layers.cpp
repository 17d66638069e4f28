#include "model_gguf.hpp"

#include <algorithm>

namespace ropewalk::testing {
namespace {

TEST(ModelGgufLayers, gemma3_slides_five_layers_of_six_with_a_base_of_their_own) {
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

TEST(ModelGgufLayers, some_architectures_have_one_base_and_one_scaling_for_all) {
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

TEST(ModelGgufLayers, gemma4_has_a_pattern_two_widths_and_pairs_that_stand_still) {
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
      values_of<double>(read_case("inv_freq", "gemma4_e2b_full_attention")["inv_freq"]);
  ASSERT_EQ(full.radians.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_NEAR(full.radians[i], wanted[i], 1e-6 * wanted[i]) << i;
  }
}

TEST(ModelGgufLayers, layers_that_do_not_rotate_are_known_by_architecture) {
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
  EXPECT_EQ(
      kinds(model_of(
          file_of("granite_swa", 4)
              .bools("granite_swa.attention.sliding_window_pattern", {true, true, false, false})
              .bools("granite_swa.attention.rope_pattern", {true, false, true, false}))),
      "sliding_attention 0, sliding_attention 1 no, full_attention 2, full_attention 3 no");
  EXPECT_EQ(
      kinds(model_of(
          file_of("muse-glimmer", 4).u32("muse-glimmer.attention.sliding_window_pattern", 2))),
      "sliding_attention 0 2, full_attention 1 3 no");
  EXPECT_EQ(kinds(model_of(file_of("kimi-k3"))), "full_attention 0 1 2 3 4 5 6 7 no");
  EXPECT_EQ(kinds(model_of(file_of("cohere2moe").u32("cohere2moe.leading_dense_block_count", 1))),
            "full_attention 0, sliding_attention 1 2 3 5 6 7, full_attention 4 no");
}

TEST(ModelGgufLayers, layers_without_attention_do_not_rotate) {
  EXPECT_EQ(kinds(model_of(file_of("qwen3next"))),
            "linear_attention 0 1 2 4 5 6 no, full_attention 3 7");
  EXPECT_EQ(kinds(model_of(file_of("qwen3next").u32("qwen3next.full_attention_interval", 2))),
            "linear_attention 0 2 4 6 no, full_attention 1 3 5 7");
  EXPECT_EQ(kinds(model_of(file_of("minimax-01"))),
            "linear_attention 0 1 2 3 4 5 6 no, full_attention 7");
  EXPECT_EQ(kinds(model_of(file_of("lfm2", 4).i32s("lfm2.attention.head_count_kv", {0, 0, 8, 0}))),
            "linear_attention 0 1 3 no, full_attention 2");
}

TEST(ModelGgufLayers, lists_of_the_wrong_length_are_refused) {
  EXPECT_EQ(refusal(file_of("lfm2", 4).i32s("lfm2.attention.head_count_kv", {0, 8, 0})),
            "x.gguf: lfm2.attention.head_count_kv: has 3 elements, want 4, one for each layer");
  EXPECT_EQ(refusal(file_of("lfm2", 4).i32s("lfm2.attention.head_count_kv", {})),
            "x.gguf: lfm2.attention.head_count_kv: has 0 elements, want 4, one for each layer");
  EXPECT_EQ(
      refusal(file_of("granite_swa", 2)
                  .bools("granite_swa.attention.sliding_window_pattern", {true, false})
                  .bools("granite_swa.attention.rope_pattern", {true})),
      "x.gguf: granite_swa.attention.rope_pattern: has 1 elements, want 2, one for each layer");
  // Layers that predict further tokens may be left out, and have heads.
  EXPECT_EQ(kinds(model_of(file_of("glm4moe", 3)
                               .u32("glm4moe.nextn_predict_layers", 1)
                               .i32s("glm4moe.attention.head_count_kv", {8, 8}))),
            "full_attention 0 1 2");
}

TEST(ModelGgufLayers, queries_of_llama4_grow_where_nothing_rotates) {
  const Model model = model_of(file_of("llama4").u32("llama4.attention.sliding_window", 8192));
  EXPECT_FALSE(model.layer(0).query_scale());
  EXPECT_EQ(model.layer(3).query_scale(), (QueryScale{.scale = 0.1, .offset = 1, .length = 8192}));
}

TEST(ModelGgufLayers, step35_halves_the_window_of_full_layers_and_scales_only_these) {
  const auto divisors = llama3_divisors(10000, 64, 2, 1, 4, 8192);
  const Model model = model_of(file_of("step35", 2)
                                   .bools("step35.attention.sliding_window_pattern", {true, false})
                                   .floats("rope_freqs.weight", divisors));
  EXPECT_EQ(model.layer(0).spec(), Spec({.head_dim = 128, .rotary_dim = 128, .base = 10000.0}));
  EXPECT_EQ(model.layer(1).spec().rotary_dim(), 64);
  EXPECT_EQ(model.layer(1).spec().scaling().divisors,
            std::vector<double>(divisors.begin(), divisors.begin() + 32));
}

TEST(ModelGgufLayers, layers_may_each_have_a_width_and_a_base_of_their_own) {
  GgufFile file = file_of("step35", 3);
  file.bools("step35.attention.sliding_window_pattern", {true, false, false})
      .i32s("step35.rope.dimension_count_per_layer", {128, 64, 128})
      .f32s("step35.rope.freq_base_per_layer", {10000, 5e6F, 10000})
      .floats("rope_freqs.weight", std::vector<float>(64, 2.0F));
  const Model model = model_of(file);
  EXPECT_EQ(warnings(model), "");
  EXPECT_EQ(kinds(model), "sliding_attention 0, full_attention 1, full_attention 2");
  EXPECT_EQ(model.layer(0).spec(), Spec({.head_dim = 128, .rotary_dim = 128, .base = 10000.0}));
  EXPECT_EQ(model.layer(1).spec().rotary_dim(), 64);
  EXPECT_EQ(model.layer(1).spec().base(), 5e6);
  EXPECT_EQ(model.layer(1).spec().scaling().divisors, std::vector<double>(32, 2.0));
  EXPECT_EQ(model.layer(2).spec().rotary_dim(), 128);
  // Lists under the names of numbers, and a layer that rotates nothing.
  const Model lists = model_of(file_of("llama", 2)
                                   .i32s("llama.rope.dimension_count", {0, 32})
                                   .i32s("llama.rope.freq_base", {10000, 20000}));
  EXPECT_EQ(kinds(lists), "full_attention 0 no, full_attention 1");
  EXPECT_EQ(
      lists.layer(1).spec(),
      Spec({.head_dim = 128, .rotary_dim = 32, .pairing = Pairing::kAdjacent, .base = 20000.0}));
  EXPECT_EQ(refusal(file_of("llama").i32s("llama.rope.freq_base_per_layer", {1, 2})),
            "x.gguf: llama.rope.freq_base_per_layer: has 2 elements, want 8, one for each layer");
  EXPECT_EQ(refusal(file_of("llama", 2).i32s("llama.rope.dimension_count", {4, 130})),
            "x.gguf: llama.rope.dimension_count: 130 is not an even number up to 128, the width of "
            "a head");
  EXPECT_EQ(refusal(file_of("llama", 2).f32s("llama.rope.freq_base", {1, NAN})),
            "x.gguf: llama.rope.freq_base: element 1 is not a finite number");
}

TEST(ModelGgufLayers, latent_attention_may_have_other_heads_in_sliding_layers) {
  const Model model =
      model_of(file_of("dots3note", 2)
                   .u32("dots3note.rope.dimension_count", 64)
                   .u32("dots3note.attention.key_length", 576)
                   .u32("dots3note.attention.key_length_mla", 192)
                   .u32("dots3note.attention.key_length_mla_swa", 256)
                   .f32("dots3note.rope.freq_base", 1e6F)
                   .f32("dots3note.rope.freq_base_swa", 20000)
                   .bools("dots3note.attention.sliding_window_pattern", {true, false}));
  const auto spec = [](std::int64_t head_dim, double base) {
    return Spec({.head_dim = head_dim,
                 .rotary_dim = 64,
                 .rotary_offset = head_dim - 64,
                 .pairing = Pairing::kAdjacent,
                 .base = base});
  };
  EXPECT_EQ(model.layer(0).spec(), spec(256, 20000));
  EXPECT_EQ(model.layer(1).spec(), spec(192, 1e6));
}

TEST(ModelGgufLayers, deepseek4_has_two_bases_and_no_magnitude) {
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

}  // namespace
}  // namespace ropewalk::testing
