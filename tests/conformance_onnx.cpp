// The operator RotaryEmbedding of ai.onnx, which is given cos and sin.

#include "conformance.hpp"

namespace ropewalk::testing {
namespace {

// A node: attributes of 0 are absent.
struct Node {
  explicit Node(const Json& json)
      : sizes(values_of<std::int64_t>(json.at("input_shape"))),
        num_heads(json.at("attributes").at("num_heads")) {
    if (sizes.size() == 3) {  // [b, s, h*d]
      layout = "bshd";
      sizes = {sizes[0], sizes[1], num_heads, sizes[2] / num_heads};
    }
    const std::int64_t given = json.at("attributes").at("rotary_embedding_dim");
    rotary_dim = given == 0 ? sizes[3] : given;
    interleaved = json.at("attributes").at("interleaved") == 1;
  }

  std::vector<std::int64_t> sizes;
  std::string layout = "bhsd";
  std::int64_t num_heads, rotary_dim = 0;
  bool interleaved = false;

  [[nodiscard]] Spec spec() const {
    return Spec({.head_dim = sizes[3],
                 .rotary_dim = rotary_dim,
                 .pairing = interleaved ? Pairing::kAdjacent : Pairing::kHalves});
  }
};

// From a table [positions, pairs] and ids, or from a row for each token, [b, s, pairs].
Angles angles_of(const Json& json, const Spec& spec) {
  const auto cos = values_of<float>(json.at("cos_cache"));
  const auto sin = values_of<float>(json.at("sin_cache"));
  const auto shape = values_of<std::int64_t>(json.at("cos_cache_shape"));
  EXPECT_EQ(json.at("sin_cache_shape"), json.at("cos_cache_shape"));
  const bool is_table = shape.size() == 2;
  EXPECT_NE(is_table, json.at("position_ids").is_null());
  const GivenRows rows{.cos = cos.data(),
                       .sin = sin.data(),
                       .batch = is_table ? 1 : shape[0],
                       .rows = shape[shape.size() - 2],
                       .width = shape[shape.size() - 1]};
  Angles angles;
  if (is_table) {
    const Ids ids(json.at("position_ids"), json.at("position_ids_shape"));
    angles.assign(spec, rows, ids.positions());
  } else {
    angles.assign(spec, rows);
  }
  return angles;
}

class Onnx : public ::testing::TestWithParam<std::string> {};

TEST_P(Onnx, its_caches_as_angles_give_its_numbers) {
  const Json json = read_case("onnx", GetParam());
  const Node node(json);
  const Spec spec = node.spec();
  const Angles angles = angles_of(json, spec);
  const std::vector<double> wanted = floats_of(json.at("output"));
  EXPECT_EQ(json.at("output_shape"), json.at("input_shape"));
  EXPECT_EQ(json.at("attributes").size(), 3u);  // there is nothing else to obey
  expect_on_every_target([&](const Options& options, WorstShare& worst) {
    const Tensor x(floats_of(json.at("input")), DType::kF32, node.sizes, node.layout);
    Tensor out(DType::kF32, node.sizes, node.layout);
    rotate(angles, x.view(), Into{out.view()}, options);
    worst.see(out, wanted, {0, node.rotary_dim}, 1e-6);
  });
}

INSTANTIATE_TEST_SUITE_P(Conformance, Onnx, ::testing::ValuesIn(case_names("onnx")), case_name);

TEST(Conformance, all_cases_of_onnx_are_there) { EXPECT_EQ(case_names("onnx").size(), 11u); }

}  // namespace
}  // namespace ropewalk::testing
