// Rotary classes and apply functions of Hugging Face models: the same from a Spec, from the model's
// own cos and sin, and in every element type.

#include <stdexcept>

#include "conformance.hpp"

namespace ropewalk::testing {
namespace {

// ---- The words of the cases, as pairs: ω and axis of each ----

// Which row of the positions pair i turns with. It says what the Axes of axes() below say, in the
// words of the cases: rows of cos and sin are picked by it, and the exact rotation turns by it.
std::int64_t axis_of(const Json& json, std::int64_t i, std::int64_t pairs) {
  if (json.contains("vision_style")) return i < pairs / 2 ? 0 : 1;
  if (!json.contains("mrope_style")) return 0;
  const auto sections = values_of<std::int64_t>(json.at("mrope_section"));
  const std::string style = json.at("mrope_style");
  if (style == "sections") {
    return i < sections[0] ? 0 : i < sections[0] + sections[1] ? 1 : 2;
  }
  if (style == "interleaved") {
    const std::int64_t r = i % 3;
    return r != 0 && i < 3 * sections[static_cast<std::size_t>(r)] ? r : 0;
  }
  if (style == "ernie_hw_alternating_then_t") {  // sections h, w, t
    return i >= sections[0] + sections[1] ? 0 : i % 2 == 0 ? 1 : 2;
  }
  throw std::invalid_argument(style);
}

// Where the frequency of pair i stands in inv_freq.
std::int64_t frequency_index(const Json& json, std::int64_t i, std::int64_t pairs) {
  const std::string vision = json.value("vision_style", "");
  if (vision == "sections_restart") return i % (pairs / 2);
  if (vision == "pixtral_alternating") return i < pairs / 2 ? 2 * i : 2 * (i - pairs / 2) + 1;
  if (json.value("mrope_style", "") == "ernie_hw_alternating_then_t") {
    // As the source stores it: what is turned by height first, then by width, then by time.
    const std::int64_t height = json.at("mrope_section").at(0);
    return axis_of(json, i, pairs) == 0 ? i : i / 2 + (i % 2 == 0 ? 0 : height);
  }
  return i;
}

// ---- A case ----

struct ApplyCase {
  explicit ApplyCase(const std::string& name)
      : json(read_case("apply", name)),
        head_dim(json.at("head_dim")),
        rotary_dim(json.at("rotary_dim")),
        m(json.at("attention_factor")),
        ids(json.at("positions"), json.at("positions_shape"), json.contains("vision_style")) {
    const std::vector<double> stored = floats_of(json.at("inv_freq"));
    for (std::int64_t i = 0; i < pairs(); ++i) {
      omega.push_back(stored.at(static_cast<std::size_t>(frequency_index(json, i, pairs()))));
      axis.push_back(axis_of(json, i, pairs()));
    }
    const std::string pairing = json.at("pairing");
    if (pairing != "half" && pairing != "interleaved" && pairing != "interleaved_to_half") {
      throw std::invalid_argument(pairing);
    }
    read = pairing == "half" ? Pairing::kHalves : Pairing::kAdjacent;
    written = pairing == "interleaved" ? Pairing::kAdjacent : Pairing::kHalves;
  }

  Json json;
  std::int64_t head_dim, rotary_dim;
  double m;
  Ids ids;
  std::vector<double> omega = {};
  std::vector<std::int64_t> axis = {};
  Pairing read{}, written{};

  [[nodiscard]] std::int64_t pairs() const { return rotary_dim / 2; }
  [[nodiscard]] std::vector<std::int64_t> sizes(std::string_view which) const {
    return values_of<std::int64_t>(json.at(std::string(which) + "_shape"));
  }
  [[nodiscard]] Tensor tensor(std::string_view which, DType dtype) const {
    return {floats_of(json.at(which)), dtype, sizes(which), std::string(json.at("layout"))};
  }
  [[nodiscard]] Tensor nothing(std::string_view which, DType dtype) const {
    return {dtype, sizes(which), std::string(json.at("layout"))};
  }

  [[nodiscard]] Axes axes() const {
    const auto sections = values_of<std::int64_t>(json.at("mrope_section"));
    const std::string style = json.at("mrope_style");
    if (style == "sections") return {sections, Axes::Order::kBlocks};
    if (style == "interleaved") return {sections, Axes::Order::kCycle};
    return {{sections[2], sections[0], sections[1]}, Axes::Order::kErnie};  // from h, w, t
  }

  [[nodiscard]] Spec spec() const {
    SpecFields fields{.head_dim = head_dim,
                      .rotary_dim = rotary_dim,
                      .pairing = read,
                      .output_pairing = written,
                      .frequencies = omega,
                      .attention_factor = m};
    if (json.contains("vision_style")) fields.axis_of_pair = axis;
    if (json.contains("mrope_style")) fields.axes = axes();
    return Spec(fields);
  }

  // The model's own cos or sin, one row per token. Qwen2-VL keeps one for each axis, [3, b, s, d],
  // and picks.
  [[nodiscard]] std::vector<float> rows(std::string_view which) const {
    const auto values = values_of<float>(json.at(which));
    const auto shape = sizes("cos");
    if (shape.size() < 4) return values;
    const auto width = static_cast<std::size_t>(shape[3]);
    const std::size_t count = values.size() / static_cast<std::size_t>(shape[0]);
    std::vector<float> result;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t pair = i % width % static_cast<std::size_t>(pairs());
      result.push_back(values[static_cast<std::size_t>(axis[pair]) * count + i]);
    }
    return result;
  }

  [[nodiscard]] Angles given_angles(DType dtype) const {
    const std::vector<float> cos = rows("cos"), sin = rows("sin");
    const auto shape = sizes("cos");
    Angles angles;
    angles.assign(spec(),
                  {.cos = cos.data(),
                   .sin = sin.data(),
                   .batch = shape.size() < 3 ? 1 : shape[shape.size() - 3],
                   .rows = shape[shape.size() - 2],
                   .width = shape[shape.size() - 1]},
                  dtype);
    return angles;
  }

  // visit(where the head begins in x, pair, position, its turn), for every pair of every head.
  template <class Visit>
  void for_each_pair(const Tensor& x, Visit visit) const {
    for (std::int64_t b = 0; b < x.shape()[0]; ++b) {
      for (std::int64_t t = 0; t < x.shape()[1]; ++t) {
        for (std::size_t i = 0; i < omega.size(); ++i) {
          const std::int64_t p = ids.at(axis[i], b, t);
          const reference::Turn turn = reference::turn(omega[i], p);
          for (std::int64_t h = 0; h < x.shape()[2]; ++h) visit(x.head(b, t, h), i, p, turn);
        }
      }
    }
  }
  [[nodiscard]] reference::Pair pair(Pairing pairing, std::size_t head, std::size_t i) const {
    const auto [a, b] =
        reference::pair(pairing == Pairing::kHalves, i, static_cast<std::size_t>(rotary_dim));
    return {head + a, head + b};
  }
};

class Apply : public ::testing::TestWithParam<std::string> {};

TEST_P(Apply, its_frequencies_as_a_spec_give_its_numbers) {
  const ApplyCase model(GetParam());
  const Rope rope(model.spec());
  const std::vector<double> wanted_q = floats_of(model.json.at("q_out"));
  const std::vector<double> wanted_k = floats_of(model.json.at("k_out"));
  EXPECT_EQ(model.sizes("q_out"), model.sizes("q"));
  EXPECT_EQ(model.sizes("k_out"), model.sizes("k"));
  expect_on_every_target([&](const Options& options, WorstShare& worst) {
    const Tensor q = model.tensor("q", DType::kF32), k = model.tensor("k", DType::kF32);
    Tensor out_q = model.nothing("q", DType::kF32), out_k = model.nothing("k", DType::kF32);
    rotate(rope, q.view(), k.view(), model.ids.positions(), out_q.view(), out_k.view(), options);
    worst.see(out_q, wanted_q, {0, model.rotary_dim}, allowed_by(model.json));
    worst.see(out_k, wanted_k, {0, model.rotary_dim}, allowed_by(model.json));
  });
}

// Near zero they are sharper than q_out: they tell which axis turns even a pair of ω 4e-7. What the
// model rounds: the angle φ, by 2^-24 φ; then cos or sin, by an ulp; m; and their product.
TEST_P(Apply, its_frequencies_as_angles_give_its_cos_and_sin) {
  const ApplyCase model(GetParam());
  Angles angles;
  angles.assign(Rope(model.spec()), model.ids.positions(), {.dtype = DType::kF64});
  const Angles given = model.given_angles(DType::kF64);
  ASSERT_EQ(angles.batch(), given.batch());
  ASSERT_EQ(angles.tokens(), given.tokens());
  const std::size_t pairs = model.omega.size();
  const std::size_t count = static_cast<std::size_t>(angles.batch() * angles.tokens()) * pairs;
  std::vector<double> cos(count), sin(count), wanted_cos(count), wanted_sin(count);
  angles.read_compact<double>(cos, sin);
  given.read_compact<double>(wanted_cos, wanted_sin);
  WorstShare worst;
  for (std::size_t at = 0; at < count; ++at) {
    const auto row = static_cast<std::int64_t>(at / pairs);
    const std::int64_t p =
        model.ids.at(model.axis[at % pairs], row / angles.tokens(), row % angles.tokens());
    const double phi = std::abs(static_cast<double>(p) * model.omega[at % pairs]);
    worst.see(cos[at], wanted_cos[at], 0x1p-24 * model.m * phi + 0x1p-22 * std::abs(cos[at]));
    worst.see(sin[at], wanted_sin[at], 0x1p-24 * model.m * phi + 0x1p-22 * std::abs(sin[at]));
  }
  EXPECT_LE(worst.value(), 1.0);
  RecordProperty("worst_share", std::to_string(worst.value()));
}

// The tables are then the same, to the bit, and what differs is how often a sum of two products is
// rounded. With u = 2^-24, h = hypot(a, b) and s = hypot(c, s): the model rounds both products and
// the sum, an error of u (|a c| + |b s|) + u |sum| <= 2 u h s; we round one product and the sum, no
// more than that. So the two are within 4 u h s = 2^-22 h s; s is m, but for roundings of c and s.
TEST_P(Apply, its_cos_and_sin_as_angles_give_its_numbers_but_for_rounding) {
  const ApplyCase model(GetParam());
  const Angles angles = model.given_angles(DType::kF32);
  const auto compare = [&](const Tensor& x, const Tensor& out, std::string_view which,
                           WorstShare& worst) {
    const std::vector<double> wanted = floats_of(model.json.at(which));
    model.for_each_pair(x, [&](std::size_t head, std::size_t i, std::int64_t, reference::Turn) {
      const auto [a, b] = model.pair(model.read, head, i);
      const double allowed = 0x1p-22 * (1 + 0x1p-20) * std::hypot(x[a], x[b]) * model.m;
      const auto [to_a, to_b] = model.pair(model.written, head, i);
      worst.see(out[to_a], wanted[to_a], allowed);
      worst.see(out[to_b], wanted[to_b], allowed);
    });
  };
  expect_on_every_target([&](const Options& options, WorstShare& worst) {
    const Tensor x_q = model.tensor("q", DType::kF32), x_k = model.tensor("k", DType::kF32);
    Tensor q = model.tensor("q", DType::kF32), k = model.tensor("k", DType::kF32);
    rotate(angles, q.view(), k.view(), options);
    compare(x_q, q, "q_out", worst);
    compare(x_k, k, "k_out", worst);
  });
}

TEST_P(Apply, every_dtype_is_as_near_to_the_exact_rotation_as_promised) {
  const ApplyCase model(GetParam());
  const Rope rope(model.spec());
  const auto compare = [&](const Tensor& x, const Tensor& out, WorstShare& worst) {
    model.for_each_pair(
        x, [&](std::size_t head, std::size_t i, std::int64_t p, reference::Turn turn) {
          using reference::Real;
          const auto [a, b] = model.pair(model.read, head, i);
          const auto [to_a, to_b] = model.pair(model.written, head, i);
          const Real m = model.m, h = m * std::hypot(Real{x[a]}, Real{x[b]});
          const Real distance = std::abs(static_cast<Real>(p));
          const auto see = [&](std::size_t at, Real exact) {
            const Real allowed =
                reference::allowed_error(h, distance, exact, out[at], type_of(x.dtype()));
            worst.see(static_cast<double>(out[at] - exact), 0, static_cast<double>(allowed));
          };
          see(to_a, m * (x[a] * turn.cos - x[b] * turn.sin));
          see(to_b, m * (x[a] * turn.sin + x[b] * turn.cos));
        });
  };
  expect_on_every_target([&](const Options& options, WorstShare& worst) {
    for (const DType dtype : kAllDTypes) {
      const Tensor x_q = model.tensor("q", dtype), x_k = model.tensor("k", dtype);
      Tensor q = model.tensor("q", dtype), k = model.tensor("k", dtype);
      rotate(rope, q.view(), k.view(), model.ids.positions(), options);
      compare(x_q, q, worst);
      compare(x_k, k, worst);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Conformance, Apply, ::testing::ValuesIn(case_names("apply")), case_name);

TEST(Conformance, all_cases_of_apply_are_there) { EXPECT_EQ(case_names("apply").size(), 32u); }

}  // namespace
}  // namespace ropewalk::testing
