// Configs, and the frequencies that transformers' own classes make of them.

#include <fstream>
#include <numbers>
#include <ropewalk/error.hpp>
#include <ropewalk/model.hpp>
#include <sstream>

#include "conformance.hpp"
#include "reference.hpp"

namespace ropewalk::testing {
namespace {

// The kind of layer that a case is about: the named one, or that which rotates.
const LayerKind& kind_of(const Model& model, const Json& json) {
  if (json.at("layer_type").is_string()) {
    return model.kind(json.at("layer_type").get<std::string>());
  }
  const LayerKind* found = nullptr;
  for (const LayerKind& kind : model.kinds()) {
    if (kind.rotates() && (found == nullptr || kind.layer_type() == "full_attention")) {
      found = &kind;
    }
  }
  if (found == nullptr) throw std::invalid_argument("no kind that rotates");
  return *found;
}

std::optional<std::int64_t> length_of(const Json& json) {
  if (json.at("seq_len").is_null()) return std::nullopt;
  return json.at("seq_len").get<std::int64_t>();
}

// What is wrong with the reading of a case, empty if nothing is.
std::string difference(const Json& json) {
  const Model model = Model::from_config(json.at("config").dump());
  const LayerKind& kind = kind_of(model, json);
  const Rope rope(kind.spec(), length_of(json));
  std::ostringstream wrong;
  wrong.precision(17);
  if (rope.spec().rotary_dim() != json.at("rotary_dim")) {
    wrong << "rotary_dim " << rope.spec().rotary_dim() << "; ";
  }
  // Of multi-head latent attention the case gives the rotated part only.
  if (rope.spec().head_dim() - rope.spec().rotary_offset() != json.at("head_dim")) {
    wrong << "head_dim " << rope.spec().head_dim() << "; ";
  }
  const double m = json.at("attention_factor");
  if (!(std::abs(rope.attention_factor() - m) <= 1e-9 * m)) {
    wrong << "attention factor " << rope.attention_factor() << ", want " << m << "; ";
  }
  const std::vector<double> wanted = floats_of(json.at("inv_freq"));
  if (wanted.size() != rope.frequencies().size()) return wrong.str() + "another number of pairs";
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double given = rope.frequencies()[i];
    if (!(std::abs(given - wanted[i]) <= 1e-6 * std::abs(wanted[i]))) {
      wrong << "frequency " << i << " is " << given << ", want " << wanted[i] << "; ";
    }
  }
  return wrong.str();
}

std::string difference_or_error(const Json& json) {
  try {
    return difference(json);
  } catch (const Error& error) {
    return error.what();
  }
}

// Where ropewalk reads a config otherwise, docs/models.md says why.
const std::vector<std::pair<std::string, std::string>> kDecided = {
    {"syn_both_type_keys_disagree_seq4096",
     "config: rope_scaling.type: linear beside rope_type dynamic: want one type"},
    {"syn_partial_float_rounding_hd100",
     "config: partial_rotary_factor: 0.58 of head_dim 100 is 57, want an even number of elements "
     "from "
     "2"},
    {"syn_nested_yarn_truncate_false_full_attention", "frequency 35 "},
};

std::string decided(const std::string& name) {
  for (const auto& [each, what] : kDecided) {
    if (each == name) return what;
  }
  return "";
}

class InvFreq : public ::testing::TestWithParam<std::string> {};

TEST_P(InvFreq, its_config_gives_its_frequencies) {
  const Json json = read_case("inv_freq", GetParam());
  const std::string wrong = difference_or_error(json);
  const std::string decision = decided(GetParam());
  if (decision.empty()) {
    EXPECT_EQ(wrong, "");
  } else {
    EXPECT_EQ(json.at("status"), "disputed");
    EXPECT_EQ(wrong.substr(0, decision.size()), decision);
  }
}

INSTANTIATE_TEST_SUITE_P(Conformance, InvFreq, ::testing::ValuesIn(case_names("inv_freq")),
                         case_name);

TEST(Conformance, all_cases_of_inv_freq_are_there) {
  EXPECT_EQ(case_names("inv_freq").size(), 90u);
}

// YaRN's formula with bounds that are not whole pairs, where transformers rounds them.
TEST(Conformance, truncate_is_read_where_its_block_is) {
  const Json json = read_case("inv_freq", "syn_nested_yarn_truncate_false_full_attention");
  const Model model = Model::from_config(json.at("config").dump());
  const Rope rope(model.kind("full_attention").spec());
  using Real = long double;
  const Real base = 1e6L, d = 256, trained = 8192, pi = std::numbers::pi_v<Real>;
  const auto pair_of = [&](Real turns) {
    return d * std::log(trained / (turns * 2 * pi)) / (2 * std::log(base));
  };
  const Real low = pair_of(32), high = pair_of(1);
  ASSERT_EQ(rope.frequencies().size(), 128u);
  for (std::size_t i = 0; i < 128; ++i) {
    const Real plain = std::pow(base, -2 * static_cast<Real>(i) / d);
    // In float32, as the frequencies are.
    const float place = static_cast<float>(i) - static_cast<float>(low);
    const Real share = std::clamp(place / static_cast<float>(high - low), 0.0F, 1.0F);
    const Real wanted = plain / 8 * share + plain * (1 - share);
    EXPECT_NEAR(rope.frequencies()[i] / static_cast<double>(wanted), 1, 0x1p-23) << i;
  }
}

// ---- The table of docs/models.md. ----

std::string table() {
  std::ostringstream text;
  text << "| status | files | the same numbers | decided otherwise |\n|---|---|---|---|\n";
  int all = 0, all_same = 0;
  for (const std::string_view status : {"agreed", "version_sensitive", "disputed"}) {
    int files = 0, same = 0;
    for (const std::string& name : case_names("inv_freq")) {
      const Json json = read_case("inv_freq", name);
      if (json.at("status") != status) continue;
      ++files;
      same += difference_or_error(json).empty() ? 1 : 0;
    }
    text << "| " << status << " | " << files << " | " << same << " | " << files - same << " |\n";
    all += files;
    all_same += same;
  }
  text << "| all | " << all << " | " << all_same << " | " << all - all_same << " |\n";
  return text.str();
}

TEST(Conformance, the_table_in_docs_is_what_the_cases_give) {
  std::ifstream file(ROPEWALK_MODELS_DOC);
  std::stringstream document;
  document << file.rdbuf();
  EXPECT_NE(document.str().find(table()), std::string::npos) << "docs/models.md wants this table:\n"
                                                             << table();
}

}  // namespace
}  // namespace ropewalk::testing
