#include "printed.hpp"

#include <algorithm>
#include <cstdint>
#include <iostream>

namespace ropewalk::cli {
namespace {

struct Letter {
  char32_t code;
  std::size_t size;  // bytes, 0 if the text does not begin with a letter of UTF-8
};

// The Unicode Standard, table 3-7: shortest form only, no surrogates, up to U+10FFFF.
Letter first_letter(std::string_view text) {
  struct Form {
    unsigned char mask, lead;
    std::size_t size;
    char32_t least;
  };
  constexpr Form kForms[] = {
      {0x80, 0x00, 1, 0}, {0xE0, 0xC0, 2, 0x80}, {0xF0, 0xE0, 3, 0x800}, {0xF8, 0xF0, 4, 0x10000}};
  const auto lead = static_cast<unsigned char>(text.front());
  for (const Form& form : kForms) {
    if ((lead & form.mask) != form.lead || text.size() < form.size) continue;
    char32_t code = lead & static_cast<unsigned char>(~form.mask);
    for (const char next : text.substr(1, form.size - 1)) {
      const auto byte = static_cast<unsigned char>(next);
      if ((byte & 0xC0) != 0x80) return {0, 0};
      code = code << 6 | (byte & 0x3F);
    }
    const bool is_letter =
        code >= form.least && code <= 0x10FFFF && !(code >= 0xD800 && code <= 0xDFFF);
    return {code, is_letter ? form.size : 0};
  }
  return {0, 0};
}

struct Range {
  char32_t first, last;
  char shown;
};

// The first that holds the letter counts.
constexpr Range kShownOtherwise[] = {
    {U'\t', U'\r', ' '},   {0x85, 0x85, ' '},     {0x2028, 0x2029, ' '},  // ends of lines, tabs
    {0x00, 0x1F, '?'},     {0x7F, 0x9F, '?'},                             // C0, DEL, C1
    {0x061C, 0x061C, '?'}, {0x200E, 0x200F, '?'},                         // direction of writing
    {0x202A, 0x202E, '?'}, {0x2066, 0x2069, '?'},
};

}  // namespace

std::string one_line(std::string_view text) {
  constexpr std::size_t kMost = 2000;
  const bool is_cut = text.size() > kMost;
  if (is_cut) text = text.substr(0, kMost);
  std::string line;
  while (!text.empty()) {
    const Letter letter = first_letter(text);
    const auto holds = [&](const Range& range) {
      return letter.code >= range.first && letter.code <= range.last;
    };
    const auto* const found =
        std::find_if(std::begin(kShownOtherwise), std::end(kShownOtherwise), holds);
    if (letter.size == 0) {
      line += '?';
    } else if (found != std::end(kShownOtherwise)) {
      line += found->shown;
    } else {
      line += text.substr(0, letter.size);
    }
    text.remove_prefix(std::max(letter.size, std::size_t{1}));
  }
  if (is_cut) line += " ...";
  while (line.ends_with(' ')) line.pop_back();
  return line;
}

void print_error(std::string_view what) { std::cerr << "ropewalk: " << one_line(what) << '\n'; }

void print_warning(std::string_view what) {
  std::cerr << "ropewalk: warning: " << one_line(what) << '\n';
}

}  // namespace ropewalk::cli
