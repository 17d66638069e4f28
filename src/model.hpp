// ModelBuilder: what readers of model files make a Model with.

#ifndef ROPEWALK_SRC_MODEL_HPP_
#define ROPEWALK_SRC_MODEL_HPP_

#include <cstdint>
#include <optional>
#include <ropewalk/model.hpp>
#include <string>
#include <unordered_set>

#include "formats/source.hpp"

namespace ropewalk {

// What a file says of one layer.
struct LayerDescription {
  std::string layer_type = "full_attention";
  std::optional<Spec> spec = {};  // none: the layer does not rotate
  double softmax_scale_factor = 1;
  std::optional<QueryScale> query_scale = {};
};

// Collects layers, from the first to the last, and merges equal ones (the type among what is
// compared) into kinds.
class ModelBuilder {
 public:
  explicit ModelBuilder(std::string model_type);

  void set_trained_length(std::int64_t length) { model_.trained_length_ = length; }
  // The next layer.
  void add_layer(LayerDescription layer);
  // A kind of layer, where the file does not say how many layers there are.
  void add_kind(LayerDescription layer);
  // One line; said once, however often it is noticed.
  void warn(const std::string& line);

  // With at least one layer or kind.
  Model build() &&;

 private:
  LayerKind& kind_of(LayerDescription&& layer);

  Model model_;
  std::unordered_set<std::string> warned_;
  std::int64_t layers_ = 0;
};

// The readers, one source each. source.name stands for the file in messages.
Model model_from_gguf(const formats::Source& source);

}  // namespace ropewalk

#endif  // ROPEWALK_SRC_MODEL_HPP_
