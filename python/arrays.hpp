// Arrays of Python, by DLPack or the buffer protocol, as views of tensors and as positions. Nothing is
// copied. Part of the Python package.

#ifndef ROPEWALK_PYTHON_ARRAYS_HPP_
#define ROPEWALK_PYTHON_ARRAYS_HPP_

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <ropewalk/positions.hpp>
#include <ropewalk/tensor.hpp>
#include <string_view>

namespace ropewalk::python {

namespace nb = nanobind;

// What an argument is: its name in messages, and how its dimensions are ordered ("bthd", "bhtd", "thd",
// "htd").
struct Argument {
  const char* name;
  std::string_view layout;
};

// A tensor that is only read, and what keeps its memory.
struct Input {
  nb::ndarray<nb::ro> array;
  ConstTensorView view;
};
// A tensor that is written.
struct Output {
  nb::ndarray<> array;
  TensorView view;
};

// Raise TypeError for what is no array, BufferError for one that is read-only or not in this machine's
// memory, ValueError for a dtype or a number of dimensions that no tensor has. A tuple of one array of
// 16-bit integers is one of bf16: NumPy hands out none of its own.
Input input_from(nb::handle object, const Argument& argument);
Output output_from(nb::handle object, const Argument& argument);

// Asks the system for large pages where a new array is about to be written, as NumPy does for its own:
// a page fault for each 4 KiB takes longer than the work.
void want_large_pages(std::uintptr_t data, std::size_t bytes);

// A dense array of floats, [rows, width] or [batch, rows, width].
struct Floats {
  nb::ndarray<nb::ro> array;
  DType dtype;
  std::int64_t batch, rows, width;
};
Floats floats_from(nb::handle object, const char* name);

// Positions, and what keeps their memory.
struct HeldPositions {
  Positions positions = Positions::from(0);
  nb::ndarray<nb::ro> ids, starts;
};

// int: a start. An array of int32, int64, float32 or float64: ids [tokens], [batch, tokens] or
// [axes, batch, tokens], which must be dense.
HeldPositions positions_from(nb::handle object, const char* name);
// Dense int64 [n].
nb::ndarray<nb::ro> integers_from(nb::handle object, const char* name, nb::dlpack::dtype dtype);

}  // namespace ropewalk::python

#endif  // ROPEWALK_PYTHON_ARRAYS_HPP_
