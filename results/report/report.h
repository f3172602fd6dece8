// A run as one page of HTML: failures and warnings, the tables, every figure with its numbers as CSV, and the context
// of the run. The page needs no network and no other file. Without JavaScript only zooming is missing.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "results/files/run_folder.h"

namespace hopbench {

/// The bounds that theory gives for a trial, if it gives any.
struct ReportBound {
  std::optional<double> gap;        // iterations that a worker may be ahead of the slowest
  std::optional<double> staleness;  // iterations that a term of an average may be behind it
};

/// The default for ReportOptions::drawn. With it a page stays below about 20 MB for 10 000 trials of four ranks.
inline constexpr std::size_t kTrialsDrawn = 100;

struct ReportOptions {
  std::string reference;                        // the variant that speed-ups refer to
  std::function<bool(const TrialRow&)> wanted;  // empty: all trials
  std::map<std::string, ReportBound> bounds;    // by trial id
  std::set<std::string> at_the_edge{};  // variants whose learning rate lies on the edge of the grid of hopbench tune
  /// The most trials that are drawn one by one: where the time went, gaps, staleness and timelines. The page takes the
  /// first trial of each variant, in the order of the tables, and says how many it leaves out.
  std::size_t drawn = kTrialsDrawn;
  /// Called, if not empty, with a sentence for each trial whose event log is damaged or ends early. The page says the
  /// same.
  std::function<void(const std::string&)> warn{};
  /// The lines of losses that are drawn, one for each variant of a measure and scenario. A group is drawn whole.
  std::size_t lines = 1000;
};

/// Returns the page. If a trial's event log is missing or damaged, the page says so in its place. Error(kUsage) if no
/// trial is wanted or the folder lacks its context.
std::string report_html(const RunFolder& run, const ReportOptions& options);

}  // namespace hopbench
