#include "formats/file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <ropewalk/error.hpp>
#include <vector>

namespace ropewalk::formats {
namespace {

namespace fs = std::filesystem;

// A directory of its own for each test.
class File : public testing::Test {
 protected:
  File() {
    std::string name = fs::temp_directory_path() / "ropewalk-XXXXXX";
    directory_ = ::mkdtemp(name.data());
  }
  ~File() override { fs::remove_all(directory_); }

  [[nodiscard]] std::string path(std::string_view name) const { return directory_ / name; }

  static void put(const std::string& path, std::string_view contents) {
    std::ofstream(path, std::ios::binary) << contents;
  }
  static std::string contents(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] std::ptrdiff_t count() const {
    return std::distance(fs::directory_iterator(directory_), fs::directory_iterator());
  }
  static void write_and_commit(const std::string& path, std::string_view bytes) {
    OutputFile file{OutputPath(path)};
    file.write(0, std::as_bytes(std::span(bytes)));
    file.commit();
    file.finish();
  }
  static mode_t mode(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    return status.st_mode & 07777;
  }

  fs::path directory_;
};

template <class Call>
std::string io_error(Call call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kIo);
    return error.what();
  }
  return "accepted";
}

TEST_F(File, only_regular_files_are_read) {
  EXPECT_NE(io_error([&] { InputFile{path("none")}; }).find("No such file"), std::string::npos);
  EXPECT_NE(io_error([&] { InputFile{directory_}; }).find("is a directory"), std::string::npos);
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_NE(io_error([&] { InputFile{path("pipe")}; }).find("no regular file"), std::string::npos);
}

TEST_F(File, a_file_that_shrinks_while_it_is_read_is_an_error) {
  put(path("x"), "12345678");
  const InputFile file(path("x"));
  ASSERT_EQ(::truncate(path("x").c_str(), 5), 0);
  std::vector<std::byte> out(8);
  EXPECT_NE(io_error([&] { file.read(0, out); }).find("ends at byte 5, it had 8"),
            std::string::npos);
}

TEST_F(File, an_output_appears_when_it_is_committed_and_not_before) {
  {
    OutputFile file{OutputPath(path("out"))};
    EXPECT_FALSE(fs::exists(path("out")));
    EXPECT_TRUE(fs::exists(file.temporary_path()));
    EXPECT_EQ(fs::path(file.temporary_path()).parent_path(), directory_);
  }
  EXPECT_EQ(count(), 0) << "without a commit nothing is left";
  write_and_commit(path("out"), "new");
  EXPECT_EQ(contents(path("out")), "new");
  EXPECT_EQ(count(), 1);
}

TEST_F(File, the_old_file_is_whole_until_the_commit_and_gives_its_mode) {
  put(path("out"), "old");
  ASSERT_EQ(::chmod(path("out").c_str(), 0640), 0);
  {
    OutputFile file{OutputPath(path("out"))};
    file.write(0, std::as_bytes(std::span("new", 3)));
    EXPECT_EQ(contents(path("out")), "old");
  }
  EXPECT_EQ(contents(path("out")), "old");
  write_and_commit(path("out"), "new");
  EXPECT_EQ(contents(path("out")), "new");
  EXPECT_EQ(mode(path("out")), mode_t{0640});
}

TEST_F(File, of_several_outputs_all_are_replaced_or_none) {
  put(path("old"), "old");
  {
    OutputFile replaced{OutputPath(path("old"))}, added{OutputPath(path("new"))};
    OutputFile failing{OutputPath(path("third"))};
    for (OutputFile* file : {&replaced, &added, &failing}) {
      file->write(0, std::as_bytes(std::span<const char>("12", 2)));
    }
    fs::remove(failing.temporary_path());  // so that its commit fails
    replaced.commit();
    added.commit();
    EXPECT_EQ(contents(path("old")), "12");
    EXPECT_EQ(contents(path("new")), "12");
    EXPECT_NE(io_error([&] { failing.commit(); }).find("cannot rename"), std::string::npos);
  }
  EXPECT_EQ(contents(path("old")), "old");
  EXPECT_EQ(count(), 1) << "neither the new file nor a temporary one is left";
}

TEST_F(File, a_mode_that_the_umask_would_narrow_is_kept) {
  const mode_t before = ::umask(022);
  put(path("x"), "old");
  ::chmod(path("x").c_str(), 0666);
  write_and_commit(path("x"), "new");
  EXPECT_EQ(mode(path("x")), 0666u);
  ::umask(before);
}

TEST_F(File, a_new_file_gets_the_mode_that_the_umask_leaves) {
  const mode_t old = ::umask(027);
  write_and_commit(path("out"), "new");
  ::umask(old);
  EXPECT_EQ(mode(path("out")), mode_t{0640});
}

TEST_F(File, a_symbolic_link_survives_and_what_it_points_to_is_replaced) {
  fs::create_directory(path("far"));
  put(path("far/target"), "old");
  fs::create_symlink("far/target", path("one"));
  fs::create_symlink(path("one"), path("two"));
  write_and_commit(path("two"), "new");
  EXPECT_TRUE(fs::is_symlink(path("one")) && fs::is_symlink(path("two")));
  EXPECT_EQ(contents(path("far/target")), "new");

  fs::create_symlink("far/later", path("dangling"));
  write_and_commit(path("dangling"), "new");
  EXPECT_TRUE(fs::is_symlink(path("dangling")));
  EXPECT_EQ(contents(path("far/later")), "new");

  fs::create_symlink("loop", path("loop"));
  EXPECT_NE(io_error([&] { OutputPath{path("loop")}; }).find("too many symbolic"),
            std::string::npos);
}

TEST_F(File, outputs_that_cannot_be_written_are_refused_before_anything_is_created) {
  put(path("file"), "old");
  EXPECT_NE(io_error([&] { OutputPath{path("none/out")}; }).find("No such file"),
            std::string::npos);
  EXPECT_NE(io_error([&] { OutputPath{path("file/out")}; }).find("is no directory"),
            std::string::npos);
  EXPECT_NE(io_error([&] { OutputPath{directory_}; }).find("is a directory"), std::string::npos);
  EXPECT_NE(io_error([&] { OutputPath{"/dev/null"}; }).find("no regular file"), std::string::npos);
  EXPECT_EQ(count(), 1);
}

// From here on writing beyond this size fails, as on a full disk.
void limit_file_size(rlim_t size) {
  ::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit = {size, size};
  ::setrlimit(RLIMIT_FSIZE, &limit);
}

TEST_F(File, a_full_disk_is_an_error_and_leaves_nothing) {
  EXPECT_EXIT(
      {
        limit_file_size(1000);
        const std::string error =
            io_error([&] { write_and_commit(path("out"), std::string(5000, 'x')); });
        const bool is_right = error.find("writing failed") != error.npos &&
                              error.find("make room") != error.npos && count() == 0;
        ::_exit(is_right ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(File, a_full_disk_is_noticed_when_room_is_reserved) {
  EXPECT_EXIT(
      {
        limit_file_size(1000);
        const std::string error =
            io_error([&] { OutputFile{OutputPath(path("out"))}.reserve(5000); });
        ::_exit(error.find("make room") != error.npos && count() == 0 ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(File, a_name_of_the_greatest_length_can_be_written) {
  const std::string longest(255, 'n');
  write_and_commit(path(longest), "new");
  EXPECT_EQ(contents(path(longest)), "new");
}

TEST_F(File, the_same_output_under_two_names_is_recognised) {
  put(path("x"), "old");
  fs::create_symlink("x", path("link"));
  fs::create_symlink(".", path("here"));
  EXPECT_TRUE(OutputPath(path("link")).is_same(OutputPath(path("here/x"))));
  EXPECT_TRUE(OutputPath(path("new")).is_same(OutputPath(path("here/new"))));
  EXPECT_FALSE(OutputPath(path("new")).is_same(OutputPath(path("x"))));
  EXPECT_TRUE(OutputPath(path("link")).replaces(InputFile(path("x"))));
  EXPECT_FALSE(OutputPath(path("new")).replaces(InputFile(path("x"))));
}

}  // namespace
}  // namespace ropewalk::formats
