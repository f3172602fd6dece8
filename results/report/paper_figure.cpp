#include "results/report/paper_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "backends/base/error.h"
#include "backends/base/text.h"
#include "results/files/files.h"
#include "results/report/chart.h"
#include "results/report/report_parts.h"

namespace hopbench {
namespace {

using report::Figure;

constexpr std::size_t kMostPanels = 4;
constexpr double kWidthInches = 3.33;  // a column of two

/// Returns the text between single quotes, as gnuplot takes it in enhanced mode.
std::string gnuplot_text(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (std::string_view("\\{}_^@&~").find(c) != std::string_view::npos) safe += '\\';
    if (c == '\'') safe += '\'';
    safe += c == '\n' ? ' ' : c;
  }
  return '\'' + safe + '\'';
}

struct Panel {
  std::string title;  // empty: no title
  std::string measure, scenario;
  Figure figure;
  bool bars = false;
  double target = 0;
};

std::string title_line(const Panel& panel) {
  return panel.title.empty() ? "unset title\n" : "set title " + gnuplot_text(panel.title) + "\n";
}

std::vector<Panel> panels_of(std::span<const TrialRow> rows, const std::string& reference, const std::string& id) {
  std::vector<Panel> panels;
  for (const Group& group : groups_of(rows, reference)) {
    const TrialLabels& labels = group.labels();
    for (const Figure& figure : report::bar_figures(group)) {
      if (figure.id == id) panels.push_back({"", labels.measure, labels.scenario, figure, true, 0});
    }
    for (const Figure& figure : report::curve_figures(group)) {
      if (figure.id == id) panels.push_back({"", labels.measure, labels.scenario, figure, false, labels.target_loss});
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

/// Returns the number of a cell of a figure's data if there is a finite one.
std::optional<double> finite(const Cell& cell) {
  const Number* number = cell.number();
  return number != nullptr && std::isfinite(number->value) ? std::optional(number->value) : std::nullopt;
}

/// Returns the largest finite number in these places of the rows.
double most_in(const Table& data, std::initializer_list<std::size_t> places) {
  double most = 0;
  for (const TableRow& row : data.rows) {
    for (const std::size_t place : places) most = std::max(most, finite(row[place]).value_or(0));
  }
  return most;
}

/// Returns an x axis from 0 to the end of the bars and whiskers, with few enough numbers below it for a column.
std::string x_axis(const Table& data) {
  const double most = most_in(data, {2, 4});
  const chart::Axis axis = chart::make_axis("", 0, most > 0 ? most : 1, 4);
  std::string ticks;
  for (const double tick : axis.ticks) ticks += fmt::format("{}{:g}", ticks.empty() ? "" : ", ", tick);
  return fmt::format("set xrange [0:{:g}]\nset xtics ({})\n", axis.high, ticks);
}

/// Returns the script for bars, in the order of the suite with the first on top.
std::string bars_script(const Panel& panel) {
  const std::vector<TableRow>& rows = panel.figure.data.rows;
  std::string data, names, marks;
  std::size_t longest = 0;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const std::size_t place = rows.size() - r;
    const std::string &value = rows[r][2].text, &low = rows[r][3].text, &high = rows[r][4].text;
    const std::string& text = rows[r][5].text;
    names += fmt::format("{}{} {}", names.empty() ? "" : ", ", gnuplot_text(rows[r][0].text), place);
    if (!value.empty())
      data += fmt::format("{} {} {} {} {}\n", value, place, low.empty() ? value : low, high.empty() ? value : high,
                          r % 8 + 1);
    if (!value.empty() && rows[r][2].number()->beyond)
      marks += fmt::format("set arrow from {},{} rto graph 0.12,0 filled lw 1.5 front\n", value, place);
    const std::string shown = replaced(text, " reached)", ")");
    marks += fmt::format("set label {} at graph 1.01, first {} left font ',6'\n", gnuplot_text(shown), place);
    longest = std::max(longest, shown.size());
  }
  const bool ratio = panel.figure.id == "speed-up";
  return fmt::format(
      "$bars << EOD\n{}EOD\nunset label\nunset arrow\n{}{}set xlabel {}\nset ytics ({})\nset yrange "
      "[0.4:{}.6]\n{}"
      "unset ylabel\nunset key\nset rmargin {}\n{}"
      "plot $bars using 1:2:(0):1:($2-0.32):($2+0.32):5 with boxxyerror fillstyle solid 0.55 border lc black "
      "lc variable, $bars using 1:2:3:4 with xerrorbars lc black lw 1 pt 0\n",
      data, marks, title_line(panel), gnuplot_text(panel.figure.title), names, rows.size(), x_axis(panel.figure.data),
      3 + longest * 9 / 10, ratio ? "set arrow from 1, graph 0 to 1, graph 1 nohead dt 2 lc black front\n" : "");
}

/// Returns the script for medians as lines with points; behind them a band from the smallest to the largest repeat.
std::string lines_script(const Panel& panel) {
  const Table& data = panel.figure.data;
  const std::string top = fmt::format("{}", most_in(data, {3, 5}));  // a band that is infinite ends there
  std::string blocks, bands, lines;
  int style = 0;
  for (auto row = data.rows.begin(); row != data.rows.end(); ++style) {
    const std::string& variant = row->front().text;
    const int kind = style % 8 + 1;
    std::string line, band;
    for (; row != data.rows.end() && row->front() == variant; ++row) {
      const Cell &x = row->at(2), &loss = row->at(3), &low = row->at(4), &high = row->at(5);
      if (finite(loss)) line += x.text + " " + loss.text + "\n";
      if (finite(low)) band += fmt::format("{} {} {}\n", x.text, low.text, finite(high) ? high.text : top);
    }
    blocks += fmt::format("$line{0} << EOD\n{1}EOD\n$band{0} << EOD\n{2}EOD\n", style, line, band);
    if (!band.empty())
      bands += fmt::format(
          "$band{} using 1:2:3 with filledcurves fillstyle transparent solid 0.2 noborder lc {} notitle, \\\n  ", style,
          kind);
    lines += fmt::format("{}$line{} using 1:2 with linespoints pt {} ps 0.45 pi 3 lw 1.6 lc {} dt {} title {}",
                         lines.empty() ? "" : ", \\\n  ", style, kind + 3, kind, style % 5 + 1, gnuplot_text(variant));
  }
  if (panel.target > 0)
    lines += fmt::format(", \\\n  {} with lines lc rgb '#777777' dt 3 lw 1 title 'target'", panel.target);
  return fmt::format(
      "{}unset label\nunset arrow\n{}set xlabel {}\nset ylabel 'loss'\nset ytics auto\nset xtics auto\nset "
      "xrange [0:*]\n"
      "set yrange [*:*]\nset rmargin 2\nset key top right samplen 2.5 spacing 0.9 font ',6'\nplot {}{}\n",
      blocks, title_line(panel), gnuplot_text(data.columns[2].title), bands, lines);
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
      std::any_of(rows.begin(), rows.end(), [](const TableRow& row) { return finite(row[4]).has_value(); });
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
  PaperFigure figure{id, "", caption_of(rows, panels), int(panels.size())};
  // Okabe and Ito, from dark to light and back so that neighbours differ in grey.
  const char* colours[] = {"#0072B2", "#E69F00", "#000000", "#56B4E9", "#D55E00", "#009E73", "#CC79A7", "#B8A800"};
  for (int i = 0; i < 8; ++i) figure.script += fmt::format("set linetype {} lc rgb '{}'\n", i + 1, colours[i]);
  figure.script +=
      "set border 3\nset tics nomirror out scale 0.5\nset title font ',8' offset 0,-0.7\nset grid lw 0.4\n";
  const bool above = several && title && !title->empty();
  figure.script += fmt::format("set multiplot layout {},1{}\n", panels.size(),
                               above ? " title " + gnuplot_text(*title) + " font ',8'" : std::string());
  for (const Panel& panel : panels) figure.script += panel.bars ? bars_script(panel) : lines_script(panel);
  figure.script += "unset multiplot\n";
  return figure;
}

void draw(const PaperFigure& figure, const std::string& file) {
  const double height = (figure.id.starts_with("loss") ? 2.2 : 1.9) * figure.panels;
  std::string terminal;
  if (file.ends_with(".svg")) {
    terminal = fmt::format("svg size {:.0f},{:.0f} dynamic font 'DejaVu Sans,7'", kWidthInches * 96, height * 96);
  } else if (file.ends_with(".png")) {
    terminal = fmt::format("pngcairo size {:.0f},{:.0f} font 'DejaVu Sans,7' fontscale 3.1 linewidth 3 pointscale 3",
                           kWidthInches * 300, height * 300);
  } else if (file.ends_with(".pdf")) {
    terminal = fmt::format("pdfcairo size {}in,{}in font 'DejaVu Sans,7'", kWidthInches, height);
  } else {
    throw usage_error("-o " + file + ": figures end in .svg, .png or .pdf");
  }
  if (std::system("gnuplot --version >/dev/null 2>&1") != 0)
    throw environment_error("figures are drawn by gnuplot, which is not there: apt-get install gnuplot-nox");
  const TemporaryFolder folder;
  const std::string drawn = folder / "figure";
  write_file(folder / "script",
             "set terminal " + terminal + "\nset output '" + replaced(drawn, "'", "''") + "'\n" + figure.script);
  const std::string command = "gnuplot " + shell_word(folder / "script") + " >" + shell_word(folder / "log") + " 2>&1";
  if (std::system(command.c_str()) != 0)
    throw environment_error("gnuplot failed: " + read_file(folder / "log").value_or("it said nothing"));
  write_file(file, read_file(drawn).value_or(""));
}

}  // namespace hopbench
