#include "formats/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ropewalk/error.hpp>
#include <system_error>
#include <utility>

#include "message.hpp"

namespace ropewalk::formats {
namespace {

template <class... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  throw Error(ErrorCode::kIo, message(parts...));
}

bool is_full(int error) { return error == ENOSPC || error == EDQUOT || error == EFBIG; }

// "data/q.npy: cannot be opened: No such file or directory".
[[noreturn]] void refuse_errno(std::string_view path, std::string_view what, int error) {
  const std::string reason = std::generic_category().message(error);
  refuse(path, ": ", what, ": ", reason,
         is_full(error)    ? "; make room, or write somewhere else"
         : error == ENOENT ? "; check the name"
         : error == EACCES ? "; check its permissions"
                           : "");
}

// Calls a system call again while signals interrupt it.
template <class Call>
auto uninterrupted(Call call) {
  for (;;) {
    const auto result = call();
    if (result != -1 || errno != EINTR) return result;
  }
}

FileId id_of(const struct stat& status) { return {status.st_dev, status.st_ino}; }

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == path.npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string name_of(const std::string& path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

// The path with symbolic links at its end followed, even to a file that is not there yet.
std::string follow_links(const std::string& given) {
  constexpr int kMaxLinks = 40;  // what Linux itself follows
  std::string path = given;
  for (int links = 0; links <= kMaxLinks; ++links) {
    char target[4096];
    const ssize_t size = ::readlink(path.c_str(), target, sizeof(target));
    if (size < 0) return path;  // no link; what else may be wrong with it is found later
    const std::string_view to(target, static_cast<std::size_t>(size));
    path = to.starts_with('/') ? std::string(to) : message(directory_of(path), "/", to);
  }
  refuse(given, ": too many symbolic links, one after another");
}

}  // namespace

FileDescriptor::~FileDescriptor() {
  if (value_ >= 0) ::close(value_);
}

int FileDescriptor::release() noexcept { return std::exchange(value_, -1); }

// O_NONBLOCK: a pipe without a writer must not block, but be refused as no regular file.
InputFile::InputFile(std::string path)
    : path_(std::move(path)),
      file_(
          uninterrupted([&] { return ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); })) {
  if (file_.get() < 0) refuse_errno(path_, "cannot be opened", errno);
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) refuse_errno(path_, "cannot be read", errno);
  if (!S_ISREG(status.st_mode)) {
    refuse(path_, ": is ", S_ISDIR(status.st_mode) ? "a directory" : "no regular file",
           ", want a file");
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
  id_ = id_of(status);
}

void InputFile::read(std::uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t count = uninterrupted(
        [&] { return ::pread(file_.get(), out.data(), out.size(), static_cast<off_t>(offset)); });
    if (count < 0) refuse_errno(path_, "reading failed", errno);
    if (count == 0) {
      refuse(path_, ": ends at byte ", offset, ", it had ", size_,
             " when it was opened; keep others from writing to it");
    }
    offset += static_cast<std::uint64_t>(count);
    out = out.subspan(static_cast<std::size_t>(count));
  }
}

std::string InputFile::text(std::uint64_t max_size) const {
  if (size_ > max_size) {
    refuse(path_, ": has ", size_, " bytes, want at most ", max_size, "; is it the right file?");
  }
  std::string result(size_, '\0');
  read(0, std::as_writable_bytes(std::span(result)));
  return result;
}

OutputPath::OutputPath(std::string path)
    : given_(std::move(path)),
      resolved_(follow_links(given_)),
      directory_(directory_of(resolved_)) {
  check_directory();
  check_replaced();
}

void OutputPath::check_directory() {
  struct stat status {};
  if (::stat(directory_.c_str(), &status) != 0) {
    refuse_errno(given_, message("cannot be written to directory ", directory_), errno);
  }
  if (!S_ISDIR(status.st_mode)) {
    refuse(given_, ": cannot be written, ", directory_, " is no directory");
  }
  if (::access(directory_.c_str(), W_OK | X_OK) != 0) {
    refuse_errno(given_, message("cannot be written to directory ", directory_), errno);
  }
  directory_id_ = id_of(status);
}

void OutputPath::check_replaced() {
  struct stat status {};
  if (::stat(resolved_.c_str(), &status) != 0) {
    if (errno == ENOENT) return;
    refuse_errno(given_, "cannot be written", errno);
  }
  if (!S_ISREG(status.st_mode)) {
    refuse(given_, ": is ", S_ISDIR(status.st_mode) ? "a directory" : "no regular file",
           ", want the name of a file");
  }
  if (::access(resolved_.c_str(), W_OK) != 0) refuse_errno(given_, "cannot be written", errno);
  replaced_ = id_of(status);
}

bool OutputPath::is_same(const OutputPath& other) const noexcept {
  return directory_id_ == other.directory_id_ && name_of(resolved_) == name_of(other.resolved_);
}

OutputFile::OutputFile(const OutputPath& path) : given_(path.given()), resolved_(path.resolved()) {
  struct stat replaced {};
  const bool replaces = ::stat(resolved_.c_str(), &replaced) == 0;
  // Never more open than in the end, not even for a moment.
  const mode_t mode = replaces ? replaced.st_mode & 0777 : 0666;
  for (int n = 0; file_.get() < 0; ++n) {
    // A short name of its own: the target's may already be as long as a name can be.
    temporary_path_ = message(path.directory(), "/.ropewalk-", ::getpid(), "-", n, ".tmp");
    file_ = FileDescriptor(uninterrupted([&] {
      return ::open(temporary_path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    }));
    if (file_.get() < 0 && errno != EEXIST) {
      refuse_errno(given_, message("cannot create ", temporary_path_), errno);
    }
  }
  if (!replaces) return;
  // Only root may give a file away; for others it stays their own, as with any editor.
  if (replaced.st_uid != ::geteuid() || replaced.st_gid != ::getegid()) {
    if (::fchown(file_.get(), replaced.st_uid, replaced.st_gid) != 0) errno = 0;
  }
  if (::fchmod(file_.get(), mode) != 0) {
    const int error = errno;
    ::unlink(temporary_path_.c_str());  // no destructor runs for what was not constructed
    refuse_errno(given_, "cannot get the mode of the file that it replaces", error);
  }
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : given_(std::move(other.given_)),
      resolved_(std::move(other.resolved_)),
      temporary_path_(std::exchange(other.temporary_path_, {})),
      file_(std::move(other.file_)),
      state_(std::exchange(other.state_, State::kFinished)) {}

OutputFile::~OutputFile() {
  take_back();
  if (!temporary_path_.empty()) ::unlink(temporary_path_.c_str());
}

void OutputFile::take_back() noexcept {
  if (state_ == State::kExchanged) {
    ::renameat2(AT_FDCWD, temporary_path_.c_str(), AT_FDCWD, resolved_.c_str(), RENAME_EXCHANGE);
  }
  if (state_ == State::kNew) ::unlink(resolved_.c_str());
}

void OutputFile::reserve(std::uint64_t bytes) {
#ifdef __linux__
  const int result =
      uninterrupted([&] { return ::fallocate(file_.get(), 0, 0, static_cast<off_t>(bytes)); });
  // A file system that cannot do it is no reason not to write.
  if (result != 0 && is_full(errno)) refuse_errno(given_, "writing failed", errno);
#else
  static_cast<void>(bytes);
#endif
}

void OutputFile::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = uninterrupted([&] {
      return ::pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    });
    if (count < 0) refuse_errno(given_, "writing failed", errno);
    offset += static_cast<std::uint64_t>(count);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

void OutputFile::commit() {
  // Some file systems report a full disk only here.
  if (::close(file_.release()) != 0 && errno != EINTR) {
    refuse_errno(given_, "writing failed", errno);
  }
  const char* from = temporary_path_.c_str();
  const char* to = resolved_.c_str();
  if (::renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE) == 0) {
    state_ = State::kExchanged;
    return;
  }
  // There is nothing to exchange with, or the file system cannot do it: then the old file is gone.
  const bool is_new = errno == ENOENT;
  const bool cannot_exchange = errno == EINVAL || errno == ENOSYS;
  if (!(is_new || cannot_exchange) || ::rename(from, to) != 0) {
    refuse_errno(given_, message("cannot rename ", temporary_path_, " to it"), errno);
  }
  state_ = is_new ? State::kNew : State::kFinished;
  temporary_path_.clear();
}

void OutputFile::finish() noexcept {
  if (state_ == State::kExchanged) ::unlink(temporary_path_.c_str());
  temporary_path_.clear();
  state_ = State::kFinished;
}

}  // namespace ropewalk::formats
