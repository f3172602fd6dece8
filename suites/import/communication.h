// Names of kernels, operators and spans that communicate, and how long they took.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace hopbench {

/// Seconds by name, of at most 1000 names.
class NameTimes {
 public:
  void add(const std::string& name, double seconds);
  /// Returns the names with the longest times, the longest first.
  std::vector<std::pair<std::string, double>> longest(std::size_t most) const;

 private:
  std::unordered_map<std::string, double> seconds_;
};

class Communication {
 public:
  /// Adds a word whose names communicate too, whatever the case of its letters.
  void add_word(std::string_view word);
  /// Returns true for the name of a kernel, operator or span of communication: NCCL, RCCL, Gloo, c10d, all-reduce, ...
  bool is(const std::string& name);
  /// Returns true if the name has one of the words of add_word().
  bool has_added_word(std::string_view name) const;
  /// Returns true if such a name is of a collective, not of a message from one rank to another.
  static bool is_collective(std::string_view name);
  /// Notes the time of a kernel, or of a span that communicates.
  void note(const std::string& name, double seconds);

  NameTimes taken;    // names of communication
  NameTimes suspect;  // other kernels whose names have words as reduce, gather or dispatch

 private:
  struct Kind {
    bool communicates = false, is_suspect = false;
  };
  Kind kind_of(const std::string& name);

  std::vector<std::string> added_;
  std::unordered_map<std::string, Kind> known_;
};

}  // namespace hopbench
