#include <algorithm>
#include <array>
#include <ropewalk/model.hpp>
#include <utility>

#include "model-json.hpp"

namespace ropewalk {
namespace {

using ropewalk::read;
using OrderedJson = nlohmann::ordered_json;

// What one name of an enumeration is: "halves or adjacent", "a, b or c".
template <class Enum, std::size_t N>
std::string names_of(const std::array<Enum, N>& values) {
  std::string names;
  for (std::size_t i = 0; i < N; ++i) {
    names += message(i == 0 ? "" : i + 1 < N ? ", " : " or ", name(values[i]));
  }
  return names;
}

constexpr std::array kPairings = {Pairing::kHalves, Pairing::kAdjacent};
constexpr std::array kScalingTypes = {
    Scaling::Type::kDefault,      Scaling::Type::kLinear,          Scaling::Type::kNtk,
    Scaling::Type::kDynamic,      Scaling::Type::kDynamicStepwise, Scaling::Type::kNtkByParts,
    Scaling::Type::kYarn,         Scaling::Type::kLlama3,          Scaling::Type::kLongrope,
    Scaling::Type::kProportional, Scaling::Type::kDivisors};
constexpr std::array kRoundings = {FrequencyRounding::kNone, FrequencyRounding::kFloat32};
constexpr std::array kOrders = {Axes::Order::kBlocks, Axes::Order::kCycle, Axes::Order::kGgmlCycle,
                                Axes::Order::kErnie, Axes::Order::kRoundRobin};

template <class Enum, std::size_t N>
Enum read_name(const Json& value, std::string_view path, const std::array<Enum, N>& known) {
  if (!value.is_string()) refuse_type(path, value, message("a string: ", names_of(known)));
  const auto& given = value.get_ref<const std::string&>();
  const auto found = std::find_if(known.begin(), known.end(),
                                  [&](Enum candidate) { return name(candidate) == given; });
  if (found == known.end()) {
    refuse_json(path, ": ", quoted(given), " is not known, want ", names_of(known));
  }
  return *found;
}

// read() of every other type that a key can have.

void read(const Json& value, std::string_view path, Pairing& out) {
  out = read_name(value, path, kPairings);
}

void read(const Json& value, std::string_view path, Scaling::Type& out) {
  out = read_name(value, path, kScalingTypes);
}

void read(const Json& value, std::string_view path, FrequencyRounding& out) {
  out = read_name(value, path, kRoundings);
}

void read(const Json& value, std::string_view path, Axes::Order& out) {
  out = read_name(value, path, kOrders);
}

void read(const Json& value, std::string_view path, Scaling& out);
void read(const Json& value, std::string_view path, Axes& out);

template <class T>
void read(const Json& value, std::string_view path, std::optional<T>& out) {
  read(value, path, out.emplace());
}

// write() of every type that a key can have: false if there is nothing to write.

template <class T>
bool write(const T& value, OrderedJson& out) {
  out = value;
  return true;
}

bool write(const Pairing& value, OrderedJson& out) { return write(name(value), out); }
bool write(const Scaling::Type& value, OrderedJson& out) { return write(name(value), out); }
bool write(const FrequencyRounding& value, OrderedJson& out) { return write(name(value), out); }
bool write(const Axes::Order& value, OrderedJson& out) { return write(name(value), out); }
bool write(const Scaling& value, OrderedJson& out);
bool write(const Axes& value, OrderedJson& out);

template <class T>
bool write(const std::optional<T>& value, OrderedJson& out) {
  return value && write(*value, out);
}

// A row of a table of keys: the name in the JSON and the field of a struct that it fills.
template <class Fields>
struct Key {
  std::string_view name;
  void (*read)(const Json& value, std::string_view path, Fields& fields);
  bool (*write)(const Fields& fields, OrderedJson& out);
};

template <auto member, class Fields>
constexpr Key<Fields> key_of(std::string_view name) {
  return {name,
          [](const Json& value, std::string_view path, Fields& fields) {
            read(value, path, fields.*member);
          },
          [](const Fields& fields, OrderedJson& out) { return write(fields.*member, out); }};
}

// Written only where it is not what an absent key means.
template <auto member, class Fields>
constexpr Key<Fields> rare_key_of(std::string_view name) {
  Key<Fields> key = key_of<member, Fields>(name);
  key.write = [](const Fields& fields, OrderedJson& out) {
    return fields.*member != Fields{}.*member && write(fields.*member, out);
  };
  return key;
}

// The keys of a Spec, in the order in which they are written.
constexpr std::array kSpecKeys = {
    key_of<&SpecFields::head_dim, SpecFields>("head_dim"),
    key_of<&SpecFields::rotary_dim, SpecFields>("rotary_dim"),
    rare_key_of<&SpecFields::rotary_offset, SpecFields>("rotary_offset"),
    key_of<&SpecFields::pairing, SpecFields>("pairing"),
    key_of<&SpecFields::output_pairing, SpecFields>("output_pairing"),
    rare_key_of<&SpecFields::clockwise, SpecFields>("clockwise"),
    rare_key_of<&SpecFields::window_parts, SpecFields>("window_parts"),
    key_of<&SpecFields::base, SpecFields>("base"),
    key_of<&SpecFields::scaling, SpecFields>("scaling"),
    key_of<&SpecFields::frequencies, SpecFields>("frequencies"),
    key_of<&SpecFields::attention_factor, SpecFields>("attention_factor"),
    rare_key_of<&SpecFields::frequency_rounding, SpecFields>("frequency_rounding"),
    key_of<&SpecFields::axes, SpecFields>("axes"),
    key_of<&SpecFields::axis_of_pair, SpecFields>("axis_of_pair"),
};

// The keys of its scaling.
constexpr std::array kScalingKeys = {
    key_of<&Scaling::type, Scaling>("type"),
    key_of<&Scaling::factor, Scaling>("factor"),
    key_of<&Scaling::alpha, Scaling>("alpha"),
    key_of<&Scaling::original_max_position_embeddings, Scaling>("original_max_position_embeddings"),
    key_of<&Scaling::beta_fast, Scaling>("beta_fast"),
    key_of<&Scaling::beta_slow, Scaling>("beta_slow"),
    key_of<&Scaling::truncate, Scaling>("truncate"),
    key_of<&Scaling::mscale, Scaling>("mscale"),
    key_of<&Scaling::mscale_all_dim, Scaling>("mscale_all_dim"),
    key_of<&Scaling::attention_factor, Scaling>("attention_factor"),
    key_of<&Scaling::extrapolation_factor, Scaling>("extrapolation_factor"),
    key_of<&Scaling::low_freq_factor, Scaling>("low_freq_factor"),
    key_of<&Scaling::high_freq_factor, Scaling>("high_freq_factor"),
    key_of<&Scaling::short_factor, Scaling>("short_factor"),
    key_of<&Scaling::long_factor, Scaling>("long_factor"),
    key_of<&Scaling::short_mscale, Scaling>("short_mscale"),
    key_of<&Scaling::long_mscale, Scaling>("long_mscale"),
    key_of<&Scaling::rotating_pairs, Scaling>("rotating_pairs"),
    key_of<&Scaling::divisors, Scaling>("divisors"),
};

// The keys of its axes.
constexpr std::array kAxesKeys = {
    key_of<&Axes::sections, Axes>("sections"),
    key_of<&Axes::order, Axes>("order"),
};

template <class Fields, std::size_t N>
void read_object(const Json& object, std::string_view path, const std::array<Key<Fields>, N>& keys,
                 Fields& fields) {
  if (!object.is_object()) refuse_type(path.empty() ? "spec" : path, object, "an object");
  for (const auto& [given, value] : object.items()) {
    const std::string here = joined(path, given);
    const auto key = std::find_if(keys.begin(), keys.end(),
                                  [&](const Key<Fields>& row) { return row.name == given; });
    if (key == keys.end()) {
      std::string known;
      for (const auto& row : keys) known += message(known.empty() ? "" : ", ", row.name);
      refuse_json(here, ": not a key that is known here; these are: ", known);
    }
    if (!value.is_null()) key->read(value, here, fields);
  }
}

template <class Fields, std::size_t N>
void write_object(const Fields& fields, const std::array<Key<Fields>, N>& keys, OrderedJson& out) {
  out = OrderedJson::object();
  for (const auto& key : keys) {
    OrderedJson value;
    if (key.write(fields, value)) out[std::string(key.name)] = std::move(value);
  }
}

// Refuses an object without this key, or with null there.
void require(const Json& object, std::string_view path, const char* key, std::string_view wanted) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) {
    refuse_json(joined(path, key), ": missing, want ", wanted);
  }
}

void read(const Json& value, std::string_view path, Scaling& out) {
  read_object(value, path, kScalingKeys, out);
  require(value, path, "type", names_of(kScalingTypes));
}

bool write(const Scaling& value, OrderedJson& out) {
  write_object(value, kScalingKeys, out);
  return true;
}

void read(const Json& value, std::string_view path, Axes& out) {
  read_object(value, path, kAxesKeys, out);
  require(value, path, "sections", "the number of pairs of each axis");
}

bool write(const Axes& value, OrderedJson& out) {
  write_object(value, kAxesKeys, out);
  return true;
}

constexpr int kMaxDepth = 16;  // a Spec has 3

}  // namespace

Scaling scaling_from_json(const Json& object, std::string_view path) {
  Scaling scaling;
  read(object, path, scaling);
  return scaling;
}

bool is_spec(const Json& value) {
  const auto is_key = [](const auto& item) {
    return std::any_of(kSpecKeys.begin(), kSpecKeys.end(),
                       [&](const Key<SpecFields>& row) { return row.name == item.key(); });
  };
  if (!value.is_object() || !value.contains("head_dim")) return false;
  const auto items = value.items();
  return std::all_of(items.begin(), items.end(), is_key);
}

Spec spec_from_json(std::string_view json) {
  const Json object = parse_json(json, "a Spec", kMaxDepth);
  SpecFields fields;
  read_object(object, "", kSpecKeys, fields);
  require(object, "", "head_dim", "the number of elements of a head");
  return Spec(std::move(fields));
}

std::string spec_to_json(const Spec& spec) {
  SpecFields fields = spec.fields();
  if (!fields.frequencies) fields.base = spec.base();  // said, not left to a default
  if (fields.output_pairing == fields.pairing) fields.output_pairing.reset();
  OrderedJson object;
  write_object(fields, kSpecKeys, object);
  return object.dump();
}

}  // namespace ropewalk
