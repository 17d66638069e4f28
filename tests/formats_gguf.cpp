#include "formats/gguf.hpp"

#include <gtest/gtest.h>

#include <ropewalk/error.hpp>

#include "gguf_files.hpp"

namespace ropewalk::formats {
namespace {

using ropewalk::testing::bytes_of;
using ropewalk::testing::gguf_string;
using ropewalk::testing::GgufFile;

constexpr std::string_view kTensors[] = {"rope_freqs.weight", "rope_factors_long.weight"};

Gguf parse(std::string_view file) {
  // A copy of the exact size, so that a sanitizer sees a read past the end.
  const std::vector<char> exact(file.begin(), file.end());
  return read_gguf(Source::of(std::as_bytes(std::span(exact)), "x.gguf"), kTensors);
}

std::string refusal(std::string_view file) {
  try {
    parse(file);
  } catch (const Error& error) {
    const std::string_view what = error.what();
    EXPECT_EQ(what.substr(0, 8), "x.gguf: ");
    EXPECT_EQ(what.find('\n'), what.npos) << what;
    return (error.code() == ErrorCode::kUnsupported ? "unsupported: " : "") +
           std::string(what.substr(8));
  }
  return "accepted";
}

// A key of each type, and a tensor of each that is read.
GgufFile small_file() {
  GgufFile file;
  file.string("general.architecture", "llama")
      .u32("llama.context_length", 4096)
      .f32("llama.rope.freq_base", 500000.0F)
      .boolean("llama.rope.scaling.finetuned", true)
      .raw("u8", GgufFile::kU8, "\xFF")
      .raw("i8", GgufFile::kI8, "\xFF")
      .raw("u16", GgufFile::kU16, "\xFE\xFF")
      .raw("i16", GgufFile::kI16, "\xFE\xFF")
      .raw("i32", GgufFile::kI32, bytes_of(-7))
      .raw("u64", GgufFile::kU64, bytes_of(UINT64_MAX))
      .raw("i64", GgufFile::kI64, bytes_of(INT64_MIN))
      .raw("f64", GgufFile::kF64, bytes_of(0.1))
      .i32s("sections", {16, -24, 24, 0})
      .bools("pattern", {true, false})
      .strings("tokens", 3, "token")
      .tensor("token_embd.weight", 2, {32, 2}, std::string(36, 'q'))
      .floats("rope_freqs.weight", {1.0F, 1.5F, 32.0F})
      .tensor("rope_factors_long.weight", 1, {2, 1}, std::string("\x00\x3C\x00\xC1", 4));
  return file;
}

TEST(Gguf, every_type_of_value_is_read_exactly) {
  for (const std::uint32_t version : {2U, 3U}) {
    const Gguf file = parse(small_file().bytes(version));
    EXPECT_EQ(file.keys.size(), 15U);
    const auto value = [&](const char* key) { return file.keys.at(key); };
    EXPECT_EQ(std::get<std::string>(value("general.architecture")), "llama");
    EXPECT_EQ(std::get<std::uint64_t>(value("llama.context_length")), 4096U);
    EXPECT_EQ(std::get<double>(value("llama.rope.freq_base")), 500000.0);
    EXPECT_TRUE(std::get<bool>(value("llama.rope.scaling.finetuned")));
    EXPECT_EQ(std::get<std::uint64_t>(value("u8")), 255U);
    EXPECT_EQ(std::get<std::int64_t>(value("i8")), -1);
    EXPECT_EQ(std::get<std::uint64_t>(value("u16")), 65534U);
    EXPECT_EQ(std::get<std::int64_t>(value("i16")), -2);
    EXPECT_EQ(std::get<std::int64_t>(value("i32")), -7);
    EXPECT_EQ(std::get<std::uint64_t>(value("u64")), UINT64_MAX);
    EXPECT_EQ(std::get<std::int64_t>(value("i64")), INT64_MIN);
    EXPECT_EQ(std::get<double>(value("f64")), 0.1);
    const auto sections = std::get<std::vector<GgufNumber>>(value("sections"));
    ASSERT_EQ(sections.size(), 4U);
    EXPECT_EQ(std::get<std::int64_t>(sections[1]), -24);
    const auto pattern = std::get<std::vector<GgufNumber>>(value("pattern"));
    ASSERT_EQ(pattern.size(), 2U);
    EXPECT_TRUE(std::get<bool>(pattern[0]));
    EXPECT_FALSE(std::get<bool>(pattern[1]));
    EXPECT_EQ(std::get<GgufSkipped>(value("tokens")).length, 3U);
  }
}

TEST(Gguf, of_the_tensors_those_asked_for_are_read) {
  const Gguf file = parse(small_file().bytes());
  ASSERT_EQ(file.tensors.size(), 2U);
  EXPECT_EQ(file.tensors.at("rope_freqs.weight"), (std::vector<double>{1.0, 1.5, 32.0}));
  EXPECT_EQ(file.tensors.at("rope_factors_long.weight"), (std::vector<double>{1.0, -2.5}));
}

TEST(Gguf, data_begins_and_tensors_lie_where_the_alignment_says) {
  for (const std::uint32_t alignment : {1U, 8U, 64U, 4096U}) {
    GgufFile file;
    file.alignment(alignment)
        .tensor("other", 0, {1}, "abcd")
        .floats("rope_freqs.weight", {2.0F, 4.0F});
    EXPECT_EQ(parse(file.bytes()).tensors.at("rope_freqs.weight"), (std::vector<double>{2.0, 4.0}))
        << alignment;
  }
  const auto refused = [](std::uint32_t alignment) {
    return refusal(GgufFile().u32("general.alignment", alignment).bytes());
  };
  EXPECT_EQ(refused(0), "key general.alignment: 0 is no power of two up to 2^30");
  EXPECT_EQ(refused(24), "key general.alignment: 24 is no power of two up to 2^30");
  EXPECT_EQ(refused(0x80000000), "key general.alignment: 2147483648 is no power of two up to 2^30");
  EXPECT_EQ(refusal(GgufFile().string("general.alignment", "32").bytes()),
            "key general.alignment: is no unsigned integer");
}

TEST(Gguf, a_file_may_hold_nothing) {
  const Gguf file = parse(GgufFile().bytes());
  EXPECT_TRUE(file.keys.empty());
  EXPECT_TRUE(file.tensors.empty());
}

TEST(Gguf, a_file_cut_anywhere_is_refused) {
  const std::string whole = small_file().bytes();
  // The padding behind the last tensor is not missed.
  const std::size_t end = whole.size() - 32 + 4;
  EXPECT_EQ(refusal(whole.substr(0, end)), "accepted");
  for (std::size_t size = 0; size < end; ++size) {
    EXPECT_NE(refusal(whole.substr(0, size)), "accepted") << size;
  }
}

TEST(Gguf, other_files_and_versions_are_refused_by_name) {
  EXPECT_EQ(refusal(""), "is no GGUF: it does not begin with \"GGUF\"");
  EXPECT_EQ(refusal("GGML" + std::string(40, '\0')), "is no GGUF: it does not begin with \"GGUF\"");
  EXPECT_EQ(refusal(GgufFile().bytes(1)),
            "unsupported: is a GGUF of version 1, want 2 or 3; convert it again");
  EXPECT_EQ(refusal(GgufFile().bytes(4)),
            "unsupported: is a GGUF of version 4, want 2 or 3; convert it again");
  EXPECT_EQ(refusal(GgufFile().bytes(0x03000000)),
            "unsupported: is a big-endian GGUF of version 3, want little-endian; convert it on "
            "this machine");
}

// The start of a file that says that it has so many tensors and keys.
std::string start(std::uint64_t tensors, std::uint64_t keys) {
  return "GGUF" + bytes_of(std::uint32_t{3}) + bytes_of(tensors) + bytes_of(keys);
}

TEST(Gguf, counts_are_held_against_the_size_before_anything_is_allocated) {
  const std::string rest(1000, '\0');
  EXPECT_EQ(refusal(start(UINT64_MAX, 0) + rest),
            "has 18446744073709551615 tensors, more than the 1008 bytes that follow can hold; copy "
            "it again");
  EXPECT_EQ(refusal(start(0, 100) + rest),
            "has 100 keys, more than the 1000 bytes that follow can hold; copy it again");
  EXPECT_EQ(refusal(start(0, 5000) + std::string(100000, '\0')),
            "has 5000 keys, want at most 4096; is it damaged?");
  const auto refused = [](std::uint32_t type, const std::string& value) {
    return refusal(GgufFile().raw("a", type, value).bytes() + std::string(100, '\0'));
  };
  const std::string huge = bytes_of(UINT64_MAX / 4);
  EXPECT_TRUE(refused(GgufFile::kString, huge)
                  .starts_with("key a: has 4611686018427387903 bytes in a string, more than the "));
  for (const std::uint32_t type :
       {GgufFile::kU8, GgufFile::kF64, GgufFile::kString, GgufFile::kArray}) {
    EXPECT_TRUE(refused(GgufFile::kArray, bytes_of(type) + huge)
                    .starts_with("key a: has 4611686018427387903 elements in an array, more than"))
        << type;
  }
  EXPECT_TRUE(refusal(start(0, 1) + huge + rest)
                  .starts_with("key 1 of 1: has 4611686018427387903 bytes in a name, more than"));
}

TEST(Gguf, values_that_cannot_be_are_refused_with_their_key) {
  const auto refused = [](std::uint32_t type, std::string_view value) {
    return refusal(GgufFile().raw("a\nkey", type, value).bytes() + std::string(100, '\0'));
  };
  EXPECT_EQ(refused(13, ""), "key a?key: has a value of type 13, want 0 to 12; is it damaged?");
  EXPECT_EQ(refused(GgufFile::kBool, "\2"),
            "key a?key: has a bool of 2, want 0 or 1; is it damaged?");
  EXPECT_EQ(refused(GgufFile::kArray, bytes_of(std::uint32_t{77}) + std::string(8, '\0')),
            "key a?key: has a value of type 77, want 0 to 12; is it damaged?");
  EXPECT_EQ(refusal(GgufFile().u32("a", 1).u32("b", 1).u32("a", 1).bytes()), "key a: given twice");
  EXPECT_EQ(refusal(GgufFile().u32("", 1).bytes()),
            "key 1 of 1: has a name of 0 bytes, want 1 to 65535; is it damaged?");
  EXPECT_EQ(refusal(GgufFile().u32(std::string(65536, 'k'), 1).bytes()),
            "key 1 of 1: has a name of 65536 bytes, want 1 to 65535; is it damaged?");
  EXPECT_EQ(refusal(GgufFile().u32(std::string(65535, 'k'), 1).bytes()), "accepted");
}

// So many arrays in one another, around an empty one.
std::string nested(int depth) {
  std::string bytes;
  for (int i = 1; i < depth; ++i) {
    bytes += bytes_of(std::uint32_t{GgufFile::kArray}) + bytes_of(std::uint64_t{1});
  }
  return bytes + bytes_of(std::uint32_t{GgufFile::kU8}) + bytes_of(std::uint64_t{0});
}

TEST(Gguf, arrays_of_arrays_are_passed_over_down_to_a_depth) {
  const auto file = [](int depth) {
    return GgufFile().raw("a", GgufFile::kArray, nested(depth)).u32("b", 5).bytes();
  };
  EXPECT_EQ(std::get<std::uint64_t>(parse(file(8)).keys.at("b")), 5U);
  EXPECT_EQ(refusal(file(9)), "key a: has arrays in arrays, deeper than 8; is it damaged?");
  EXPECT_EQ(refusal(file(100000)), "key a: has arrays in arrays, deeper than 8; is it damaged?");
}

TEST(Gguf, tensors_that_cannot_be_read_are_refused_with_their_name) {
  const std::string data(64, '\0');
  const auto refused = [&](std::uint32_t type, const std::vector<std::uint64_t>& dimensions) {
    return refusal(GgufFile().tensor("rope_freqs.weight", type, dimensions, data).bytes());
  };
  EXPECT_EQ(refused(0, {16}), "accepted");
  EXPECT_EQ(refused(8, {16}),
            "unsupported: tensor rope_freqs.weight: is of tensor type 8, want 0 (F32) or 1 (F16)");
  EXPECT_EQ(refused(0, {17}),
            "tensor rope_freqs.weight: its data ends beyond byte 160, where the "
            "file does; copy it again");
  EXPECT_EQ(refused(0, {1, 1, 1, 1, 1}),
            "tensor rope_freqs.weight: has 5 dimensions, want at most 4; is it damaged?");
  EXPECT_EQ(refused(0, {2, 0}),
            "tensor rope_freqs.weight: dimension 1 is 0, want 1 to 1048576 "
            "elements in all");
  EXPECT_EQ(refused(0, {2, UINT64_MAX / 2 + 1}),
            "tensor rope_freqs.weight: dimension 1 is 9223372036854775808, want 1 to 1048576 "
            "elements in all");
  EXPECT_EQ(refusal(GgufFile()
                        .floats("rope_freqs.weight", {1.0F})
                        .floats("rope_freqs.weight", {1.0F})
                        .bytes()),
            "tensor rope_freqs.weight: given twice");
  // Of other tensors nothing is asked.
  EXPECT_EQ(refusal(GgufFile().tensor("t", 99, {UINT64_MAX, UINT64_MAX}, "").bytes()), "accepted");
}

TEST(Gguf, an_offset_off_the_alignment_or_the_file_is_refused) {
  const auto with_offset = [](std::uint64_t offset) {
    std::string file = GgufFile().floats("rope_freqs.weight", {1.0F, 2.0F}).bytes();
    // It stands before the padding and 32 bytes of data.
    const std::size_t at = 24 + 8 + 17 + 4 + 8 + 4;
    return refusal(file.replace(at, 8, bytes_of(offset)));
  };
  EXPECT_EQ(with_offset(0), "accepted");
  EXPECT_EQ(with_offset(4),
            "tensor rope_freqs.weight: offset 4 is no multiple of the alignment 32");
  EXPECT_EQ(with_offset(32),
            "tensor rope_freqs.weight: its data ends beyond byte 128, where the "
            "file does; copy it again");
  EXPECT_EQ(with_offset(UINT64_MAX - 31),
            "tensor rope_freqs.weight: its data ends beyond byte 128, where the file does; copy it "
            "again");
}

TEST(Gguf, long_values_are_passed_over_and_what_follows_is_read) {
  GgufFile file;
  file.string("text", std::string(4096, 'a'))
      .string("long text", std::string(1'000'000, 'a'))
      .i32s("numbers", std::vector<std::int32_t>(4096, 7))
      .i32s("many numbers", std::vector<std::int32_t>(300'000, 7))
      .u32("last", 5);
  const Gguf read = parse(file.bytes());
  EXPECT_EQ(std::get<std::string>(read.keys.at("text")).size(), 4096U);
  EXPECT_EQ(std::get<GgufSkipped>(read.keys.at("long text")).length, 1'000'000U);
  EXPECT_EQ(std::get<std::vector<GgufNumber>>(read.keys.at("numbers")).size(), 4096U);
  EXPECT_EQ(std::get<GgufSkipped>(read.keys.at("many numbers")).length, 300'000U);
  EXPECT_EQ(std::get<std::uint64_t>(read.keys.at("last")), 5U);
}

TEST(Gguf, a_large_file_costs_its_metadata_once_and_none_of_its_tensors) {
  GgufFile file;
  file.string("general.architecture", "llama")
      .strings("tokenizer.ggml.tokens", 256'000, "some token")
      .i32s("tokenizer.ggml.token_type", std::vector<std::int32_t>(256'000, 1))
      .strings("tokenizer.ggml.merges", 250'000, "some token or other")
      .floats("rope_freqs.weight", {1.0F, 2.0F})
      .tensor("blk.0.attn_q.weight", 0, {1}, "data");
  const std::string bytes = file.bytes();
  constexpr std::uint64_t kSize = 100'000'000;  // the last tensor, of nothing
  std::uint64_t count = 0, calls = 0;
  const Source source{"x.gguf", kSize, [&](std::uint64_t offset, std::span<std::byte> out) {
                        count += out.size();
                        ++calls;
                        const std::string_view part = std::string_view(bytes).substr(
                            std::min<std::uint64_t>(offset, bytes.size()), out.size());
                        std::fill(out.begin(), out.end(), std::byte{});
                        std::copy(part.begin(), part.end(), reinterpret_cast<char*>(out.data()));
                      }};
  const Gguf read = read_gguf(source, kTensors);
  EXPECT_EQ(std::get<GgufSkipped>(read.keys.at("tokenizer.ggml.merges")).length, 250'000U);
  EXPECT_EQ(read.tensors.at("rope_freqs.weight"), (std::vector<double>{1.0, 2.0}));
  EXPECT_GT(bytes.size(), 10'000'000U);
  EXPECT_LT(count, 16'000'000U);
  EXPECT_LT(count, bytes.size() + 600'000);
  EXPECT_LT(calls, 100U);
}

}  // namespace
}  // namespace ropewalk::formats
