// The strict reading of JSON that the readers of a Spec and of a config share. Every error is an
// Error (kBadFormat) that begins with the path of the key.

#ifndef ROPEWALK_SRC_MODEL_JSON_HPP_
#define ROPEWALK_SRC_MODEL_JSON_HPP_

#include <concepts>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <ropewalk/error.hpp>
#include <ropewalk/spec.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "message.hpp"

namespace ropewalk {

using Json = nlohmann::json;

// The text as JSON. what: what it should be, for messages. Refuses keys given twice, of which the
// parser would silently keep the last, and what is nested deeper than max_depth.
Json parse_json(std::string_view text, std::string_view what, int max_depth);

template <class... Parts>
[[noreturn]] void refuse_json(const Parts&... parts) {
  throw Error(ErrorCode::kBadFormat, message(parts...));
}

// "an object", "a string" ...
std::string_view type_of(const Json& value);

[[noreturn]] void refuse_type(std::string_view path, const Json& value, std::string_view wanted);

// On one line, as a terminal can show it: what is no UTF-8 becomes '?'; control characters, and those
// that turn the direction of writing, are escaped.
std::string printable(std::string_view text);

// How a config's NaN and Infinity, which are no JSON, are kept in a string that no file has.
constexpr char kNonNumber = '\0';

// What stands in the file, as it can be shown; a long text is cut.
std::string quoted(const std::string& given);

// A value of the file, in the same way.
std::string shown(const Json& value);

// A string that can be shown to people: short, and without control characters.
std::string name_in(const Json& value, std::string_view path);

// path.key
std::string joined(std::string_view path, const std::string& key);

// read() of a value of each type. An integer is a number, and 128.0 is an integer.
void read(const Json& value, std::string_view path, double& out);
void read(const Json& value, std::string_view path, std::int64_t& out);
void read(const Json& value, std::string_view path, bool& out);

template <class Number>
void read(const Json& value, std::string_view path, std::vector<Number>& out) {
  if (!value.is_array()) {
    refuse_type(path, value,
                std::integral<Number> ? "an array of integers" : "an array of numbers");
  }
  out.clear();
  out.reserve(value.size());
  for (const Json& element : value) {
    const std::string here = message(path, "[", out.size(), "]");
    read(element, here, out.emplace_back());
  }
}

// Whether it is the JSON form of a Spec: it has a head_dim, and no key that is none of a Spec.
bool is_spec(const Json& value);

// A scaling in the JSON form of a Spec, see model.hpp.
Scaling scaling_from_json(const Json& object, std::string_view path);

}  // namespace ropewalk

#endif  // ROPEWALK_SRC_MODEL_JSON_HPP_
