#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "message.hpp"
#include "model-families.hpp"

namespace ropewalk {
namespace {

std::vector<std::string> types_of(const Family& family) {
  std::istringstream words{std::string(family.model_types)};
  std::vector<std::string> types;
  for (std::string word; words >> word;) types.push_back(word);
  return types;
}

TEST(ModelFamilies, every_model_type_has_one_row) {
  std::set<std::string> seen;
  for (const Family& family : families()) {
    EXPECT_FALSE(family.evidence.empty()) << family.model_types;
    for (const std::string& type : types_of(family)) {
      EXPECT_TRUE(seen.insert(type).second) << type;
      EXPECT_EQ(find_family(type), &family) << type;
    }
  }
  EXPECT_GE(seen.size(), 100u);
  EXPECT_EQ(find_family("llam"), nullptr);
  EXPECT_EQ(find_family("qwen2 qwen3_moe"), nullptr);
  EXPECT_EQ(find_family(""), nullptr);
}

// ---- The table of docs/models.md. ----

std::string pairing_text(const Family& family) {
  if (!family.refused.empty()) return "refused: " + std::string(family.refused);
  if (family.unrotated == Unrotated::kAll) return "no rotation";
  std::string text(name(family.pairing));
  if (family.output_pairing != family.pairing) {
    text += message(" in, ", name(family.output_pairing), " out");
  }
  return text + (family.clockwise ? ", clockwise" : "");
}

std::string base_text(const Family& family) {
  std::string text = family.base ? message(*family.base) : "";
  if (family.base_key != "rope_theta") text += message(" (", family.base_key, ")");
  if (family.local_base != 0) {
    text += message("; sliding ", family.local_base, " (", family.local_key, ")");
  }
  return text;
}

std::string width_text(const Family& family) {
  std::string text;
  if (family.head_dim != 0) text += message("head_dim ", family.head_dim);
  const std::string_view separator = text.empty() ? "" : ", ";
  if (family.rotary_dim != 0) text += message(separator, "rotary_dim ", family.rotary_dim);
  if (family.partial != 1) text += message(separator, family.partial, " of it");
  return text;
}

std::string layers_text(const Family& family) {
  using Kind = LayerPattern::Kind;
  std::string text;
  const LayerPattern& layers = family.layers;
  switch (layers.kind) {
    case Kind::kNone:
    case Kind::kRotatesIsOther: break;
    case Kind::kLastIsFull: text = message("every ", layers.period, "th is full"); break;
    case Kind::kFirstIsFull: text = message("0, ", layers.period, " ... are full"); break;
    case Kind::kSecondIsFull: text = message("1, ", 1 + layers.period, " ... are full"); break;
    case Kind::kFromLast:
      text = message("every ", layers.period, "th before the last is full");
      break;
    case Kind::kCycle: text = message("in turn ", layers.full); break;
  }
  if (layers.first != 0) text += message(", the first ", layers.first, " ", layers.first_type);
  if (layers.last_is_full) text += ", and the last";
  if (family.sliding == Sliding::kOwnBaseUnscaled || family.sliding == Sliding::kUnscaled) {
    text += ", sliding ones unscaled";
  }
  if (family.unrotated == Unrotated::kFull) text += ", which do not rotate";
  if (family.unrotated == Unrotated::kFullIfSlid) text += ", which do not rotate if others slide";
  if (family.unrotated == Unrotated::kListed)
    text = "every 4th, or by no_rope_layers, does not rotate";
  if (!family.block.empty()) text += message(text.empty() ? "" : "; ", "a block of the class");
  if (!family.only_if_key.empty()) {
    text = message("rotate if ", family.only_if_key, " is ", family.only_if_value);
  }
  if (family.sections[0] != 0) {
    text += message(text.empty() ? "" : "; ", "axes ", name(family.axes), " ",
                    bracketed(family.sections));
  }
  return text;
}

std::string table() {
  std::string text =
      "| model_type | pairing | base | width | layers, axes | evidence "
      "|\n|---|---|---|---|---|---|\n";
  for (const Family& family : families()) {
    std::string types;
    for (const std::string& type : types_of(family)) types += (types.empty() ? "" : ", ") + type;
    text += message("| ", types, " | ", pairing_text(family), " | ", base_text(family), " | ",
                    width_text(family), " | ", layers_text(family), " | ", family.evidence, " |\n");
  }
  return text;
}

TEST(ModelFamilies, the_table_in_docs_is_that_of_the_code) {
  std::ifstream file(ROPEWALK_MODELS_DOC);
  std::stringstream document;
  document << file.rdbuf();
  EXPECT_NE(document.str().find(table()), std::string::npos) << "docs/models.md wants this table:\n"
                                                             << table();
}

}  // namespace
}  // namespace ropewalk
