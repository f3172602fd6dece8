// Small text utilities.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hopbench {

/// A word that users of other tools type, in lower case without '-' and '_', and the names that it may mean here.
struct Synonym {
  std::string word;
  std::vector<const char*> names;
};
std::span<const Synonym> synonyms();
/// Returns the candidate that `word` is another spelling of (D-PSGD, dpsgd) or a synonym for (ddp, allreduce). Returns
/// "" if there is none.
std::string synonym_of(std::string_view word, std::span<const std::string> candidates);

/// Returns true if `word` is a synonym for anything.
bool is_synonym(std::string_view word);

/// Returns the candidate that `word` is a synonym of ("" if it is not among the candidates), else the nearest candidate
/// by edit distance (at most a third of the word's length, at least 2 allowed), or "" if no candidate is near.
std::string nearest(std::string_view word, std::span<const std::string> candidates);
/// Returns " Did you mean 'x'?", or "" if no candidate is near.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

std::string join(std::span<const std::string> parts, std::string_view between);

/// Returns `text` with every `from` replaced by `to`. Does not replace within `to` again. `from` is not empty.
std::string replaced(std::string text, std::string_view from, std::string_view to);

/// Returns `word` as one word for a shell, quoted if necessary, or as $'...' if it holds control characters.
std::string shell_word(std::string_view word);

/// Splits "1.5ms" into 1.5 and "ms". Infinite if too large for a double. Returns false if no number comes first.
bool split_number(std::string_view text, double& number, std::string_view& unit);

/// Converts "1.5s", "40ms", "250us", "10ns" or "2min" to nanoseconds. Returns false for anything else.
bool parse_duration(std::string_view text, long long& nanoseconds);
/// Returns the shortest such text that is exact: 40ms, 1.5s.
std::string duration_text(long long nanoseconds);
/// Converts "1Gbit/s", "100Mbit/s", "4.5GB/s", "125MB/s" or "125e6" to bytes/s. Returns false for anything else.
bool parse_rate(std::string_view text, double& bytes_per_s);

/// Returns scheme://user:password@host as scheme://***@host, and any other text unchanged.
std::string without_password(const std::string& text);

}  // namespace hopbench
