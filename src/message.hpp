// How error messages are put together. A word that every room may use.

#ifndef ROPEWALK_SRC_MESSAGE_HPP_
#define ROPEWALK_SRC_MESSAGE_HPP_

#include <charconv>
#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace ropewalk {

inline std::string text(std::string_view part) { return std::string(part); }

inline std::string text(std::integral auto number) {
  char buffer[32];
  return {buffer, std::to_chars(buffer, buffer + sizeof(buffer), number).ptr};
}

// In the shortest form that reads back: 0.1, 1e-300, nan; but 500000 and not 5e+05.
inline std::string text(std::floating_point auto number) {
  if (number > -1e15 && number < 1e15) {
    const auto whole = static_cast<std::int64_t>(number);
    if (static_cast<decltype(number)>(whole) == number) return text(whole);
  }
  char buffer[64];
  return {buffer, std::to_chars(buffer, buffer + sizeof(buffer), number).ptr};
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
