#include "model-gguf-keys.hpp"

#include <cmath>
#include <type_traits>
#include <variant>

namespace ropewalk {
namespace {

using formats::GgufNumber;
using formats::GgufValue;

constexpr std::int64_t kLargest = std::int64_t{1} << 40;

// The type of a value, and the value if it is short.
std::string description_of(const GgufValue& value) {
  constexpr std::string_view kNames[] = {"a long array or string",
                                         "a bool",
                                         "an integer",
                                         "an integer",
                                         "a number",
                                         "a string",
                                         "an array"};
  const std::string name(kNames[value.index()]);
  return std::visit(
      [&](const auto& given) {
        using Given = std::decay_t<decltype(given)>;
        if constexpr (std::is_same_v<Given, std::string>) {
          return message(name, " ", formats::shown(given));
        } else if constexpr (std::is_same_v<Given, bool>) {
          return message(name, given ? " true" : " false");
        } else if constexpr (std::is_arithmetic_v<Given>) {
          return message(name, " ", given);
        } else {
          return name;
        }
      },
      value);
}

// An integer of either sign, or a bool as 0 or 1; empty for what is none, or too large.
template <class Value>
std::optional<std::int64_t> integer_of(const Value& value) {
  if (const auto* const truth = std::get_if<bool>(&value)) return *truth ? 1 : 0;
  if (const auto* const number = std::get_if<std::int64_t>(&value)) return *number;
  const auto* const number = std::get_if<std::uint64_t>(&value);
  if (number == nullptr || *number > INT64_MAX) return {};
  return static_cast<std::int64_t>(*number);
}

// Empty for what is none, a bool among them.
template <class Value>
std::optional<double> number_of(const Value& value) {
  if (const auto* const real = std::get_if<double>(&value)) return *real;
  if (std::holds_alternative<bool>(value)) return {};
  const auto whole = integer_of(value);
  if (!whole) return {};
  return static_cast<double>(*whole);
}

}  // namespace

void GgufKeys::refuse_type(std::string_view key, const GgufValue& value,
                           std::string_view wanted) const {
  refuse(key, "got ", description_of(value), ", want ", wanted);
}

bool GgufKeys::is_array(std::string_view key) const {
  const GgufValue* const value = find(key);
  return value != nullptr && std::holds_alternative<std::vector<GgufNumber>>(*value);
}

std::optional<std::int64_t> GgufKeys::integer(std::string_view key) const {
  const GgufValue* const value = find(key);
  if (value == nullptr) return {};
  if (std::holds_alternative<bool>(*value)) refuse_type(key, *value, "an integer");
  const auto number = integer_of(*value);
  if (!number) refuse_type(key, *value, "an integer from 0 to 2^40");
  if (*number < 0 || *number > kLargest) {
    refuse(key, *number, " is not an integer from 0 to 2^40");
  }
  return number;
}

std::optional<std::vector<std::int64_t>> GgufKeys::integers(std::string_view key) const {
  const GgufValue* const value = find(key);
  if (value == nullptr) return {};
  if (!is_array(key)) return std::vector<std::int64_t>{*integer(key)};
  std::vector<std::int64_t> result;
  for (const GgufNumber& each : std::get<std::vector<GgufNumber>>(*value)) {
    const auto number = integer_of(each);
    if (!number || *number < 0 || *number > kLargest) {
      refuse(key, "element ", result.size(), " is not an integer from 0 to 2^40");
    }
    result.push_back(*number);
  }
  return result;
}

std::optional<double> GgufKeys::number(std::string_view key) const {
  const GgufValue* const value = find(key);
  if (value == nullptr) return {};
  const auto number = number_of(*value);
  if (!number) refuse_type(key, *value, "a number");
  if (!std::isfinite(*number)) refuse(key, *number, " is not finite");
  return number;
}

std::optional<std::vector<double>> GgufKeys::numbers(std::string_view key) const {
  const GgufValue* const value = find(key);
  if (value == nullptr) return {};
  if (!is_array(key)) return std::vector<double>{*number(key)};
  std::vector<double> result;
  for (const GgufNumber& each : std::get<std::vector<GgufNumber>>(*value)) {
    const auto number = number_of(each);
    if (!number || !std::isfinite(*number)) {
      refuse(key, "element ", result.size(), " is not a finite number");
    }
    result.push_back(*number);
  }
  return result;
}

std::optional<bool> GgufKeys::truth(std::string_view key) const {
  const GgufValue* const value = find(key);
  if (value == nullptr) return {};
  const auto* const truth = std::get_if<bool>(value);
  if (truth == nullptr) refuse_type(key, *value, "a bool");
  return *truth;
}

std::optional<std::string> GgufKeys::string(std::string_view key) const {
  const GgufValue* const value = find(key);
  if (value == nullptr) return {};
  const auto* const text = std::get_if<std::string>(value);
  if (text == nullptr) refuse_type(key, *value, "a string");
  return *text;
}

}  // namespace ropewalk
