// What a model's family says that its config.json does not: one table, a row for models alike.

#ifndef ROPEWALK_SRC_MODEL_FAMILIES_HPP_
#define ROPEWALK_SRC_MODEL_FAMILIES_HPP_

#include <array>
#include <cstdint>
#include <optional>
#include <ropewalk/spec.hpp>
#include <span>
#include <string_view>
#include <utility>

namespace ropewalk {

// Which layers are of which type where the config has no layer_types.
struct LayerPattern {
  enum class Kind : std::uint8_t {
    kNone,        // all full_attention
    kLastIsFull,  // layer i is of the type `full` if (i + 1) mod period = 0, else of the other type
    kFirstIsFull,     // ... if i mod period = 0
    kSecondIsFull,    // ... if i mod period = 1
    kFromLast,        // ... if (layers - 1 - i) mod period = 0
    kRotatesIsOther,  // ... if it does not rotate
    kCycle,           // the types named in `full`, over and over
  };
  Kind kind = Kind::kNone;
  std::int64_t period = 0;  // unless the config says it under key
  std::string_view key = {};
  std::string_view other = "sliding_attention";
  std::string_view full = "full_attention";
  std::int64_t first = 0;  // so many at the beginning are of first_type, whatever the pattern
  std::string_view first_type = full;
  bool last_is_full = false;
};

// Which layers do not rotate, beside those without attention.
enum class Unrotated : std::uint8_t {
  kNone,
  kAll,
  kListed,      // no_rope_layers has a 0; without a list every no_rope_layer_interval-th, 4
  kFull,        // all but the sliding ones
  kFullIfSlid,  // the same, if there is a sliding_window
};

// What sliding layers do where one block of rope keys is for the whole model.
enum class Sliding : std::uint8_t {
  kAsFull,
  kOwnBase,          // own base (local_key, local_base), the scaling of the block
  kOwnBaseUnscaled,  // own base, no scaling
  kUnscaled,         // the same base, no scaling
};

struct Family {
  std::string_view model_types;  // separated by spaces
  Pairing pairing = Pairing::kHalves;
  Pairing output_pairing = pairing;
  std::optional<double> base = {};  // none: 10000, which is warned about
  double partial = 1;               // of head_dim that rotates
  std::int64_t rotary_dim = 0;      // instead of partial
  std::int64_t head_dim = 0;        // of the class, whatever hidden_size and heads are
  std::int64_t usual_head_dim = 0;  // where the config names neither head_dim nor hidden_size
  LayerPattern layers = {};
  Unrotated unrotated = Unrotated::kNone;
  Sliding sliding = Sliding::kAsFull;
  std::string_view base_key = "rope_theta";
  std::string_view local_key = {};
  double local_base = 0;
  Axes::Order axes = Axes::Order::kBlocks;
  std::array<std::int64_t, 3> sections = {};  // as the config would say them
  std::int64_t equal_axes = 0;                // instead: so many axes, with as many pairs each
  std::string_view block = {};                // JSON: the rope keys of a config that has none
  std::pair<std::string_view, std::string_view> labels =
      {};                                  // of the blocks of sliding and other layers
  std::int64_t global_head_dim = 0;        // of layers that do not slide
  bool at_end = false;                     // the window is the end of the head
  std::optional<double> yarn_factor = {};  // the attention factor of yarn, where none is given
  bool mlp_apart = false;                  // layer_types may name "mlp" between the layers
  bool clockwise = false;
  std::string_view only_if_key = {};    // rotates only if this key
  std::string_view only_if_value = {};  // has this value, "true" being a boolean
  std::string_view refused = {};        // why it is no pure rotation by one axis per pair
  std::string_view evidence = {};       // in transformers, if no other place is named
};

std::span<const Family> families();

// The row of a model_type, or nullptr.
const Family* find_family(std::string_view model_type);

}  // namespace ropewalk

#endif  // ROPEWALK_SRC_MODEL_FAMILIES_HPP_
