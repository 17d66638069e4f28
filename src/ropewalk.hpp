// What the parts of the C interface share: from structs of ropewalk.h to values of the library, and
// from exceptions to a status. There is no mathematics here, and nothing is allocated unless a call
// fails or makes something that lasts.

#ifndef ROPEWALK_SRC_ROPEWALK_HPP_
#define ROPEWALK_SRC_ROPEWALK_HPP_

#include <ropewalk/ropewalk.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <ropewalk/ropewalk.hpp>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "message.hpp"

// NOLINTBEGIN(readability-identifier-naming): names of C
struct ropewalk_rope {
  ropewalk::Rope rope;
  std::vector<double> ratios;  // of the rope, as pairs of doubles
};

struct ropewalk_angles {
  ropewalk::Angles angles;
};
// NOLINTEND(readability-identifier-naming)

namespace ropewalk::c {

template <class... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  throw Error(ErrorCode::kInvalidArgument, message(parts...));
}

// ---- Status ----

// Fills in what the caller gave, if anything, and returns the status.
ropewalk_status report(ropewalk_error* error, ropewalk_status status,
                       std::string_view text) noexcept;

// Copies as much of text as fits into size bytes, the NUL included, whole characters of UTF-8 only.
void copy_cut(char* to, std::size_t size, std::string_view text) noexcept;

// Runs a call, from which no exception leaves.
template <class Call>
ropewalk_status guarded(ropewalk_error* error, const Call& call) noexcept {
  try {
    if (error != nullptr && error->size < sizeof(ropewalk_error)) {
      refuse("error.size is ", error->size, ": begin with ROPEWALK_ERROR_INIT");
    }
    call();
    return report(error, ROPEWALK_OK, "");
  } catch (const Error& e) {
    return report(error, static_cast<ropewalk_status>(e.code()), e.what());
  } catch (const std::bad_alloc&) {
    return report(error, ROPEWALK_OUT_OF_MEMORY, "out of memory");
  } catch (const std::length_error&) {
    return report(error, ROPEWALK_OUT_OF_MEMORY, "out of memory: larger than any memory");
  } catch (const std::exception& e) {
    return report(error, ROPEWALK_INTERNAL, e.what());
  } catch (...) {
    return report(error, ROPEWALK_INTERNAL, "an exception of unknown type");
  }
}

// ---- Pointers ----

template <class T>
T& required(T* pointer, std::string_view who) {
  if (pointer == nullptr) refuse(who, " is NULL");
  return *pointer;
}

// count elements; empty for NULL and 0.
template <class T>
std::span<T> array_from(T* data, std::int64_t count, std::string_view who) {
  if (count < 0) refuse(who, " has the count ", count, ": want at least 0");
  if (count > 0 && data == nullptr) refuse(who, " is NULL, with the count ", count);
  if (reinterpret_cast<std::uintptr_t>(data) % alignof(T) != 0) {
    refuse(who, " begins at an address that is no multiple of ", alignof(T));
  }
  return {data, static_cast<std::size_t>(count)};
}

// ---- Structs that begin with their size ----

// Of each struct, what stands for fields that the caller's is too small to have; how many bytes it
// has at least, with the fields that are required; and how it is made.
//
// A new field is added at the end, has 0 for its default, and begins at what sizeof was before:
// never in its padding, which may hold anything.
template <class Struct>
struct Known;

template <>
struct Known<ropewalk_scaling> {
  static constexpr ropewalk_scaling kDefaults = ROPEWALK_SCALING_INIT;
  static constexpr std::size_t kSmallest = offsetof(ropewalk_scaling, alpha);
  static constexpr std::string_view kMaker = "ROPEWALK_SCALING_INIT";
};
template <>
struct Known<ropewalk_spec> {
  static constexpr ropewalk_spec kDefaults = ROPEWALK_SPEC_INIT;
  static constexpr std::size_t kSmallest = offsetof(ropewalk_spec, rotary_dim);
  static constexpr std::string_view kMaker = "ROPEWALK_SPEC_INIT";
};
template <>
struct Known<ropewalk_plan> {
  static constexpr ropewalk_plan kDefaults = ROPEWALK_PLAN_INIT;
  static constexpr std::size_t kSmallest = offsetof(ropewalk_plan, head_dim);
  static constexpr std::string_view kMaker = "ROPEWALK_PLAN_INIT";
};
template <>
struct Known<ropewalk_tensor> {
  static constexpr ropewalk_tensor kDefaults = {};
  static constexpr std::size_t kSmallest = sizeof(ropewalk_tensor);
  static constexpr std::string_view kMaker = "ropewalk_tensor_bthd";
};
template <>
struct Known<ropewalk_positions> {
  static constexpr ropewalk_positions kDefaults = ROPEWALK_POSITIONS_INIT;
  static constexpr std::size_t kSmallest = sizeof(ropewalk_positions);
  static constexpr std::string_view kMaker =
      "ropewalk_positions_from or another function of its kind";
};
template <>
struct Known<ropewalk_options> {
  static constexpr ropewalk_options kDefaults = ROPEWALK_OPTIONS_INIT;
  static constexpr std::size_t kSmallest = offsetof(ropewalk_options, target);
  static constexpr std::string_view kMaker = "ROPEWALK_OPTIONS_INIT";
};
template <>
struct Known<ropewalk_xpos> {
  static constexpr ropewalk_xpos kDefaults = ROPEWALK_XPOS_INIT;
  static constexpr std::size_t kSmallest = offsetof(ropewalk_xpos, scale_base);
  static constexpr std::string_view kMaker = "ROPEWALK_XPOS_INIT";
};
template <>
struct Known<ropewalk_angles_options> {
  static constexpr ropewalk_angles_options kDefaults = ROPEWALK_ANGLES_OPTIONS_INIT;
  static constexpr std::size_t kSmallest = offsetof(ropewalk_angles_options, dtype);
  static constexpr std::string_view kMaker = "ROPEWALK_ANGLES_OPTIONS_INIT";
};
template <>
struct Known<ropewalk_given_rows> {
  static constexpr ropewalk_given_rows kDefaults = ROPEWALK_GIVEN_ROWS_INIT;
  static constexpr std::size_t kSmallest = sizeof(ropewalk_given_rows);
  static constexpr std::string_view kMaker = "ROPEWALK_GIVEN_ROWS_INIT";
};
template <>
struct Known<ropewalk_check_options> {
  static constexpr ropewalk_check_options kDefaults = ROPEWALK_CHECK_OPTIONS_INIT;
  static constexpr std::size_t kSmallest = offsetof(ropewalk_check_options, q_heads);
  static constexpr std::string_view kMaker = "ROPEWALK_CHECK_OPTIONS_INIT";
};

// Throws Error unless `given` bytes can be such a struct of another version, of which `known` are
// known here.
void check_size(std::size_t given, std::size_t smallest, std::string_view who,
                std::string_view maker);
void check_excess(const void* data, std::size_t given, std::size_t known, std::string_view who);

// What the caller gave, read where it lies if it is of this version; a struct of another one is copied,
// with the defaults for what that version does not have.
template <class Struct>
class Received {
 public:
  Received(const Struct* given, std::string_view who) : struct_(given) {
    const std::size_t size = required(given, who).size;
    if (size != sizeof(Struct)) struct_ = &copied(given, size, who);
  }
  Received(const Received&) = delete;
  Received& operator=(const Received&) = delete;

  const Struct* operator->() const noexcept { return struct_; }
  const Struct& operator*() const noexcept { return *struct_; }

 private:
  [[gnu::noinline]] const Struct& copied(const Struct* given, std::size_t size,
                                         std::string_view who) {
    check_size(size, Known<Struct>::kSmallest, who, Known<Struct>::kMaker);
    if (size > sizeof(Struct)) check_excess(given, size, sizeof(Struct), who);
    copy_ = Known<Struct>::kDefaults;
    std::memcpy(&copy_, given, std::min(size, sizeof(Struct)));
    return copy_;
  }

  const Struct* struct_;
  Struct copy_;
};

// Fills in as much as the caller's version has; its size stays.
template <class Struct>
void hand_out(Struct* to, Struct value, std::string_view who) {
  value.size = required(to, who).size;
  check_size(value.size, Known<Struct>::kSmallest, who, Known<Struct>::kMaker);
  std::memcpy(to, &value, std::min(value.size, sizeof(Struct)));
}

// ---- Values ----

// An enum of C as that of the library, whose values are the same: 0 to last.
template <class Enum, class Given>
Enum enum_from(Given given, Enum last, std::string_view who, std::string_view field) {
  const auto number = static_cast<std::int32_t>(given);
  if (number < 0 || number > static_cast<std::int32_t>(last)) {
    refuse(who, field, " is ", number, ", want 0 to ", static_cast<std::int32_t>(last));
  }
  return static_cast<Enum>(number);
}

inline DType dtype_from(ropewalk_dtype given, std::string_view who, std::string_view field) {
  return enum_from(given, DType::kF64, who, field);
}

Spec spec_from(const ropewalk_spec* given);
TensorView tensor_from(const ropewalk_tensor* given, std::string_view who);
Positions positions_from(const ropewalk_positions* given, std::string_view who);
Options options_from(const ropewalk_options* given, std::string_view who);  // NULL: the defaults

}  // namespace ropewalk::c

#endif  // ROPEWALK_SRC_ROPEWALK_HPP_
