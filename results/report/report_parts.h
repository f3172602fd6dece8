// The parts of the report: each adds a section to the page.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "results/arithmetic/groups.h"
#include "results/report/chart.h"
#include "results/report/report.h"
#include "results/tables/table.h"

namespace hopbench::report {

/// Returns a number of a figure's data, with all its digits.
Cell exact(double value, bool beyond = false);

/// A drawing with what belongs to it.
struct Figure {
  std::string title, svg, legend;  // svg and legend are markup
  std::vector<std::string> notes;
  Table data;  // the numbers drawn
  bool wide = false;
  std::string id = {};                    // its name if it is asked for alone: "rate"; empty: it is in pages only
  std::optional<chart::Svg> column = {};  // the same for a paper, if it has a name
};

/// The page's body as it grows. Titles and texts are plain and get escaped; `raw` takes markup.
class Page {
 public:
  void section(const std::string& id, const std::string& title);
  void heading(const std::string& title);  // below a section
  void paragraph(const std::string& text, std::string_view kind = "");
  void table(const Table& table, std::string_view kind = "");  // without its title and notes
  void begin_figures() { body_ += "<div class=\"figures\">\n"; }
  void end_figures() { body_ += "</div>\n"; }
  void figure(const Figure& figure);
  void raw(std::string_view markup) { body_ += markup; }
  std::string finish(const std::string& title, const std::string& below) const;

 private:
  std::string body_;
  std::vector<std::pair<std::string, std::string>> sections_;
  int figures_ = 0;
};

/// Return the CSV text of a table, and a link that saves it without any server.
std::string csv_text(const Table& table);
std::string data_uri(const std::string& csv);

/// The fills for the uses of time. The same reason has the same fill all over the page.
class Fills {
 public:
  explicit Fills(const std::vector<Group>& groups);
  std::string of(const std::string& reason);  // of waiting
  /// Returns the legend of a group of figures. It leaves out reasons if there are more than kMostInLegend, too many to
  /// tell apart; each figure then has a legend of its own.
  std::string legend(const std::set<std::string>& reasons, bool with_rest);
  std::string waits_legend(const std::set<std::string>& reasons);
  static constexpr std::size_t kMostInLegend = 8;
  static std::string patterns();  // markup that defines the fills

 private:
  std::map<std::string, int> places_;
};

/// A stretch of a rank's time. kind: a reason of waiting by its place in the digest, or one of the two below.
struct Slice {
  static constexpr int kGradient = -1, kOperation = -2;
  int rank = 0, kind = 0;
  std::int64_t from = 0, to = 0, delay = 0;  // ns; delay: at the end, added by a slowdown
};

/// The data of an event log that the report needs.
struct Digest {
  std::string problem;                    // the reason why there is no digest; empty: there is one
  std::string flaw;                       // "trial X: the log ends early: ...", or how it is damaged; empty: none
  std::vector<std::vector<double>> gaps;  // a worker's largest gap in each part of the trial; NaN: it had finished
  double gap_most = 0;
  std::map<std::int64_t, std::int64_t> staleness;  // number of terms
  std::vector<Slice> slices;                       // by their ends, of the ranks that have a lane
  std::size_t slices_in_log = 0;                   // of all ranks
  std::vector<std::string> reasons;
};
Digest digest_of(const RunFolder& run, const TrialRow& row);

/// The first trial of a variant that ended well, with its log.
struct Shown {
  const Group* group;
  const TrialRow* row;
  Digest digest;
  ReportBound bound;
};

/// The trials that are drawn one by one, in the page's order, and a sentence about those that are not.
struct Drawn {
  std::vector<Shown> trials;
  std::string left_out;  // empty: all are drawn
};

/// Returns rate, iterations, speed-up, time-to-target if it has them. Columns: variant, n, value, low, high, shown.
std::vector<Figure> bar_figures(const Group& group);
/// Returns loss-time and loss-iterations. Columns: variant, n, x, loss (the median over the repeats), low, high (the
/// smallest and the largest, from two repeats).
std::vector<Figure> curve_figures(const Group& group);

inline constexpr std::size_t kMostRanks = 32;         // the most that a page can show of a trial
inline constexpr std::size_t kMostRanksInData = 256;  // of a trial in the numbers below a figure

std::string rank_name(const RankRecord& rank);  // "rank 0", "server 4"

/// `at_the_edge`: variants whose learning rate lies on the edge of the grid that it was chosen from.
void add_warnings(Page& page, const std::vector<Group>& groups, const Drawn& drawn,
                  const std::set<std::string>& at_the_edge);
void add_tables(Page& page, std::span<const TrialRow> rows, const std::string& reference);
void add_bars(Page& page, const std::vector<Group>& groups);
/// Draws groups of variants until they have `most` lines.
void add_curves(Page& page, const std::vector<Group>& groups, std::size_t most);
void add_stacks(Page& page, const std::vector<Group>& groups, const Drawn& drawn, Fills& fills);
void add_gaps(Page& page, const Drawn& drawn);
void add_timelines(Page& page, const Drawn& drawn, Fills& fills);
/// Adds a section about trials with skewed data, if there are any.
void add_who_pays(Page& page, std::span<const TrialRow> rows);
void add_context(Page& page, const RunFolder& run, std::span<const TrialRow> rows);

/// The facts of context.json for the page's head: "2026-11-21T12:00:00Z", "0.1.0 (1d1d8fa)"; empty if it lacks them.
struct Made {
  std::string when, version;
};
Made made_of(const std::string& context_json);

}  // namespace hopbench::report
