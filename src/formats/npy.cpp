#include "formats/npy.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <tuple>
#include <utility>

#include "formats/source.hpp"
#include "message.hpp"

namespace ropewalk::formats {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

// Up to the length of the dict, in versions 2.0 and 3.0.
constexpr std::size_t kMaxPrefix = 12;

// Headers of plain dtypes have some 118 bytes, this many only in a damaged file.
constexpr std::uint64_t kMaxDict = std::uint64_t{1} << 20;

constexpr std::size_t kMaxDimensions = 64;  // what NumPy 2 allows

// The text between the braces and after: a strict reader of the Python literals that may stand in
// a header. Methods named after a thing read it and skip the space after it.
class Dict {
 public:
  Dict(std::string_view text, const Source& source) : rest_(text), source_(source) {}

  void parse(NpyHeader& header, bool& is_fortran) {
    skip_space();
    expect('{');
    std::vector<std::string> seen;
    while (!next_is('}')) {
      seen.push_back(string());
      expect(':');
      value(seen, header, is_fortran);
      if (!next_is('}')) expect(',');
    }
    expect('}');
    if (!rest_.empty()) malformed("nothing after the dict");
    for (const std::string_view key : {"descr", "fortran_order", "shape"}) {
      if (std::find(seen.begin(), seen.end(), key) == seen.end()) {
        source_.refuse("its header has no '", key, "'; save it again with numpy.save");
      }
    }
  }

 private:
  void value(const std::vector<std::string>& seen, NpyHeader& header, bool& is_fortran) {
    const std::string& key = seen.back();
    if (std::count(seen.begin(), seen.end(), key) > 1) malformed("each key once");
    if (key == "descr") {
      if (next_is('[')) {
        source_.refuse("holds records with fields, want a plain array; save one field of it");
      }
      header.descr = string();
    } else if (key == "fortran_order") {
      is_fortran = boolean();
    } else if (key == "shape") {
      header.shape = tuple();
    } else {
      malformed("no keys but descr, fortran_order, shape");
    }
  }

  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> sizes;
    bool is_tuple = false;  // "(3)" is a number, "(3,)" and "()" are tuples
    expect('(');
    while (!next_is(')')) {
      if (!sizes.empty() && !is_tuple) expect(',');
      sizes.push_back(integer());
      if (sizes.size() > kMaxDimensions) malformed("at most 64 dimensions");
      is_tuple = next_is(',');
      if (is_tuple) expect(',');
    }
    if (sizes.size() == 1 && !is_tuple) malformed("a tuple as shape");
    expect(')');
    return sizes;
  }

  std::int64_t integer() {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
    if (error == std::errc::result_out_of_range || number < 0) {
      source_.refuse("its shape has a size that is no size of an array; save it again");
    }
    if (error != std::errc()) malformed("a number");
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    if (next_is('L')) rest_.remove_prefix(1);  // Python 2 wrote long integers like this
    skip_space();
    return number;
  }

  bool boolean() {
    for (const auto& [word, value] : {std::pair("True", true), std::pair("False", false)}) {
      if (!rest_.starts_with(word)) continue;
      rest_.remove_prefix(std::string_view(word).size());
      skip_space();
      return value;
    }
    malformed("True or False as fortran_order");
  }

  std::string string() {
    if (!next_is('\'') && !next_is('"')) malformed("a string");
    const std::size_t end = rest_.find(rest_.front(), 1);
    if (end == rest_.npos) malformed("the end of a string");
    const std::string result(rest_.substr(1, end - 1));
    if (result.find_first_of("\\\n") != result.npos) malformed("strings without escapes");
    rest_.remove_prefix(end + 1);
    skip_space();
    return result;
  }

  [[nodiscard]] bool next_is(char wanted) const {
    return !rest_.empty() && rest_.front() == wanted;
  }

  void expect(char wanted) {
    if (!next_is(wanted)) malformed(message("'", std::string_view(&wanted, 1), "'"));
    rest_.remove_prefix(1);
    skip_space();
  }

  void skip_space() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
  }

  [[noreturn]] void malformed(std::string_view wanted) const {
    source_.refuse("its header is damaged, want ", wanted, "; save it again with numpy.save");
  }

  std::string_view rest_;
  const Source& source_;
};

// The bytes before the data, and where among them the dict begins.
std::pair<std::string, std::size_t> read_header_bytes(const Source& source) {
  std::string bytes(std::min<std::uint64_t>(source.size, kMaxPrefix), '\0');
  source.read(0, std::as_writable_bytes(std::span(bytes)));
  if (!bytes.starts_with(kMagic)) {
    source.refuse("is no .npy file, which would begin with \\x93NUMPY; save it with numpy.save");
  }
  if (bytes.size() < kMaxPrefix) {
    source.refuse("is cut off inside its header, after ", source.size, " bytes; copy it again");
  }
  const auto major = static_cast<unsigned char>(bytes[6]);
  const auto minor = static_cast<unsigned char>(bytes[7]);
  if (major < 1 || major > 3 || minor != 0) {
    source.refuse("has .npy version ", int{major}, ".", int{minor},
                  ", want 1.0, 2.0 or 3.0; save it with numpy.save");
  }
  const std::size_t prefix = major == 1 ? 10 : 12;
  const std::uint64_t dict = little_endian(std::string_view(bytes).substr(8, prefix - 8));
  if (dict > source.size - prefix) {
    source.refuse("is cut off inside its header: ", source.size, " bytes, want at least ",
                  prefix + dict, "; copy it again");
  }
  if (dict > kMaxDict) {
    source.refuse("has a header of ", dict, " bytes, want at most ", kMaxDict,
                  "; save it again with numpy.save");
  }
  bytes.resize(prefix + dict);
  source.read(0, std::as_writable_bytes(std::span(bytes)));
  return {std::move(bytes), prefix};
}

void check_dtype(const Source& source, const std::string& descr,
                 std::initializer_list<std::string_view> wanted) {
  if (std::find(wanted.begin(), wanted.end(), descr) != wanted.end()) return;
  std::string list;
  for (const std::string_view name : wanted) list += message(list.empty() ? "" : " or ", name);
  std::string_view kind;
  if (descr.find('V') != descr.npos)
    kind = " (bfloat16? .npy has no name for it, .safetensors has)";
  if (descr.find('O') != descr.npos) kind = " (Python objects)";
  if (descr.starts_with('>')) kind = " (big-endian)";
  source.refuse("has dtype ", descr.substr(0, 40), kind, ", want ", list, "; save x.astype(\"",
                *wanted.begin(), "\")");
}

// Bytes of this many elements; nothing if there are more than can be counted.
std::optional<std::uint64_t> bytes_of(const std::vector<std::int64_t>& shape, std::uint64_t item) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::uint64_t bytes = item;
  for (const std::int64_t size : shape) {
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes)) return {};
  }
  return bytes;
}

NpyHeader read_header(const Source& source, std::initializer_list<std::string_view> descrs) {
  NpyHeader header;
  bool is_fortran = false;
  std::size_t prefix = 0;
  std::tie(header.bytes, prefix) = read_header_bytes(source);
  Dict(std::string_view(header.bytes).substr(prefix), source).parse(header, is_fortran);
  check_dtype(source, header.descr, descrs);
  if (is_fortran) {
    source.refuse("is in Fortran order, want C order; save numpy.ascontiguousarray(x)");
  }
  const auto item = static_cast<std::uint64_t>(header.descr.back() - '0');  // "<f4", "<i8"
  const auto wanted = bytes_of(header.shape, item);
  const std::uint64_t there = source.size - header.bytes.size();
  if (!wanted) {
    source.refuse("has shape ", bracketed(header.shape), ", more than a file can hold, and ", there,
                  " bytes of data; save it again");
  }
  if (there < *wanted) {
    source.refuse("is cut off: shape ", bracketed(header.shape), " wants ", *wanted,
                  " bytes of data, there are ", there, "; copy it again");
  }
  if (there > *wanted) {
    source.refuse("goes on after its array: shape ", bracketed(header.shape), " wants ", *wanted,
                  " bytes of data, there are ", there, "; save each array to a file of its own");
  }
  header.data_bytes = *wanted;
  return header;
}

}  // namespace

NpyHeader read_npy_header(const InputFile& file, std::initializer_list<std::string_view> descrs) {
  return read_header(Source::of(file), descrs);
}

NpyHeader parse_npy_header(std::span<const std::byte> file, std::string_view name,
                           std::initializer_list<std::string_view> descrs) {
  return read_header(Source::of(file, name), descrs);
}

}  // namespace ropewalk::formats
