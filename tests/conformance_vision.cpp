// The cases of several axes once more, but with spec and positions made by the builders: q_out and
// k_out must come of a form's name, a base, and the shapes of images and texts alone.

#include <functional>

#include "conformance.hpp"

namespace ropewalk::testing {
namespace {

// The positions of a sequence's pieces, put one after another: piece p has the runs that begin at
// start, of which the case holds so many tokens.
struct Piece {
  std::int64_t start, tokens;
  std::vector<Run> runs;
};

PositionIds joined(const std::vector<std::vector<Piece>>& sequences) {
  PositionIds result;
  const auto batch = static_cast<std::int64_t>(sequences.size());
  for (std::int64_t axis = 0; axis < 3; ++axis) {
    for (const std::vector<Piece>& sequence : sequences) {
      for (const Piece& piece : sequence) {
        const TokenPositions made = token_positions(piece.runs, {}, piece.start);
        EXPECT_GE(made.ids.shape.tokens, piece.tokens);
        for (std::int64_t t = 0; t < piece.tokens; ++t) {
          result.ids.push_back(made.ids.at(axis, 0, t));
        }
      }
    }
  }
  const auto count = static_cast<std::int64_t>(result.ids.size());
  result.shape = {.axes = 3, .batch = batch, .tokens = count / 3 / batch};
  return result;
}

// A picture at start, then words.
std::vector<Piece> picture_and_words(std::int64_t start, Run picture, std::int64_t cut,
                                     std::int64_t words_at) {
  return {{start, cut, {picture}}, {words_at, 2, {Run::text(2)}}};
}

Spec sectioned(const Json& json, Axes axes) {
  const bool is_halves = json.at("pairing") == "half";
  return Spec({.head_dim = json.at("head_dim"),
               .rotary_dim = json.at("rotary_dim").get<std::int64_t>(),
               .pairing = is_halves ? Pairing::kHalves : Pairing::kAdjacent,
               .base = json.at("theta").get<double>(),
               .frequency_rounding = FrequencyRounding::kFloat32,
               .axes = std::move(axes)});
}

VisionFields tower(const Json& json) {
  return {.head_dim = json.at("head_dim"),
          .base = json.at("theta").get<double>(),
          .frequency_rounding = FrequencyRounding::kFloat32};
}

struct Built {
  Spec spec;
  PositionIds positions;
};

const std::vector<std::pair<std::string, std::function<Built(const Json&)>>> kCases = {
    {"vision2d_pixtral_d32",
     [](const Json& json) {
       return Built{pixtral_spec(tower(json)), image_positions({.rows = 3, .columns = 4})};
     }},
    {"vision2d_qwen25vl_d32_two_images",
     [](const Json& json) {
       std::vector<Grid> grids;
       for (const Json& thw : json.at("grid_thw")) {
         grids.push_back({.frames = thw.at(0),
                          .rows = thw.at(1),
                          .columns = thw.at(2),
                          .merge = json.at("spatial_merge_size")});
       }
       return Built{qwen_vision_spec(tower(json)), image_positions(grids)};
     }},
    {"mrope_qwen2vl_16_24_24",
     [](const Json& json) {
       return Built{sectioned(json, {{16, 24, 24}, Axes::Order::kBlocks}),
                    joined({picture_and_words(4, Run::image(4, 6), 4, 11)})};
     }},
    {"mrope_qwen2vl_2_3_3_b2",
     [](const Json& json) {
       return Built{sectioned(json, {{2, 3, 3}, Axes::Order::kBlocks}),
                    joined({picture_and_words(4, Run::image(4, 6), 6, 13),
                            picture_and_words(54, Run::image(4, 6), 6, 63)})};
     }},
    {"mrope_qwen25vl_8_12_12",
     [](const Json& json) {
       return Built{sectioned(json, {{8, 12, 12}, Axes::Order::kBlocks}),
                    joined({picture_and_words(4, Run::image(4, 6), 6, 13)})};
     }},
    {"mrope_glm4v_partial_8_12_12",
     [](const Json& json) {
       return Built{sectioned(json, {{8, 12, 12}, Axes::Order::kBlocks}),
                    joined({picture_and_words(4, Run::image(4, 6), 4, 11)})};
     }},
    {"mrope_ernie45vl_22_22_20",
     [](const Json& json) {
       return Built{sectioned(json, {{20, 22, 22}, Axes::Order::kErnie}),
                    joined({picture_and_words(4, Run::image(4, 6), 4, 11)})};
     }},
    {"imrope_qwen3vl_24_20_20",
     [](const Json& json) {
       return Built{sectioned(json, {{24, 20, 20}, Axes::Order::kCycle}),
                    joined({picture_and_words(4, Run::image(4, 6), 4, 11)})};
     }},
    {"imrope_qwen3vl_12_10_10",
     [](const Json& json) {
       return Built{sectioned(json, {{12, 10, 10}, Axes::Order::kCycle}),
                    joined({picture_and_words(4, Run::image(2, 6), 3, 10),
                            picture_and_words(54, Run::image(2, 6), 3, 60)})};
     }},
};

class ApplyVision : public ::testing::TestWithParam<std::size_t> {};

TEST_P(ApplyVision, spec_and_positions_of_the_builders_give_its_numbers) {
  const auto& [name, build] = kCases[GetParam()];
  const Json json = read_case("apply", name);
  const Built built = build(json);
  EXPECT_EQ(built.positions.ids, values_of<std::int64_t>(json.at("positions")));
  const std::string layout = json.at("layout");
  const Rope rope(built.spec);
  const std::int64_t rotary_dim = json.at("rotary_dim");
  expect_on_every_target([&](const Options& options, WorstShare& worst) {
    for (const std::string which : {"q", "k"}) {
      const auto sizes = values_of<std::int64_t>(json.at(which + "_shape"));
      Tensor x(floats_of(json.at(which)), DType::kF32, sizes, layout);
      rotate(rope, x.view(), built.positions.positions(), options);
      worst.see(x, floats_of(json.at(which + "_out")), {0, rotary_dim}, allowed_by(json));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Conformance, ApplyVision, ::testing::Range<std::size_t>(0, kCases.size()),
                         [](const auto& each) { return kCases[each.param].first; });

// Every case with more than one axis is here.
TEST(Conformance, all_cases_of_several_axes_are_built) {
  std::vector<std::string> wanted, built;
  for (const std::string& name : case_names("apply")) {
    const Json json = read_case("apply", name);
    if (json.contains("vision_style") || json.contains("mrope_style")) wanted.push_back(name);
  }
  for (const auto& [name, build] : kCases) built.push_back(name);
  std::sort(built.begin(), built.end());
  EXPECT_EQ(built, wanted);
}

}  // namespace
}  // namespace ropewalk::testing
