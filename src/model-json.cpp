#include "model-json.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace ropewalk {
namespace {

class DuplicateKeys {
 public:
  void see(Json::parse_event_t event, const Json& parsed) {
    if (event == Json::parse_event_t::object_start) open_.emplace_back();
    if (event == Json::parse_event_t::object_end) open_.pop_back();
    if (event == Json::parse_event_t::key) see_key(parsed.get_ref<const std::string&>());
  }

 private:
  struct Object {
    std::set<std::string> keys;
    std::string last;
  };

  void see_key(const std::string& key) {
    open_.back().last = key;
    if (open_.back().keys.insert(key).second) return;
    std::string path;
    for (const Object& object : open_) path = joined(path, object.last);
    refuse_json(path, ": given twice");
  }

  std::vector<Object> open_;  // from the outermost
};

}  // namespace

Json parse_json(std::string_view text, std::string_view what, int max_depth) {
  // The parser would take it for the end, and say nothing of what follows.
  if (const std::size_t null = text.find('\0'); null != text.npos) {
    refuse_json("not JSON: byte ", null, " is 0");
  }
  DuplicateKeys duplicates;
  try {
    return Json::parse(text, [&](int depth, Json::parse_event_t event, const Json& parsed) {
      if (depth > max_depth) refuse_json("not ", what, ": nested deeper than ", max_depth);
      duplicates.see(event, parsed);
      return true;
    });
  } catch (const Json::exception& error) {
    const std::string_view words = error.what();  // "[json.exception.parse_error.101] parse ..."
    const std::size_t bracket = words.find("] ");
    refuse_json("not JSON: ", printable(bracket == words.npos ? words : words.substr(bracket + 2)));
  }
}

std::string_view type_of(const Json& value) {
  switch (value.type()) {
    case Json::value_t::object: return "an object";
    case Json::value_t::array: return "an array";
    case Json::value_t::string: return "a string";
    case Json::value_t::boolean: return "a boolean";
    case Json::value_t::null: return "null";
    default: return "a number";
  }
}

void refuse_type(std::string_view path, const Json& value, std::string_view wanted) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    const bool is_number = text.size() > 1 && text[0] == kNonNumber;
    refuse_json(path, ": got ", is_number ? text.substr(1) : "a string " + quoted(text), ", want ",
                wanted);
  }
  const bool is_short = value.is_number() || value.is_boolean();
  refuse_json(path, ": got ", type_of(value), is_short ? message(" ", value.dump()) : "", ", want ",
              wanted);
}

namespace {

// The code point that begins at i, and how many bytes it has; 0 for what is no UTF-8.
std::pair<char32_t, std::size_t> code_point(std::string_view text, std::size_t i) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned char lead = byte(i);
  const std::size_t size = lead < 0x80            ? 1
                           : (lead >> 5U) == 0x6  ? 2
                           : (lead >> 4U) == 0xE  ? 3
                           : (lead >> 3U) == 0x1E ? 4
                                                  : 0;
  if (size == 0 || i + size > text.size()) return {0, 0};
  char32_t point = size == 1 ? lead : lead & (0x7FU >> size);
  for (std::size_t k = 1; k < size; ++k) {
    if ((byte(i + k) & 0xC0U) != 0x80) return {0, 0};
    point = (point << 6U) | (byte(i + k) & 0x3FU);
  }
  return {point, size};
}

bool is_control(char32_t point) {
  return point < 0x20 || (point >= 0x7F && point < 0xA0) || point == 0x61C ||
         (point >= 0x200E && point <= 0x200F) || (point >= 0x2028 && point <= 0x202E) ||
         (point >= 0x2066 && point <= 0x2069);
}

}  // namespace

std::string printable(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    const auto [point, size] = code_point(text, i);
    if (size == 0) {
      result += '?';
    } else if (is_control(point)) {
      result += "\\u";
      for (int shift = 12; shift >= 0; shift -= 4) {
        result += kDigits[(point >> static_cast<unsigned>(shift)) & 0xFU];
      }
    } else {
      result += text.substr(i, size);
    }
    i += std::max<std::size_t>(size, 1);
  }
  return result;
}

std::string quoted(const std::string& given) {
  constexpr std::size_t kShown = 100;
  constexpr auto kReplace = Json::error_handler_t::replace;  // of a character that was cut
  if (given.size() <= kShown) return printable(Json(given).dump(-1, ' ', false, kReplace));
  return printable(Json(given.substr(0, kShown) + "...").dump(-1, ' ', false, kReplace));
}

std::string shown(const Json& value) {
  if (value.is_string()) return quoted(value.get_ref<const std::string&>());
  if (value.is_object() || value.is_array()) return std::string(type_of(value));
  return value.dump();
}

std::string name_in(const Json& value, std::string_view path) {
  constexpr std::size_t kLongest = 100;
  if (!value.is_string()) refuse_type(path, value, "a string");
  const auto& name = value.get_ref<const std::string&>();
  if (name.size() > kLongest || printable(name) != name) {
    refuse_json(path, ": ", quoted(name), " is not a name of up to ", kLongest,
                " bytes on one line");
  }
  return name;
}

std::string joined(std::string_view path, const std::string& key) {
  const std::string escaped = quoted(key);
  const std::string_view bare = std::string_view(escaped).substr(1, escaped.size() - 2);
  return path.empty() ? std::string(bare) : message(path, ".", bare);
}

void read(const Json& value, std::string_view path, double& out) {
  if (!value.is_number()) refuse_type(path, value, "a number");
  out = value.get<double>();
}

void read(const Json& value, std::string_view path, std::int64_t& out) {
  if (!value.is_number()) refuse_type(path, value, "an integer");
  if (value.is_number_float()) {  // 128.0 is an integer, too
    const double number = value.get<double>();
    if (number != std::trunc(number)) refuse_json(path, ": ", number, " is not an integer");
    if (!(std::abs(number) < 0x1p63)) refuse_json(path, ": ", number, " is beyond 64 bits");
    out = static_cast<std::int64_t>(number);
    return;
  }
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX) {
    refuse_json(path, ": ", value.get<std::uint64_t>(), " is beyond 64 bits");
  }
  out = value.get<std::int64_t>();
}

void read(const Json& value, std::string_view path, bool& out) {
  if (!value.is_boolean()) refuse_type(path, value, "true or false");
  out = value.get<bool>();
}

}  // namespace ropewalk
