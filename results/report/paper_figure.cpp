#include "results/report/paper_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <regex>
#include <set>

#include "backends/base/error.h"
#include "backends/base/text.h"
#include "report_files.h"
#include "results/files/files.h"
#include "results/report/chart.h"
#include "results/report/report_parts.h"

namespace hopbench {
namespace {

using report::Figure;

constexpr std::size_t kMostPanels = 4;
constexpr double kTitle = 20;  // the height of a title

struct Panel {
  std::string title;  // empty: no title
  std::string measure, scenario;
  Figure figure;
  bool bars = false;
};

std::vector<Panel> panels_of(std::span<const TrialRow> rows, const std::string& reference, const std::string& id) {
  std::vector<Panel> panels;
  for (const Group& group : groups_of(rows, reference)) {
    const TrialLabels& labels = group.labels();
    for (const Figure& figure : report::bar_figures(group)) {
      if (figure.id == id) panels.push_back({"", labels.measure, labels.scenario, figure, true});
    }
    for (const Figure& figure : report::curve_figures(group)) {
      if (figure.id == id) panels.push_back({"", labels.measure, labels.scenario, figure, false});
    }
  }
  return panels;
}

/// Names panels by their scenarios, and if scenarios repeat, also by their measures.
void name_panels(std::vector<Panel>& panels) {
  std::set<std::string> scenarios;
  for (const Panel& panel : panels) scenarios.insert(panel.scenario);
  for (Panel& panel : panels)
    panel.title = scenarios.size() == panels.size() ? panel.scenario : panel.measure + ", " + panel.scenario;
}

/// Returns the charts' style with values in the place of its variables, which few programs but browsers know.
std::string plain_style() {
  static const std::regex variable("(--[a-z-]+): ([^;]+);");
  std::string style = kChartStyle;
  const std::size_t end = style.find('}') + 1;
  const std::string values = style.substr(0, end);
  style.erase(0, end);
  for (std::sregex_iterator value(values.begin(), values.end(), variable), none; value != none; ++value)
    style = replaced(style, "var(" + value->str(1) + ")", value->str(2));
  return style +
         "svg text { font: 9px \"DejaVu Sans\", sans-serif; }\n"
         "svg text.tick, svg text.label, svg text.halo, svg text.value { font-size: 8px; }\n"
         "svg text.title { font-weight: 600; }\n.line { stroke-width: 1.6; }\n";
}

/// Puts panels one below the other, each below its title, and `title` above all.
std::string drawing(const std::vector<Panel>& panels, const std::string& title) {
  std::string parts;
  double y = 0;
  const auto add_title = [&](const std::string& words) {
    if (words.empty()) return;
    y += kTitle;
    parts += fmt::format("<text x=\"{}\" y=\"{}\" class=\"title mid\">{}</text>\n", chart::kColumnWidth / 2, y - 4,
                         chart::markup(words));
  };
  add_title(title);
  for (const Panel& panel : panels) {
    add_title(panel.title);
    parts += panel.figure.column.value().part(y);
    y += panel.figure.column.value().height();
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}in\" height=\"{1}in\" viewBox=\"0 0 {2} {3}\">\n"
      "<style>\n{4}</style>\n<rect width=\"{2}\" height=\"{3}\" fill=\"#ffffff\"/>\n{5}</svg>\n",
      chart::coordinate(chart::kColumnWidth / 96), chart::coordinate(y / 96), chart::coordinate(chart::kColumnWidth),
      chart::coordinate(y), plain_style(), parts);
}

/// Returns the values that occur of a label, in the order of the trials.
template <class Get>
std::string all_of_them(std::span<const TrialRow> rows, Get get) {
  std::vector<std::string> seen;
  for (const TrialRow& row : rows) {
    const std::string value = get(row.labels);
    if (!value.empty() && std::find(seen.begin(), seen.end(), value) == seen.end()) seen.push_back(value);
  }
  return join(seen, ", ");
}

std::string scenarios_of(const std::vector<Panel>& panels) {
  std::vector<std::string> names;
  for (const Panel& panel : panels) names.push_back(panel.scenario);
  return (names.size() == 1 ? "Scenario: " : "Scenarios, from above: ") + join(names, ", ");
}

std::string drawing_of(const Panel& panel) {
  if (panel.bars)
    return "bars are medians, whiskers the least and the most, from 6 repeats the 95 % interval of the median";
  const std::vector<TableRow>& rows = panel.figure.data.rows;
  const bool band =
      std::any_of(rows.begin(), rows.end(), [](const TableRow& row) { return row[4].number() != nullptr; });
  return band ? "lines are medians over the repeats, bands reach from the smallest to the largest, up to where the "
                "shortest repeat ends"
              : "one repeat of each variant";
}

std::string caption_of(std::span<const TrialRow> rows, const std::vector<Panel>& panels) {
  const Panel& panel = panels.front();
  std::set<std::pair<std::uint64_t, std::uint32_t>> repeats;
  for (const TrialRow& row : rows) repeats.insert({row.labels.seed, row.labels.repeat});
  const auto text = [&](std::string TrialLabels::*member) {
    return all_of_them(rows, [&](const TrialLabels& labels) { return labels.*member; });
  };
  const std::string data = text(&TrialLabels::dataset);
  const std::string rates = all_of_them(rows, [](const TrialLabels& l) {
    return std::string(!l.learns ? "" : l.tuned ? "tuned" : "untuned");
  });
  return fmt::format("{}. {}. n = {}, seeds {}; {} time over {}; {}{}{}; {}{}. Readings: {}.", panel.figure.title,
                     scenarios_of(panels), repeats.size(),
                     all_of_them(rows, [](const TrialLabels& l) { return fmt::format("{}", l.seed); }),
                     text(&TrialLabels::clock), text(&TrialLabels::transport), text(&TrialLabels::model),
                     data.empty() ? "" : " on " + data, panel.bars ? "" : ", loss of the mean of the workers' models",
                     rates.empty() ? "" : "learning rates " + rates + "; ", drawing_of(panel),
                     text(&TrialLabels::reading));
}

}  // namespace

std::span<const PaperFigureKind> paper_figures() {
  static constexpr auto kinds = std::to_array<PaperFigureKind>({
      {"rate", "samples/s of all workers"},
      {"iterations", "iterations/s, mean of the workers"},
      {"speed-up", "over the reference"},
      {"time-to-target", "seconds to the target loss"},
      {"loss-time", "loss over time"},
      {"loss-iterations", "loss over iterations"},
  });
  return kinds;
}

PaperFigure paper_figure(std::span<const TrialRow> rows, const std::string& reference, const std::string& id,
                         const std::optional<std::string>& title) {
  std::vector<std::string> ids;
  for (const PaperFigureKind& kind : paper_figures()) ids.emplace_back(kind.id);
  if (std::find(ids.begin(), ids.end(), id) == ids.end())
    throw usage_error("--figure " + id + ": known are " + join(ids, ", ") + "." + did_you_mean(id, ids));
  std::vector<Panel> panels = panels_of(rows, reference, id);
  if (panels.empty()) throw usage_error("--figure " + id + ": no trial here has what it shows");
  if (panels.size() > kMostPanels) {
    throw usage_error(fmt::format("--figure {}: {} panels, one for each measure and scenario: --filter takes some", id,
                                  panels.size()));
  }
  const bool several = panels.size() > 1, none = title && title->empty();
  if (several && !none) name_panels(panels);
  if (!several) panels.front().title = title.value_or("");
  const bool above = several && title && !title->empty();
  return {drawing(panels, above ? *title : ""), caption_of(rows, panels)};
}

void draw(const PaperFigure& figure, const std::string& file) {
  if (file.ends_with(".svg")) return write_file(file, figure.svg);
  if (!file.ends_with(".png") && !file.ends_with(".pdf"))
    throw usage_error("-o " + file + ": figures end in .svg, .png or .pdf");
  if (std::system("rsvg-convert --version >/dev/null 2>&1") != 0) {
    throw environment_error(
        "PNG and PDF are made by rsvg-convert, which is not there: apt-get install librsvg2-bin fonts-dejavu-core, or "
        "write FILE.svg");
  }
  const TemporaryFolder folder;
  write_file(folder / "figure.svg", figure.svg);
  const std::string format = file.substr(file.size() - 3);
  const std::string command = "rsvg-convert --format " + format + (format == "png" ? " --dpi-x 300 --dpi-y 300" : "") +
                              " --output " + shell_word(folder / "figure") + " " + shell_word(folder / "figure.svg") +
                              " 2>" + shell_word(folder / "log");
  if (std::system(command.c_str()) != 0)
    throw environment_error("rsvg-convert failed: " + read_file(folder / "log").value_or("it said nothing"));
  write_file(file, read_file(folder / "figure").value_or(""));
}

}  // namespace hopbench
