// What a fuzz target is: one source, one program. LLVMFuzzerTestOneInput is libFuzzer's, so a target
// also links with clang++ -fsanitize=fuzzer; driver.cpp is for compilers without it.

#ifndef ROPEWALK_FUZZ_TARGET_HPP_
#define ROPEWALK_FUZZ_TARGET_HPP_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

// Reads the input and throws nothing. What must hold and does not ends the process.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace ropewalk::fuzz {

// Well-formed inputs, to be mutated.
std::vector<std::string> seeds();
// What is put into them, beside random bytes.
std::vector<std::string> words();

inline void require(bool holds) {
  if (!holds) std::abort();
}

// An error's message is one line that says something.
inline void require_line(std::string_view message) {
  require(!message.empty() && message.find('\n') == message.npos);
}

}  // namespace ropewalk::fuzz

#endif  // ROPEWALK_FUZZ_TARGET_HPP_
