// The parts of the reader of GGUF: what the keys say of scaling, and of each layer. Of the room model.

#ifndef ROPEWALK_SRC_MODEL_GGUF_HPP_
#define ROPEWALK_SRC_MODEL_GGUF_HPP_

#include <cstdint>
#include <optional>
#include <ropewalk/spec.hpp>
#include <string>
#include <vector>

#include "model-architectures.hpp"
#include "model-gguf-keys.hpp"
#include "model.hpp"

namespace ropewalk {

// What is read of one file.
struct GgufModel {
  const formats::Gguf& file;
  const GgufKeys& keys;
  const Architecture& architecture;
  ModelBuilder& builder;  // takes the warnings
};

// The keys under rope.scaling and the tensors beside them, with what llama.cpp takes them for where
// they are not there (src/llama-context.cpp and, in ggml, rope_yarn of src/ggml-cpu/ops.cpp).
class GgufScaling {
 public:
  explicit GgufScaling(const GgufModel& model);

  // Fills in scaling and attention_factor for layers of one kind. Sliding ones may have a factor of
  // their own.
  void apply(SpecFields& fields, bool is_sliding) const;
  [[nodiscard]] double softmax_scale_factor() const;
  [[nodiscard]] std::int64_t trained() const noexcept { return trained_; }

 private:
  void read_type(const GgufModel& model);
  void read_yarn(const GgufModel& model);
  void read_tensors(const GgufModel& model);
  [[nodiscard]] double magnitude() const;  // of the ratio of yarn's mscales
  [[nodiscard]] double attention_factor(double factor) const;
  void set_alpha(SpecFields& fields) const;
  [[nodiscard]] Scaling yarn(double factor) const;
  [[nodiscard]] Scaling longrope(double factor, std::int64_t pairs) const;
  [[nodiscard]] std::vector<double> scaled(const std::vector<double>& divisors, const char* tensor,
                                           double factor, std::int64_t pairs) const;

  const GgufKeys& keys_;
  const Architecture& architecture_;
  double factor_ = 1;         // by which positions are divided
  double extrapolation_ = 0;  // how much of yarn, ext_factor; 0 is linear
  double log_multiplier_ = 0;
  double attention_ = 1;       // attn_factor
  double yarn_attention_ = 1;  // yarn_attn_factor, in force where there is no yarn
  std::optional<double> beta_fast_, beta_slow_, alpha_;
  std::int64_t trained_ = 0;  // 0: not said
  const std::vector<double>* divisors_ = nullptr;
  const std::vector<double>* short_ = nullptr;
  const std::vector<double>* long_ = nullptr;
};

// What the keys say of layers one by one.
struct GgufLayer {
  bool has_attention = true;
  bool is_sliding = false;
  bool has_rope = true;  // by attention.rope_pattern
  bool rotates = true;
  // Where the file has one for each layer.
  std::optional<std::int64_t> rotary_dim = {};
  std::optional<double> base = {};
};
std::vector<GgufLayer> gguf_layers(const GgufModel& model);

}  // namespace ropewalk

#endif  // ROPEWALK_SRC_MODEL_GGUF_HPP_
