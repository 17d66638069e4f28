// ggml's rope, forward and backward: its arguments in words of ours.

#include "conformance.hpp"

namespace ropewalk::testing {
namespace {

// ggml's arguments, as in ggml.h.
struct Arguments {
  explicit Arguments(const Json& json)
      : mode(json.at("mode")),
        n_dims(json.at("n_dims")),
        n_offs(json.at("n_offs")),
        head_dim(json.at("shape").at(3)),
        n_ctx_orig(json.at("n_ctx_orig")),
        freq_base(float_of(json.at("freq_base"))),
        freq_scale(float_of(json.at("freq_scale"))),
        ext_factor(float_of(json.at("ext_factor"))),
        attn_factor(float_of(json.at("attn_factor"))),
        beta_fast(float_of(json.at("beta_fast"))),
        beta_slow(float_of(json.at("beta_slow"))),
        freq_factors(json.at("freq_factors").is_null() ? std::vector<double>{}
                                                       : floats_of(json.at("freq_factors"))),
        sections(json.at("sections").is_null() ? std::vector<std::int64_t>{}
                                               : values_of<std::int64_t>(json.at("sections"))) {}

  std::string mode;
  std::int64_t n_dims, n_offs, head_dim;
  double n_ctx_orig, freq_base, freq_scale, ext_factor, attn_factor, beta_fast, beta_slow;
  std::vector<double> freq_factors;
  std::vector<std::int64_t> sections;

  // VISION rotates the whole head, n_dims pairs of it; the other modes n_dims elements.
  [[nodiscard]] std::int64_t rotary_dim() const { return mode == "VISION" ? 2 * n_dims : n_dims; }
  [[nodiscard]] std::int64_t pairs() const { return rotary_dim() / 2; }
};

// The section in which pair i stands, and its number there; sections repeat when they run out.
struct Place {
  std::int64_t section, index;
};

Place place_of(const Arguments& a, std::int64_t i) {
  std::int64_t sum = 0;
  for (const std::int64_t each : a.sections) sum += each;
  std::int64_t index = i % sum, section = 0;
  while (index >= a.sections.at(static_cast<std::size_t>(section))) {
    index -= a.sections[static_cast<std::size_t>(section++)];
  }
  return {section, index};
}

// ggml_rope_yarn_corr_dims: the pairs between which the ramp falls, rounded outwards.
std::pair<double, double> yarn_range(const Arguments& a) {
  const double pi = std::acos(-1.0);
  const auto pair_of = [&](double beta) {
    return static_cast<double>(a.n_dims) * std::log(a.n_ctx_orig / (beta * 2 * pi)) /
           (2 * std::log(a.freq_base));
  };
  return {std::max(0.0, std::floor(pair_of(a.beta_fast))),
          std::min(static_cast<double>(a.n_dims - 1), std::ceil(pair_of(a.beta_slow)))};
}

// rope_yarn of ggml's ops.cpp, in double.
double frequency(const Arguments& a, std::int64_t pair) {
  const std::int64_t exponent = a.mode == "VISION" ? place_of(a, pair).index : pair;
  double extrapolated =
      std::pow(a.freq_base, -2 * static_cast<double>(exponent) / static_cast<double>(a.n_dims));
  if (!a.freq_factors.empty()) extrapolated /= a.freq_factors.at(static_cast<std::size_t>(pair));
  const double interpolated = a.freq_scale * extrapolated;
  if (a.ext_factor == 0) return interpolated;
  const auto [low, high] = yarn_range(a);
  const double along = (static_cast<double>(pair) - low) / std::max(0.001, high - low);
  const double mix = (1 - std::clamp(along, 0.0, 1.0)) * a.ext_factor;
  return interpolated * (1 - mix) + extrapolated * mix;
}

Spec spec_of(const Arguments& a) {
  const double magnitude = a.ext_factor == 0 ? 1 : 1 + 0.1 * std::log(1 / a.freq_scale);
  SpecFields fields{.head_dim = a.head_dim,
                    .rotary_dim = a.rotary_dim(),
                    .rotary_offset = a.n_offs,
                    .pairing = a.mode == "NORMAL" ? Pairing::kAdjacent : Pairing::kHalves,
                    .frequencies = std::vector<double>{},
                    .attention_factor = a.attn_factor * magnitude};
  for (std::int64_t i = 0; i < a.pairs(); ++i) fields.frequencies->push_back(frequency(a, i));
  std::int64_t sum = 0;
  for (const std::int64_t each : a.sections) sum += each;
  if (a.mode == "IMROPE") {
    fields.axes = Axes{a.sections, Axes::Order::kGgmlCycle};
  } else if (!a.sections.empty() && sum == a.pairs()) {
    fields.axes = Axes{a.sections, Axes::Order::kBlocks};
  } else if (!a.sections.empty()) {
    fields.axis_of_pair = std::vector<std::int64_t>{};
    for (std::int64_t i = 0; i < a.pairs(); ++i) {
      fields.axis_of_pair->push_back(place_of(a, i).section);
    }
  }
  return Spec(fields);
}

class Ggml : public ::testing::TestWithParam<std::string> {};

TEST_P(Ggml, its_arguments_as_a_spec_give_its_numbers) {
  const Json json = read_case("ggml", GetParam());
  const Arguments arguments(json);
  const Rope rope(spec_of(arguments));
  const auto sizes = values_of<std::int64_t>(json.at("shape"));
  const std::string layout = json.at("layout"), op = json.at("op");
  const Ids ids(json.at("positions"), json.at("positions_shape"), true);
  const std::vector<double> wanted = floats_of(json.at("out"));
  expect_on_every_target([&](const Options& options, WorstShare& worst) {
    const Tensor x(floats_of(json.at("x")), DType::kF32, sizes, layout);
    Tensor out(DType::kF32, sizes, layout);
    if (op.ends_with("_back")) {
      backward(rope, x.view(), ids.positions(), out.view(), options);
    } else {
      rotate(rope, x.view(), ids.positions(), out.view(), options);
    }
    worst.see(out, wanted, {arguments.n_offs, arguments.n_offs + arguments.rotary_dim()},
              allowed_by(json));
  });
}

INSTANTIATE_TEST_SUITE_P(Conformance, Ggml, ::testing::ValuesIn(case_names("ggml")), case_name);

TEST(Conformance, all_cases_of_ggml_are_there) { EXPECT_EQ(case_names("ggml").size(), 24u); }

}  // namespace
}  // namespace ropewalk::testing
