// Models in GGUF files, made key by key, and what is read of them.

#ifndef ROPEWALK_TESTS_MODEL_GGUF_HPP_
#define ROPEWALK_TESTS_MODEL_GGUF_HPP_

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <ropewalk/error.hpp>
#include <ropewalk/frequencies.hpp>
#include <ropewalk/model.hpp>

#include "conformance.hpp"
#include "gguf_files.hpp"
#include "model.hpp"

namespace ropewalk::testing {

// What every model has: 8 layers, heads of 128.
inline GgufFile file_of(const std::string& architecture, std::uint32_t layers = 8,
                        std::uint32_t head_dim = 128) {
  GgufFile file;
  file.string("general.architecture", architecture)
      .u32(architecture + ".block_count", layers)
      .u32(architecture + ".context_length", 32768)
      .u32(architecture + ".embedding_length", 32 * head_dim)
      .u32(architecture + ".attention.head_count", 32);
  return file;
}

inline Model model_of(const GgufFile& file) {
  const std::string bytes = file.bytes();
  return model_from_gguf(
      formats::Source::of(std::as_bytes(std::span(bytes.data(), bytes.size())), "x.gguf"));
}

inline std::string refusal(const GgufFile& file) {
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
inline std::string warnings(const Model& model) {
  std::string lines;
  for (const std::string& line : model.warnings()) lines += line + "\n";
  return lines;
}

// "full_attention 0 3 no, sliding_attention 1 2": the kinds, their layers, and which do not rotate.
inline std::string kinds(const Model& model) {
  std::string text;
  for (const LayerKind& kind : model.kinds()) {
    text += (text.empty() ? "" : ", ") + kind.layer_type();
    for (const std::int64_t layer : kind.layer_indices()) text += " " + std::to_string(layer);
    if (!kind.rotates()) text += " no";
  }
  return text;
}

inline void expect_frequencies(const Spec& spec, std::optional<std::int64_t> length,
                               const std::string& name) {
  const Json expected = read_case("inv_freq", name);
  const Frequencies given = frequencies(spec, length);
  const auto wanted = values_of<double>(expected["inv_freq"]);
  ASSERT_EQ(given.radians.size(), wanted.size()) << name;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_NEAR(given.radians[i], wanted[i], 1e-6 * wanted[i]) << name << " pair " << i;
  }
  EXPECT_EQ(spec.rotary_dim(), expected["rotary_dim"].get<std::int64_t>()) << name;
  // GGUF has it as a float.
  EXPECT_NEAR(given.attention_factor, expected["attention_factor"].get<double>(), 1e-7) << name;
}

// The divisors that converters write for llama3: Meta's rule, apart from the plain frequency.
inline std::vector<float> llama3_divisors(double base, int pairs, double factor, double low,
                                          double high, double trained) {
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

inline GgufFile yarn_file(const std::string& name, float factor) {
  return file_of(name)
      .string(name + ".rope.scaling.type", "yarn")
      .f32(name + ".rope.scaling.factor", factor)
      .u32(name + ".rope.scaling.original_context_length", 4096);
}

}  // namespace ropewalk::testing

#endif  // ROPEWALK_TESTS_MODEL_GGUF_HPP_
