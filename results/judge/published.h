// The figures that the documentation publishes about hopbench, as plain data: which command measures a figure, how its
// value is read from the command's JSON, and which range is accepted. suites/claims/published.h reads the entries;
// docs/figures.md has every key.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hopbench {

/// A command that measures figures.
struct PublishedRun {
  std::string id;
  std::vector<std::string> command;  // as typed, without a shell; "hopbench" is the running program
  std::vector<std::string> json;     // words added for JSON output; "{file}" becomes a file's name
  std::vector<std::string> needs;    // "quiet", "root", "package:python3-torch"
  double minutes = 0;
  std::vector<int> exit_codes{0};  // those that mean that it has printed its JSON

  /// Returns the command as typed in a shell, without the words for JSON.
  std::string text() const;
  bool needs_quiet() const;
};

/// Where a value is in a command's JSON and how it is written.
struct Reading {
  std::string value{}, over{}, times{};  // places; the last two may be empty
  double unit = 1;                       // the value is divided by it
  std::string show = "{}";
  std::string statistic = "median";  // of a list: median, least, most or sum
};

struct PublishedClaim {
  enum class Kind { kRatio, kCount, kBytes, kLimit, kRecorded };
  std::string id, says, run;
  Kind kind = Kind::kRecorded;
  Reading reading;
  std::optional<double> at_least, at_most, expected;  // in the unit that is shown
  std::string widened;                                // why the range is wider than the one measured.json has
};

struct PublishedTable {
  struct Column {
    std::string head;
    Reading reading;  // places within a row
  };
  std::string id;
  std::vector<std::string> runs;  // their rows follow each other
  std::string rows, where;        // a place; conditions that a row must satisfy
  std::vector<std::string> by{};  // members by which rows are grouped; empty: each is a row of the table
  std::vector<Column> columns;

  /// Returns the name under which measured.json keeps the rows of one of the runs, each of which is measured alone.
  std::string part(const std::string& run) const { return runs.size() == 1 ? id : id + "/" + run; }
  std::vector<std::string> parts() const;
  std::vector<std::string> heads() const;
};

/// All of figures.toml.
struct Published {
  std::vector<std::string> pages;  // from the repository's root
  std::vector<PublishedRun> runs;
  std::vector<PublishedClaim> claims;
  std::vector<PublishedTable> tables;

  const PublishedRun& run(const std::string& id) const;  // there is one
  /// Returns the accepted range of a claim, such as "2.1 to 3"; "" for a claim that is only recorded.
  static std::string range_text(const PublishedClaim& claim);
};

/// Checks a reading. Error(kUsage) if `show` or `statistic` is not one of those in docs/figures.md.
void check_reading(const Reading& reading);

/// The JSON that a command printed.
class MeasuredJson {
 public:
  /// Parses the text. Error(kUsage) naming `name` if it is not JSON.
  MeasuredJson(const std::string& text, const std::string& name);
  ~MeasuredJson();
  MeasuredJson(MeasuredJson&&) noexcept;

  /// Returns one value or more, in the unit that is shown. Error(kUsage) if the place is not there or holds no numbers.
  std::vector<double> values(const Reading& reading) const;
  /// Returns the value as it is written into a page; texts as they are.
  std::string shown(const Reading& reading) const;
  /// Returns the table's cells. Error(kUsage) if there are no rows.
  std::vector<std::vector<std::string>> rows(const PublishedTable& table) const;

 private:
  struct Content;
  std::unique_ptr<Content> content_;
};

/// Returns the values' median, least, most or sum.
double statistic_of(const std::string& statistic, std::span<const double> values);

enum class PublishedVerdict { kHolds, kRecorded, kFalse, kBusy, kNotRun, kFailed };
/// Returns "holds", "recorded", "false", "undecided: busy", "not run", "failed".
const char* to_string(PublishedVerdict verdict);
const char* to_string(PublishedClaim::Kind kind);

/// Returns the verdict on a value. `disturbed`: the run needs a quiet machine and did not have it.
PublishedVerdict judge(const PublishedClaim& claim, double value, bool disturbed);

/// The last value of a claim or of a run's part of a table, as measured.json keeps it.
struct LastValue {
  std::string text;                            // of a claim
  std::vector<std::string> heads;              // of a table, when the rows were measured
  std::vector<std::vector<std::string>> rows;  // of a run's part of a table
  std::string measured, commit, machine;       // 2026-11-23, f510481a2b3c, "2 cores, ..."; commit "" if not known
  std::vector<std::string> commands;           // as typed
  std::optional<double> value;                 // of a claim: the value that was judged
  std::optional<double> at_least, at_most;     // the range in which it was judged
  std::string widened;                         // and the reason for it
};
using LastValues = std::map<std::string, LastValue>;

/// Reads measured.json. Error(kUsage) naming `name` if the text is not such a file.
LastValues last_values_from_json(const std::string& text, const std::string& name);
std::string to_json(const LastValues& values);

/// Returns a message for each claim whose range is wider than that of its last value without a new reason, and for each
/// limit whose end is less than a factor of 2 from its expected value.
std::vector<std::string> check_ranges(const Published& published, const LastValues& values);

}  // namespace hopbench
