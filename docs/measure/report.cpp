#include "report.hpp"

#include <array>
#include <cmath>
#include <cstdio>

namespace measure {

void figure(std::string_view name, Kind kind, std::string_view text) {
  constexpr const char* kNames[] = {"exact", "close", "factor", "free"};
  std::printf("%.*s\t%s\t%.*s\n", static_cast<int>(name.size()), name.data(),
              kNames[static_cast<std::size_t>(kind)], static_cast<int>(text.size()), text.data());
}

void cell(std::string_view table, std::string_view row, std::string_view column, Kind kind,
          std::string_view text) {
  std::string name(table);
  name.append(" | ").append(row).append(" | ").append(column);
  figure(name, kind, text);
}

std::string fixed(double value, int digits) {
  std::array<char, 400> text;
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  std::string result = text.data();
  if (result[0] == '-' && result.find_first_not_of("-0.") == std::string::npos) result.erase(0, 1);
  return result;
}

std::string short_form(double value) {
  if (value >= 1) return fixed(value, value < 100 ? 1 : 0);
  if (value >= 0.01 || value == 0) return fixed(value, value >= 0.1 ? 2 : value == 0 ? 0 : 3);
  std::array<char, 40> text;
  std::snprintf(text.data(), text.size(), "%.1e", value);
  std::string result(text.data());
  if (const std::size_t zero = result.find("e-0"); zero != std::string::npos) {
    result.erase(zero + 2, 1);  // 1.2e-07
  }
  return result;
}

std::string whole(double value) {
  std::string digits = fixed(std::abs(value), 0);
  for (std::size_t end = digits.size(); end > 3; end -= 3) digits.insert(end - 3, " ");
  return value < 0 ? "-" + digits : digits;
}

std::string bytes(double value) {
  constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; value >= 1024 && unit < 4; ++unit) value /= 1024;
  const bool is_whole = value == std::floor(value);
  return fixed(value, is_whole || value >= 100 ? 0 : 1) + " " + kUnits[unit];
}

}  // namespace measure
