// Lists of names in tables: words that are separated by single spaces. A word that every room may use.

#ifndef ROPEWALK_SRC_WORDS_HPP_
#define ROPEWALK_SRC_WORDS_HPP_

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ropewalk {

inline bool has_word(std::string_view words, std::string_view word) {
  for (std::size_t begin = 0; begin < words.size();) {
    const std::size_t end = std::min(words.find(' ', begin), words.size());
    if (words.substr(begin, end - begin) == word) return true;
    begin = end + 1;
  }
  return false;
}

inline std::vector<std::string> words_of(std::string_view words) {
  std::vector<std::string> result;
  for (std::size_t begin = 0; begin < words.size();) {
    const std::size_t end = std::min(words.find(' ', begin), words.size());
    if (end > begin) result.emplace_back(words.substr(begin, end - begin));
    begin = end + 1;
  }
  return result;
}

}  // namespace ropewalk

#endif  // ROPEWALK_SRC_WORDS_HPP_
