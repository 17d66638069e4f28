#include "model-presets.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <ropewalk/error.hpp>
#include <ropewalk/model.hpp>
#include <string>
#include <utility>
#include <vector>

#include "message.hpp"
#include "model-json.hpp"

namespace ropewalk {
namespace {

Preset preset_of(const PresetText& text) {
  const auto file = nlohmann::ordered_json::parse(text.json);  // keys stay in their order
  const auto& source = file.at("source");
  return {.name = std::string(text.name),
          .repository = source.at("repository"),
          .path = source.at("path"),
          .commit = source.at("commit"),
          .entry = source.value("entry", ""),
          .config = file.at("config").dump()};
}

// Names are mistyped in case and punctuation, which count for nothing here: Llama3.1-8B.
std::string letters_and_digits(std::string_view name) {
  std::string kept;
  for (const char c : name) {
    const bool is_upper = c >= 'A' && c <= 'Z';
    if (is_upper) kept += static_cast<char>(c - 'A' + 'a');
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) kept += c;
  }
  return kept;
}

// How many characters of a are to be inserted, left out or replaced (Levenshtein) to make of it the
// beginning of b that takes fewest, and all of b: gpt-oss is a good beginning of gpt-oss-20b.
std::pair<std::size_t, std::size_t> distances(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = std::exchange(row[j + 1], std::min({replaced, row[j] + 1, row[j + 1] + 1}));
    }
  }
  return {*std::min_element(row.begin(), row.end()), row.back()};
}

std::string names_near(std::string_view name) {
  constexpr std::size_t kNames = 3;
  constexpr std::size_t kMaxLength = 64;  // what is longer is no name
  const std::string wanted = letters_and_digits(name.substr(0, kMaxLength));
  std::vector<std::pair<std::pair<std::size_t, std::size_t>, std::string_view>> names;
  for (const PresetText& text : preset_texts()) {
    names.emplace_back(distances(wanted, letters_and_digits(text.name)), text.name);
  }
  std::sort(names.begin(), names.end());
  std::string near;
  for (std::size_t i = 0; i < std::min(kNames, names.size()); ++i) {
    near += message(near.empty() ? "" : ", ", names[i].second);
  }
  return near;
}

}  // namespace

std::vector<Preset> presets() {
  std::vector<Preset> all;
  for (const PresetText& text : preset_texts()) all.push_back(preset_of(text));
  return all;
}

Model Model::from_preset(std::string_view name) {
  for (const PresetText& text : preset_texts()) {
    if (text.name == name) return from_config(preset_of(text).config, message("preset ", name));
  }
  throw Error(ErrorCode::kInvalidArgument,
              message("preset ", quoted(std::string(name)), " is not known; near it are ",
                      names_near(name)));
}

}  // namespace ropewalk
