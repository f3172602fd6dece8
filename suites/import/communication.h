// Names of kernels, operators and spans that communicate, and how long they took.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace hopbench {

/// Kinds of work: communication, perhaps communication (a word as reduce, gather or dispatch), or another one.
enum class NameKind { kOther, kSuspect, kCommunication };

class Communication {
 public:
  /// Adds a word whose names communicate too, whatever the case of its letters.
  void add_word(std::string_view word);
  /// Returns true for the name of a kernel, operator or span of communication: NCCL, RCCL, Gloo, c10d, all-reduce, ...
  bool is(const std::string& name) { return entry(name).kind == NameKind::kCommunication; }
  /// Returns true if the name has one of the words of add_word().
  bool is_added(const std::string& name) { return !added_.empty() && entry(name).added; }
  /// Returns true if such a name is of a collective, not of a message from one rank to another.
  static bool is_collective(std::string_view name);
  /// Notes the time of a kernel, or of a span that communicates.
  void note(const std::string& name, double seconds) { entry(name).seconds += seconds; }
  /// Returns the names of a kind and their seconds, the longest first. Knows at most 10 000 names.
  std::vector<std::pair<std::string, double>> longest(NameKind kind, std::size_t most) const;

 private:
  struct Entry {
    NameKind kind = NameKind::kOther;
    bool added = false;
    double seconds = 0;
  };
  Entry& entry(const std::string& name);

  std::vector<std::string> added_;
  std::unordered_map<std::string, Entry> known_;
  Entry beyond_;  // of a name that is not known any more
};

}  // namespace hopbench
