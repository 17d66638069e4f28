// How each architecture of GGUF rotates, where that is not in the file: the table of what llama.cpp has
// in its code. A part of the room model.

#ifndef ROPEWALK_SRC_MODEL_ARCHITECTURES_HPP_
#define ROPEWALK_SRC_MODEL_ARCHITECTURES_HPP_

#include <cstdint>
#include <string_view>

namespace ropewalk {

// ggml's types of rope. kBlocks and kCycle pair halves, and want sections.
enum class Rotation : std::uint8_t {
  kNone,
  kAdjacent,  // NORM
  kHalves,    // NEOX
  kBlocks,    // MROPE
  kCycle,     // IMROPE
};

// Which layers have a sliding window, and what their rope has from that of the others.
struct Sliding {
  enum class When : std::uint8_t {
    kNever,
    kAlways,
    kWithWindow,  // if attention.sliding_window is above 0
    kUnlessZero,  // unless attention.sliding_window is 0
    kLayers64,    // in models of 64 layers
    kRatios,      // where attention.compress_ratios is 0
  };
  When when = When::kNever;
  // One layer of so many has no window, the last one of them; where the file has no pattern. 0: the
  // pattern is wanted.
  std::int64_t period = 0;
  bool full_first = false;     // it is the first one
  bool copies_base = false;    // rope.freq_base for want of rope.freq_base_swa, and not 10000
  bool copies_factor = false;  // rope.scaling.factor; else they are not scaled
  bool is_plain = false;       // nor is their attention factor anything but 1
};

// Which layers rotate.
enum class Rotating : std::uint8_t {
  kAll,
  kSliding,         // where some slide, only those
  kSlidingOrDense,  // and the first leading_dense_block_count
  kNotLastOf4,      // not layers 3, 7, 11 ...
  kNotFirstOf4,     // where some slide, not layers 0, 4, 8 ...
  kIfFinetuned,     // none if rope.scaling.finetuned is false
  kByPattern,       // where attention.rope_pattern is not 0; all without that key
};

struct Architecture {
  std::string_view name;
  Rotation rotation = Rotation::kNone;
  Sliding sliding = {};
  Rotating rotating = Rotating::kAll;
  // One layer of so many has attention, where the file does not say which; 0: all that have heads.
  std::int64_t attention_period = 0;
  bool sections_are_optional = false;  // with sections, kBlocks
  bool window_is_last = false;         // of the head: [not rotated | rotated]
  bool magnitude_in_softmax = false;   // yarn's goes, squared, to the scale of the softmax
  // What rope.scaling.yarn_log_multiplier is stored with; 0 where it is not read.
  double log_multiplier = 0;
  bool factors_on_full_only = false;  // rope_freqs not for sliding layers
  bool half_width_on_full = false;    // full layers rotate half of rope.dimension_count
  bool has_temperature = false;       // attention.temperature_scale on queries
  bool has_alpha = false;             // rope.scaling.alpha
  // A number that, if it is not 0, makes it another model, which is not read.
  std::string_view refused_key = {};
  bool is_known = true;
};

// Of an unknown one: kAdjacent, and not is_known.
Architecture architecture_of(std::string_view name);

}  // namespace ropewalk

#endif  // ROPEWALK_SRC_MODEL_ARCHITECTURES_HPP_
