#include "formats/gguf.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>

#include "element.hpp"

namespace ropewalk::formats {
namespace {

constexpr std::string_view kMagic = "GGUF";

constexpr std::uint64_t kMaxKeys = 4096;     // real files have less than a hundred
constexpr std::uint64_t kMaxName = 65'535;   // of a key: what the specification allows
constexpr std::uint64_t kMaxDimensions = 4;  // GGML_MAX_DIMS
constexpr std::uint64_t kMaxElements = std::uint64_t{1} << 20;  // of a tensor that is asked for
constexpr int kMaxDepth = 8;                                    // of arrays of arrays
constexpr std::uint64_t kMaxAlignment = std::uint64_t{1} << 30;

// The types of values. Strings and arrays have no size of their own.
enum Type : std::uint32_t {
  kU8,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kF32,
  kBool,
  kString,
  kArray,
  kU64,
  kI64,
  kF64,
  kTypes
};
constexpr std::uint64_t kSizes[kTypes] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

// Numbers of tensor types, of those that are read.
constexpr std::uint32_t kTensorF32 = 0, kTensorF16 = 1;

// Reads on through a file in large blocks. To pass over bytes costs no more than to say so.
class Reader {
 public:
  explicit Reader(const Source& source) : source_(source) {}

  [[nodiscard]] std::uint64_t position() const { return block_at_ + used_; }
  [[nodiscard]] std::uint64_t left() const { return source_.size - position(); }

  // What is read next, for messages: "key llama.context_length".
  void set_subject(std::string subject) { subject_ = std::move(subject); }

  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    source_.refuse(subject_, subject_.empty() ? "" : ": ", parts...);
  }
  template <class... Parts>
  [[noreturn]] void unsupported(const Parts&... parts) const {
    throw Error(ErrorCode::kUnsupported,
                message(source_.name, ": ", subject_, subject_.empty() ? "" : ": ", parts...));
  }

  void skip(std::uint64_t bytes) {
    want(bytes);
    if (bytes <= block_.size() - used_) {
      used_ += bytes;
      return;
    }
    block_at_ = position() + bytes;
    block_.clear();
    used_ = 0;
  }

  // The next bytes, at most kMaxName of them; they are good until the next call.
  std::string_view take(std::uint64_t bytes) {
    want(bytes);
    if (bytes > block_.size() - used_) fill();
    const std::string_view taken = std::string_view(block_).substr(used_, bytes);
    used_ += bytes;
    return taken;
  }

  template <class Number>
  Number number() {
    Number value;
    std::memcpy(&value, take(sizeof(Number)).data(), sizeof(Number));
    return value;
  }

  // How many bytes or elements follow, each of at least so many bytes.
  std::uint64_t length(std::uint64_t element_bytes, std::string_view what) {
    const auto count = number<std::uint64_t>();
    if (count > left() / element_bytes) {
      refuse("has ", count, " ", what, ", more than the ", left(),
             " bytes that follow can hold; copy it again");
    }
    return count;
  }

 private:
  void want(std::uint64_t bytes) const {
    if (bytes > left()) {
      refuse("is cut off at byte ", source_.size, ", want ", bytes - left(),
             " more; copy it again");
    }
  }

  void fill() {
    constexpr std::uint64_t kBlock = std::uint64_t{256} << 10;
    static_assert(kBlock >= kMaxName);
    block_at_ = position();
    block_.resize(std::min(kBlock, source_.size - block_at_));
    used_ = 0;
    source_.read(block_at_, std::as_writable_bytes(std::span(block_)));
  }

  const Source& source_;
  std::string subject_;
  std::string block_;
  std::uint64_t block_at_ = 0;  // where in the file the block is from
  std::uint64_t used_ = 0;      // of the block
};

std::string read_name(Reader& reader, std::string_view what) {
  const std::uint64_t length = reader.length(1, "bytes in a name");
  if (length == 0 || length > kMaxName) {
    reader.refuse(what, " of ", length, " bytes, want 1 to ", kMaxName, "; is it damaged?");
  }
  return std::string(reader.take(length));
}

Type read_type(Reader& reader) {
  const auto type = reader.number<std::uint32_t>();
  if (type >= kTypes) {
    reader.refuse("has a value of type ", type, ", want 0 to ", kTypes - 1, "; is it damaged?");
  }
  return static_cast<Type>(type);
}

GgufNumber read_number(Reader& reader, Type type) {
  switch (type) {
    case kU8: return std::uint64_t{reader.number<std::uint8_t>()};
    case kU16: return std::uint64_t{reader.number<std::uint16_t>()};
    case kU32: return std::uint64_t{reader.number<std::uint32_t>()};
    case kU64: return reader.number<std::uint64_t>();
    case kI8: return std::int64_t{reader.number<std::int8_t>()};
    case kI16: return std::int64_t{reader.number<std::int16_t>()};
    case kI32: return std::int64_t{reader.number<std::int32_t>()};
    case kI64: return reader.number<std::int64_t>();
    case kF32: return double{reader.number<float>()};
    case kF64: return reader.number<double>();
    default: break;
  }
  const auto truth = reader.number<std::uint8_t>();
  if (truth > 1) reader.refuse("has a bool of ", truth, ", want 0 or 1; is it damaged?");
  return truth == 1;
}

GgufValue read_string(Reader& reader) {
  const std::uint64_t length = reader.length(1, "bytes in a string");
  if (length <= kMaxGgufStored) return std::string(reader.take(length));
  reader.skip(length);
  return GgufSkipped{length};
}

GgufValue read_array(Reader& reader, int depth) {
  const Type type = read_type(reader);
  const std::uint64_t least = type == kString ? 8 : type == kArray ? 12 : kSizes[type];
  const std::uint64_t count = reader.length(least, "elements in an array");
  if (kSizes[type] != 0) {
    if (count > kMaxGgufStored) {
      reader.skip(count * kSizes[type]);
      return GgufSkipped{count};
    }
    std::vector<GgufNumber> numbers(count);
    for (GgufNumber& each : numbers) each = read_number(reader, type);
    return numbers;
  }
  if (type == kArray && depth == kMaxDepth) {
    reader.refuse("has arrays in arrays, deeper than ", kMaxDepth, "; is it damaged?");
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    if (type == kString) {
      reader.skip(reader.length(1, "bytes in a string"));
    } else {
      read_array(reader, depth + 1);
    }
  }
  return GgufSkipped{count};
}

GgufValue read_value(Reader& reader) {
  const Type type = read_type(reader);
  if (type == kString) return read_string(reader);
  if (type == kArray) return read_array(reader, 1);
  return std::visit([](auto number) { return GgufValue(number); }, read_number(reader, type));
}

// Where a tensor that was asked for lies, and how much there is.
struct Place {
  std::uint32_t type = 0;
  std::uint64_t elements = 1;
  std::uint64_t offset = 0;  // from the beginning of the data
};

Place read_place(Reader& reader, bool is_wanted) {
  Place place;
  const auto dimensions = reader.number<std::uint32_t>();
  if (dimensions > kMaxDimensions) {
    reader.refuse("has ", dimensions, " dimensions, want at most ", kMaxDimensions,
                  "; is it damaged?");
  }
  for (std::uint32_t i = 0; i < dimensions; ++i) {
    const auto size = reader.number<std::uint64_t>();
    if (!is_wanted) continue;
    if (size == 0 || size > kMaxElements / place.elements) {
      reader.refuse("dimension ", i, " is ", size, ", want 1 to ", kMaxElements,
                    " elements in all");
    }
    place.elements *= size;
  }
  place.type = reader.number<std::uint32_t>();
  place.offset = reader.number<std::uint64_t>();
  if (is_wanted && place.type != kTensorF32 && place.type != kTensorF16) {
    reader.unsupported("is of tensor type ", place.type, ", want 0 (F32) or 1 (F16)");
  }
  return place;
}

// What the offsets of tensors, and the data as a whole, are multiples of.
std::uint64_t alignment_of(Reader& reader, const Gguf& file) {
  constexpr std::uint64_t kDefault = 32;
  const auto found = file.keys.find("general.alignment");
  if (found == file.keys.end()) return kDefault;
  reader.set_subject("key general.alignment");
  const auto* const given = std::get_if<std::uint64_t>(&found->second);
  if (given == nullptr) reader.refuse("is no unsigned integer");
  if (!std::has_single_bit(*given) || *given > kMaxAlignment) {
    reader.refuse(*given, " is no power of two up to 2^30");
  }
  return *given;
}

std::vector<double> read_data(const Source& source, Reader& reader, const Place& place,
                              std::uint64_t data, std::uint64_t alignment) {
  const DType dtype = place.type == kTensorF32 ? DType::kF32 : DType::kF16;
  const std::uint64_t bytes = place.elements * (dtype == DType::kF32 ? 4 : 2);
  if (place.offset % alignment != 0) {
    reader.refuse("offset ", place.offset, " is no multiple of the alignment ", alignment);
  }
  if (data > source.size || place.offset > source.size - data ||
      bytes > source.size - data - place.offset) {
    reader.refuse("its data ends beyond byte ", source.size,
                  ", where the file does; copy it again");
  }
  std::vector<std::byte> raw(bytes);
  source.read(data + place.offset, raw);
  std::vector<double> values(place.elements);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = element_at(raw.data(), dtype, i);
  return values;
}

void read_start(Reader& reader, const Source& source) {
  if (source.size < kMagic.size() || reader.take(kMagic.size()) != kMagic) {
    reader.refuse("is no GGUF: it does not begin with \"GGUF\"");
  }
  const auto version = reader.number<std::uint32_t>();
  const std::uint32_t swapped = __builtin_bswap32(version);
  if (version != 0 && (version & 0xFFFF) == 0 && swapped <= 0xFFFF) {
    reader.unsupported("is a big-endian GGUF of version ", swapped,
                       ", want little-endian; convert it on this machine");
  }
  if (version != 2 && version != 3) {
    reader.unsupported("is a GGUF of version ", version, ", want 2 or 3; convert it again");
  }
}

}  // namespace

std::string shown(std::string_view text) {
  constexpr std::size_t kLongest = 100;
  std::string result(text.substr(0, kLongest));
  for (char& letter : result) {
    if (static_cast<unsigned char>(letter) < 0x20 || letter == 0x7F) letter = '?';
  }
  return text.size() > kLongest ? result + "..." : result;
}

Gguf read_gguf(const Source& source, std::span<const std::string_view> tensors) {
  constexpr std::uint64_t kLeastTensor = 8 + 1 + 4 + 4 + 8, kLeastKey = 8 + 1 + 4 + 1;
  Gguf file;
  Reader reader(source);
  read_start(reader, source);
  const std::uint64_t tensor_count = reader.length(kLeastTensor, "tensors");
  const std::uint64_t key_count = reader.length(kLeastKey, "keys");
  if (key_count > kMaxKeys) {
    reader.refuse("has ", key_count, " keys, want at most ", kMaxKeys, "; is it damaged?");
  }
  for (std::uint64_t i = 0; i < key_count; ++i) {
    reader.set_subject(message("key ", i + 1, " of ", key_count));
    std::string name = read_name(reader, "has a name");
    reader.set_subject("key " + shown(name));
    GgufValue value = read_value(reader);
    if (!file.keys.emplace(std::move(name), std::move(value)).second) reader.refuse("given twice");
  }
  std::map<std::string, Place> places;
  for (std::uint64_t i = 0; i < tensor_count; ++i) {
    reader.set_subject(message("tensor ", i + 1, " of ", tensor_count));
    const std::string name = read_name(reader, "has a name");
    const bool is_wanted = std::find(tensors.begin(), tensors.end(), name) != tensors.end();
    reader.set_subject("tensor " + shown(name));
    const Place place = read_place(reader, is_wanted);
    if (is_wanted && !places.emplace(name, place).second) reader.refuse("given twice");
  }
  const std::uint64_t end = reader.position();
  const std::uint64_t alignment = alignment_of(reader, file);
  const std::uint64_t data = (end + alignment - 1) / alignment * alignment;
  for (const auto& [name, place] : places) {
    reader.set_subject("tensor " + name);
    file.tensors[name] = read_data(source, reader, place, data, alignment);
  }
  return file;
}

}  // namespace ropewalk::formats
