// The module ropewalk._ropewalk: what ropewalk/__init__.py stands on. There is no mathematics here.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <ropewalk/check.hpp>
#include <ropewalk/model.hpp>
#include <ropewalk/ropewalk.hpp>
#include <ropewalk/version.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "pool.hpp"

namespace ropewalk::python {
namespace {

using nb::literals::operator""_a;

// ---- Errors ----

void raise(const std::exception_ptr& pointer, void*) {
  try {
    std::rethrow_exception(pointer);
  } catch (const Error& error) {
    PyObject* type = PyExc_ValueError;
    if (error.code() == ErrorCode::kUnsupported) type = PyExc_NotImplementedError;
    if (error.code() == ErrorCode::kIo) type = PyExc_OSError;
    PyErr_SetString(type, error.what());
  }
}

// ---- Numbers ----

// A new array of NumPy.
nb::object array_from(std::vector<double> values) {
  auto* const kept = new std::vector<double>(std::move(values));
  const nb::capsule owner(kept,
                          [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, double, nb::ndim<1>>(kept->data(), {kept->size()}, owner));
}

// ---- The operations ----

enum Operation : int { kRotate, kUnrotate, kBackward };

struct Tensors {
  nb::object x, k, out_x, out_k;  // None where there is none; out_x None: in place
  std::string layout;
  bool x_is_bf16, k_is_bf16;
};

Options options() { return {.parallel = parallel_for()}; }

// Of x, or of x and k, with whatever gives the angles; in place if there are no outputs.
template <class Source, class... Rest>
void run(Operation operation, const Source& source, const Tensors& given,
         const Rest&... positions) {
  const auto argument = [&](const char* name) { return Argument{name, given.layout}; };
  const bool has_k = !given.k.is_none();
  const char* const x_name = has_k ? "q" : "x";
  if (given.out_x.is_none()) {
    const Output x = output_from(given.x, argument(x_name), given.x_is_bf16);
    const Output k = has_k ? output_from(given.k, argument("k"), given.k_is_bf16) : Output{};
    const nb::gil_scoped_release release;
    const auto call = [&](auto function) {
      if (has_k) return function(source, x.view, k.view, positions..., options());
      function(source, x.view, positions..., options());
    };
    switch (operation) {
      case kRotate: return call([](const auto&... a) { rotate(a...); });
      case kUnrotate: return call([](const auto&... a) { unrotate(a...); });
      case kBackward: return call([](const auto&... a) { backward(a...); });
    }
    return;
  }
  const Input x = input_from(given.x, argument(x_name), given.x_is_bf16);
  const Input k = has_k ? input_from(given.k, argument("k"), given.k_is_bf16) : Input{};
  const Output out_x = output_from(given.out_x, argument(has_k ? "out_q" : "out"), given.x_is_bf16);
  const Output out_k =
      has_k ? output_from(given.out_k, argument("out_k"), given.k_is_bf16) : Output{};
  const nb::gil_scoped_release release;
  const auto call = [&](auto function) {
    if constexpr (sizeof...(Rest) > 0) {
      if (has_k)
        return function(source, x.view, k.view, positions..., out_x.view, out_k.view, options());
      function(source, x.view, positions..., out_x.view, options());
    } else {
      if (has_k)
        return function(source, x.view, k.view, Into{out_x.view}, Into{out_k.view}, options());
      function(source, x.view, Into{out_x.view}, options());
    }
  };
  switch (operation) {
    case kRotate: return call([](const auto&... a) { rotate(a...); });
    case kUnrotate: return call([](const auto&... a) { unrotate(a...); });
    case kBackward: return call([](const auto&... a) { backward(a...); });
  }
}

void run_rerotate(const Rope& old_rope, const Rope& new_rope, const nb::object& keys,
                  const HeldPositions& from, const HeldPositions& to, const nb::object& out,
                  const std::string& layout, bool is_bf16) {
  if (out.is_none()) {
    const Output x = output_from(keys, {"keys", layout}, is_bf16);
    const nb::gil_scoped_release release;
    return rerotate(old_rope, new_rope, x.view, from.positions, to.positions, options());
  }
  const Input x = input_from(keys, {"keys", layout}, is_bf16);
  const Output y = output_from(out, {"out", layout}, is_bf16);
  const nb::gil_scoped_release release;
  rerotate(old_rope, new_rope, x.view, from.positions, to.positions, y.view, options());
}

// ---- Positions ----

// Lists, and arrays of other integers, as dense int64.
nb::ndarray<nb::ro> whole_numbers(const nb::object& given, const char* name) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  const nb::object array = numpy.attr("asarray")(given);
  const auto kind = nb::cast<std::string>(array.attr("dtype").attr("kind"));
  // An empty list is one of floats.
  if (kind != "i" && kind != "u" && nb::cast<std::size_t>(array.attr("size")) != 0) {
    throw nb::type_error((std::string(name) + " are of " +
                          nb::cast<std::string>(nb::str(array.attr("dtype"))) + ", want integers")
                             .c_str());
  }
  return integers_from(numpy.attr("ascontiguousarray")(array, "dtype"_a = "int64"), name,
                       nb::dtype<std::int64_t>());
}

std::span<const std::int64_t> span_of(const nb::ndarray<nb::ro>& array) {
  return {static_cast<const std::int64_t*>(array.data()), array.shape(0)};
}

HeldPositions starting(std::int64_t start, std::optional<std::int64_t> tokens) {
  HeldPositions held;
  held.positions = tokens ? Positions::from(start, *tokens) : Positions::from(start);
  return held;
}

HeldPositions with_starts(const nb::object& starts, std::optional<std::int64_t> tokens) {
  HeldPositions held;
  held.starts = whole_numbers(starts, "starts");
  held.positions = tokens ? Positions::starts(span_of(held.starts), *tokens)
                          : Positions::starts(span_of(held.starts));
  return held;
}

HeldPositions packed(const nb::object& lengths, const nb::object& starts) {
  HeldPositions held;
  held.ids = whole_numbers(lengths, "lengths");
  if (held.ids.shape(0) == 0) {
    throw nb::value_error("lengths are empty: cumulative lengths begin with 0");
  }
  if (!starts.is_none()) held.starts = whole_numbers(starts, "starts");
  held.positions = starts.is_none() ? Positions::packed(span_of(held.ids))
                                    : Positions::packed(span_of(held.ids), span_of(held.starts));
  return held;
}

void define_positions(nb::module_& m) {
  nb::class_<HeldPositions>(
      m, "Positions",
      R"(Where tokens stand. Arrays are read when a call reads positions, and kept until then.

What takes positions also takes an integer, for start(), and an array, for ids().)")
      .def_static("start", &starting, "start"_a, "tokens"_a = nb::none(),
                  "Token t of every sequence stands at start + t. tokens is wanted by Angles.")
      .def_static("starts", &with_starts, "starts"_a, "tokens"_a = nb::none(),
                  "Token t of sequence b stands at starts[b] + t.")
      .def_static(
          "ids", [](const nb::object& ids) { return positions_from(ids, "positions"); }, "ids"_a,
          "Ids [tokens], [batch, tokens] or [axes, batch, tokens]; int32, int64, float32 or "
          "float64.")
      .def_static("packed", &packed, "lengths"_a, "starts"_a = nb::none(),
                  R"(Sequences packed one behind the other into one row: sequence s has the tokens
lengths[s] .. lengths[s + 1], cumulative lengths that begin with 0, and starts at starts[s], or at 0.)")
      .def_static(
          "contiguous",
          [](std::int64_t tokens, std::int64_t ranks, std::int64_t rank, std::int64_t start) {
            return HeldPositions{Positions::contiguous(tokens, ranks, rank, start), {}, {}};
          },
          "tokens"_a, "ranks"_a, "rank"_a, "start"_a = 0,
          "What rank `rank` of `ranks` holds of `tokens` tokens: the rank-th slice.")
      .def_static(
          "zigzag",
          [](std::int64_t tokens, std::int64_t ranks, std::int64_t rank, std::int64_t start) {
            return HeldPositions{Positions::zigzag(tokens, ranks, rank, start), {}, {}};
          },
          "tokens"_a, "ranks"_a, "rank"_a, "start"_a = 0,
          "The same of 2 x ranks slices: the rank-th and the rank-th from the end.");
}

// ---- The module ----

// JSON of keywords, of which None is as if left out.
std::string json_of(const nb::kwargs& keys) {
  nb::dict given;
  for (const auto& [key, value] : keys) {
    if (!value.is_none()) given[key] = value;
  }
  return nb::cast<std::string>(nb::module_::import_("json").attr("dumps")(given));
}

nb::dict dict_of(const Spec& spec) {
  return nb::cast<nb::dict>(nb::module_::import_("json").attr("loads")(spec_to_json(spec)));
}

// A path, a dict as of config.json, or a configuration of transformers.
Model model_from(const nb::object& source) {
  const nb::module_ json = nb::module_::import_("json");
  if (nb::isinstance<nb::dict>(source)) {
    return Model::from_config(nb::cast<std::string>(json.attr("dumps")(source)));
  }
  if (nb::hasattr(source, "to_json_string")) {
    return Model::from_config(nb::cast<std::string>(source.attr("to_json_string")(false)));
  }
  return Model::from_file(nb::cast<std::string>(nb::module_::import_("os").attr("fspath")(source)));
}

void define_model(nb::module_& m) {
  nb::class_<Spec>(m, "Spec",
                   R"(What a model says of its rotary embedding; checked when made, and immutable.

Keys are those of the JSON form: head_dim, rotary_dim, rotary_offset, window_parts, pairing ("halves" or
"adjacent"), output_pairing, clockwise, base, scaling (a dict with "type"), frequencies, attention_factor,
axes, axis_of_pair, frequency_rounding. Only head_dim is required; None is as if left out.

Raises ValueError that names the key.)")
      .def("__init__",
           [](Spec* self, nb::kwargs keys) { new (self) Spec(spec_from_json(json_of(keys))); })
      .def_static(
          "from_json", [](std::string_view json) { return spec_from_json(json); }, "json"_a,
          "Of the text of its JSON form.")
      .def("to_json", &spec_to_json, "Reads back to the same Spec, to the last bit.")
      .def("to_dict", [](const Spec& spec) { return dict_of(spec); })
      .def("__getattr__",
           [](const Spec& spec, const nb::str& key) -> nb::object {
             const nb::dict all = dict_of(spec);
             if (all.contains(key)) return all[key];
             // What the JSON form leaves out.
             const auto name = nb::cast<std::string>(key);
             if (name == "output_pairing") return all["pairing"];
             if (name == "rotary_offset") return nb::int_(0);
             if (name == "window_parts") return nb::int_(1);
             if (name == "clockwise") return nb::bool_(false);
             if (name == "frequency_rounding") return nb::str("none");
             for (const std::string_view other :
                  {"base", "scaling", "frequencies", "attention_factor", "axes", "axis_of_pair"}) {
               if (name == other) return nb::none();
             }
             throw nb::attribute_error(("a Spec has no attribute '" + name + "'").c_str());
           })
      .def("__eq__",
           [](const Spec& spec, const nb::object& other) {
             return nb::isinstance<Spec>(other) &&
                    spec_to_json(spec) == spec_to_json(nb::cast<const Spec&>(other));
           })
      .def("__hash__",
           [](const Spec& spec) { return std::hash<std::string>()(spec_to_json(spec)); })
      .def("__repr__",
           [](const Spec& spec) { return "Spec.from_json('" + spec_to_json(spec) + "')"; })
      .def("__reduce__", [](const nb::object& self) {
        return nb::make_tuple(self.type().attr("from_json"),
                              nb::make_tuple(self.attr("to_json")()));
      });
  nb::class_<LayerKind>(m, "LayerKind")
      .def_prop_ro("layer_type", &LayerKind::layer_type)
      .def_prop_ro("layer_indices",
                   [](const LayerKind& kind) {
                     const auto indices = kind.layer_indices();
                     return std::vector<std::int64_t>(indices.begin(), indices.end());
                   })
      .def_prop_ro("rotates", &LayerKind::rotates)
      .def_prop_ro("spec", &LayerKind::spec, nb::rv_policy::reference_internal)
      .def_prop_ro("softmax_scale_factor", &LayerKind::softmax_scale_factor);
  nb::class_<Model>(m, "Model")
      .def_static(
          "from_file", &model_from, "source"_a,
          R"(Of a path to a config.json or a GGUF, of a dict as a config.json holds it, or of a
configuration of transformers. Raises ValueError, OSError or NotImplementedError.)")
      .def_static(
          "from_preset", [](std::string_view name) { return Model::from_preset(name); }, "name"_a,
          "A well-known model, one of ropewalk.presets().")
      .def_prop_ro("model_type", &Model::model_type)
      .def_prop_ro("trained_length", &Model::trained_length)
      .def_prop_ro("kinds",
                   [](const Model& model) {
                     const auto kinds = model.kinds();
                     return std::vector<LayerKind>(kinds.begin(), kinds.end());
                   })
      .def("layer", &Model::layer, "i"_a, nb::rv_policy::reference_internal)
      .def("kind", &Model::kind, "layer_type"_a, nb::rv_policy::reference_internal)
      .def_prop_ro("warnings", [](const Model& model) {
        const auto warnings = model.warnings();
        return std::vector<std::string>(warnings.begin(), warnings.end());
      });
  m.def("_presets", [] {
    std::vector<std::string> names;
    for (const Preset& preset : presets()) names.push_back(preset.name);
    return names;
  });
}

void define_plan(nb::module_& m) {
  nb::class_<Rope>(m, "_Rope")
      .def(nb::init<const Spec&, std::optional<std::int64_t>>(), "spec"_a, "length"_a = nb::none())
      .def_prop_ro("spec", &Rope::spec, nb::rv_policy::reference_internal)
      .def_prop_ro("frequencies",
                   [](const Rope& rope) {
                     const auto all = rope.frequencies();
                     return array_from({all.begin(), all.end()});
                   })
      .def_prop_ro("attention_factor", &Rope::attention_factor)
      .def_prop_ro("axes", &Rope::axes);
  nb::class_<Angles>(m, "_Angles")
      .def(nb::init<>())
      .def("_assign",
           [](Angles& angles, const Rope& rope, const HeldPositions& positions, bool is_double,
              double factor) {
             const nb::gil_scoped_release release;
             angles.assign(rope, positions.positions,
                           {.dtype = is_double ? DType::kF64 : DType::kF32,
                            .factor = factor,
                            .run = options()});
           })
      .def(
          "_assign_rows",
          [](Angles& angles, const Spec& spec, const nb::object& cos, const nb::object& sin,
             bool is_bf16, const std::optional<HeldPositions>& positions, bool is_double) {
            const Floats c = floats_from(cos, "cos", is_bf16), s = floats_from(sin, "sin", is_bf16);
            if (c.dtype != s.dtype || c.batch != s.batch || c.rows != s.rows ||
                c.width != s.width) {
              throw nb::value_error("cos and sin differ in shape or dtype: they must be equal");
            }
            const GivenRows rows{c.array.data(), s.array.data(), c.dtype, c.batch, c.rows, c.width};
            const DType dtype = is_double ? DType::kF64 : DType::kF32;
            const nb::gil_scoped_release release;
            if (positions) return angles.assign(spec, rows, positions->positions, dtype);
            angles.assign(spec, rows, dtype);
          },
          "spec"_a, "cos"_a, "sin"_a, "is_bf16"_a, "positions"_a.none(), "is_double"_a)
      .def_prop_ro("batch", &Angles::batch)
      .def_prop_ro("tokens", &Angles::tokens)
      .def_prop_ro("pairs", &Angles::pairs)
      .def_prop_ro("dtype", [](const Angles& angles) { return std::string(name(angles.dtype())); })
      .def("_cos_sin", [](const Angles& angles) {
        const auto count =
            static_cast<std::size_t>(angles.batch() * angles.tokens() * angles.pairs());
        std::vector<double> cos(count), sin(count);
        angles.read_compact(std::span(cos), std::span(sin));
        return std::pair(array_from(std::move(cos)), array_from(std::move(sin)));
      });
}

void define_operations(nb::module_& m) {
  m.def(
      "_run",
      [](int operation, const Rope& rope, const HeldPositions& positions, nb::object x,
         nb::object k, nb::object out_x, nb::object out_k, std::string layout, bool x_is_bf16,
         bool k_is_bf16) {
        run(static_cast<Operation>(operation), rope,
            Tensors{std::move(x), std::move(k), std::move(out_x), std::move(out_k),
                    std::move(layout), x_is_bf16, k_is_bf16},
            positions.positions);
      },
      "operation"_a, "rope"_a, "positions"_a, "x"_a, "k"_a.none(), "out_x"_a.none(),
      "out_k"_a.none(), "layout"_a, "x_is_bf16"_a, "k_is_bf16"_a);
  m.def(
      "_run_angles",
      [](int operation, const Angles& angles, nb::object x, nb::object k, nb::object out_x,
         nb::object out_k, std::string layout, bool x_is_bf16, bool k_is_bf16) {
        run(static_cast<Operation>(operation), angles,
            Tensors{std::move(x), std::move(k), std::move(out_x), std::move(out_k),
                    std::move(layout), x_is_bf16, k_is_bf16});
      },
      "operation"_a, "angles"_a, "x"_a, "k"_a.none(), "out_x"_a.none(), "out_k"_a.none(),
      "layout"_a, "x_is_bf16"_a, "k_is_bf16"_a);
  m.def("_rerotate", &run_rerotate, "old_rope"_a, "new_rope"_a, "keys"_a, "from"_a, "to"_a,
        "out"_a.none(), "layout"_a, "is_bf16"_a);
  m.def("_check", [](const Rope& rope, std::uint64_t seed) {
    CheckOptions wanted = check_options_for(rope.spec());
    wanted.seed = seed;
    std::vector<CheckRow> rows;
    {
      const nb::gil_scoped_release release;
      rows = check(rope, wanted);
    }
    nb::list list;
    for (const CheckRow& row : rows) {
      nb::dict entry;
      entry["property"] = row.property;
      entry["dtype"] = std::string(name(row.dtype));
      entry["shift"] = row.shift;
      entry["worst"] = row.worst;
      entry["bound"] = row.bound;
      entry["ok"] = row.ok;
      list.append(entry);
    }
    return list;
  });
  m.def("_threads", &threads);
  m.def("_set_threads", &set_threads);
}

}  // namespace

NB_MODULE(_ropewalk, m) {
  nb::register_exception_translator(&raise);
  nb::set_leak_warnings(false);  // what caches still hold when the interpreter ends is none
  m.attr("__version__") = std::to_string(ROPEWALK_VERSION_MAJOR) + "." +
                          std::to_string(ROPEWALK_VERSION_MINOR) + "." +
                          std::to_string(ROPEWALK_VERSION_PATCH);
  define_model(m);
  define_plan(m);
  define_positions(m);
  define_operations(m);
}

}  // namespace ropewalk::python
