// How error messages are put together. A word that every room may use.

#ifndef ROPEWALK_SRC_MESSAGE_HPP_
#define ROPEWALK_SRC_MESSAGE_HPP_

#include <charconv>
#include <concepts>
#include <span>
#include <string>
#include <string_view>

namespace ropewalk {

inline std::string text(std::string_view part) { return std::string(part); }

// Doubles in their shortest form that reads back: 0.1, 1e-300, nan.
template <class Number>
  requires(std::integral<Number> || std::floating_point<Number>)
std::string text(Number number) {
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), number);
  return {buffer, end.ptr};
}

// message("rotary_dim ", 130, " is larger than head_dim ", 128)
template <class... Parts>
std::string message(const Parts&... parts) {
  std::string result;
  (result.append(text(parts)), ...);
  return result;
}

// "[2, 5, 32, 128]"
template <class Sizes>
std::string bracketed(const Sizes& sizes) {
  std::string result = "[";
  for (const auto& size : sizes) {
    if (result.size() > 1) result += ", ";
    result += text(size);
  }
  return result + "]";
}

}  // namespace ropewalk

#endif  // ROPEWALK_SRC_MESSAGE_HPP_
