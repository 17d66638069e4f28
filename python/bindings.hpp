// The parts of the module ropewalk._ropewalk, and what they share. Part of the Python package.

#ifndef ROPEWALK_PYTHON_BINDINGS_HPP_
#define ROPEWALK_PYTHON_BINDINGS_HPP_

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ropewalk::python {

namespace nb = nanobind;

void define_specs(nb::module_& m);      // specs.cpp: Spec, Model, vision
void define_positions(nb::module_& m);  // positions.cpp: Positions, grids, sequences

// A new array of NumPy.
template <class T>
nb::ndarray<nb::numpy, T> array_from(std::vector<T> values,
                                     std::initializer_list<std::size_t> shape) {
  auto* const kept = new std::vector<T>(std::move(values));
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::ndarray<nb::numpy, T>(kept->data(), shape.size(), shape.begin(), owner);
}

template <class Value>
using Names = std::initializer_list<std::pair<const char*, Value>>;

// The value of this name, or ValueError.
template <class Value>
Value named(std::string_view given, const char* argument, Names<Value> names) {
  std::string known;
  for (const auto& [name, value] : names) {
    if (given == name) return value;
    known += (known.empty() ? "'" : ", '") + std::string(name) + "'";
  }
  const std::string message =
      std::string(argument) + " is '" + std::string(given) + "', want one of " + known;
  throw nb::value_error(message.c_str());
}

}  // namespace ropewalk::python

#endif  // ROPEWALK_PYTHON_BINDINGS_HPP_
