// model: what stands in files -> a Spec for each layer. In the library ropewalk::model.

#ifndef ROPEWALK_MODEL_HPP_
#define ROPEWALK_MODEL_HPP_

#include <cstdint>
#include <optional>
#include <ropewalk/spec.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ropewalk {

// A factor on queries that grows with their position, beside the rotation.
struct QueryScale {
  enum class Kind : std::uint8_t {
    kFloorLog,  // 1 + scale ln(1 + floor((p + offset) / length)): Llama 4's and Ministral 3's
                // "temperature"
    kLogN,      // max(1, ln(p + 1) / ln(length)): Qwen-1's log-n attention
  };
  Kind kind = Kind::kFloorLog;
  double scale = 0;
  std::int64_t offset = 0;
  std::int64_t length = 1;

  // The factor at a position, 1 before position 0.
  [[nodiscard]] double at(std::int64_t position) const noexcept;

  bool operator==(const QueryScale&) const = default;
};

// What a model says of its layers of one kind.
class LayerKind {
 public:
  // "full_attention", "sliding_attention" ..., as the file names it.
  [[nodiscard]] const std::string& layer_type() const noexcept { return layer_type_; }
  // Ascending. Empty if the file does not say how many layers there are.
  [[nodiscard]] std::span<const std::int64_t> layer_indices() const noexcept {
    return layer_indices_;
  }
  [[nodiscard]] bool rotates() const noexcept { return spec_.has_value(); }
  // Throws Error (kUnsupported) if these layers do not rotate.
  [[nodiscard]] const Spec& spec() const;
  // What the scaling rule adds to the scale of the softmax, beside cos and sin: in models with
  // multi-head latent attention, yarn's magnitude squared. Else 1.
  [[nodiscard]] double softmax_scale_factor() const noexcept { return softmax_scale_factor_; }
  [[nodiscard]] const std::optional<QueryScale>& query_scale() const noexcept {
    return query_scale_;
  }

 private:
  friend class ModelBuilder;

  std::string layer_type_ = "full_attention";
  std::vector<std::int64_t> layer_indices_;
  std::optional<Spec> spec_;
  double softmax_scale_factor_ = 1;
  std::optional<QueryScale> query_scale_;
};

class Model {
 public:
  // A config.json of Hugging Face, or a GGUF (of which only the metadata and, of the tensors,
  // rope_freqs and rope_factors_* are read). Throws Error: kIo, kBadFormat, kUnsupported; the message
  // names the file and the path of the key.
  static Model from_file(const std::string& path);
  // The text of a config.json; name stands for it in messages.
  static Model from_config(std::string_view json, std::string_view name = "config");
  // A well-known model, one of presets(). Throws Error (kInvalidArgument) for another name.
  static Model from_preset(std::string_view name);

  // As the file has it: "llama", "gemma3_text"; of a GGUF its architecture.
  [[nodiscard]] const std::string& model_type() const noexcept { return model_type_; }
  // The context in positions (max_position_embeddings), if the file says it.
  [[nodiscard]] std::optional<std::int64_t> trained_length() const noexcept {
    return trained_length_;
  }
  // In the order of the first layer of each; at least one.
  [[nodiscard]] std::span<const LayerKind> kinds() const noexcept { return kinds_; }
  // The kind of layer i. Throws Error (kInvalidArgument) if there is no such layer.
  [[nodiscard]] const LayerKind& layer(std::int64_t i) const;
  // The kind of this layer_type; of several, the one that rotates. Throws Error (kInvalidArgument)
  // naming those that there are, or if more than one of them rotates.
  [[nodiscard]] const LayerKind& kind(std::string_view layer_type) const;
  // What was noticed, one line each: assumed, ignored, or done differently elsewhere.
  [[nodiscard]] std::span<const std::string> warnings() const noexcept { return warnings_; }

 private:
  friend class ModelBuilder;

  std::string model_type_;
  std::optional<std::int64_t> trained_length_;
  std::vector<LayerKind> kinds_;
  std::vector<std::string> warnings_;
};

// A well-known model: those keys of its config.json that say which RoPE it has, and the public copy of
// that file that they were read from.
struct Preset {
  std::string name;        // "llama-3.1-8b"
  std::string repository;  // on GitHub, "owner/name"
  std::string path;        // of the file in it
  std::string commit;      // 40 hexadecimal digits
  std::string entry;       // which of the file's models, if it has several
  std::string config;      // JSON, as from_config takes it
};

// In the order of their names. They are in the library; no file is read.
std::vector<Preset> presets();

// The JSON form of a Spec:
//
//   {"head_dim": 128, "rotary_dim": 128, "rotary_offset": 0, "pairing": "halves",
//    "output_pairing": "halves", "clockwise": false, "window_parts": 1, "base": 500000.0,
//    "scaling": {"type": "linear", "factor": 8.0}, "attention_factor": 1.0,
//    "axes": {"sections": [16, 24, 24], "order": "blocks"}}
//
// or "frequencies": [...] instead of base and scaling, "axis_of_pair": [...] instead of axes. Only
// head_dim is required, and sections of axes; a null is as if the key were absent. Numbers may be
// written as integers. An unknown key is an error.
//
// Throws Error: kBadFormat for what is no JSON, has a wrong type or an unknown key (the message
// names the key path), kInvalidArgument for what Spec refuses.
Spec spec_from_json(std::string_view json);

// Reads back to the same Spec, to the last bit. Keys from rotary_offset to window_parts, but for the
// pairing, are written where they are not as above.
std::string spec_to_json(const Spec& spec);

}  // namespace ropewalk

#endif  // ROPEWALK_MODEL_HPP_
