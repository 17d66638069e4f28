#include "formats/npy.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <ropewalk/error.hpp>

namespace ropewalk::formats {
namespace {

// A file of this version, with this dict as it is and so many bytes of data.
std::string npy(std::string_view dict, std::size_t data_bytes, int major = 1) {
  std::string file = "\x93NUMPY";
  file += static_cast<char>(major);
  file += '\0';
  for (int byte = 0; byte < (major == 1 ? 2 : 4); ++byte) {
    file += static_cast<char>(dict.size() >> (8 * byte) & 0xff);
  }
  file += dict;
  return file + std::string(data_bytes, 'x');
}

std::string dict_of(std::string_view shape, std::string_view descr = "<f4",
                    std::string_view fortran_order = "False") {
  std::string dict = "{'descr': '";
  dict += descr;
  dict += "', 'fortran_order': ";
  dict += fortran_order;
  dict += ", 'shape': ";
  dict += shape;
  return dict + ", }          \n";
}

NpyHeader parse(std::string_view file) {
  // A copy of the exact size, so that a sanitizer sees a read past the end.
  const std::vector<char> exact(file.begin(), file.end());
  return parse_npy_header(std::as_bytes(std::span(exact)), "x.npy", {"<f4", "<i8"});
}

std::string refusal(std::string_view file) {
  try {
    parse(file);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadFormat);
    return error.what();
  }
  return "accepted";
}

std::string refusal_of_dict(std::string_view dict) { return refusal(npy(dict, 24)); }

TEST(Npy, a_header_is_read_in_every_version) {
  for (const int major : {1, 2, 3}) {
    const std::string file = npy(dict_of("(2, 3)"), 24, major);
    const NpyHeader header = parse(file);
    EXPECT_EQ(header.descr, "<f4");
    EXPECT_EQ(header.shape, (std::vector<std::int64_t>{2, 3}));
    EXPECT_EQ(header.data_bytes, 24U);
    EXPECT_EQ(header.data_offset(), file.size() - 24);
    EXPECT_EQ(header.bytes, file.substr(0, file.size() - 24)) << "the header is kept verbatim";
  }
}

TEST(Npy, shapes_of_every_rank_are_read) {
  EXPECT_EQ(parse(npy(dict_of("()"), 4)).shape, std::vector<std::int64_t>{});
  EXPECT_EQ(parse(npy(dict_of("(3,)"), 12)).shape, std::vector<std::int64_t>{3});
  EXPECT_EQ(parse(npy(dict_of("( 1 , 2 , 3 , )"), 24)).shape, (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(parse(npy(dict_of("(0, 4611686018427387904, 64)"), 0)).data_bytes, 0U);
  EXPECT_EQ(parse(npy(dict_of("(2L, 3L)"), 24)).shape, (std::vector<std::int64_t>{2, 3}));
}

TEST(Npy, the_dict_may_be_written_in_any_way_that_python_reads) {
  for (const std::string_view dict :
       {"{'descr':'<f4','fortran_order':False,'shape':(2,3)}",
        "{\"shape\": (2, 3), \"descr\": \"<f4\", \"fortran_order\": False}\n",
        " { 'shape' : ( 2 ,\n\t3 ) , 'fortran_order' : False , 'descr' : '<f4' , } \n"}) {
    EXPECT_EQ(parse(npy(dict, 24)).shape, (std::vector<std::int64_t>{2, 3})) << dict;
  }
}

TEST(Npy, what_is_no_npy_is_refused) {
  const std::string expected =
      "x.npy: is no .npy file, which would begin with \\x93NUMPY; save it with numpy.save";
  EXPECT_EQ(refusal(""), expected);
  EXPECT_EQ(refusal("\x93NUMP"), expected);
  EXPECT_EQ(refusal(std::string("PK\3\4") + std::string(100, '\0')), expected);
}

TEST(Npy, unknown_versions_are_refused) {
  EXPECT_EQ(refusal(npy(dict_of("(2, 3)"), 24, 4)),
            "x.npy: has .npy version 4.0, want 1.0, 2.0 or 3.0; save it with numpy.save");
  std::string file = npy(dict_of("(2, 3)"), 24);
  file[7] = 1;
  EXPECT_EQ(refusal(file).substr(0, 28), "x.npy: has .npy version 1.1,");
}

TEST(Npy, a_file_cut_off_in_its_header_is_refused) {
  const std::string file = npy(dict_of("(2, 3)"), 0);
  for (std::size_t size = 6; size < file.size(); ++size) {
    const std::string message = refusal(file.substr(0, size));
    EXPECT_NE(message.find("is cut off inside its header"), message.npos) << size << message;
  }
  EXPECT_NE(refusal(file.substr(0, 40)).find("40 bytes, want at least"), std::string::npos);
}

TEST(Npy, an_absurd_header_length_is_refused_before_it_is_read) {
  std::string file = npy("", 64, 2);
  file.replace(8, 4, "\xff\xff\xff\xff");
  EXPECT_EQ(refusal(file),
            "x.npy: is cut off inside its header: 76 bytes, want at least 4294967307; "
            "copy it again");
  const std::string dict = dict_of("(2, 3)") + std::string(1 << 20, ' ');
  EXPECT_NE(refusal(npy(dict, 24, 2)).find("want at most 1048576"), std::string::npos);
}

TEST(Npy, a_damaged_dict_is_refused) {
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}";
  for (std::size_t size = 0; size < good.size(); ++size) {
    const std::string message = refusal_of_dict(good.substr(0, size));
    EXPECT_NE(message.find("its header is damaged"), message.npos) << size << message;
    EXPECT_EQ(message.find('\n'), message.npos);
  }
  for (const std::string_view dict :
       {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)} x",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}{}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'more': 1}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2 3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,, 3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (6)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': [2, 3]}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2.0, 3)}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (2, 3)}",
        "{'descr': '<f\\x34', 'fortran_order': False, 'shape': (2, 3)}",
        "{'descr': 4, 'fortran_order': False, 'shape': (2, 3)}",
        "{'descr': '<f4' 'fortran_order': False, 'shape': (2, 3)}",
        "['descr', '<f4', 'fortran_order', False, 'shape', (2, 3)]"}) {
    const std::string message = refusal_of_dict(dict);
    EXPECT_NE(message.find("its header is damaged"), message.npos) << dict << '\n' << message;
  }
  EXPECT_EQ(refusal_of_dict("{'descr': '<f4', 'shape': (2, 3)}"),
            "x.npy: its header has no 'fortran_order'; save it again with numpy.save");
}

TEST(Npy, no_damaged_byte_of_a_header_leads_astray) {
  const std::string good = npy(dict_of("(2, 3)"), 24);
  for (std::size_t at = 0; at + 24 < good.size(); ++at) {
    for (int value = 0; value < 256; ++value) {
      std::string file = good;
      file[at] = static_cast<char>(value);
      try {
        const NpyHeader header = parse(file);
        EXPECT_EQ(header.data_offset() + header.data_bytes, file.size());
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kBadFormat);
      }
    }
  }
}

TEST(Npy, dtypes_that_are_not_wanted_are_refused_with_the_way_out) {
  EXPECT_EQ(refusal(npy(dict_of("(2, 3)", "<f8"), 48)),
            "x.npy: has dtype <f8, want <f4 or <i8; save x.astype(\"<f4\")");
  EXPECT_EQ(refusal(npy(dict_of("(2, 3)", ">f4"), 24)),
            "x.npy: has dtype >f4 (big-endian), want <f4 or <i8; save x.astype(\"<f4\")");
  EXPECT_EQ(refusal(npy(dict_of("(2, 3)", "|O"), 24)),
            "x.npy: has dtype |O (Python objects), want <f4 or <i8; save x.astype(\"<f4\")");
  EXPECT_EQ(refusal_of_dict("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (6,)}"),
            "x.npy: holds records with fields, want a plain array; save one field of it");
}

TEST(Npy, fortran_order_is_refused) {
  EXPECT_EQ(refusal(npy(dict_of("(2, 3)", "<f4", "True"), 24)),
            "x.npy: is in Fortran order, want C order; save numpy.ascontiguousarray(x)");
}

TEST(Npy, a_truncated_file_is_refused_with_both_sizes) {
  EXPECT_EQ(refusal(npy(dict_of("(2, 3)"), 23)),
            "x.npy: is cut off: shape [2, 3] wants 24 bytes of data, there are 23; copy it again");
}

TEST(Npy, bytes_after_the_array_are_refused) {
  EXPECT_EQ(refusal(npy(dict_of("(2, 3)"), 25)),
            "x.npy: goes on after its array: shape [2, 3] wants 24 bytes of data, there are 25; "
            "save each array to a file of its own");
  EXPECT_NE(refusal(npy(dict_of("(0, 3)"), 4)), "accepted");
}

TEST(Npy, absurd_sizes_are_refused) {
  const std::string wrapping = "(4611686018427387905, 4)";  // 4 bytes each: 16 modulo 2^64
  EXPECT_NE(refusal(npy(dict_of(wrapping), 16)).find("more than a file can hold"),
            std::string::npos);
  EXPECT_NE(refusal(npy(dict_of("(9223372036854775807, 2)"), 24)).find("more than a file"),
            std::string::npos);
  EXPECT_NE(refusal(npy(dict_of("(99999999999999999999,)"), 24)).find("no size of an array"),
            std::string::npos);
  EXPECT_NE(refusal(npy(dict_of("(-2, -3)"), 24)).find("no size of an array"), std::string::npos);
}

TEST(Npy, a_header_is_read_from_a_file_as_from_memory) {
  const std::string path = testing::TempDir() + "ropewalk_formats_npy.npy";
  const std::string bytes = npy(dict_of("(2, 3)"), 24, 2);
  std::ofstream(path, std::ios::binary) << bytes;
  const NpyHeader header = read_npy_header(InputFile(path), {"<f4"});
  std::remove(path.c_str());
  EXPECT_EQ(header.shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(header.bytes + std::string(24, 'x'), bytes);
}

}  // namespace
}  // namespace ropewalk::formats
