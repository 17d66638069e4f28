// Measures the figures of docs/*.md and prints them: document_numbers [--quick]
//
// scripts/write_docs.py runs it and puts them into the documents. With --quick not all 2^32 phases
// are tried but one in a thousand.

#include <cstdio>
#include <cstring>
#include <ropewalk/version.hpp>

#include "report.hpp"

namespace {

void measure_build() {
  for (const ropewalk::Target target : ropewalk::compiled_targets()) {
    if (!ropewalk::is_supported(target)) continue;
    measure::figure("target", measure::Kind::kFree, ropewalk::name(target));
    break;
  }
#ifdef __clang__
  measure::figure("compiler", measure::Kind::kFree, "Clang " __clang_version__);
#else
  measure::figure("compiler", measure::Kind::kFree, "GCC " __VERSION__);
#endif
}

}  // namespace

int main(int count, char** arguments) {
  const bool quick = count == 2 && std::strcmp(arguments[1], "--quick") == 0;
  if (count > 2 || (count == 2 && !quick)) {
    std::fputs("document_numbers: want no argument or --quick\n", stderr);
    return 2;
  }
  measure_build();
  measure::measure_turning();
  measure::measure_slips();
  measure::measure_positions();
  measure::measure_scores();
  measure::measure_accuracy();
  measure::measure_budget(quick);
}
