// What is printed of the words of others: names of files, keys, types of models.

#ifndef ROPEWALK_CLI_PRINTED_HPP_
#define ROPEWALK_CLI_PRINTED_HPP_

#include <string>
#include <string_view>

namespace ropewalk::cli {

// The text in one line that does to a terminal what its letters say: ends of lines and tabs are spaces;
// other control characters (C0, DEL, C1), marks that turn the direction of writing, and bytes that are
// no UTF-8 are question marks. Beyond 2000 bytes it ends in "...".
std::string one_line(std::string_view text);

// On stderr, as one line: "ropewalk: what", "ropewalk: warning: what".
void print_error(std::string_view what);
void print_warning(std::string_view what);

}  // namespace ropewalk::cli

#endif  // ROPEWALK_CLI_PRINTED_HPP_
