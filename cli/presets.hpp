// What `inspect --list` prints: the presets, which RoPE each has, and where its config was read.

#ifndef ROPEWALK_CLI_PRESETS_HPP_
#define ROPEWALK_CLI_PRESETS_HPP_

#include <nlohmann/json.hpp>

namespace ropewalk::cli {

void print_presets();
nlohmann::ordered_json json_of_presets();

}  // namespace ropewalk::cli

#endif  // ROPEWALK_CLI_PRESETS_HPP_
