#include "arrays.hpp"

#include <nanobind/stl/string.h>  // in every source alike: it decides what nb::cast<std::string> is

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <string>
#include <utility>

namespace ropewalk::python {
namespace {

std::string text_of(nb::handle object) { return nb::cast<std::string>(nb::str(object)); }

std::string type_of(nb::handle object) {
  return nb::cast<std::string>(nb::str(nb::type_name(object.type())));
}

template <class... Parts>
std::string joined(const Parts&... parts) {
  std::string text;
  ((text += parts), ...);
  return text;
}

// An array that no view can be made of: why not, as far as the object says it.
[[noreturn]] void refuse(nb::handle object, const char* name, bool writable,
                         const char* dtypes = "float32, bfloat16, float16 or float64") {
  nb::ndarray<nb::ro> readable;
  if (writable && nb::try_cast(object, readable, false)) {
    throw nb::buffer_error(joined(name, " is read-only, and would be written").c_str());
  }
  if (nb::hasattr(object, "dtype")) {
    const nb::object dtype = object.attr("dtype");
    throw nb::type_error(joined(name, " is a ", type_of(object), " of ", text_of(dtype), ", want ",
                                dtypes,
                                " in the order of bytes of this machine, and strides "
                                "that are multiples of an element")
                             .c_str());
  }
  throw nb::type_error(joined(name, " is a ", type_of(object),
                              ", want an array: of NumPy, PyTorch or JAX, or anything with DLPack "
                              "or the buffer protocol")
                           .c_str());
}

template <class Array>
void check_device(const Array& array, const char* name) {
  if (array.device_type() != nb::device::cpu::value) {
    throw nb::buffer_error(joined(name, " is not in the memory of the CPU (DLPack device type ",
                                  std::to_string(array.device_type()),
                                  "): ropewalk rotates there only")
                               .c_str());
  }
}

std::string dtype_name(const nb::dlpack::dtype& dtype) {
  static constexpr std::array kKinds = {"int",    "uint",    "float", "handle",
                                        "bfloat", "complex", "bool"};
  const std::string kind = dtype.code < kKinds.size()
                               ? kKinds[dtype.code]
                               : "type " + std::to_string(dtype.code) + " of ";
  return kind + std::to_string(dtype.bits) + (dtype.lanes > 1 ? " in lanes" : "");
}

DType dtype_from(const nb::dlpack::dtype& dtype, const char* name, bool is_bf16) {
  using Code = nb::dlpack::dtype_code;
  const auto is = [&](Code code, int bits) {
    return dtype.code == static_cast<std::uint8_t>(code) && dtype.bits == bits && dtype.lanes == 1;
  };
  if (is_bf16 && is(Code::UInt, 16)) return DType::kBf16;
  if (is(Code::Bfloat, 16)) return DType::kBf16;
  if (is(Code::Float, 32)) return DType::kF32;
  if (is(Code::Float, 16)) return DType::kF16;
  if (is(Code::Float, 64)) return DType::kF64;
  throw nb::type_error(joined(name, " has elements of ", dtype_name(dtype),
                              ", want float32, bfloat16, float16 or float64")
                           .c_str());
}

// Where batch, tokens, heads and head_dim are among the dimensions of a layout; -1: not there.
std::array<int, 4> order_of(std::string_view layout) {
  if (layout == "bthd") return {0, 1, 2, 3};
  if (layout == "bhtd") return {0, 2, 1, 3};
  if (layout == "thd") return {-1, 0, 1, 2};
  if (layout == "htd") return {-1, 1, 0, 2};
  throw nb::value_error(
      joined("layout is '", std::string(layout), "', want bthd, bhtd, thd or htd").c_str());
}

template <class View, class Array>
View view_of(const Array& array, const Argument& argument, bool is_bf16) {
  check_device(array, argument.name);
  const std::array<int, 4> order = order_of(argument.layout);
  if (array.ndim() != argument.layout.size()) {
    throw nb::value_error(joined(argument.name, " has ", std::to_string(array.ndim()),
                                 " dimensions, layout '", std::string(argument.layout), "' wants ",
                                 std::to_string(argument.layout.size()))
                              .c_str());
  }
  View view;
  view.dtype = dtype_from(array.dtype(), argument.name, is_bf16);
  view.data = array.data();
  for (std::size_t d = 0; d < 4; ++d) {
    if (order[d] < 0) {
      view.shape[d] = 1;
      continue;
    }
    const auto from = static_cast<std::size_t>(order[d]);
    view.shape[d] = static_cast<std::int64_t>(array.shape(from));
    view.strides[d] = array.stride(from);
  }
  return view;
}

template <class Array>
bool is_dense(const Array& array) {
  std::int64_t expected = 1;
  for (std::size_t d = array.ndim(); d-- > 0;) {
    if (array.shape(d) > 1 && array.stride(d) != expected) return false;
    expected *= static_cast<std::int64_t>(array.shape(d));
  }
  return true;
}

struct Unwrapped {
  nb::handle object;
  bool is_bf16;
};
Unwrapped unwrapped(nb::handle given) {
  if (PyTuple_CheckExact(given.ptr()) && PyTuple_GET_SIZE(given.ptr()) == 1) {
    return {PyTuple_GET_ITEM(given.ptr(), 0), true};
  }
  return {given, false};
}

}  // namespace

Input input_from(nb::handle given, const Argument& argument) {
  const auto [object, is_bf16] = unwrapped(given);
  Input input;
  if (!nb::try_cast(object, input.array, false)) refuse(object, argument.name, false);
  input.view = ConstTensorView(view_of<ConstTensorView::Base>(input.array, argument, is_bf16));
  return input;
}

Output output_from(nb::handle given, const Argument& argument) {
  const auto [object, is_bf16] = unwrapped(given);
  Output output;
  if (!nb::try_cast(object, output.array, false)) refuse(object, argument.name, true);
  output.view = view_of<TensorView>(output.array, argument, is_bf16);
  return output;
}

Floats floats_from(nb::handle given, const char* name) {
  const auto [object, is_bf16] = unwrapped(given);
  Floats floats{};
  if (!nb::try_cast(object, floats.array, false)) refuse(object, name, false);
  check_device(floats.array, name);
  const std::size_t dims = floats.array.ndim();
  if ((dims != 2 && dims != 3) || !is_dense(floats.array)) {
    throw nb::value_error(joined(name, " has ", std::to_string(dims),
                                 " dimensions, want [rows, width] or [batch, rows, width], densely")
                              .c_str());
  }
  floats.dtype = dtype_from(floats.array.dtype(), name, is_bf16);
  floats.batch = dims == 3 ? static_cast<std::int64_t>(floats.array.shape(0)) : 1;
  floats.rows = static_cast<std::int64_t>(floats.array.shape(dims - 2));
  floats.width = static_cast<std::int64_t>(floats.array.shape(dims - 1));
  return floats;
}

nb::ndarray<nb::ro> integers_from(nb::handle object, const char* name, nb::dlpack::dtype dtype) {
  nb::ndarray<nb::ro> array;
  if (!nb::try_cast(object, array, false)) {
    refuse(object, name, false, "int32, int64, float32 or float64");
  }
  check_device(array, name);
  if (array.dtype() != dtype || array.ndim() != 1 || !is_dense(array)) {
    throw nb::value_error(joined(name, " is not a dense array of one dimension of ",
                                 dtype_name(dtype), ", but of ", std::to_string(array.ndim()),
                                 " dimensions of ", dtype_name(array.dtype()))
                              .c_str());
  }
  return array;
}

void want_large_pages(std::uintptr_t data, std::size_t bytes) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t begin = (data + page - 1) / page * page, end = (data + bytes) / page * page;
  // Advice: what comes of it is the system's affair.
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

HeldPositions positions_from(nb::handle object, const char* name) {
  HeldPositions held;
  nb::ndarray<nb::ro> array;
  if (!nb::try_cast(object, array, false)) {
    refuse(object, name, false, "int32, int64, float32 or float64");
  }
  check_device(array, name);
  const std::size_t dims = array.ndim();
  if (dims < 1 || dims > 3) {
    throw nb::value_error(
        joined(name, " have ", std::to_string(dims),
               " dimensions, want [tokens], [batch, tokens] or [axes, batch, tokens]")
            .c_str());
  }
  if (!is_dense(array)) {
    throw nb::value_error(
        joined(name, " do not lie densely, one row after another: give a copy that does").c_str());
  }
  Positions::Shape shape;
  shape.tokens = static_cast<std::int64_t>(array.shape(dims - 1));
  if (dims > 1) shape.batch = static_cast<std::int64_t>(array.shape(dims - 2));
  if (dims > 2) shape.axes = static_cast<std::int64_t>(array.shape(0));
  const auto ids = [&]<class Id>(const Id*) {
    const auto* const data = static_cast<const Id*>(array.data());
    held.positions =
        dims == 1 ? Positions::ids(std::span(data, array.shape(0))) : Positions::ids(data, shape);
  };
  const nb::dlpack::dtype dtype = array.dtype();
  if (dtype == nb::dtype<std::int64_t>()) {
    ids(static_cast<const std::int64_t*>(nullptr));
  } else if (dtype == nb::dtype<std::int32_t>()) {
    ids(static_cast<const std::int32_t*>(nullptr));
  } else if (dtype == nb::dtype<float>()) {
    ids(static_cast<const float*>(nullptr));
  } else if (dtype == nb::dtype<double>()) {
    ids(static_cast<const double*>(nullptr));
  } else {
    throw nb::type_error(
        joined(name, " are of ", dtype_name(dtype), ", want int32, int64, float32 or float64")
            .c_str());
  }
  held.ids = std::move(array);
  return held;
}

}  // namespace ropewalk::python
