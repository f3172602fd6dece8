// The report of an advice as text, Markdown and JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "backends/base/text.h"
#include "results/files/record_json.h"
#include "results/tables/terms.h"
#include "suites/advice/advice.h"

namespace hopbench {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kUnreached = std::numeric_limits<double>::infinity();

constexpr Format kRate{[](double rate) { return fmt::format("{:.4g}", rate); }};
constexpr Format kBytes{[](double bytes) { return fmt::format("{:.3g}", bytes); }};
constexpr Format kGain{[](double gain) { return fmt::format("{:.3g}", gain); }, "x"};

Number rate_of(const Ranked& one) { return {one.rate, int(one.of.rates.size()), one.rates}; }
Number gain_of(const Ranked& one) { return {one.gain, int(one.of.rates.size()), one.gains}; }

std::string share_text(double share) { return share < 0.0005 ? "0" : fmt::format("{:.1f} %", 100 * share); }

std::string verdict_of(const Ranked& one, const Advice& advice) {
  const auto is = [&](const std::optional<std::size_t>& place) {
    return place && advice.ranking[*place].of.label == one.of.label;
  };
  if (one.of.label == advice.present) return "present";
  return is(advice.best) ? "recommended" : is(advice.beside) ? "check convergence" : "";
}

TableRow row_of(const Ranked& one, const Advice& advice) {
  return {one.of.label,
          {rate_of(one), kRate, "mean"},
          one.of.label == advice.present ? Cell("1", {1, int(one.of.rates.size())}, "ratio")
                                         : Cell(gain_of(one), kGain, "ratio"),
          {{one.of.bytes_per_sample, 1}, kBytes, "mean"},
          one.of.gap_bound < 0 ? "?" : fmt::format("{}", one.of.gap_bound),
          fmt::format("{:.1f}", std::abs(one.of.staleness) < 0.05 ? 0.0 : one.of.staleness),
          share_text(one.of.unheard),
          share_text(one.of.lost),
          fmt::format("{}", one.changes),
          verdict_of(one, advice)};
}

/// Returns titles and their lines; titles without lines are left out.
std::vector<std::pair<std::string, std::vector<std::string>>> sections_of(const AdviceReport& report) {
  std::vector<std::string> depends, measurements, failed;
  const Ranked& nearest = report.advice.nearest();
  for (const Dependence& one : report.depends)
    depends.push_back(fmt::format("{}: gain {:.3g}x instead of {:.3g}x; fastest of those tried: {}", one.what, one.gain,
                                  nearest.gain, one.leader));
  for (const Measurement& one : report.to_measure)
    measurements.push_back(fmt::format("{} ({:.1f} % of the gain)", one.what, 100 * one.worth));
  for (const Candidate& one : report.advice.failed) failed.push_back(one.label + ": " + one.failure);
  return {{fmt::format("What the gain of {} depends on most, one change at a time", nearest.of.label), depends},
          {"What would narrow the interval most", measurements},
          {"What the file does not tell", report.unknown},
          {"Not possible here", report.left_out},
          {"Failed", failed}};
}

std::string outside_text(const Advice& advice) {
  std::vector<std::string> labels;
  for (const Ranked& one : advice.ranking) {
    if (one.of.outside) labels.push_back(one.of.label);
  }
  if (labels.empty()) return "";
  const bool all = labels.size() == advice.ranking.size();
  const std::string whose = all ? "all variants" : join(labels, ", ");
  const bool assumed =
      std::any_of(advice.ranking.begin(), advice.ranking.end(), [](const Ranked& one) { return one.of.assumed; });
  if (assumed) return "no errors of virtual time were measured, so 10 % either way is assumed for " + whose;
  return "errors of virtual time were not measured where a message takes so long beside a gradient, so twice the "
         "errors of all protocols are taken for " +
         whose;
}

/// Returns a line for each source of protocols' rules, and one for those that are experimental.
std::vector<std::string> sources_text(const Advice& advice) {
  std::map<std::string, std::vector<std::string>> resting;
  std::vector<std::string> experimental, lines;
  for (const Ranked& one : advice.ranking) {
    if (!one.of.rests_on.empty()) resting[one.of.rests_on].push_back(one.of.label);
    if (one.of.experimental) experimental.push_back(one.of.label);
  }
  for (const auto& [source, labels] : resting)
    lines.push_back(fmt::format("rests on: {}: {}", source, join(labels, ", ")));
  if (!experimental.empty())
    lines.push_back("experimental, since a rule is not checked against the paper's text and is likely or a guess: " +
                    join(experimental, ", "));
  return lines;
}

}  // namespace

Table advice_table(const Advice& advice) {
  Table table{.columns = listed({"variant", "samples heard/s", "gain", "bytes/sample", "ahead at most", "staleness",
                                 "unheard", "lost", "class", "verdict"})};
  table.columns[2].title = "gain over " + advice.present + " [90 %]";
  for (const Ranked& one : advice.ranking) table.rows.push_back(row_of(one, advice));
  table.note(
      "class: 1 makes the updates of all-reduce up to rounding; 2 uses every gradient within a known lead, but "
      "averages "
      "later, compresses, or makes other steps; 3 is the rest: work is left out or lost, or no bound is known");
  if (const std::string note = outside_text(advice); !note.empty()) table.note(note);
  std::vector<std::string> unsteady;
  for (const Ranked& one : advice.ranking) {
    if (one.of.unsteady) unsteady.push_back(one.of.label);
  }
  if (!unsteady.empty())
    table.note("not steady in some repeats, so a longer run (run.iterations) may have another rate: " +
               join(unsteady, ", "));
  for (std::string& line : sources_text(advice)) table.note(std::move(line));
  return table;
}

Table learning_table(const AdviceReport& report) {
  Table table;
  table.title = fmt::format("Time to a loss of {:.4g} of {}, which stands in for the job's model", report.target_loss,
                            report.stand_in);
  table.columns = {"variant",
                   "learned by",
                   listed("time to target"),
                   "samples to target",
                   {"speed-up", "over " + report.advice.present},
                   "learning rate"};
  const auto median_of = [](const std::vector<double>& values) { return values.empty() ? kUnreached : median(values); };
  const auto present = std::find_if(report.learning.begin(), report.learning.end(),
                                    [&](const Learning& one) { return one.label == report.advice.present; });
  const double against = present == report.learning.end() ? kUnreached : median_of(present->times);
  std::vector<Learning> sorted = report.learning;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const Learning& a, const Learning& b) { return median_of(a.times) < median_of(b.times); });
  for (const Learning& one : sorted) {
    const double time = median_of(one.times);
    const bool reached = std::isfinite(time);
    table.rows.push_back({one.label, report.stand_in,
                          reached               ? fmt::format("{:.4g}", time)
                          : one.failure.empty() ? "not reached"
                                                : "failed",
                          reached ? fmt::format("{:.4g}", median_of(one.samples)) : "",
                          reached && std::isfinite(against) ? fmt::format("{:.3g}x", against / time) : "",
                          fmt::format("{:.3g}{}", one.lr, one.edge ? " (edge)" : "")});
  }
  table.fact("learning does not transfer by itself: another model may rank the variants differently");
  return table;
}

namespace {

/// Returns the changes of the machines with which nearest() would be slower than the present protocol, as a sentence.
std::string slower_with(const AdviceReport& report) {
  std::vector<std::string> slower;
  for (const Dependence& one : report.depends) {
    if (one.gain < 1) slower.push_back(fmt::format("{} ({:.3g}x)", one.what, one.gain));
  }
  if (slower.empty()) return "";
  return fmt::format(" But it would be slower than {} with: {}. Make sure of that first.", report.advice.present,
                     join(slower, ", "));
}

std::string reservations(const Candidate& one) {
  std::string text;
  if (one.experimental) text += " It is experimental: a rule of it is not checked against its paper.";
  if (one.unsteady) text += " Its rate was not steady: a longer run (run.iterations) may have another one.";
  return text;
}

/// Returns what its gain is, "1.5 times the samples/s of allreduce, from 1.4 to 1.6 with 90 %".
std::string times_text(const Ranked& one, const std::string& present) {
  return fmt::format("{:.3g} times the samples/s of {}, from {:.3g} to {:.3g} with 90 %", one.gain, present,
                     one.gains.low, one.gains.high);
}

std::string convergence_note(const Ranked& one) {
  return fmt::format(
      " It uses every gradient, but not in the updates of all-reduce, and a worker may be {} iteration{} ahead: check "
      "that your model converges with it first.",
      one.of.gap_bound, one.of.gap_bound == 1 ? "" : "s");
}

std::string stay_text(const Advice& advice) {
  const Ranked& nearest = advice.nearest();
  const bool close = nearest.of.label != advice.present && nearest.gains.high >= 1;
  return fmt::format(
      "Stay with {}: no protocol of class 1 or 2 is faster beyond doubt.{}", advice.present,
      close ? fmt::format(" The nearest is {}, {}.", nearest.of.label, text_of(gain_of(nearest), kGain)) : "");
}

}  // namespace

std::string advice_answer(const AdviceReport& report) {
  const Advice& advice = report.advice;
  if (!advice.best && !advice.beside) return stay_text(advice);
  std::string text;
  if (advice.best) {
    const Ranked& best = advice.ranking[*advice.best];
    text = fmt::format("Use {}: {}. Its updates are those of all-reduce up to rounding.{}{}", best.of.label,
                       times_text(best, advice.present), slower_with(report), reservations(best.of));
  } else {
    text = fmt::format(
        "Stay with {}, unless you can check convergence: no protocol with the updates of all-reduce is "
        "faster beyond doubt.",
        advice.present);
  }
  if (!advice.beside) return text;
  const Ranked& beside = advice.ranking[*advice.beside];
  return fmt::format("{} Of class 2, {} is the fastest: {}.{}{}{}", text, beside.of.label,
                     times_text(beside, advice.present), convergence_note(beside),
                     advice.best ? "" : slower_with(report), reservations(beside.of));
}

std::string advice_text(const AdviceReport& report, bool colour) {
  std::string text = report.title + "\n";
  for (const std::string& fact : report.facts) text += "  " + fact + "\n";
  text += "\n" + to_text(advice_table(report.advice), colour) + "\n" + advice_answer(report) + "\n";
  if (!report.learning.empty()) text += "\n" + to_text(learning_table(report), colour);
  for (const auto& [title, lines] : sections_of(report)) {
    if (lines.empty()) continue;
    text += "\n" + title + ":\n";
    for (const std::string& line : lines) text += "  " + line + "\n";
  }
  if (!report.test.empty()) text += "\nTest it on the machines:\n  " + report.test + "\n";
  return text;
}

std::string advice_markdown(const AdviceReport& report) {
  std::string text = "# " + markdown_cell(report.title) + "\n\n";
  for (const std::string& fact : report.facts) text += "* " + markdown_cell(fact) + "\n";
  text += "\n" + to_markdown(advice_table(report.advice)) + "\n**" + markdown_cell(advice_answer(report)) + "**\n";
  if (!report.learning.empty()) text += "\n" + to_markdown(learning_table(report));
  for (const auto& [title, lines] : sections_of(report)) {
    if (lines.empty()) continue;
    text += "\n## " + markdown_cell(title) + "\n\n";
    for (const std::string& line : lines) text += "* " + markdown_cell(line) + "\n";
  }
  if (!report.test.empty()) text += "\n## Test it on the machines\n\n    " + report.test + "\n";
  return text;
}

namespace {

/// Returns the numbers as JSON; null for infinite ones.
Json numbers(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(std::isfinite(value) ? Json(value) : Json(nullptr));
  return list;
}

}  // namespace

std::string advice_json(const AdviceReport& report) {
  const Advice& advice = report.advice;
  const auto label_at = [&](const std::optional<std::size_t>& place) {
    return place ? Json(advice.ranking[*place].of.label) : Json(nullptr);
  };
  Json learning = Json::array();
  for (const Learning& one : report.learning)
    learning.push_back({{"variant", one.label},
                        {"learned_by", report.stand_in},
                        {"target_loss", report.target_loss},
                        {"lr", one.lr},
                        {"edge", one.edge},
                        {"time_to_target_s", numbers(one.times)},
                        {"samples_to_target", numbers(one.samples)},
                        {"failure", one.failure}});
  Json ranking = Json::array(), depends = Json::array(), measurements = Json::array(), failed = Json::array();
  for (const Ranked& one : advice.ranking) {
    ranking.push_back({{"variant", one.of.label},
                       {"family", one.of.family},
                       {"virtual_rates", one.of.rates},
                       {"rests_on", one.of.rests_on},
                       {"experimental", one.of.experimental},
                       {"unsteady", one.of.unsteady},
                       {"leads", one.of.leads},
                       {"samples_heard_per_s", one.rate},
                       {"low", one.rates.low},
                       {"high", one.rates.high},
                       {"gain", one.gain},
                       {"gain_low", one.gains.low},
                       {"gain_high", one.gains.high},
                       {"bytes_per_sample", one.of.bytes_per_sample},
                       {"gap_bound", one.of.gap_bound},
                       {"staleness", one.of.staleness},
                       {"unheard", one.of.unheard},
                       {"lost", one.of.lost},
                       {"outside", one.of.outside},
                       {"class", one.changes}});
  }
  for (const Dependence& one : report.depends)
    depends.push_back({{"what", one.what}, {"gain", one.gain}, {"fastest", one.leader}});
  for (const Measurement& one : report.to_measure) measurements.push_back({{"what", one.what}, {"worth", one.worth}});
  for (const Candidate& one : advice.failed) failed.push_back({{"variant", one.label}, {"why", one.failure}});
  const Json all{{"schema_version", kSchemaVersion},
                 {"title", report.title},
                 {"facts", report.facts},
                 {"answer", advice_answer(report)},
                 {"present", advice.present},
                 {"recommended", label_at(advice.best)},
                 {"best_of_class_2", label_at(advice.beside)},
                 {"ranking", std::move(ranking)},
                 {"learning", std::move(learning)},
                 {"depends_on", std::move(depends)},
                 {"to_measure", std::move(measurements)},
                 {"unknown", report.unknown},
                 {"left_out", report.left_out},
                 {"failed", std::move(failed)},
                 {"test", report.test}};
  return all.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace hopbench
