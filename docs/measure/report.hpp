// What the program prints for scripts/write_docs.py, one figure or one cell of a table a line:
//
//   NAME                  KIND  TEXT      tabs between the three
//   TABLE | ROW | COLUMN  KIND  TEXT
//
// KIND says how well a figure must be met again on another machine. A figure without a text could not be
// measured on this one.

#ifndef ROPEWALK_DOCS_MEASURE_REPORT_HPP_
#define ROPEWALK_DOCS_MEASURE_REPORT_HPP_

#include <string>
#include <string_view>

namespace measure {

enum class Kind {
  kExact,   // a formula's: the same text
  kClose,   // measured, but hardly a matter of the machine: within 5 %
  kFactor,  // rounding errors, a matter of the instruction set: within a factor of 2
  kFree,    // says where it was measured: anything
};

void figure(std::string_view name, Kind kind, std::string_view text);
void cell(std::string_view table, std::string_view row, std::string_view column, Kind kind,
          std::string_view text);

std::string fixed(double value, int digits);  // 12.35
std::string short_form(double value);         // with two digits: 1.2e-7, 0.012, 1.2
std::string whole(double value);              // 10 000 000
std::string bytes(double value);              // 512 MiB

// ---- The parts of the program, each in its own file. ----

void measure_turning();
void measure_slips();
void measure_positions();
void measure_scores();
void measure_accuracy();
void measure_budget(bool quick);  // quick: not all phases are tried

}  // namespace measure

#endif  // ROPEWALK_DOCS_MEASURE_REPORT_HPP_
