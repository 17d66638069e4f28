// The parts of the reader of a config.json. Paths of keys begin at the top of the file; errors are
// those of model-json.hpp, without the file's name.

#ifndef ROPEWALK_SRC_MODEL_CONFIG_HPP_
#define ROPEWALK_SRC_MODEL_CONFIG_HPP_

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model-families.hpp"
#include "model-json.hpp"
#include "model.hpp"

namespace ropewalk {

// An object of the file. A null is as if the key were absent.
class Keys {
 public:
  Keys(const Json& object, std::string path) : object_(&object), path_(std::move(path)) {}

  [[nodiscard]] const Json* find(std::string_view key) const;
  template <class T>
  [[nodiscard]] std::optional<T> get(std::string_view key) const {
    const Json* const value = find(key);
    if (value == nullptr) return std::nullopt;
    std::optional<T> result(std::in_place);
    read(*value, path(key), *result);
    return result;
  }
  template <class T>
  [[nodiscard]] std::optional<T> first_of(std::initializer_list<std::string_view> keys) const {
    for (const std::string_view key : keys) {
      if (auto value = get<T>(key)) return value;
    }
    return std::nullopt;
  }
  [[nodiscard]] bool is_true(std::string_view key) const { return get<bool>(key).value_or(false); }
  [[nodiscard]] bool is_null(std::string_view key) const;
  [[nodiscard]] std::string path(std::string_view key) const {
    return joined(path_, std::string(key));
  }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] const Json& object() const noexcept { return *object_; }

 private:
  const Json* object_;
  std::string path_;
};

// The part of the file that speaks of the language model, and what it is read with.
struct Config {
  Keys keys;
  const Family& family;
  ModelBuilder& builder;

  template <class... Parts>
  void warn(const Parts&... parts) const {
    builder.warn(message(parts...));
  }
  // max_position_embeddings in any spelling.
  [[nodiscard]] std::optional<std::int64_t> trained_length() const;
};

struct Layer {
  std::string type;
  bool rotates = true;
  std::int64_t index = 0;
};

struct Layers {
  std::vector<Layer> list;
  bool counted = true;  // else one of each kind, as the file does not say how many there are
};

// model-layers.cpp. Throws Error.
Layers layers_of(const Config& config);

// The rope keys of a config: rope_parameters or rope_scaling, one block for all layers or one for
// each type of them.
class RopeBlocks {
 public:
  explicit RopeBlocks(const Config& config);

  [[nodiscard]] bool nested() const noexcept { return nested_; }
  // The block for layers of this type, empty if there is none; nothing if it is null, and these layers
  // do not rotate.
  [[nodiscard]] std::optional<Keys> of(const Config& config, std::string_view layer_type) const;
  // Refuses scaling that no layer has, and blocks of what is no type of layer.
  void check_used(const Config& config, const Layers& layers) const;

 private:
  [[nodiscard]] std::string label_of(const Config& config, std::string_view layer_type) const;
  // Where a key of the block stands in the file.
  [[nodiscard]] std::string path_of(const std::string& key) const;
  void check_beside_blocks(const Config& config, const std::string& key, const Json& value) const;
  void check_flat(const Config& config, const Layers& layers) const;

  Json block_ = Json::object();
  std::string path_;
  std::map<std::string, std::string, std::less<>> paths_;
  bool nested_ = false;
};

// model-scaling.cpp: the rule in a block, for a head of this width.
struct BlockRule {
  Scaling scaling;
  bool spans_head = false;  // proportional: the window is the head
};
BlockRule rule_of(const Config& config, const Keys& block, std::int64_t head_dim, double partial);
// Whether it is a key of such a block, read or not, and so no type of layer.
bool is_rope_key(std::string_view key);
// Whether this key with this value, or this block, asks for a rule that is not the default.
bool scales(std::string_view key, const Json& value);
bool scales(const Keys& block);
// One warning for each key of a block that is not read.
void warn_of_unread(const Config& config, const Keys& block);

// model-layer.cpp: what the file says of a layer. Throws Error.
LayerDescription describe(const Config& config, const RopeBlocks& blocks, const Layer& layer);

}  // namespace ropewalk

#endif  // ROPEWALK_SRC_MODEL_CONFIG_HPP_
