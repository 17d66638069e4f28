#include "formats/safetensors.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <ropewalk/error.hpp>
#include <tuple>
#include <utility>

#include "formats/source.hpp"
#include "message.hpp"

namespace ropewalk::formats {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kPrefix = 8;  // the length of the JSON, little-endian

// What the reference implementation allows.
constexpr std::uint64_t kMaxHeader = 100'000'000;

constexpr std::size_t kMaxDimensions = 64;

// Bits of an element of every dtype that the reference implementation knows.
struct ElementSize {
  std::string_view dtype;
  std::uint64_t bits;
};
constexpr ElementSize kElementSizes[] = {
    {"F32", 32},    {"F16", 16},    {"BF16", 16},       {"F64", 64},       {"BOOL", 8}, {"U8", 8},
    {"I8", 8},      {"U16", 16},    {"I16", 16},        {"U32", 32},       {"I32", 32}, {"U64", 64},
    {"I64", 64},    {"F8_E5M2", 8}, {"F8_E4M3", 8},     {"F8_E8M0", 8},    {"C64", 64}, {"F4", 4},
    {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}};

// A name as it stands in the file, on one line and not endlessly long.
std::string shown(std::string_view name) {
  constexpr std::size_t kLongest = 100;
  const bool is_cut = name.size() > kLongest;
  const std::string part(name.substr(0, kLongest));
  // A cut may have gone through a character.
  return Json(part).dump(-1, ' ', false, Json::error_handler_t::replace) + (is_cut ? "..." : "");
}

// Takes the events of the JSON parser. A header may have millions of tensors: no tree is built, and
// whatever is nested deeper than a header can be is refused where it begins.
class Reader : public nlohmann::json_sax<Json> {
 public:
  explicit Reader(const Source& source) : source_(source) {}

  std::vector<SafetensorsTensor> tensors;

  bool null() override { unexpected("null"); }
  bool boolean(bool) override { unexpected("a boolean"); }
  bool number_integer(number_integer_t) override { unexpected("a negative number"); }
  bool number_float(number_float_t, const string_t&) override {
    unexpected("a number that is no integer of 64 bits");
  }
  bool binary(binary_t&) override { unexpected("binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (!in_array_) unexpected("a number");
    if (place_ == Place::kShape) {
      if (value > INT64_MAX) source_.refuse(here(), " has a size of ", value, "; save it again");
      if (tensors.back().shape.size() == kMaxDimensions) {
        source_.refuse(here(), " has more than ", kMaxDimensions, " dimensions; save it again");
      }
      tensors.back().shape.push_back(static_cast<std::int64_t>(value));
      return true;
    }
    if (offsets_ == 2) unexpected("a third offset");
    (offsets_ == 0 ? tensors.back().offset : end_) = value;
    ++offsets_;
    return true;
  }

  bool string(string_t& value) override {
    if (place_ == Place::kMetadata) return true;  // of no concern to us
    if (place_ != Place::kDType) unexpected("a string");
    tensors.back().dtype = std::move(value);
    place_ = Place::kTensor;
    return true;
  }

  bool start_object(std::size_t) override {
    if (place_ == Place::kFile && !is_open_) {
      is_open_ = true;
    } else if (place_ == Place::kName) {
      place_ = is_metadata_ ? Place::kMetadata : Place::kTensor;
    } else {
      unexpected("an object");
    }
    return true;
  }

  bool key(string_t& value) override {
    if (place_ == Place::kFile) {
      begin(value);
    } else if (place_ != Place::kMetadata) {
      begin_field(value);
    }
    return true;
  }

  bool end_object() override {
    if (place_ == Place::kTensor) finish_tensor();
    place_ = Place::kFile;
    return true;
  }

  bool start_array(std::size_t) override {
    if ((place_ != Place::kShape && place_ != Place::kOffsets) || in_array_) unexpected("an array");
    in_array_ = true;
    return true;
  }

  bool end_array() override {
    if (place_ == Place::kOffsets && offsets_ != 2) unexpected("less than two offsets");
    in_array_ = false;
    place_ = Place::kTensor;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    source_.refuse("its header is no JSON, from byte ", kPrefix + position,
                   " of the file on; save it again");
  }

 private:
  // What comes next: a name, a name's object, a key in it, or the value of a key.
  enum class Place { kFile, kName, kMetadata, kTensor, kDType, kShape, kOffsets };

  static constexpr std::string_view kKeys[] = {"dtype", "shape", "data_offsets"};

  void begin(std::string& name) {
    is_metadata_ = name == "__metadata__";
    place_ = Place::kName;
    if (is_metadata_) {
      if (std::exchange(has_metadata_, true)) source_.refuse("has two __metadata__; save it again");
      return;
    }
    tensors.emplace_back().name = std::move(name);
    for (bool& seen : seen_) seen = false;
    offsets_ = 0;
    end_ = 0;
  }

  void begin_field(const std::string& key) {
    const auto found = std::find(std::begin(kKeys), std::end(kKeys), key);
    if (found == std::end(kKeys)) {
      source_.refuse(here(), " has a key ", shown(key),
                     ", want dtype, shape, data_offsets; save it again");
    }
    const auto which = static_cast<std::size_t>(found - std::begin(kKeys));
    if (std::exchange(seen_[which], true)) {
      source_.refuse(here(), " has ", key, " twice; save it again");
    }
    constexpr Place kPlaces[] = {Place::kDType, Place::kShape, Place::kOffsets};
    place_ = kPlaces[which];
  }

  void finish_tensor() {
    for (std::size_t i = 0; i < std::size(kKeys); ++i) {
      if (!seen_[i]) source_.refuse(here(), " has no ", kKeys[i], "; save it again");
    }
    SafetensorsTensor& tensor = tensors.back();
    if (end_ < tensor.offset) {
      source_.refuse(here(), " ends at ", end_, " before it begins at ", tensor.offset,
                     "; save it again");
    }
    tensor.bytes = end_ - tensor.offset;
  }

  [[nodiscard]] std::string here() const { return "tensor " + shown(tensors.back().name); }

  [[noreturn]] void unexpected(std::string_view given) const {
    constexpr std::string_view kWanted[] = {
        "a JSON object",          "an object", "strings", "keys", "a string", "an array of sizes",
        "an array of two offsets"};
    const std::string_view wanted = kWanted[static_cast<std::size_t>(place_)];
    if (place_ == Place::kFile) source_.refuse("its header has ", given, ", want ", wanted);
    std::string where = is_metadata_ ? "__metadata__" : here();
    if (place_ == Place::kDType) where += ", dtype";
    if (place_ == Place::kShape) where += ", shape";
    if (place_ == Place::kOffsets) where += ", data_offsets";
    source_.refuse(where, ": got ", given, ", want ", wanted, "; save it again");
  }

  const Source& source_;
  Place place_ = Place::kFile;
  bool is_open_ = false;
  bool has_metadata_ = false;
  bool is_metadata_ = false;  // the name last seen
  bool in_array_ = false;
  bool seen_[std::size(kKeys)] = {};
  int offsets_ = 0;
  std::uint64_t end_ = 0;
};

// The JSON of the header.
std::string read_header(const Source& source) {
  if (source.size < kPrefix) {
    source.refuse("is no .safetensors file: it has ", source.size,
                  " bytes, want at least 8; copy it again");
  }
  std::string prefix(kPrefix, '\0');
  source.read(0, std::as_writable_bytes(std::span(prefix)));
  const std::uint64_t length = little_endian(prefix);
  if (length > kMaxHeader) {
    source.refuse("is no .safetensors file, or its header of ", length,
                  " bytes is too long, want at most ", kMaxHeader);
  }
  if (length > source.size - kPrefix) {
    source.refuse("is cut off inside its header: ", source.size, " bytes, want at least ",
                  kPrefix + length, "; copy it again");
  }
  std::string json(length, '\0');
  source.read(kPrefix, std::as_writable_bytes(std::span(json)));
  if (!json.starts_with('{')) {
    source.refuse("is no .safetensors file: its header does not begin with '{'");
  }
  // The parser would take it for the end, and say nothing of what follows.
  if (const std::size_t null = json.find('\0'); null != json.npos) {
    source.refuse("its header is no JSON, from byte ", kPrefix + null,
                  " of the file on; save it again");
  }
  return json;
}

// Bytes of a dense tensor of this shape; nothing if that is no whole number, or beyond 64 bits.
std::optional<std::uint64_t> bytes_of(const std::vector<std::int64_t>& shape, std::uint64_t bits) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::uint64_t count = bits;
  for (const std::int64_t size : shape) {
    if (__builtin_mul_overflow(count, static_cast<std::uint64_t>(size), &count)) return {};
  }
  if (count % 8 != 0) return {};
  return count / 8;
}

void check_size(const Source& source, const SafetensorsTensor& tensor) {
  const auto known =
      std::find_if(std::begin(kElementSizes), std::end(kElementSizes),
                   [&](const ElementSize& row) { return row.dtype == tensor.dtype; });
  if (known == std::end(kElementSizes)) return;  // refused when it is asked for
  const auto wanted = bytes_of(tensor.shape, known->bits);
  if (wanted == tensor.bytes) return;
  source.refuse("tensor ", shown(tensor.name), " of ", tensor.dtype, " and shape ",
                bracketed(tensor.shape), " wants ", wanted ? text(*wanted) : "more than 2^61",
                " bytes, its data_offsets give it ", tensor.bytes, "; save it again");
}

void check_names(const Source& source, const std::vector<SafetensorsTensor>& tensors) {
  std::vector<std::string_view> names;
  names.reserve(tensors.size());
  for (const SafetensorsTensor& tensor : tensors) names.push_back(tensor.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) {
    source.refuse("has two tensors named ", shown(*twice), "; save it again");
  }
}

// The tensors lie one after another, from the beginning of the data to its end.
void check_offsets(const Source& source, const std::vector<SafetensorsTensor>& tensors,
                   std::uint64_t data_bytes) {
  std::uint64_t end = 0;
  for (const SafetensorsTensor& tensor : tensors) {
    if (tensor.offset != end) {
      source.refuse("tensor ", shown(tensor.name), " begins at ", tensor.offset, ", ",
                    tensor.offset < end ? "inside" : "with a hole after",
                    " the one before, which ends at ", end, "; save it again");
    }
    end += tensor.bytes;  // no overflow: it is what data_offsets said
  }
  if (end > data_bytes) {
    source.refuse("is cut off: its tensors want ", end, " bytes of data, there are ", data_bytes,
                  "; copy it again");
  }
  if (end < data_bytes) {
    source.refuse("goes on after its tensors: they want ", end, " bytes of data, there are ",
                  data_bytes, "; save it again");
  }
}

std::vector<SafetensorsTensor> read(const Source& source) {
  const std::string json = read_header(source);
  Reader reader(source);
  Json::sax_parse(json, &reader);
  std::vector<SafetensorsTensor> tensors = std::move(reader.tensors);
  check_names(source, tensors);
  for (const SafetensorsTensor& tensor : tensors) check_size(source, tensor);
  const std::uint64_t data = kPrefix + json.size();
  std::sort(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) {
    return std::tie(a.offset, a.bytes) < std::tie(b.offset, b.bytes);
  });
  check_offsets(source, tensors, source.size - data);
  for (SafetensorsTensor& tensor : tensors) tensor.offset += data;
  return tensors;
}

// "a", "b", "c" and 7 more.
std::string names_of(const std::vector<SafetensorsTensor>& tensors) {
  constexpr std::size_t kMost = 10;
  std::string names;
  for (std::size_t i = 0; i < std::min(tensors.size(), kMost); ++i) {
    names += message(i == 0 ? "" : ", ", shown(tensors[i].name));
  }
  if (tensors.size() > kMost) names += message(" and ", tensors.size() - kMost, " more");
  return names;
}

}  // namespace

std::vector<SafetensorsTensor> read_safetensors(const InputFile& file) {
  return read(Source::of(file));
}

std::vector<SafetensorsTensor> parse_safetensors(std::span<const std::byte> file,
                                                 std::string_view name) {
  return read(Source::of(file, name));
}

const SafetensorsTensor& find_tensor(const std::vector<SafetensorsTensor>& tensors,
                                     std::string_view name, std::string_view file) {
  const auto refuse = [&](std::string_view what) {
    throw Error(ErrorCode::kInvalidArgument, message(file, ": ", what));
  };
  if (tensors.empty()) refuse("holds no tensors");
  if (name.empty()) {
    if (tensors.size() > 1) {
      refuse(message("holds ", tensors.size(), " tensors, say which, as ", file,
                     ":NAME: ", names_of(tensors)));
    }
    return tensors.front();
  }
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const SafetensorsTensor& one) { return one.name == name; });
  if (found == tensors.end()) {
    refuse(message("has no tensor ", shown(name), "; it holds ", names_of(tensors)));
  }
  return *found;
}

DType dtype_of(const SafetensorsTensor& tensor, std::string_view file) {
  constexpr std::pair<std::string_view, DType> kOurs[] = {
      {"F32", DType::kF32}, {"F16", DType::kF16}, {"BF16", DType::kBf16}, {"F64", DType::kF64}};
  for (const auto& [name, dtype] : kOurs) {
    if (tensor.dtype == name) return dtype;
  }
  throw Error(ErrorCode::kUnsupported,
              message(file, ": tensor ", shown(tensor.name), " has dtype ", shown(tensor.dtype),
                      ", want F32, F16, BF16 or F64"));
}

}  // namespace ropewalk::formats
