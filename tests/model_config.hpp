// Configs for the tests of the reader, and what comes of them.

#ifndef ROPEWALK_TESTS_MODEL_CONFIG_HPP_
#define ROPEWALK_TESTS_MODEL_CONFIG_HPP_

#include <gtest/gtest.h>

#include <ropewalk/error.hpp>
#include <ropewalk/frequencies.hpp>
#include <ropewalk/model.hpp>
#include <string>

namespace ropewalk::testing {

// A Llama with heads of 128, and these keys.
inline std::string llama(const std::string& keys) {
  return R"({"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32,
             "max_position_embeddings": 8192, "rope_theta": 10000.0)" +
         (keys.empty() ? "" : ", " + keys) + "}";
}

inline std::string with_scaling(const std::string& block) {
  return llama("\"rope_scaling\": " + block);
}

inline Spec spec_of(const std::string& config) {
  return Model::from_config(config).layer(0).spec();
}

// The message of the Error that reading this config ends in.
inline std::string refusal(const std::string& config) {
  try {
    Model::from_config(config, "config.json");
  } catch (const Error& error) {
    EXPECT_NE(error.code(), ErrorCode::kInvalidArgument);
    return error.what();
  }
  return "accepted";
}

inline std::string warnings(const std::string& config) {
  const Model model = Model::from_config(config);
  std::string all;
  for (const std::string& line : model.warnings()) all += line + "\n";
  return all;
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

inline double attention_factor(const std::string& config) {
  return frequencies(spec_of(config)).attention_factor;
}

}  // namespace ropewalk::testing

#endif  // ROPEWALK_TESTS_MODEL_CONFIG_HPP_
