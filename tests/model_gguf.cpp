#include "model_gguf.hpp"

#include <sstream>
#include <utility>

#include <filesystem>
#include <fstream>

namespace ropewalk::testing {
namespace {

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

// llama.cpp f6ed9c86, llama_model_rope_type of src/llama-model.cpp, by the names of LLM_ARCH_NAMES.
// Not as there: starcoder and bert, which have learned positions; gptj, which llama.cpp does not run;
// deepseek2-ocr, whose graph asks for NEOX; dflash, which depends on its keys. glm5-next is of a later one.
constexpr std::pair<const char*, const char*> kRopeTypes[] = {
    {"none",
     "gpt2 mpt refact bloom mamba mamba2 jamba jina-bert-v2 t5 t5encoder jais rwkv6 rwkv6qwen2 "
     "rwkv7 "
     "arwkv7 wavtokenizer-dec nemotron_h nemotron_h_moe kimi-linear kimi-k3 glm5-next starcoder "
     "bert"},
    {"adjacent",
     "llama llada llama4 deci baichuan internlm2 minicpm xverse command-r cohere2 cohere2moe olmo "
     "arctic deepseek deepseek2 deepseek32 deepseek4 muse-glimmer plm chatglm granite granitemoe "
     "granitehybrid graniteswitch granite_swa chameleon bailingmoe bailingmoe3 neo-bert smollm3 "
     "arcee "
     "ernie4_5 ernie4_5-moe mistral3 eagle3 mistral4 llama-embed maincoder glm-dsa dots3note "
     "nanbeige "
     "pockettts hy_v4 gptj"},
    {"halves",
     "falcon falcon-h1 grok dbrx jina-bert-v3 modern-bert nomic-bert nomic-bert-moe eurobert "
     "stablelm "
     "bitnet qwen qwen2 dream qwen2moe qwen3 qwen3moe llada-moe rnd1 olmo2 olmoe phi2 phi3 phimoe "
     "plamo "
     "plamo2 plamo3 gemma gemma2 gemma3 gemma3n gemma4 gemma4-assistant gemma-embedding starcoder2 "
     "openelm gptneox codeshell orion nemotron exaone exaone4 exaone-moe minicpm3 bailingmoe2 "
     "dots1 "
     "hunyuan-moe jais2 gpt-oss hunyuan-dense hy_v3 lfm2 lfm2moe smallthinker seed_oss grovemoe "
     "apertus "
     "minimax-01 minimax-m2 minimax-m3 cogvlm pangu-embedded afmoe laguna qwen3next mimo2 step35 "
     "talkie "
     "mellum deepseek2-ocr"},
    {"halves blocks", "qwen2vl paddleocr glm4 glm4moe hunyuan_vl dflash"},
    {"halves ggml_cycle", "qwen3vl qwen3vlmoe qwen35 qwen35moe qwen4exp qwen3tts"},
};

TEST(ModelGguf, every_architecture_of_llama_cpp_rotates_as_there) {
  // With what any of them wants; layers 2 and 3, 6 and 7 and so on slide.
  const auto of = [](const std::string& name) {
    GgufFile file = file_of(name, 64);
    std::vector<bool> pattern;
    std::vector<std::int32_t> ratios;
    for (int i = 0; i < 64; ++i) pattern.push_back(i % 4 > 1);
    for (int i = 0; i < 64; ++i) ratios.push_back(i % 4 > 1 ? 0 : 4);
    file.u32(name + ".attention.sliding_window", 4096)
        .bools(name + ".attention.sliding_window_pattern", pattern)
        .i32s(name + ".attention.compress_ratios", ratios)
        .i32s(name + ".rope.dimension_sections", {24, 20, 20, 0});
    const Model model = model_of(file);
    EXPECT_EQ(warnings(model).find("is not known"), std::string::npos) << name;
    for (const LayerKind& kind : model.kinds()) {
      if (!kind.rotates()) continue;
      const auto& axes = kind.spec().fields().axes;
      return std::string(ropewalk::name(kind.spec().pairing())) +
             (axes ? " " + std::string(ropewalk::name(axes->order)) : "");
    }
    return std::string("none");
  };
  int count = 0;
  for (const auto& [type, names] : kRopeTypes) {
    std::istringstream words(names);
    for (std::string name; words >> name; ++count) EXPECT_EQ(of(name), type) << name;
  }
  EXPECT_EQ(count, 149);  // clip is refused
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
            "x.gguf: qwen3.rope.dimension_count: got a number 64, want an integer from 0 to 2^40");
  EXPECT_EQ(with("rope.scaling.type", 1),
            "x.gguf: qwen3.rope.scaling.type: got a number 1, want a string");
  EXPECT_EQ(
      refusal(file_of("qwen3").string("qwen3.rope.scaling.type", "dynamic")),
      "x.gguf: qwen3.rope.scaling.type: dynamic is not known, want none, linear, yarn or longrope");
  EXPECT_EQ(
      refusal(file_of("qwen3").string("qwen3.rope.scaling.type", "a\n" + std::string(200, 'b'))),
      "x.gguf: qwen3.rope.scaling.type: a?" + std::string(98, 'b') +
          "... is not known, want none, linear, yarn or longrope");
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

TEST(ModelGguf, a_file_is_known_by_its_first_bytes_and_not_by_its_name) {
  const std::string path = ::testing::TempDir() + "model_gguf.json";
  std::ofstream(path, std::ios::binary) << file_of("llama").bytes();
  EXPECT_EQ(Model::from_file(path).model_type(), "llama");
  std::ofstream(path, std::ios::binary).flush();
  try {
    (void)Model::from_file(path);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.what(), path + ": is empty, want a config.json or a GGUF");
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace ropewalk::testing
