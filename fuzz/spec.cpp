// The JSON of a Spec: what is read is written as what reads back.

#include <ropewalk/error.hpp>
#include <ropewalk/frequencies.hpp>
#include <ropewalk/model.hpp>

#include "target.hpp"

std::vector<std::string> ropewalk::fuzz::seeds() {
  return {R"({"head_dim": 128, "rotary_dim": 64, "pairing": "halves", "base": 500000.0,
              "scaling": {"type": "linear", "factor": 8}, "attention_factor": 1.5})",
          R"({"head_dim": 12, "rotary_dim": 8, "rotary_offset": 4, "pairing": "adjacent",
              "output_pairing": "halves", "clockwise": true, "window_parts": 2,
              "frequency_rounding": "float32", "axis_of_pair": [0, 1, 2, 15]})",
          R"({"head_dim": 16, "axes": {"sections": [2, 3, 3], "order": "ggml_cycle"},
              "scaling": {"type": "yarn", "factor": 4, "original_max_position_embeddings": 2048,
                          "beta_fast": 16, "truncate": false, "mscale": 0.7, "mscale_all_dim": 1}})",
          R"({"head_dim": 4, "frequencies": [1.0, -0.25]})",
          R"({"head_dim": 4, "scaling": {"type": "longrope", "short_factor": [1, 1.5], "factor": 4,
              "long_factor": [1, 64.5], "original_max_position_embeddings": 64}})"};
}

std::vector<std::string> ropewalk::fuzz::words() {
  return {"null",
          "true",
          "[]",
          "{}",
          "-1",
          "0",
          "1e999",
          "1e-400",
          "9223372036854775808",
          "2.5",
          "1e300",
          "\"dynamic\"",
          "\"ntk\"",
          "\"proportional\"",
          "\"divisors\"",
          "\"ernie\"",
          "\"cycle\"",
          "\"round_robin\"",
          "\"alpha\": ",
          "\"type\": ",
          "\"head_dim\": ",
          ", ",
          "}",
          "\\u0000",
          "\xFF"};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ropewalk;
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  try {
    const Spec spec = spec_from_json(json);
    const std::string written = spec_to_json(spec);
    fuzz::require(spec_to_json(spec_from_json(written)) == written);
    // A head may have a million elements; that is for another test.
    if (spec.rotary_dim() <= 4096) static_cast<void>(frequencies(spec, 5000));
  } catch (const Error& error) {
    fuzz::require_line(error.what());
  }
  return 0;
}
