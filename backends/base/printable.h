// Text from suites, arguments and files, made fit for a terminal, a log or a table.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace hopbench {

/// Returns `text` with everything escaped that a terminal would obey or that would hide what follows: control
/// characters (C0, DEL, C1, as \n or \u001b), marks of the writing direction and line separators (\u202e), and bytes
/// that are not UTF-8 (\xff).
std::string printable(std::string_view text);
/// Returns the same, but keeps line breaks and tabs. For whole messages.
std::string printable_lines(std::string_view text);
/// Returns the same on one line: line breaks and tabs are spaces. For cells of tables.
std::string printable_line(std::string_view text);
/// Returns true if printable() changes nothing.
bool is_printable(std::string_view text);

/// Returns `text` if it has at most `most` bytes, else its beginning and its end and, between them, the number of bytes
/// left out. Never cuts a UTF-8 character in two.
std::string shortened(std::string_view text, std::size_t most);
/// Returns `text` as a message quotes it: printable, and not longer than about 120 bytes.
std::string quotable(std::string_view text);
/// Returns "a, b, c", or the first `most` names and "and 976 more". Each name is quotable.
std::string listed(std::span<const std::string> names, std::size_t most = 24);

}  // namespace hopbench
