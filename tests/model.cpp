#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <ropewalk/error.hpp>
#include <ropewalk/model.hpp>

namespace ropewalk {
namespace {

const std::string kScalings =
    "default, linear, ntk, dynamic, dynamic_stepwise, ntk_by_parts, yarn, llama3, longrope, "
    "proportional or divisors";

// The message of the Error that reading this text ends in, with the code in front.
std::string refusal(std::string_view json) {
  try {
    spec_from_json(json);
  } catch (const Error& error) {
    return std::string(error.code() == ErrorCode::kBadFormat ? "bad format: " : "invalid: ") +
           error.what();
  }
  return "accepted";
}

TEST(Model, head_dim_is_enough) {
  const Spec spec = spec_from_json(R"({"head_dim": 128})");
  EXPECT_EQ(spec.head_dim(), 128);
  EXPECT_EQ(spec.rotary_dim(), 128);
  EXPECT_EQ(spec.pairing(), Pairing::kHalves);
  EXPECT_EQ(spec.base(), 10000.0);
  EXPECT_EQ(spec.scaling(), Scaling{});
  EXPECT_FALSE(spec.frequencies());
  EXPECT_FALSE(spec.attention_factor());
}

TEST(Model, every_key_reaches_its_field) {
  const Spec spec = spec_from_json(
      R"({"attention_factor": 1.25, "scaling": {"factor": 8, "type": "linear"}, "base": 500000,
          "pairing": "adjacent", "rotary_dim": 64, "head_dim": 128.0})");
  EXPECT_EQ(spec.head_dim(), 128);
  EXPECT_EQ(spec.rotary_dim(), 64);
  EXPECT_EQ(spec.pairing(), Pairing::kAdjacent);
  EXPECT_EQ(spec.base(), 500000.0);
  EXPECT_EQ(spec.scaling(), (Scaling{Scaling::Type::kLinear, 8.0}));
  EXPECT_EQ(spec.attention_factor(), 1.25);
}

TEST(Model, null_is_as_if_the_key_were_absent) {
  const Spec spec = spec_from_json(
      R"({"head_dim": 8, "rotary_dim": null, "pairing": null, "base": null, "scaling": null,
          "frequencies": null, "attention_factor": null})");
  EXPECT_EQ(spec_to_json(spec), spec_to_json(Spec({.head_dim = 8})));
  EXPECT_EQ(
      spec_from_json(R"({"head_dim":8, "scaling":{"type":"default", "factor":null}})").scaling(),
      Scaling{});
}

TEST(Model, keys_are_written_in_the_order_of_the_design) {
  EXPECT_EQ(spec_to_json(Spec({.head_dim = 128})),
            R"({"head_dim":128,"rotary_dim":128,"pairing":"halves","base":10000.0})");
  EXPECT_EQ(spec_to_json(Spec({.head_dim = 128,
                               .rotary_dim = 64,
                               .pairing = Pairing::kAdjacent,
                               .base = 500000.0,
                               .scaling = Scaling{Scaling::Type::kLinear, 8.0},
                               .attention_factor = 0.1})),
            R"({"head_dim":128,"rotary_dim":64,"pairing":"adjacent","base":500000.0,)"
            R"("scaling":{"type":"linear","factor":8.0},"attention_factor":0.1})");
  EXPECT_EQ(spec_to_json(Spec({.head_dim = 4, .frequencies = std::vector<double>{1.0, -0.25}})),
            R"({"head_dim":4,"rotary_dim":4,"pairing":"halves","frequencies":[1.0,-0.25]})");
}

TEST(Model, window_direction_and_axes_are_written_where_they_are_not_the_default) {
  const std::string_view json =
      R"({"head_dim":64,"rotary_dim":16,"rotary_offset":48,"pairing":"adjacent",)"
      R"("output_pairing":"halves","clockwise":true,"window_parts":2,"base":10000.0,)"
      R"("axes":{"sections":[2,3,3],"order":"ernie"}})";
  EXPECT_EQ(spec_to_json(Spec({.head_dim = 64,
                               .rotary_dim = 16,
                               .rotary_offset = 48,
                               .pairing = Pairing::kAdjacent,
                               .output_pairing = Pairing::kHalves,
                               .clockwise = true,
                               .window_parts = 2,
                               .axes = Axes{{2, 3, 3}, Axes::Order::kErnie}})),
            json);
  EXPECT_EQ(spec_to_json(spec_from_json(json)), json);
  EXPECT_EQ(
      spec_to_json(Spec({.head_dim = 8, .axis_of_pair = std::vector<std::int64_t>{0, 2, 15, 1}})),
      R"({"head_dim":8,"rotary_dim":8,"pairing":"halves","base":10000.0,)"
      R"("axis_of_pair":[0,2,15,1]})");
  EXPECT_EQ(spec_to_json(Spec({.head_dim = 8, .output_pairing = Pairing::kHalves})),
            R"({"head_dim":8,"rotary_dim":8,"pairing":"halves","base":10000.0})");
  EXPECT_EQ(spec_to_json(spec_from_json(
                R"({"head_dim": 8, "rotary_offset": 0, "output_pairing": "halves",
                    "clockwise": false, "window_parts": 1, "axes": null, "axis_of_pair": null})")),
            R"({"head_dim":8,"rotary_dim":8,"pairing":"halves","base":10000.0})");
}

TEST(Model, every_scaling_reads_back_as_it_was_written) {
  for (
      const char* scaling : {
          R"({"type":"ntk","alpha":8.0})",
          R"({"type":"dynamic","factor":4.0,"original_max_position_embeddings":2048})",
          R"({"type":"dynamic","alpha":1000.0})",
          R"({"type":"dynamic_stepwise","original_max_position_embeddings":2048})",
          R"({"type":"ntk_by_parts","factor":4.0,"original_max_position_embeddings":2048,)"
          R"("extrapolation_factor":0.5})",
          R"({"type":"yarn","factor":4.0,"original_max_position_embeddings":2048,)"
          R"("beta_fast":16.0,"beta_slow":2.0,"truncate":false,"mscale":0.707,)"
          R"("mscale_all_dim":1.0,"attention_factor":1.25,"extrapolation_factor":0.5})",
          R"({"type":"llama3","factor":8.0,"original_max_position_embeddings":8192,)"
          R"("low_freq_factor":1.0,"high_freq_factor":4.0})",
          R"({"type":"longrope","factor":32.0,"original_max_position_embeddings":4096,)"
          R"("short_factor":[1.0,1.5],"long_factor":[1.0,64.5],"short_mscale":1.0,"long_mscale":1.5})",
          R"({"type":"proportional","factor":2.0,"rotating_pairs":1})",
          R"({"type":"divisors","factor":2.0,"divisors":[1.0,1e+30]})",
      }) {
    const std::string json = R"({"head_dim":4,"rotary_dim":4,"pairing":"halves","base":10000.0,)"
                             R"("scaling":)" +
                             std::string(scaling) + R"(,"frequency_rounding":"float32"})";
    const Spec spec = spec_from_json(json);
    EXPECT_EQ(spec_to_json(spec), json);
    EXPECT_EQ(spec.frequency_rounding(), FrequencyRounding::kFloat32);
  }
}

TEST(Model, window_direction_and_axes_reach_their_fields) {
  const Spec spec = spec_from_json(
      R"({"head_dim": 192, "rotary_offset": 128.0, "output_pairing": "adjacent",
          "clockwise": true, "window_parts": 4, "axis_of_pair": [)" +
      std::string("3, ") + R"(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                              0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]})");
  EXPECT_EQ(spec.rotary_dim(), 64);
  EXPECT_EQ(spec.rotary_offset(), 128);
  EXPECT_EQ(spec.pairing(), Pairing::kHalves);
  EXPECT_EQ(spec.output_pairing(), Pairing::kAdjacent);
  EXPECT_TRUE(spec.clockwise());
  EXPECT_EQ(spec.window_parts(), 4);
  EXPECT_EQ(spec.axis_of_pair().front(), 3);
  EXPECT_EQ(spec.axis_of_pair().back(), 1);
  EXPECT_FALSE(spec_from_json(R"({"head_dim": 8, "clockwise": false})").clockwise());
}

TEST(Model, every_order_of_axes_reads_back) {
  for (const Axes& axes :
       {Axes{{2, 1, 1}, Axes::Order::kBlocks}, Axes{{2, 1, 1}, Axes::Order::kCycle},
        Axes{{2, 1, 1}, Axes::Order::kGgmlCycle}, Axes{{2, 1, 1}, Axes::Order::kErnie},
        Axes{{2, 1, 1}, Axes::Order::kRoundRobin}, Axes{{4}, Axes::Order::kBlocks}}) {
    const Spec spec({.head_dim = 8, .axes = axes});
    const Spec again = spec_from_json(spec_to_json(spec));
    EXPECT_EQ(again.fields().axes, axes);
    EXPECT_EQ(again.axis_of_pair(), spec.axis_of_pair());
  }
  EXPECT_EQ(spec_from_json(R"({"head_dim": 8, "axes": {"sections": [2, 2]}})").fields().axes,
            (Axes{{2, 2}, Axes::Order::kBlocks}));
}

TEST(Model, numbers_read_back_to_the_last_bit) {
  std::mt19937_64 random(7);
  std::vector<double> frequencies = {0.0, -0.0, 5e-324, 0.1, 1.0 / 3, 0x1p32 - 0x1p-21, 2e-308};
  while (frequencies.size() < 4096) {
    const double number = std::bit_cast<double>(random());
    if (std::abs(number) < 0x1p32) frequencies.push_back(number);
  }
  const Spec spec({.head_dim = 8192, .frequencies = frequencies, .attention_factor = 0.1 + 0.2});
  const Spec again = spec_from_json(spec_to_json(spec));
  ASSERT_TRUE(again.frequencies());
  ASSERT_EQ(again.frequencies()->size(), frequencies.size());
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    EXPECT_EQ(std::bit_cast<std::uint64_t>((*again.frequencies())[i]),
              std::bit_cast<std::uint64_t>(frequencies[i]))
        << i;
  }
  EXPECT_EQ(again.attention_factor(), 0.1 + 0.2);
  const double base = std::nextafter(10000.0, 20000.0);
  EXPECT_EQ(spec_from_json(spec_to_json(Spec({.head_dim = 8, .base = base}))).base(), base);
}

TEST(Model, a_wrong_type_is_named_with_its_key) {
  EXPECT_EQ(refusal("[]"), "bad format: spec: got an array, want an object");
  EXPECT_EQ(refusal("null"), "bad format: spec: got null, want an object");
  EXPECT_EQ(refusal(R"({"head_dim": "128"})"),
            "bad format: head_dim: got a string \"128\", want an integer");
  EXPECT_EQ(refusal(R"({"head_dim": true})"),
            "bad format: head_dim: got a boolean true, want an integer");
  EXPECT_EQ(refusal(R"({"head_dim": 8, "base": false})"),
            "bad format: base: got a boolean false, want a number");
  EXPECT_EQ(refusal(R"({"head_dim": 8, "base": "1e6"})"),
            "bad format: base: got a string \"1e6\", want a number");
  EXPECT_EQ(refusal(R"({"head_dim": 8, "scaling": "{\"type\": \"linear\"}"})"),
            R"(bad format: scaling: got a string "{\"type\": \"linear\"}", want an object)");
  EXPECT_EQ(refusal(R"({"head_dim": 8, "scaling": {"type": "linear", "factor": [8]}})"),
            "bad format: scaling.factor: got an array, want a number");
  EXPECT_EQ(refusal(R"({"head_dim": 8, "scaling": {"type": 1}})"),
            "bad format: scaling.type: got a number 1, want a string: " + kScalings);
  EXPECT_EQ(refusal(R"({"head_dim": 8, "pairing": 2})"),
            "bad format: pairing: got a number 2, want a string: halves or adjacent");
  EXPECT_EQ(refusal(R"({"head_dim": 8, "frequencies": {}})"),
            "bad format: frequencies: got an object, want an array of numbers");
  EXPECT_EQ(refusal(R"({"head_dim": 4, "frequencies": [1, null]})"),
            "bad format: frequencies[1]: got null, want a number");
  EXPECT_EQ(refusal(R"({"head_dim": 4, "clockwise": 1})"),
            "bad format: clockwise: got a number 1, want true or false");
  EXPECT_EQ(refusal(R"({"head_dim": 4, "window_parts": "2"})"),
            "bad format: window_parts: got a string \"2\", want an integer");
  EXPECT_EQ(refusal(R"({"head_dim": 4, "axes": [1, 1]})"),
            "bad format: axes: got an array, want an object");
  EXPECT_EQ(refusal(R"({"head_dim": 4, "axes": {"sections": 2}})"),
            "bad format: axes.sections: got a number 2, want an array of integers");
  EXPECT_EQ(refusal(R"({"head_dim": 4, "axes": {"sections": [1, 0.5]}})"),
            "bad format: axes.sections[1]: 0.5 is not an integer");
  EXPECT_EQ(refusal(R"({"head_dim": 4, "axis_of_pair": [true, 0]})"),
            "bad format: axis_of_pair[0]: got a boolean true, want an integer");
}

TEST(Model, integers_are_whole_and_fit_into_64_bits) {
  EXPECT_EQ(refusal(R"({"head_dim": 128.5})"), "bad format: head_dim: 128.5 is not an integer");
  EXPECT_EQ(refusal(R"({"head_dim": 9223372036854775808})"),
            "bad format: head_dim: 9223372036854775808 is beyond 64 bits");
  EXPECT_EQ(refusal(R"({"head_dim": 9.3e18})"), "bad format: head_dim: 9.3e+18 is beyond 64 bits");
  EXPECT_EQ(refusal(R"({"head_dim": -99999999999999999999})"),
            "bad format: head_dim: -1e+20 is beyond 64 bits");
  EXPECT_EQ(refusal(R"({"head_dim": 9223372036854775807})").substr(0, 9), "invalid: ");
}

TEST(Model, unknown_keys_and_names_list_the_known_ones) {
  EXPECT_EQ(refusal(R"({"head_dim": 8, "theta": 1})"),
            "bad format: theta: not a key that is known here; these are: head_dim, rotary_dim, "
            "rotary_offset, pairing, output_pairing, clockwise, window_parts, base, scaling, "
            "frequencies, attention_factor, frequency_rounding, axes, axis_of_pair");
  EXPECT_EQ(refusal(R"({"head_dim": 8, "theta": null})").substr(0, 21), "bad format: theta: no");
  EXPECT_EQ(refusal(R"({"head_dim": 8, "scaling": {"rope_type": "linear"}})"),
            "bad format: scaling.rope_type: not a key that is known here; these are: type, factor, "
            "alpha, original_max_position_embeddings, beta_fast, beta_slow, truncate, mscale, "
            "mscale_all_dim, attention_factor, extrapolation_factor, low_freq_factor, "
            "high_freq_factor, short_factor, long_factor, short_mscale, long_mscale, "
            "rotating_pairs, divisors");
  EXPECT_EQ(refusal(R"({"head_dim": 8, "scaling": {"type": "spiral"}})"),
            "bad format: scaling.type: \"spiral\" is not known, want " + kScalings);
  EXPECT_EQ(refusal(R"({"head_dim": 8, "pairing": "neox"})"),
            "bad format: pairing: \"neox\" is not known, want halves or adjacent");
  EXPECT_EQ(refusal(R"({"head_dim": 8, "axes": {"sections": [4], "order": "hw"}})"),
            "bad format: axes.order: \"hw\" is not known, want blocks, cycle, ggml_cycle, ernie or "
            "round_robin");
  EXPECT_EQ(refusal(R"({"head_dim": 8, "axes": {"section": [4]}})"),
            "bad format: axes.section: not a key that is known here; these are: sections, order");
}

TEST(Model, missing_keys_are_named) {
  EXPECT_EQ(refusal("{}"), "bad format: head_dim: missing, want the number of elements of a head");
  EXPECT_EQ(refusal(R"({"head_dim": null})"),
            "bad format: head_dim: missing, want the number of elements of a head");
  EXPECT_EQ(refusal(R"({"head_dim": 8, "scaling": {}})"),
            "bad format: scaling.type: missing, want " + kScalings);
  EXPECT_EQ(refusal(R"({"head_dim": 8, "axes": {"order": "cycle"}})"),
            "bad format: axes.sections: missing, want the number of pairs of each axis");
}

TEST(Model, a_key_given_twice_is_refused) {
  EXPECT_EQ(refusal(R"({"head_dim": 8, "base": 1e4, "base": 1e4})"),
            "bad format: base: given twice");
  EXPECT_EQ(refusal(R"({"head_dim": 8, "scaling": {"type": "default", "type": "linear"}})"),
            "bad format: scaling.type: given twice");
}

TEST(Model, what_spec_refuses_is_refused_in_its_words) {
  EXPECT_EQ(refusal(R"({"head_dim": 128, "rotary_dim": 130})"),
            "invalid: rotary_dim 130 is larger than head_dim 128");
  EXPECT_EQ(refusal(R"({"head_dim": 4, "base": 1, "frequencies": [1, 1]})").substr(0, 14),
            "invalid: base ");
  EXPECT_EQ(refusal(R"({"head_dim": 4, "scaling": {"type": "linear"}})").substr(0, 9), "invalid: ");
  EXPECT_EQ(refusal(R"({"head_dim": 4, "rotary_offset": 4})").substr(0, 23),
            "invalid: rotary_offset ");
  EXPECT_EQ(refusal(R"({"head_dim": 4, "axes": {"sections": [2]}, "axis_of_pair": [0, 0]})"),
            "invalid: axis_of_pair beside axes: give one or the other");
}

TEST(Model, what_is_no_json_is_refused_on_one_line) {
  for (const std::string_view text :
       {"", " ", "{", "nan", R"({"head_dim": 8} x)", R"({"head_dim": 8}{})", R"({"head_dim": NaN})",
        R"({"head_dim": 8, "base": Infinity})", R"({"head_dim": 8, "base": 1e999})",
        R"({"head_dim": 8,})", "{\"head_dim\": 8, // eight\n}", "{'head_dim': 8}", "{\"a\nb\": 1}",
        "{\"\xff\": 1}"}) {
    const std::string message = refusal(text);
    EXPECT_EQ(message.substr(0, 22), "bad format: not JSON: ") << text << '\n' << message;
    EXPECT_EQ(message.find('\n'), message.npos) << message;
  }
  EXPECT_EQ(refusal(std::string_view("{\"head_dim\": 8}\0x", 17)),
            "bad format: not JSON: byte 15 is 0");
  EXPECT_EQ(refusal(R"({"a\nb": 1})").find('\n'), std::string::npos);
  EXPECT_EQ(refusal(R"({"head_dim": 8, "pairing": "a\nb"})").find('\n'), std::string::npos);
}

TEST(Model, deep_nesting_does_not_exhaust_the_stack) {
  std::string deep = R"({"head_dim": )";
  deep.append(100'000, '[');
  EXPECT_EQ(refusal(deep), "bad format: not a Spec: nested deeper than 16");
  deep.append(100'000, ']');
  EXPECT_EQ(refusal(deep + "}"), "bad format: not a Spec: nested deeper than 16");
  EXPECT_EQ(refusal(R"({"head_dim": [[8]]})"),
            "bad format: head_dim: got an array, want an integer");
}

}  // namespace
}  // namespace ropewalk
