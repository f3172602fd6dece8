// The report of an advice as one page of HTML.
#include <fmt/format.h>

#include "results/report/chart.h"
#include "results/report/report_parts.h"
#include "suites/advice/advice.h"

namespace hopbench {
namespace {

chart::Bar gain_bar(const std::string& name, double gain) {
  chart::Bar bar;
  bar.name = name;
  bar.value = gain;
  bar.text = fmt::format("{:.3g}x", gain);
  return bar;
}

report::Figure gains_figure(const Advice& advice) {
  report::Figure figure;
  chart::BarChart bars{"Gain over " + advice.present, "times the samples/s of " + advice.present, {}, 1.0};
  figure.data.columns = {"variant", "gain", "low", "high"};
  for (const Ranked& one : advice.ranking) {
    chart::Bar bar = gain_bar(one.of.label, one.gain);
    bar.spread = one.gains;
    bar.reference = one.of.label == advice.present;
    bars.bars.push_back(std::move(bar));
    figure.data.rows.push_back(
        {one.of.label, report::exact(one.gain), report::exact(one.gains.low), report::exact(one.gains.high)});
  }
  figure.title = bars.title;
  figure.svg = chart::bars_svg(bars);
  figure.notes.emplace_back("Whiskers hold 90 % of what is likely: chance and the errors of virtual time.");
  return figure;
}

report::Figure dependence_figure(const AdviceReport& of) {
  report::Figure figure;
  const Ranked& nearest = of.advice.nearest();
  chart::BarChart bars{"What the gain of " + nearest.of.label + " depends on", "gain", {}, 1.0};
  figure.data.columns = {"change", "gain", "fastest"};
  bars.bars.push_back(gain_bar("as described", nearest.gain));
  bars.bars.back().reference = true;
  for (const Dependence& one : of.depends) {
    bars.bars.push_back(gain_bar(one.what, one.gain));
    figure.data.rows.push_back({one.what, report::exact(one.gain), one.leader});
  }
  figure.title = bars.title;
  figure.svg = chart::bars_svg(bars);
  return figure;
}

void add_list(report::Page& page, const std::string& id, const std::string& title,
              const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  page.section(id, title);
  for (const std::string& line : lines) page.paragraph(line);
}

}  // namespace

std::string advice_html(const AdviceReport& of, const std::string& made_by) {
  report::Page page;
  page.section("answer", "Answer");
  page.paragraph(advice_answer(of));
  for (const std::string& fact : of.facts) page.paragraph(fact);
  const Table table = advice_table(of.advice);
  page.section("ranking", "Ranking");
  page.table(table);
  for (const std::string& note : notes_of(table)) page.paragraph(note);
  if (!of.learning.empty()) {
    const Table learning = learning_table(of);
    page.section("learning", learning.title);
    page.table(learning);
    for (const std::string& fact : notes_of(learning)) page.paragraph(fact);
  }
  page.section("figures", "Figures");
  page.begin_figures();
  page.figure(gains_figure(of.advice));
  if (!of.depends.empty()) page.figure(dependence_figure(of));
  page.end_figures();
  std::vector<std::string> measurements;
  for (const Measurement& one : of.to_measure)
    measurements.push_back(fmt::format("{} ({:.1f} % of the gain)", one.what, 100 * one.worth));
  add_list(page, "measure", "What would narrow the interval most", measurements);
  add_list(page, "unknown", "What the file does not tell", of.unknown);
  add_list(page, "left-out", "Not possible here", of.left_out);
  if (!of.test.empty()) add_list(page, "test", "Test it on the machines", {of.test});
  return page.finish(of.title, made_by);
}

}  // namespace hopbench
