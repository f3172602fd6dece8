// Which of several protocols to use on a cluster, from their rates in virtual time: a ranking, the gain over the
// present protocol with an interval, and the reasons for which a protocol is not recommended without further checks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "results/arithmetic/statistics.h"
#include "results/tables/table.h"

namespace hopbench {

/// A variant and its figures, from its trials in virtual time.
struct Candidate {
  std::string label, family;
  std::vector<double> rates;     // samples/s whose gradients reach other workers, by repeat
  std::vector<double> errors;    // equally likely values of ln(real rate / rate in virtual time)
  bool outside = false;          // errors like its own were not measured: `errors` are those of all, doubled
  bool assumed = false;          // no errors were measured at all: `errors` are assumed
  double bytes_per_sample = 0;   // that all ranks send
  std::int64_t gap_bound = -1;   // iterations that a worker may be ahead of another; -1: no bound is known
  double staleness = 0;          // iterations that averaged or applied terms are old (mean)
  double unheard = 0, lost = 0;  // shares of a worker's gradients that reach no other rank, and that are thrown away;
                                 // of the worker with the largest
  int changes = 2;               // class of what it changes, by what its protocol declares (class_of_changes)
  std::string rests_on;          // "not checked": what the protocol's rules rest on
  bool experimental = false;     // one of them is likely or a guess
  bool unsteady = false;         // the rate of some repeat was not steady
  bool leads = false;            // workers may be ahead by over a tenth of the iterations of the rate: never named
  std::string failure;           // the reason why there are no figures; empty: there are
};

/// The share of a worker's gradients that may be unheard in class 2: the last ones of a window are heard after it.
inline constexpr double kMostUnheard = 0.05;

struct AdviceQuestion {
  std::string present;  // label of the protocol that the job uses now
  double sampling = 1;  // factor of the variance between repeats: the chance of the recording is in it, too
};

/// A candidate in the ranking. Rates and gains are geometric means over the repeats. Intervals hold 90 % of what is
/// likely: the deviations between repeats (paired for gains) and the errors of virtual time, combined.
struct Ranked {
  Candidate of;
  double rate = 0, gain = 0;  // gain: rate / that of the present protocol
  Interval rates, gains;
  double chance = 0, error = 0;  // half-widths of the gain's interval by the repeats alone and by errors alone, as logs
  int changes = 2;               // the candidate's class; 3 if a gradient was lost, or too many were unheard
};

struct Advice {
  std::string present;
  std::vector<Ranked> ranking;          // the highest rate first
  std::vector<Candidate> failed;        // without figures
  std::optional<std::size_t> best{};    // place of the recommended one; nothing: stay with the present protocol
  std::optional<std::size_t> beside{};  // place of the best one of class 2, if it gains

  const Ranked& of_present() const;
  /// Returns the one that the question is about: the recommended one, else the best of class 2 if it gains, else the
  /// fastest other one of class 1 or 2, else the present one.
  const Ranked& nearest() const;
};

/// Ranks the candidates. Recommends the fastest one of class 1, and names the fastest of class 2, if its gain is above
/// 1 in the whole interval. The present protocol must be among the candidates and must have figures: else
/// Error(kTrialsFailed) says why it has none.
Advice advise(std::span<const Candidate> candidates, const AdviceQuestion& question);

/// A variant's way to a target loss: a small model that learns stands in for the job's, and is charged with its bytes.
struct Learning {
  std::string label;
  double lr = 0;                // the best of those that were tried, without slow workers
  bool edge = false;            // it is the smallest or the largest of them
  std::vector<double> times;    // seconds to the target in the scenario, by repeat; infinite: it was not reached
  std::vector<double> samples;  // the same in samples of all workers
  std::string failure;          // the reason why there are no times; empty: there are
};

/// A setting that was changed, and the gain of nearest() over the present protocol then.
struct Dependence {
  std::string what;
  double gain = 0;
  std::string leader;  // the label with the highest rate of those that were tried
};

/// A measurement that would make the answer more certain, and what it would take away, as a share of the gain.
struct Measurement {
  std::string what;
  double worth = 0;
};

/// The answer with all that it rests on. Texts are lines without an end.
struct AdviceReport {
  Advice advice;
  std::string title;                    // "cluster.toml, scenario recorded"
  std::vector<std::string> facts;       // on the job and the trials
  std::vector<std::string> left_out;    // candidates that are not possible, and why
  double target_loss = 0;               // 0: speed alone
  std::string stand_in;                 // the model that learned
  std::vector<Learning> learning;       // without a target: none
  std::vector<Dependence> depends;      // the largest change first
  std::vector<Measurement> to_measure;  // the most useful first
  std::vector<std::string> unknown;     // what the file does not tell
  std::string test;                     // the command that tests the answer in real processes
};

/// Returns the ranking as a table.
Table advice_table(const Advice& advice);
/// Returns the times to the target loss as a table, the shortest first; each line names the model that learned.
Table learning_table(const AdviceReport& report);
/// Returns the sentences that answer the question. They qualify what they name: what one of class 2 changes, the
/// changes of the machines with which it would be slower than the present protocol, and if it is experimental, was not
/// steady, or leads.
std::string advice_answer(const AdviceReport& report);
/// Return the report as text, as Markdown, as JSON and as a page of HTML with figures.
std::string advice_text(const AdviceReport& report, bool colour);
std::string advice_markdown(const AdviceReport& report);
std::string advice_json(const AdviceReport& report);
std::string advice_html(const AdviceReport& report, const std::string& made_by);

}  // namespace hopbench
