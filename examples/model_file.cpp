#include <cstdio>
#include <exception>
#include <numbers>
#include <ropewalk/model.hpp>
#include <ropewalk/ropewalk.hpp>
#include <string>
#include <vector>

namespace rw = ropewalk;

// What stands in the config.json of Llama 3.1 8B, as far as it says which RoPE it has.
constexpr const char* kConfig = R"({
  "model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32, "num_hidden_layers": 32,
  "max_position_embeddings": 131072, "rope_theta": 500000.0,
  "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                   "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}
})";

// model_file [CONFIG_OR_GGUF]
int main(int argc, char** argv) try {
  const rw::Model model =
      argc > 1 ? rw::Model::from_file(argv[1]) : rw::Model::from_config(kConfig);
  for (const std::string& warning : model.warnings()) std::printf("%s\n", warning.c_str());

  // [rope]
  // Layers of a model may differ; here is the first. What the config says of scaling is in the Spec.
  const rw::Spec& spec = model.layer(0).spec();
  // For rules that depend on the length of the text; here as long as the model was trained for.
  const rw::Rope rope(spec, model.trained_length());
  // [/rope]

  const auto head_dim = spec.head_dim();
  std::vector<float> q(static_cast<std::size_t>(5 * 32 * head_dim), 1.0F);
  std::vector<float> k(static_cast<std::size_t>(5 * 8 * head_dim), 1.0F);
  rw::rotate(rope, rw::TensorView::bthd(q.data(), {1, 5, 32, head_dim}),
             rw::TensorView::bthd(k.data(), {1, 5, 8, head_dim}), rw::Positions::from(1'000'000));

  // The first pair turns by 1 radian per position, as without scaling, and the last 8 times slower
  // than without: 2 pi 500000^(126/128) 8 positions a turn.
  std::printf("q[0] = %.5f, slowest wavelength %.0f\n", static_cast<double>(q[0]),
              2 * std::numbers::pi / rope.frequencies().back());
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
