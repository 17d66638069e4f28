#include "formats/safetensors.hpp"

#include <gtest/gtest.h>

#include <ropewalk/error.hpp>

namespace ropewalk::formats {
namespace {

using Tensors = std::vector<SafetensorsTensor>;

// A file with this JSON as it is and so many bytes of data.
std::string file_of(std::string_view json, std::size_t data_bytes) {
  std::string file;
  for (int byte = 0; byte < 8; ++byte) {
    file += static_cast<char>(std::uint64_t{json.size()} >> (8 * byte) & 0xff);
  }
  file += json;
  return file + std::string(data_bytes, 'x');
}

Tensors parse(std::string_view file) {
  // A copy of the exact size, so that a sanitizer sees a read past the end.
  const std::vector<char> exact(file.begin(), file.end());
  return parse_safetensors(std::as_bytes(std::span(exact)), "x.safetensors");
}

std::string refusal(std::string_view file) {
  try {
    parse(file);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadFormat);
    const std::string_view what = error.what();
    EXPECT_EQ(what.substr(0, 15), "x.safetensors: ");
    EXPECT_EQ(what.find('\n'), what.npos) << what;
    return std::string(what.substr(15));
  }
  return "accepted";
}

std::string refusal_of(std::string_view json) { return refusal(file_of(json, 16)); }

// What the entry of one tensor of 16 bytes is refused with.
std::string refusal_of_entry(std::string_view entry) {
  return refusal_of("{\"a\": " + std::string(entry) + "}");
}

constexpr std::string_view kGood =
    R"({"a": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}})";

TEST(Safetensors, tensors_are_read_in_the_order_of_their_data) {
  const std::string_view json =
      R"({"__metadata__": {"format": "pt", "dtype": "no dtype"},
          "last": {"dtype": "BF16", "shape": [1, 3], "data_offsets": [9, 15]},
          "empty": {"dtype": "F64", "shape": [0, 9223372036854775807, 9], "data_offsets": [1, 1]},
          "first": {"data_offsets": [0, 1], "shape": [], "dtype": "U8"},
          "odd": {"dtype": "NEW_8", "shape": [77], "data_offsets": [1, 9]}}   )";
  const Tensors tensors = parse(file_of(json, 15));
  ASSERT_EQ(tensors.size(), 4U);
  EXPECT_EQ(tensors[0].name, "first");
  EXPECT_EQ(tensors[0].dtype, "U8");
  EXPECT_EQ(tensors[0].shape, std::vector<std::int64_t>{});
  EXPECT_EQ(tensors[0].offset, 8 + json.size());
  EXPECT_EQ(tensors[0].bytes, 1U);
  EXPECT_EQ(tensors[1].name, "empty");
  EXPECT_EQ(tensors[1].shape, (std::vector<std::int64_t>{0, INT64_MAX, 9}));
  EXPECT_EQ(tensors[2].name, "odd") << "a dtype that is not known may have any size";
  EXPECT_EQ(tensors[3].offset, 8 + json.size() + 9);
  EXPECT_EQ(tensors[3].bytes, 6U);
}

TEST(Safetensors, a_file_may_hold_nothing) {
  EXPECT_TRUE(parse(file_of("{}", 0)).empty());
  EXPECT_TRUE(parse(file_of(R"({"__metadata__": {}})", 0)).empty());
  EXPECT_EQ(refusal_of("{}"),
            "goes on after its tensors: they want 0 bytes of data, there are 16; save it again");
}

TEST(Safetensors, dtypes_below_a_byte_have_whole_bytes_together) {
  const auto refused = [](std::string_view dtype, std::string_view shape) {
    return refusal_of("{\"a\": {\"dtype\": \"" + std::string(dtype) +
                      "\", \"shape\": " + std::string(shape) + ", \"data_offsets\": [0, 16]}}");
  };
  EXPECT_EQ(refused("F4", "[32]"), "accepted");
  EXPECT_EQ(refused("F4", "[31]").substr(0, 26), "tensor \"a\" of F4 and shape");
  EXPECT_EQ(refused("F6_E2M3", "[4, 5]").substr(0, 10), "tensor \"a\"");
  EXPECT_EQ(refused("C64", "[2]"), "accepted");
  EXPECT_EQ(refused("BOOL", "[16]"), "accepted");
}

TEST(Safetensors, a_file_cut_off_anywhere_is_refused) {
  const std::string file = file_of(kGood, 16);
  EXPECT_EQ(refusal(file), "accepted");
  for (std::size_t size = 0; size < file.size(); ++size) {
    EXPECT_NE(refusal(file.substr(0, size)), "accepted") << size;
  }
  EXPECT_EQ(refusal(file.substr(0, 7)),
            "is no .safetensors file: it has 7 bytes, want at least 8; copy it again");
  EXPECT_EQ(refusal(file.substr(0, 40)),
            "is cut off inside its header: 40 bytes, want at least 73; copy it again");
}

TEST(Safetensors, json_cut_off_anywhere_is_refused) {
  for (std::size_t size = 0; size < kGood.size(); ++size) {
    EXPECT_NE(refusal_of(kGood.substr(0, size)), "accepted") << size;
  }
}

TEST(Safetensors, a_damaged_byte_anywhere_does_no_harm) {
  // Read in full, or refused on one line: the sanitizers watch.
  const std::string file =
      file_of(R"({"__metadata__":{"k":"v"},"a":{"dtype":"F16","shape":[4],"data_offsets":[0,8]},)"
              R"("b":{"dtype":"F16","shape":[2,2],"data_offsets":[8,16]}})",
              16);
  for (std::size_t i = 0; i < file.size() - 16; ++i) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string damaged = file;
      damaged[i] = static_cast<char>(byte);
      refusal(damaged);
    }
  }
}

TEST(Safetensors, an_absurd_length_is_refused_before_it_is_read) {
  std::string file = file_of(kGood, 16);
  file.replace(0, 8, "\xff\xff\xff\xff\xff\xff\xff\xff");
  EXPECT_EQ(refusal(file),
            "is no .safetensors file, or its header of 18446744073709551615 bytes is too long, "
            "want at most 100000000");
  file.replace(0, 8, std::string("\x01\xe1\xf5\x05\0\0\0\0", 8));  // 100 000 001
  EXPECT_NE(refusal(file).find("want at most 100000000"), std::string::npos);
  file.replace(0, 8, std::string("\x00\xe1\xf5\x05\0\0\0\0", 8));  // 100 000 000
  EXPECT_EQ(refusal(file).substr(0, 12), "is cut off i");
}

TEST(Safetensors, what_is_no_object_is_refused) {
  for (const std::string_view json : {"", "[]", " {}", "null", "\"a\"", "1"}) {
    EXPECT_EQ(refusal_of(json), "is no .safetensors file: its header does not begin with '{'")
        << json;
  }
  EXPECT_EQ(refusal_of(std::string_view("{}\0{}", 5)),
            "its header is no JSON, from byte 10 of the file on; save it again");
  EXPECT_EQ(refusal_of("{}{}").substr(0, 33), "its header is no JSON, from byte ");
}

TEST(Safetensors, deep_nesting_is_refused_where_it_begins) {
  const std::string deep(1'000'000, '[');
  EXPECT_EQ(refusal_of_entry(deep), "tensor \"a\": got an array, want an object; save it again");
  EXPECT_EQ(refusal_of_entry("{\"shape\": " + deep),
            "tensor \"a\", shape: got an array, want an array of sizes; save it again");
  EXPECT_EQ(refusal_of_entry("{\"dtype\": {\"dtype\":"),
            "tensor \"a\", dtype: got an object, want a string; save it again");
  EXPECT_EQ(refusal_of("{\"__metadata__\": {\"a\": {"),
            "__metadata__: got an object, want strings; save it again");
}

TEST(Safetensors, an_entry_has_three_keys_once_each) {
  EXPECT_EQ(refusal_of_entry(R"({"shape": [4], "data_offsets": [0, 16]})"),
            "tensor \"a\" has no dtype; save it again");
  EXPECT_EQ(refusal_of_entry(R"({"dtype": "F32", "shape": [4]})"),
            "tensor \"a\" has no data_offsets; save it again");
  EXPECT_EQ(refusal_of_entry(R"({"dtype": "F32", "dtype": "F32"})"),
            "tensor \"a\" has dtype twice; save it again");
  EXPECT_EQ(refusal_of_entry(R"({"dtype": "F32", "order": "F"})"),
            "tensor \"a\" has a key \"order\", want dtype, shape, data_offsets; save it again");
  EXPECT_EQ(refusal_of_entry(R"({"shape": 4})"),
            "tensor \"a\", shape: got a number, want an array of sizes; save it again");
  EXPECT_EQ(refusal_of_entry(R"({"data_offsets": [0]})"),
            "tensor \"a\", data_offsets: got less than two offsets, want an array of two offsets; "
            "save it again");
}

TEST(Safetensors, a_name_given_twice_is_refused) {
  const std::string entry(kGood.substr(1, kGood.size() - 2));
  EXPECT_EQ(refusal_of("{" + entry + ", " + entry + "}"),
            "has two tensors named \"a\"; save it again");
  EXPECT_EQ(refusal_of(R"({"__metadata__": {}, "__metadata__": {}})"),
            "has two __metadata__; save it again");
}

TEST(Safetensors, offsets_fit_the_shape_and_each_other) {
  const auto entry = [](std::string_view shape, std::string_view offsets) {
    return refusal_of_entry("{\"dtype\": \"F32\", \"shape\": " + std::string(shape) +
                            ", \"data_offsets\": " + std::string(offsets) + "}");
  };
  EXPECT_EQ(entry("[4]", "[16, 0]"),
            "tensor \"a\" ends at 0 before it begins at 16; save it again");
  EXPECT_EQ(
      entry("[4]", "[0, 15]"),
      "tensor \"a\" of F32 and shape [4] wants 16 bytes, its data_offsets give it 15; save it "
      "again");
  EXPECT_EQ(entry("[4611686018427387904, 4]", "[0, 0]").substr(0, 28),
            "tensor \"a\" of F32 and shape ");
  EXPECT_EQ(entry("[2]", "[8, 16]"),
            "tensor \"a\" begins at 8, with a hole after the one before, which ends at 0; save it "
            "again");
  EXPECT_EQ(entry("[8]", "[0, 32]"),
            "is cut off: its tensors want 32 bytes of data, there are 16; copy it again");
  EXPECT_EQ(entry("[1]", "[18446744073709551611, 18446744073709551615]").substr(0, 20),
            "tensor \"a\" begins at");
  EXPECT_EQ(refusal_of(R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
                           "b": {"dtype": "F32", "shape": [3], "data_offsets": [4, 16]}})"),
            "tensor \"b\" begins at 4, inside the one before, which ends at 8; save it again");
}

TEST(Safetensors, a_tensor_is_found_by_its_name_or_alone) {
  const auto message_of = [](const Tensors& tensors, std::string_view name) -> std::string {
    try {
      return find_tensor(tensors, name, "f").name;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      return error.what();
    }
  };
  Tensors tensors(1);
  tensors[0].name = "a";
  EXPECT_EQ(message_of(tensors, ""), "a");
  EXPECT_EQ(message_of(tensors, "a"), "a");
  EXPECT_EQ(message_of(tensors, "b\n"), "f: has no tensor \"b\\n\"; it holds \"a\"");
  EXPECT_EQ(message_of({}, "a"), "f: holds no tensors");
  tensors.resize(12);
  EXPECT_EQ(message_of(tensors, "").substr(0, 52),
            "f: holds 12 tensors, say which, as f:NAME: \"a\", \"\", ");
  EXPECT_TRUE(message_of(tensors, "b").ends_with(" and 2 more"));
}

TEST(Safetensors, dtypes_are_ours_or_named) {
  EXPECT_EQ(dtype_of({.name = "a", .dtype = "F32", .shape = {}}, "f"), DType::kF32);
  EXPECT_EQ(dtype_of({.name = "a", .dtype = "F16", .shape = {}}, "f"), DType::kF16);
  EXPECT_EQ(dtype_of({.name = "a", .dtype = "BF16", .shape = {}}, "f"), DType::kBf16);
  EXPECT_EQ(dtype_of({.name = "a", .dtype = "F64", .shape = {}}, "f"), DType::kF64);
  try {
    dtype_of({.name = "a", .dtype = "F8_E4M3", .shape = {}}, "f");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_STREQ(error.what(), "f: tensor \"a\" has dtype \"F8_E4M3\", want F32, F16, BF16 or F64");
  }
}

}  // namespace
}  // namespace ropewalk::formats
