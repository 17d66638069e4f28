// The files of presets/, compiled in.

#ifndef ROPEWALK_SRC_MODEL_PRESETS_HPP_
#define ROPEWALK_SRC_MODEL_PRESETS_HPP_

#include <span>
#include <string_view>

namespace ropewalk {

struct PresetText {
  std::string_view name;  // of the file, without .json
  std::string_view json;  // as docs/models.md says
};

// In the order of the names. The source is made when the project is configured.
std::span<const PresetText> preset_texts() noexcept;

}  // namespace ropewalk

#endif  // ROPEWALK_SRC_MODEL_PRESETS_HPP_
