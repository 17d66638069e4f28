// A config.json -> a Model, and the frequencies of each of its kinds of layers.

#include <ropewalk/error.hpp>
#include <ropewalk/frequencies.hpp>
#include <ropewalk/model.hpp>

#include "target.hpp"

std::vector<std::string> ropewalk::fuzz::seeds() {
  return {
      R"({"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 3,
          "max_position_embeddings": 4096, "rope_theta": 500000.0,
          "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                           "high_freq_factor": 4.0, "original_max_position_embeddings": 1024}})",
      R"({"model_type": "deepseek_v3", "hidden_size": 64, "num_attention_heads": 4,
          "qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "num_hidden_layers": 2,
          "rope_scaling": {"type": "yarn", "factor": 40, "beta_fast": 32, "beta_slow": 1,
                           "mscale": 1.0, "mscale_all_dim": 1.0,
                           "original_max_position_embeddings": 4096}})",
      R"({"model_type": "gemma3_text", "head_dim": 16, "num_hidden_layers": 7, "rope_theta": 1e6,
          "sliding_window_pattern": 6, "layer_types": ["sliding_attention", "full_attention"],
          "rope_parameters": {"full_attention": {"rope_type": "linear", "factor": 8},
                              "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}}})",
      R"({"model_type": "qwen2_vl", "text_config": {"hidden_size": 64, "num_attention_heads": 4,
          "rope_scaling": {"type": "mrope", "mrope_section": [2, 3, 3]}}})",
      R"({"model_type": "phi3", "head_dim": 8, "original_max_position_embeddings": 16,
          "max_position_embeddings": 64, "partial_rotary_factor": 0.5,
          "rope_scaling": {"type": "su", "short_factor": [1.0, 1.1], "long_factor": [2, 3]}})",
      R"({"model_type": "gpt_neox", "rotary_pct": 0.25, "rotary_emb_base": 10000, "head_dim": 32,
          "rope_scaling": {"type": "dynamic", "factor": 2.0}, "no_rope_layers": [1, 1, 0]})"};
}

std::vector<std::string> ropewalk::fuzz::words() {
  return {"null",
          "true",
          "[]",
          "{}",
          "\"\"",
          "-1",
          "0",
          "1e999",
          "1e-400",
          "NaN",
          "9223372036854775808",
          "2.5",
          "\"default\"",
          "\"yarn\"",
          "\"dynamic\"",
          "\"longrope\"",
          "\"llama3\"",
          "\"proportional\"",
          "\"type\": ",
          "\"rope_type\": ",
          "\"rope_theta\": ",
          "\"head_dim\": ",
          "\"mscale\": ",
          "\"factor\": ",
          "\"text_config\": {",
          "\"layer_types\": [",
          ", ",
          "}",
          "\"model_type\": \"cohere2\"",
          "\"model_type\": \"novel\"",
          "\\u0000",
          "\xFF"};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ropewalk;
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  try {
    const Model model = Model::from_config(json, "x");
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
