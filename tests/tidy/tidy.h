// The knowledge of tidy_test about source text: comments and strings taken out, includes, and the rules of the house.
// Plain text in, complaints out, so that every rule can be tried on a few lines.
#pragma once

#include <string>
#include <vector>

namespace hopbench::tidy {

struct Source {
  std::string path;  // from the repository's root, with slashes
  std::string text;
};

struct Include {
  int line = 0;
  bool angled = false;
  std::string name{};
};

/// Comments and the insides of string and character literals become blanks; lines stay where they are.
std::string code_only(const std::string& text);
/// Comments alone do.
std::string without_comments(const std::string& text);
std::vector<std::string> lines_of(const std::string& text);
std::string trimmed(const std::string& text);
std::vector<Include> includes(const std::string& text);

// Each rule returns a line for every offence: "path:line: what".
std::vector<std::string> check_arrows(const Source& source);       // who may include whom
std::vector<std::string> check_third_party(const Source& source);  // third-party headers only in .cpp files
std::vector<std::string> check_bans(const Source& source);         // threads, clocks, ... in protocols/ and models/
std::vector<std::string> check_sizes(const Source& source);        // files and lines
std::vector<std::string> check_promises(const Source& source);     // words that put work off
std::vector<std::string> check_texts(const Source& source);        // decisions by what a failure or a warning says
std::vector<std::string> check_openings(const Source& source);     // words with which no comment begins

/// The complaint itself.
std::string at(const Source& source, int line, const std::string& what);

/// Names the directories that hold too many of these files (paths from the root). Data are not counted.
std::vector<std::string> check_crowding(const std::vector<std::string>& paths);

// Rules of protocols/ (tidy_protocols.cpp).
std::vector<std::string> check_protocol(const Source& source);  // its length, and whose headers it sees
std::vector<std::string> check_private(const Source& source);   // where its private names lie
// Rules of all sources together.
std::vector<std::string> check_median(const std::vector<Source>& sources);  // the usual protocol is short
std::vector<std::string> check_copies(const std::vector<Source>& sources);  // no piece of code stands there twice
std::vector<std::string> check_names(const std::vector<Source>& sources);   // no two types have one name

}  // namespace hopbench::tidy
