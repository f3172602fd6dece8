// Small things about text that everybody needs.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hopbench {

/// A word that users of other tools type, in lower case without '-' and '_', and the names that it may mean here.
struct Synonym {
  std::string_view word;
  std::vector<const char*> names;
};
std::span<const Synonym> synonyms();
/// Returns the candidate that `word` is another spelling of (D-PSGD, dpsgd) or a synonym for (ddp, allreduce); "" if
/// there is none.
std::string synonym_of(std::string_view word, std::span<const std::string> candidates);

/// Returns true if `word` is a synonym for anything.
bool is_synonym(std::string_view word);

/// Returns what `word` is a synonym of (nothing if that is not among the candidates), else the candidate nearest to it
/// by edit distance (at most a third of its length, at least 2 allowed); "" if none is near.
std::string nearest(std::string_view word, std::span<const std::string> candidates);
/// " Did you mean 'x'?" or "".
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

std::string join(std::span<const std::string> parts, std::string_view between);

/// `text` with every `from` replaced by `to`, which is not looked into again. `from` is not empty.
std::string replaced(std::string text, std::string_view from, std::string_view to);

/// Returns `word` as one word for a shell, quoted if necessary; as $'...' if it holds control characters.
std::string shell_word(std::string_view word);

/// Splits "1.5ms" into 1.5 and "ms". A number too large for a double is infinite. False if there is no number in front.
bool split_number(std::string_view text, double& number, std::string_view& unit);

/// "1.5s", "40ms", "250us", "10ns", "2min" -> nanoseconds; false for anything else.
bool parse_duration(std::string_view text, long long& nanoseconds);
/// The shortest of those that says it exactly: 40ms, 1.5s.
std::string duration_text(long long nanoseconds);
/// "125MB/s" and plain numbers: "1Gbit/s", "100Mbit/s", "4.5GB/s", "125e6" -> bytes/s; false for anything else.
bool parse_rate(std::string_view text, double& bytes_per_s);

/// scheme://user:password@host without what is between; other text as it is.
std::string without_password(const std::string& text);

}  // namespace hopbench
