// A GGUF -> a Model, and the frequencies of each of its kinds of layers.

#include <ropewalk/error.hpp>
#include <ropewalk/frequencies.hpp>

#include "../tests/gguf_files.hpp"
#include "model.hpp"
#include "target.hpp"

namespace {

using ropewalk::testing::GgufFile;

GgufFile start(const std::string& architecture) {
  GgufFile file;
  file.string("general.architecture", architecture)
      .u32(architecture + ".block_count", 8)
      .u32(architecture + ".context_length", 4096)
      .u32(architecture + ".embedding_length", 64)
      .u32(architecture + ".attention.head_count", 4)
      .u32(architecture + ".attention.sliding_window", 16)
      .f32(architecture + ".rope.freq_base", 10000)
      .f32(architecture + ".rope.scaling.factor", 4);
  return file;
}

std::string seed_of(const std::string& name) {
  GgufFile file = start(name);
  const bool is_yarn = name == "deepseek2" || name == "qwen3";
  file.string(name + ".rope.scaling.type", is_yarn ? "yarn" : "linear")
      .u32(name + ".rope.scaling.original_context_length", 1024)
      .f32(name + ".rope.scaling.attn_factor", 1.5F)
      .f32(name + ".rope.scaling.yarn_log_multiplier", 0.1F)
      .u32(name + ".rope.dimension_count", 16)
      .i32s(name + ".rope.dimension_sections", {2, 3, 3, 0})
      .boolean(name + ".rope.scaling.finetuned", true)
      .bools(name + ".attention.sliding_window_pattern", {1, 0, 1, 0, 1, 0, 1, 0})
      .strings("tokenizer.ggml.tokens", 5, "word")
      .tensor("token_embd.weight", 2, {32}, std::string(18, 'x'));
  if (name == "phi3") {
    file.floats("rope_factors_long.weight", std::vector<float>(8, 2))
        .floats("rope_factors_short.weight", std::vector<float>(8, 1));
  } else if (name == "llama" || name == "qwen3") {
    file.floats("rope_freqs.weight", std::vector<float>(8, 1.5F));
  } else if (name == "gemma4") {
    file.floats("rope_freqs.weight", {1, 1, 1, 1, 1e30F, 1e30F, 1e30F, 1e30F});
  } else if (name == "step35") {
    file.i32s(name + ".rope.dimension_count_per_layer", {16, 8, 16, 8, 16, 8, 16, 0})
        .f32s(name + ".rope.freq_base_per_layer", {1e4F, 1e6F, 1e4F, 1e6F, 1e4F, 1e6F, 1e4F, 1e6F});
  } else if (name == "granite_swa") {
    file.bools(name + ".attention.rope_pattern", {1, 0, 1, 1, 0, 0, 1, 0});
  } else if (name == "hunyuan_vl") {
    file.f32(name + ".rope.scaling.alpha", 1000);
  } else if (name == "dots3note") {
    file.u32(name + ".attention.key_length_mla", 32)
        .u32(name + ".attention.key_length_mla_swa", 24);
  }
  return file.bytes();
}

}  // namespace

std::vector<std::string> ropewalk::fuzz::seeds() {
  std::vector<std::string> files;
  for (const char* name :
       {"llama", "phi3", "deepseek2", "gemma3", "qwen2vl", "qwen3vl", "llama4", "granite",
        "qwen3next", "step35", "qwen3", "gemma4", "granite_swa", "hunyuan_vl", "dots3note"}) {
    files.push_back(seed_of(name));
  }
  return files;
}

std::vector<std::string> ropewalk::fuzz::words() {
  using ropewalk::testing::bytes_of;
  using ropewalk::testing::gguf_string;
  std::vector<std::string> words = {"GGUF", "general.alignment", "yarn", "longrope", "none"};
  for (const char* key : {"llama.rope.freq_base", "gemma3.rope.freq_base_swa", "rope_freqs.weight",
                          "phi3.block_count"}) {
    words.push_back(gguf_string(key));
  }
  for (const std::uint32_t type : {0U, 5U, 6U, 7U, 8U, 9U, 10U, 12U})
    words.push_back(bytes_of(type));
  for (const float number : {0.0F, -1.0F, 1e30F, 1e-40F, __builtin_nanf(""), __builtin_inff()}) {
    words.push_back(bytes_of(number));
  }
  for (const std::uint64_t number : {0ULL, 1ULL, 4096ULL, 1ULL << 32, ~0ULL}) {
    words.push_back(bytes_of(number));
  }
  return words;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ropewalk;
  const auto bytes = std::as_bytes(std::span(data, size));
  try {
    const Model model = model_from_gguf(formats::Source::of(bytes, "x"));
    fuzz::require(!model.kinds().empty());
    for (const std::string& warning : model.warnings()) fuzz::require_line(warning);
    for (const LayerKind& kind : model.kinds()) {
      if (kind.rotates()) static_cast<void>(frequencies(kind.spec(), 5000));
    }
  } catch (const Error& error) {
    fuzz::require_line(error.what());
  }
  return 0;
}
