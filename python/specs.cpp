// Spec, Model, and the forms of image and video models.

#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <ropewalk/frequencies.hpp>
#include <ropewalk/model.hpp>
#include <ropewalk/vision.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "bindings.hpp"

namespace ropewalk::python {
namespace {

using nb::literals::operator""_a;

// As text, with arrays and numbers of NumPy as lists and numbers. Raises ValueError and TypeError naming
// the key.
std::string json_of(nb::handle value, const std::string& key) {
  const auto other = nb::cpp_function([](const nb::object& given) -> nb::object {
    if (nb::hasattr(given, "tolist")) return given.attr("tolist")();
    const std::string type = nb::cast<std::string>(nb::str(nb::type_name(given.type())));
    throw nb::type_error(("got a " + type + ", want a number, text, list or dict").c_str());
  });
  try {
    return nb::cast<std::string>(nb::module_::import_("json").attr("dumps")(
        value, "default"_a = other, "allow_nan"_a = false));
  } catch (const nb::python_error& error) {
    const std::string what = key + ": " + nb::cast<std::string>(nb::str(error.value()));
    if (error.matches(PyExc_ValueError)) throw nb::value_error(what.c_str());
    if (error.matches(PyExc_TypeError)) throw nb::type_error(what.c_str());
    throw;
  }
}

using Fields = nb::typed<nb::dict, nb::str, nb::any>;

Fields dict_of(const Spec& spec) {
  return nb::cast<Fields>(nb::module_::import_("json").attr("loads")(spec_to_json(spec)));
}

// A path, a dict as of config.json, or a configuration of transformers.
Model model_from(const nb::object& source) {
  if (nb::isinstance<nb::dict>(source)) return Model::from_config(json_of(source, "config"));
  if (nb::hasattr(source, "to_json_string")) {
    return Model::from_config(nb::cast<std::string>(source.attr("to_json_string")(false)));
  }
  const nb::module_ os = nb::module_::import_("os");
  const nb::object path = os.attr("fspath")(source);
  // Python's own errors of files, with errno and name.
  nb::module_::import_("builtins").attr("open")(path, "rb").attr("close")();
  const auto bytes = nb::cast<nb::bytes>(os.attr("fsencode")(path));
  return Model::from_file(std::string(bytes.c_str(), bytes.size()));
}

void define_spec(nb::module_& m) {
  nb::class_<Spec>(m, "Spec",
                   R"(What a model says of its rotary embedding; checked when made, and immutable.

Only head_dim is required; None is as if left out.

head_dim: elements of a head. rotary_dim: how many of them are rotated, even; all but rotary_offset.
rotary_offset: where they begin. window_parts: in so many equal parts, each paired inside itself.
pairing: "halves" (NeoX, rotate_half: x[i] with x[i + rotary_dim/2]) or "adjacent" (GPT-J: x[2i] with x[2i+1]).
output_pairing: of what is written, where it is another. clockwise: turn by -φ.
base: pair i turns by base^(-2i / rotary_dim) radians per position; 10000 (rope_theta).
scaling: a dict with a "type" and its keys, those in brackets if wanted. A block rope_scaling or
    rope_parameters of a config has other names: that is Model.from_file's.

    linear            factor
    ntk               alpha
    dynamic           factor, original_max_position_embeddings; or alpha
    dynamic_stepwise  original_max_position_embeddings
    ntk_by_parts      factor, original_max_position_embeddings [extrapolation_factor]
    yarn              factor, original_max_position_embeddings [beta_fast 32, beta_slow 1, truncate, mscale,
                      mscale_all_dim, attention_factor, extrapolation_factor, divisors]
    llama3            factor, low_freq_factor, high_freq_factor, original_max_position_embeddings
    longrope          short_factor, long_factor, original_max_position_embeddings, and factor or
                      attention_factor [short_mscale and long_mscale]
    proportional      [rotating_pairs, factor]
    divisors          divisors [factor]

frequencies: instead of base and scaling, radians per position for each pair.
attention_factor: on cos and sin, instead of the rule's. frequency_rounding: "none" or "float32".
axes: {"sections": [16, 24, 24], "order": "blocks"} for positions of several axes, pairs of each (M-RoPE);
    "cycle", "ggml_cycle", "ernie", "round_robin". axis_of_pair: instead of axes, the axis of each pair.

Raises ValueError that names the key.)")
      .def(
          "__init__",
          [](Spec* self, nb::kwargs keys) {
            std::string json = "{";
            for (const auto& [key, value] : keys) {
              if (value.is_none()) continue;
              const auto name = nb::cast<std::string>(key);
              if (json.size() > 1) json += ", ";
              json += json_of(key, name) + ": " + json_of(value, name);
            }
            new (self) Spec(spec_from_json(json + "}"));
          },
          nb::sig(
              "def __init__(self, *, head_dim: int, rotary_dim: int | None = None, "
              "rotary_offset: int | None = None, window_parts: int | None = None, "
              "pairing: str | None = None, output_pairing: str | None = None, "
              "clockwise: bool | None = None, base: float | None = None, "
              "scaling: dict[str, typing.Any] | None = None, "
              "frequencies: collections.abc.Sequence[float] | None = None, "
              "attention_factor: float | None = None, "
              "frequency_rounding: str | None = None, axes: dict[str, typing.Any] | None = None, "
              "axis_of_pair: collections.abc.Sequence[int] | None = None) -> None"))
      .def_static(
          "from_json", [](std::string_view json) { return spec_from_json(json); }, "json"_a,
          "Of the text of its JSON form.")
      .def("to_json", &spec_to_json, "Reads back to the same Spec, to the last bit.")
      .def("to_dict", &dict_of, "The keys that were given, and rotary_dim.")
      .def_prop_ro("head_dim", &Spec::head_dim)
      .def_prop_ro("rotary_dim", &Spec::rotary_dim)
      .def_prop_ro("rotary_offset", &Spec::rotary_offset)
      .def_prop_ro("window_parts", &Spec::window_parts)
      .def_prop_ro("part_dim", &Spec::part_dim, "The width of a part: rotary_dim / window_parts.")
      .def_prop_ro("pairing", [](const Spec& spec) { return std::string(name(spec.pairing())); })
      .def_prop_ro("output_pairing",
                   [](const Spec& spec) { return std::string(name(spec.output_pairing())); })
      .def_prop_ro("clockwise", &Spec::clockwise)
      .def_prop_ro(
          "base",
          [](const Spec& spec) {
            return spec.frequencies() ? std::optional<double>() : std::optional(spec.base());
          },
          "None beside given frequencies.")
      .def_prop_ro("scaling",
                   [](const Spec& spec) -> Fields {
                     Fields none;
                     none["type"] = "default";
                     const Fields all = dict_of(spec);
                     return all.contains("scaling") ? nb::cast<Fields>(all["scaling"]) : none;
                   })
      .def_prop_ro("frequencies", &Spec::frequencies, "None unless they were given: Rope has all.")
      .def_prop_ro("attention_factor", &Spec::attention_factor, "None: by the rule.")
      .def_prop_ro("frequency_rounding",
                   [](const Spec& spec) { return std::string(name(spec.frequency_rounding())); })
      .def_prop_ro(
          "axes",
          [](const Spec& spec) -> nb::object {
            const nb::dict all = dict_of(spec);
            return all.contains("axes") ? nb::object(all["axes"]) : nb::none();
          },
          nb::sig("def axes(self) -> dict[str, typing.Any] | None"))
      .def_prop_ro(
          "axis_of_pair",
          [](const Spec& spec) {
            const auto& axes = spec.axis_of_pair();
            return std::vector<std::int64_t>(axes.begin(), axes.end());
          },
          "The axis of each pair, from axes or axis_of_pair; empty for one axis.")
      .def(
          "__eq__",
          [](const Spec& spec, const nb::object& other) {
            return nb::isinstance<Spec>(other) &&
                   spec_to_json(spec) == spec_to_json(nb::cast<const Spec&>(other));
          },
          "other"_a.none())
      .def("__hash__",
           [](const Spec& spec) { return std::hash<std::string>()(spec_to_json(spec)); })
      .def("__repr__",
           [](const Spec& spec) {
             std::string text = "Spec(";
             for (const auto& [key, value] : dict_of(spec)) {
               if (text.back() != '(') text += ", ";
               text += nb::cast<std::string>(key) + "=" + nb::cast<std::string>(nb::repr(value));
             }
             return text + ")";
           })
      .def("__getstate__", &spec_to_json)
      .def("__setstate__",
           [](Spec& self, const std::string& json) { new (&self) Spec(spec_from_json(json)); });
}

std::string name_of(QueryScale::Kind kind) {
  return kind == QueryScale::Kind::kFloorLog ? "floor_log" : "log_n";
}

void define_model(nb::module_& m) {
  m.def(
      "depends_on_length", &depends_on_length, "spec"_a,
      R"(Whether the frequencies depend on how long the sequence is (dynamic, longrope): Rope(spec, length) then.
Nothing is said where a position is beyond that length.)");
  nb::class_<QueryScale>(m, "QueryScale", "A factor on queries that depends on their position.")
      .def_prop_ro("kind", [](const QueryScale& scale) { return name_of(scale.kind); })
      .def_ro("scale", &QueryScale::scale)
      .def_ro("offset", &QueryScale::offset)
      .def_ro("length", &QueryScale::length)
      .def("at", &QueryScale::at, "position"_a,
           "The factor at a position: for token_factors of Angles.");
  nb::class_<LayerKind>(m, "LayerKind", "Layers of a model that rotate alike.")
      .def_prop_ro("layer_type", &LayerKind::layer_type, "As the config says it, or empty.")
      .def_prop_ro(
          "layer_indices",
          [](const LayerKind& kind) {
            const auto indices = kind.layer_indices();
            return std::vector<std::int64_t>(indices.begin(), indices.end());
          },
          "Which layers, from 0; empty if the file does not say how many there are.")
      .def_prop_ro("rotates", &LayerKind::rotates, "False for layers without RoPE (NoPE).")
      .def_prop_ro("spec", &LayerKind::spec, nb::rv_policy::reference_internal,
                   "Raises NotImplementedError if these layers do not rotate.")
      .def_prop_ro(
          "softmax_scale_factor", &LayerKind::softmax_scale_factor,
          R"(What attention multiplies its scale of the scores by, beside the rotation: in models with
multi-head latent attention, yarn's magnitude squared; 1 for most. rotate() does not do it.)")
      .def_prop_ro(
          "query_scale", &LayerKind::query_scale,
          "A factor on queries by position, or None. rotate() does not apply it: token_factors do.")
      .def("__repr__", [](const LayerKind& kind) {
        return "LayerKind('" + kind.layer_type() + "', " +
               std::to_string(kind.layer_indices().size()) + " layers, " +
               (kind.rotates() ? "rotates)" : "does not rotate)");
      });
  nb::class_<Model>(m, "Model", "What a model's files say of the rotation in each of its layers.")
      .def_static(
          "from_file", &model_from, "source"_a,
          R"(Of a path to a config.json or a GGUF, of a dict as a config.json holds it, or of a
configuration of transformers. Raises ValueError, OSError or NotImplementedError.)")
      .def_static(
          "from_preset", [](std::string_view name) { return Model::from_preset(name); }, "name"_a,
          "A well-known model, one of ropewalk.presets().")
      .def("__repr__",
           [](const Model& model) {
             return "Model('" + model.model_type() + "', " + std::to_string(model.kinds().size()) +
                    (model.kinds().size() == 1 ? " kind of layers)" : " kinds of layers)");
           })
      .def_prop_ro("model_type", &Model::model_type, "\"llama\"; of a GGUF its architecture.")
      .def_prop_ro("trained_length", &Model::trained_length, "Positions, or None.")
      .def_prop_ro(
          "kinds",
          [](const Model& model) {
            const auto kinds = model.kinds();
            return std::vector<LayerKind>(kinds.begin(), kinds.end());
          },
          "Layers that rotate alike, in the order of the first layer of each.")
      .def("layer", &Model::layer, "i"_a, nb::rv_policy::reference_internal,
           "The kind of layer i, from 0. Raises ValueError if there is none.")
      .def("kind", &Model::kind, "layer_type"_a, nb::rv_policy::reference_internal,
           "The kind of this layer_type; of several, the one that rotates.")
      .def_prop_ro(
          "warnings",
          [](const Model& model) {
            const auto warnings = model.warnings();
            return std::vector<std::string>(warnings.begin(), warnings.end());
          },
          "What was noticed, a line each: assumed, ignored, or done differently elsewhere.");
  m.def(
      "presets",
      [] {
        std::vector<std::string> names;
        for (const Preset& preset : presets()) names.push_back(preset.name);
        return names;
      },
      "The names that Model.from_preset takes.");
}

// ---- Vision ----

Pairing pairing_from(const std::string& given) {
  return named<Pairing>(given, "pairing",
                        {{"halves", Pairing::kHalves}, {"adjacent", Pairing::kAdjacent}});
}

FrequencyRounding rounding_from(const std::string& given) {
  return named<FrequencyRounding>(
      given, "frequency_rounding",
      {{"none", FrequencyRounding::kNone}, {"float32", FrequencyRounding::kFloat32}});
}

std::optional<Pairing> pairing_from(const std::optional<std::string>& given) {
  if (!given) return {};
  return pairing_from(*given);
}

void define_vision(nb::module_& m) {
  m.def(
      "vision_spec",
      [](std::string_view form, std::int64_t head_dim, std::optional<double> base,
         const std::optional<std::string>& pairing, const std::string& frequency_rounding) {
        return vision_spec(
            form, {head_dim, base, pairing_from(pairing), rounding_from(frequency_rounding)});
      },
      "form"_a, nb::kw_only(), "head_dim"_a, "base"_a = nb::none(), "pairing"_a = nb::none(),
      "frequency_rounding"_a = "none",
      R"(The Spec of a form of image and video models, one of vision_forms(): "qwen_vision", "flux", ...

Position axis 0 is the row and 1 the column; with frames, 0 the frame, 1 the row, 2 the column. base and
pairing: where they are not the form's own. Formula and source of each: vision.hpp, docs/axes.md.

Raises ValueError, and NotImplementedError with the reason for a form that no Spec can say.)");
  m.def(
      "vision_forms",
      [] {
        const auto forms = vision_forms();
        return std::vector<std::string>(forms.begin(), forms.end());
      },
      "The names that vision_spec takes.");
  m.def(
      "axial_spec",
      [](std::int64_t head_dim, std::vector<std::int64_t> widths, std::vector<std::int64_t> axes,
         std::vector<double> bases, bool alternating, const std::string& pairing,
         const std::string& frequency_rounding) {
        return axial_spec({head_dim, std::move(widths), std::move(axes), std::move(bases),
                           alternating, pairing_from(pairing), rounding_from(frequency_rounding)});
      },
      nb::kw_only(), "head_dim"_a, "widths"_a, "axes"_a = std::vector<std::int64_t>{},
      "bases"_a = std::vector<double>{}, "alternating"_a = false, "pairing"_a = "adjacent",
      "frequency_rounding"_a = "none",
      R"(Blocks of widths[a] elements, each with frequencies of its own, base^(-2k / widths[a]).

widths: elements of each block, even. axes: the position axis of each, 0, 1, 2, ... bases: one for each, or
one for all; 10000. alternating: pairs of the blocks take turns; all widths equal. What widths leave of
the head passes through.)");
  m.def(
      "cosmos_spec",
      [](std::int64_t head_dim, std::array<double, 3> scale,
         const std::string& frequency_rounding) {
        return cosmos_spec({head_dim, scale, rounding_from(frequency_rounding)});
      },
      nb::kw_only(), "head_dim"_a, "scale"_a = std::array{2.0, 1.0, 1.0},
      "frequency_rounding"_a = "none", "Cosmos; scale is rope_scale: of frames, rows, columns.");
  m.def(
      "dinov3_spec",
      [](std::int64_t head_dim, std::optional<double> base, std::optional<double> min_period,
         std::optional<double> max_period, const std::string& frequency_rounding) {
        return dinov3_spec(
            {head_dim, base, min_period, max_period, rounding_from(frequency_rounding)});
      },
      nb::kw_only(), "head_dim"_a, "base"_a = nb::none(), "min_period"_a = nb::none(),
      "max_period"_a = nb::none(), "frequency_rounding"_a = "none",
      R"(DINOv3: whole turns, for centred_positions. base (100), or min_period and max_period.)");
  m.def(
      "pixel_spec",
      [](std::int64_t head_dim, double max_frequency, bool linear,
         const std::optional<std::string>& pairing, const std::string& frequency_rounding) {
        return pixel_spec({head_dim, max_frequency, linear, pairing_from(pairing),
                           rounding_from(frequency_rounding)});
      },
      nb::kw_only(), "head_dim"_a, "max_frequency"_a = 224.0, "linear"_a = false,
      "pairing"_a = nb::none(), "frequency_rounding"_a = "none",
      "Frequencies in pixels, as timm's in_pixels=True; for spanned_positions.");
}

}  // namespace

void define_specs(nb::module_& m) {
  define_spec(m);
  define_model(m);
  define_vision(m);
}

}  // namespace ropewalk::python
