#include "model-json.hpp"

#include <algorithm>
#include <cmath>
#include <set>

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
    refuse_json("not JSON: ", bracket == words.npos ? words : words.substr(bracket + 2));
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
    refuse_json(path, ": got a string ", quoted(value.get_ref<const std::string&>()), ", want ",
                wanted);
  }
  const bool is_short = value.is_number() || value.is_boolean();
  refuse_json(path, ": got ", type_of(value), is_short ? message(" ", value.dump()) : "", ", want ",
              wanted);
}

std::string quoted(const std::string& given) {
  constexpr std::size_t kShown = 100;
  constexpr auto kReplace = Json::error_handler_t::replace;  // of a character that was cut
  if (given.size() <= kShown) return Json(given).dump();
  return Json(given.substr(0, kShown) + "...").dump(-1, ' ', false, kReplace);
}

std::string name_in(const Json& value, std::string_view path) {
  constexpr std::size_t kLongest = 100;
  if (!value.is_string()) refuse_type(path, value, "a string");
  const auto& name = value.get_ref<const std::string&>();
  const bool is_plain = std::none_of(name.begin(), name.end(), [](char letter) {
    return static_cast<unsigned char>(letter) < 0x20 || letter == 0x7F;
  });
  if (name.size() > kLongest || !is_plain) {
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
