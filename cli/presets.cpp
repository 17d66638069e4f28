#include "presets.hpp"

#include <algorithm>
#include <array>
#include <iostream>
#include <ropewalk/model.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "message.hpp"

namespace ropewalk::cli {
namespace {

// "64 of 192 from 128, adjacent, base 10000, yarn by 40"
std::string phrase(const Spec& spec) {
  std::string text = message(spec.rotary_dim());
  if (spec.rotary_dim() != spec.head_dim()) text += message(" of ", spec.head_dim());
  if (spec.rotary_offset() != 0) text += message(" from ", spec.rotary_offset());
  text += message(", ", name(spec.pairing()));
  if (spec.output_pairing() != spec.pairing()) {
    text += message(" to ", name(spec.output_pairing()));
  }
  text += message(", base ", spec.base());
  if (!spec.axis_of_pair().empty()) text += ", of several axes";
  const Scaling scaling = spec.scaling();
  if (scaling.type == Scaling::Type::kDefault) return text;
  text += message(", ", name(scaling.type));
  return scaling.factor ? text + message(" by ", *scaling.factor) : text;
}

// Of each kind of layer that rotates; if they do it alike, once.
std::string phrase(const Model& model) {
  std::vector<std::pair<std::string, std::string>> kinds;  // layer type, phrase
  for (const LayerKind& kind : model.kinds()) {
    if (kind.rotates()) kinds.emplace_back(kind.layer_type(), phrase(kind.spec()));
  }
  const bool alike = std::all_of(kinds.begin(), kinds.end(), [&](const auto& kind) {
    return kind.second == kinds.front().second;
  });
  if (alike) return kinds.empty() ? "no rotation" : kinds.front().second;
  std::string text;
  for (const auto& [type, words] : kinds) {
    text += message(text.empty() ? "" : "; ", type, ": ", words);
  }
  return text;
}

}  // namespace

void print_presets() {
  constexpr std::size_t kShortCommit = 7;
  using Row = std::array<std::string, 4>;
  std::vector<Row> rows = {{"name", "model_type", "source", "RoPE"}};
  for (const Preset& preset : presets()) {
    const Model model = Model::from_preset(preset.name);
    rows.push_back({preset.name, model.model_type(),
                    message(preset.repository, "@", preset.commit.substr(0, kShortCommit)),
                    phrase(model)});
  }
  Row::value_type::size_type widths[std::tuple_size_v<Row>] = {};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const Row& row : rows) {
    for (std::size_t i = 0; i + 1 < row.size(); ++i) {
      std::cout << row[i] << std::string(widths[i] - row[i].size() + 2, ' ');
    }
    std::cout << row.back() << '\n';
  }
}

nlohmann::ordered_json json_of_presets() {
  using Json = nlohmann::ordered_json;
  Json all = Json::array();
  for (const Preset& preset : presets()) {
    const Model model = Model::from_preset(preset.name);
    all.push_back({{"name", preset.name},
                   {"model_type", model.model_type()},
                   {"rope", phrase(model)},
                   {"source",
                    {{"repository", preset.repository},
                     {"path", preset.path},
                     {"commit", preset.commit},
                     {"entry", preset.entry.empty() ? Json(nullptr) : Json(preset.entry)}}},
                   {"config", Json::parse(preset.config)}});
  }
  return all;
}

}  // namespace ropewalk::cli
