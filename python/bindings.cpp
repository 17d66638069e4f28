// The module ropewalk._ropewalk: what ropewalk/__init__.py stands on. There is no mathematics here.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <mutex>
#include <optional>
#include <ropewalk/check.hpp>
#include <ropewalk/ropewalk.hpp>
#include <ropewalk/version.hpp>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
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
    // What a path is in a message need not be UTF-8.
    const std::string_view what = error.what();
    const nb::object text = nb::steal(PyUnicode_DecodeUTF8(
        what.data(), static_cast<Py_ssize_t>(what.size()), "backslashreplace"));
    PyErr_SetObject(type, text.ptr());
  }
}

// ---- The operations ----

enum Operation : int { kRotate, kUnrotate, kBackward };

struct Tensors {
  nb::object x, k, out_x, out_k;  // None where there is none; out_x None: in place
  std::string layout;
};

Options options() { return {.parallel = parallel_for()}; }

// What a call holds of what it reads its angles from: of rows, that nobody assigns new ones meanwhile.
int locked(const Rope& /*rope*/) { return 0; }
std::shared_lock<std::shared_mutex> locked(const Angles& angles) {
  return std::shared_lock(guard_of(&angles));
}

// Of x, or of x and k, with whatever gives the angles; in place if there are no outputs.
template <class Source, class... Rest>
void run(Operation operation, const Source& source, const Tensors& given,
         const Rest&... positions) {
  const auto argument = [&](const char* name) { return Argument{name, given.layout}; };
  const bool has_k = !given.k.is_none();
  const char* const x_name = has_k ? "q" : "x";
  if (given.out_x.is_none()) {
    const Output x = output_from(given.x, argument(x_name));
    const Output k = has_k ? output_from(given.k, argument("k")) : Output{};
    const nb::gil_scoped_release release;
    [[maybe_unused]] const auto lock = locked(source);
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
  const Input x = input_from(given.x, argument(x_name));
  const Input k = has_k ? input_from(given.k, argument("k")) : Input{};
  const Output out_x = output_from(given.out_x, argument(has_k ? "out_q" : "out"));
  const Output out_k = has_k ? output_from(given.out_k, argument("out_k")) : Output{};
  const nb::gil_scoped_release release;
  [[maybe_unused]] const auto lock = locked(source);
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
                  const std::string& layout) {
  if (out.is_none()) {
    const Output x = output_from(keys, {"keys", layout});
    const nb::gil_scoped_release release;
    return rerotate(old_rope, new_rope, x.view, from.positions, to.positions, options());
  }
  const Input x = input_from(keys, {"keys", layout});
  const Output y = output_from(out, {"out", layout});
  const nb::gil_scoped_release release;
  rerotate(old_rope, new_rope, x.view, from.positions, to.positions, y.view, options());
}

DType rows_dtype(const std::string& given) {
  return named<DType>(given, "dtype", {{"f32", DType::kF32}, {"f64", DType::kF64}});
}

// cos and sin, [batch, tokens, each x pairs].
using Rows = nb::ndarray<nb::numpy, double>;
using Read = void (Angles::*)(std::span<double>, std::span<double>) const;
nb::typed<nb::tuple, Rows, Rows> read(const Angles& angles, std::int64_t each, Read function) {
  std::vector<double> cos, sin;
  std::size_t batch = 0, tokens = 0, width = 0;
  {
    const nb::gil_scoped_release release;
    const auto lock = locked(angles);
    batch = static_cast<std::size_t>(angles.batch());
    tokens = static_cast<std::size_t>(angles.tokens());
    width = static_cast<std::size_t>(each * angles.pairs());
    cos.resize(batch * tokens * width);
    sin.resize(cos.size());
    (angles.*function)(cos, sin);
  }
  return nb::make_tuple(array_from(std::move(cos), {batch, tokens, width}),
                        array_from(std::move(sin), {batch, tokens, width}));
}

auto of(std::int64_t (Angles::*count)() const noexcept) {
  return [count](const Angles& angles) {
    const nb::gil_scoped_release release;
    const auto lock = locked(angles);
    return (angles.*count)();
  };
}

void define_plan(nb::module_& m) {
  nb::class_<Rope>(m, "_Rope")
      .def(nb::init<const Spec&, std::optional<std::int64_t>>(), "spec"_a, "length"_a = nb::none())
      .def_prop_ro("spec", &Rope::spec, nb::rv_policy::reference_internal)
      .def_prop_ro(
          "frequencies",
          [](const Rope& rope) {
            const auto all = rope.frequencies();
            return array_from(std::vector(all.begin(), all.end()), {all.size()});
          },
          nb::rv_policy::move)
      .def_prop_ro("attention_factor", &Rope::attention_factor)
      .def_prop_ro("axes", &Rope::axes);
  nb::class_<XPos>(
      m, "XPos",
      R"(xPos (Sun et al., arXiv 2212.10554, section 3): rows of pair i times ζ_i^((position - origin) /
scale_base) for the role "query", divided by it for "key"; ζ_i = (2 i + 0.4 d) / (1.4 d), d = rotary_dim.)")
      .def(
          "__init__",
          [](XPos* self, const std::string& role, double scale_base, std::int64_t origin) {
            new (self)
                XPos{named<XPos::Role>(role, "role",
                                       {{"query", XPos::Role::kQuery}, {"key", XPos::Role::kKey}}),
                     scale_base, origin};
          },
          "role"_a, nb::kw_only(), "scale_base"_a = 512.0, "origin"_a = 0)
      .def_prop_ro(
          "role",
          [](const XPos& xpos) { return xpos.role == XPos::Role::kQuery ? "query" : "key"; })
      .def_ro("scale_base", &XPos::scale_base)
      .def_ro("origin", &XPos::origin);
  nb::class_<Angles>(m, "_Angles")
      .def(nb::init<>())
      .def("_assign",
           [](Angles& angles, const Rope& rope, const HeldPositions& positions,
              const std::string& dtype, double factor, const std::vector<double>& token_factors,
              std::optional<std::int64_t> factor_tokens,
              const std::optional<std::string>& as_seen_in, const std::optional<XPos>& xpos) {
             if (factor_tokens && *factor_tokens != positions.positions.tokens()) {
               throw nb::value_error(("token_factors are of " + std::to_string(*factor_tokens) +
                                      " tokens, positions of " +
                                      std::to_string(positions.positions.tokens()))
                                         .c_str());
             }
             AnglesOptions wanted{.dtype = rows_dtype(dtype),
                                  .factor = factor,
                                  .token_factors = token_factors,
                                  .xpos = xpos,
                                  .run = options()};
             if (as_seen_in) {
               wanted.as_seen_in = named<DType>(
                   *as_seen_in, "as_seen_in",
                   {{"f32", DType::kF32}, {"bf16", DType::kBf16}, {"f16", DType::kF16}});
             }
             const nb::gil_scoped_release release;
             const std::unique_lock lock(guard_of(&angles));
             angles.assign(rope, positions.positions, wanted);
           })
      .def(
          "_assign_rows",
          [](Angles& angles, const Spec& spec, const nb::object& cos, const nb::object& sin,
             const std::optional<HeldPositions>& positions, const std::string& dtype) {
            const Floats c = floats_from(cos, "cos"), s = floats_from(sin, "sin");
            if (c.dtype != s.dtype || c.batch != s.batch || c.rows != s.rows ||
                c.width != s.width) {
              throw nb::value_error("cos and sin differ in shape or dtype: they must be equal");
            }
            const GivenRows rows{c.array.data(), s.array.data(), c.dtype, c.batch, c.rows, c.width};
            const DType wanted = rows_dtype(dtype);
            const nb::gil_scoped_release release;
            const std::unique_lock lock(guard_of(&angles));
            if (positions) return angles.assign(spec, rows, positions->positions, wanted);
            angles.assign(spec, rows, wanted);
          },
          "spec"_a, "cos"_a, "sin"_a, "positions"_a.none(), "dtype"_a)
      .def_prop_ro("batch", of(&Angles::batch))
      .def_prop_ro("tokens", of(&Angles::tokens))
      .def_prop_ro("pairs", of(&Angles::pairs))
      .def_prop_ro("dtype",
                   [](const Angles& angles) {
                     const nb::gil_scoped_release release;
                     const auto lock = locked(angles);
                     return std::string(name(angles.dtype()));
                   })
      .def("_read_compact",
           [](const Angles& angles) { return read(angles, 1, &Angles::read_compact<double>); })
      .def("_read_duplicated",
           [](const Angles& angles) { return read(angles, 2, &Angles::read_duplicated<double>); });
}

void define_operations(nb::module_& m) {
  m.def(
      "_run",
      [](int operation, const Rope& rope, const HeldPositions& positions, nb::object x,
         nb::object k, nb::object out_x, nb::object out_k, std::string layout) {
        run(static_cast<Operation>(operation), rope,
            Tensors{std::move(x), std::move(k), std::move(out_x), std::move(out_k),
                    std::move(layout)},
            positions.positions);
      },
      "operation"_a, "rope"_a, "positions"_a, "x"_a, "k"_a.none(), "out_x"_a.none(),
      "out_k"_a.none(), "layout"_a);
  m.def(
      "_run_angles",
      [](int operation, const Angles& angles, nb::object x, nb::object k, nb::object out_x,
         nb::object out_k, std::string layout) {
        run(static_cast<Operation>(operation), angles,
            Tensors{std::move(x), std::move(k), std::move(out_x), std::move(out_k),
                    std::move(layout)});
      },
      "operation"_a, "angles"_a, "x"_a, "k"_a.none(), "out_x"_a.none(), "out_k"_a.none(),
      "layout"_a);
  m.def("_rerotate", &run_rerotate, "old_rope"_a, "new_rope"_a, "keys"_a, "from_"_a, "to"_a,
        "out"_a.none(), "layout"_a);
  using Row = nb::typed<nb::dict, nb::str, nb::any>;
  m.def("_check", [](const Rope& rope, std::uint64_t seed, std::optional<std::int64_t> q_heads,
                     std::optional<std::int64_t> k_heads, std::optional<std::int64_t> tokens,
                     std::optional<std::int64_t> positions_below) {
    CheckOptions wanted = check_options_for(rope.spec());
    wanted.seed = seed;
    wanted.q_heads = q_heads.value_or(wanted.q_heads);
    wanted.k_heads = k_heads.value_or(wanted.k_heads);
    wanted.tokens = tokens.value_or(wanted.tokens);
    wanted.positions_below = positions_below.value_or(wanted.positions_below);
    std::vector<CheckRow> rows;
    {
      const nb::gil_scoped_release release;
      rows = check(rope, wanted);
    }
    nb::typed<nb::list, Row> list;
    for (const CheckRow& row : rows) {
      Row entry;
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
  m.def("_want_large_pages", &want_large_pages, "data"_a, "bytes"_a);
  m.def("_threads", &threads);
  m.def("_set_threads", &set_threads);
}

}  // namespace

NB_MODULE(_ropewalk, m) {
  nb::register_exception_translator(&raise);
  nb::set_leak_warnings(false);  // what caches still hold when the interpreter ends is none
  m.attr("_version") = std::to_string(ROPEWALK_VERSION_MAJOR) + "." +
                       std::to_string(ROPEWALK_VERSION_MINOR) + "." +
                       std::to_string(ROPEWALK_VERSION_PATCH);
  define_specs(m);
  define_positions(m);
  define_plan(m);
  define_operations(m);
}

}  // namespace ropewalk::python
