// The one exception of the library. It is thrown before a byte is written.

#ifndef ROPEWALK_ERROR_HPP_
#define ROPEWALK_ERROR_HPP_

#include <stdexcept>
#include <string>

namespace ropewalk {

enum class ErrorCode {
  kInvalidArgument = 1,  // a value that no call could accept
  kShapeMismatch,        // arguments that do not fit one another
  kOverlap,              // memory that would be read after it was overwritten
  kUnsupported,          // well-formed, but not to be had in this build or on this machine
  kBadFormat,            // a file or a text that is not what it should be
  kIo,                   // the operating system said no
};

// what() is one line that names the argument, what was given and what is
// allowed: "rotary_dim 130 is larger than head_dim 128".
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace ropewalk

#endif  // ROPEWALK_ERROR_HPP_
