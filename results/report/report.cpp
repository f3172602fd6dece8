// The page as a whole.
#include "results/report/report.h"

#include <fmt/format.h>

#include <set>

#include "backends/base/error.h"
#include "report_files.h"
#include "results/files/csv.h"
#include "results/report/chart.h"
#include "results/report/report_parts.h"
#include "results/tables/drawing.h"

namespace hopbench {
namespace report {

using chart::markup;

Cell exact(double value, bool beyond) {
  return {csv_number(value), Number{.value = value, .n = 1, .beyond = beyond}, "value"};
}

std::string csv_text(const Table& table) {
  std::string text;
  for (const auto& row : texts_of(table)) {
    for (std::size_t c = 0; c < row.size(); ++c) text += (c == 0 ? "" : ",") + csv_field(row[c]);
    text += "\n";
  }
  return text;
}

std::string data_uri(const std::string& csv) {
  std::string uri = "data:text/csv;charset=utf-8,";
  for (const char c : csv) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                       c == '-' || c == '.' || c == '_' || c == ',';
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", unsigned(byte));
  }
  return uri;
}

void Page::section(const std::string& id, const std::string& title) {
  if (!sections_.empty()) body_ += "</section>\n";
  sections_.emplace_back(id, title);
  body_ += fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n", markup(id), markup(title));
}

void Page::heading(const std::string& title) { body_ += fmt::format("<h3>{}</h3>\n", markup(title)); }

void Page::paragraph(const std::string& text, std::string_view kind) {
  body_ += fmt::format("<p class=\"{}\">{}</p>\n", markup(kind), markup(text));
}

void Page::table(const Table& table, std::string_view kind) {
  const std::vector<std::vector<std::string>> rows = texts_of(table);
  body_ += fmt::format("<div class=\"scroll\"><table class=\"{}\">\n", markup(kind));
  for (std::size_t r = 0; r < rows.size(); ++r) {
    body_ += r == 0 ? "<thead><tr>" : r == 1 ? "<tbody><tr>" : "<tr>";
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      const std::string cell = c < rows[r].size() ? markup(rows[r][c]) : "";
      const char* tag = r == 0 ? "th scope=\"col\"" : c == 0 ? "th scope=\"row\"" : "td";
      body_ += fmt::format("<{}>{}</{}>", tag, cell, r == 0 || c == 0 ? "th" : "td");
    }
    body_ += r == 0 ? "</tr></thead>\n" : "</tr>\n";
  }
  body_ += rows.size() > 1 ? "</tbody></table></div>\n" : "</table></div>\n";
}

void Page::figure(const Figure& figure) {
  const std::string csv = csv_text(figure.data);
  ++figures_;
  body_ += fmt::format("<figure id=\"figure-{}\"{}>\n<figcaption>{}</figcaption>\n", figures_,
                       figure.wide ? " class=\"wide\"" : "", markup(figure.title));
  body_ += figure.svg;
  if (!figure.legend.empty()) body_ += "<p class=\"legend\">" + figure.legend + "</p>\n";
  for (const std::string& note : figure.notes) paragraph(note, "note");
  body_ += fmt::format(
      "<details class=\"data\"><summary>data</summary><a download=\"figure-{}.csv\" href=\"{}\">save as "
      "CSV</a>\n<pre>{}</pre></details>\n</figure>\n",
      figures_, data_uri(csv), [&] {
        std::string lines;  // markup() makes one line of several
        for (std::size_t at = 0; at < csv.size();) {
          const std::size_t end = std::min(csv.find('\n', at), csv.size());
          lines += markup(std::string_view(csv).substr(at, end - at)) + "\n";
          at = end + 1;
        }
        return lines;
      }());
}

std::string Page::finish(const std::string& title, const std::string& below) const {
  std::string contents;
  for (const auto& [id, name] : sections_)
    contents += fmt::format("<a href=\"#{}\">{}</a>\n", markup(id), markup(name));
  // The policy lets the page load nothing, even if a name in the results becomes markup.
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>hopbench: "
      "{0}</title>\n<style>\n{8}{1}</style>\n</head>\n<body>\n"
      "{2}<header><h1>{0}</h1>\n<p>{7}</p></header>\n<nav>\n{3}</nav>\n{4}{5}"
      "<script>\n{6}</script>\n</body>\n</html>\n",
      markup(title), kReportStyle, Fills::patterns(), contents, body_, sections_.empty() ? "" : "</section>\n",
      kReportScript, markup(below), kChartStyle);
}

std::string rank_name(const RankRecord& rank) {
  const bool renamed = rank.worker >= 0 && rank.worker != rank.rank;
  return fmt::format("{} {}{}", rank.server ? "server" : "rank", rank.rank,
                     renamed ? fmt::format(" (worker {})", rank.worker) : "");
}

namespace {

Drawn drawn_of(const RunFolder& run, const std::vector<Group>& groups, const ReportOptions& options) {
  Drawn drawn;
  std::size_t variants = 0;
  for (const Group& group : groups) {
    for (const Variant& variant : group.variants) {
      const auto ok = variant.ok();
      if (ok.empty() || variants++ >= options.drawn) continue;
      const TrialRow& row = *ok.front();
      const auto bound = options.bounds.find(row.record.id);
      drawn.trials.push_back(
          {&group, &row, digest_of(run, row), bound == options.bounds.end() ? ReportBound{} : bound->second});
    }
  }
  if (drawn.trials.size() < variants)
    drawn.left_out = fmt::format(
        "Only the first {} of {} variants are drawn here, to keep the page small. --trials N draws more of them, "
        "--filter takes others.",
        drawn.trials.size(), variants);
  return drawn;
}

}  // namespace
}  // namespace report

std::string report_html(const RunFolder& run, const ReportOptions& options) {
  std::vector<TrialRow> rows;
  std::set<std::string> suites;
  for (const TrialRow& row : run.rows()) {
    if (options.wanted && !options.wanted(row)) continue;
    rows.push_back(row);
    suites.insert(row.labels.suite);
  }
  if (rows.empty()) throw usage_error(run.path() + " has no trial to report on");
  const std::vector<Group> groups = groups_of(rows, options.reference);
  const report::Made made = report::made_of(run.context_json());
  std::string title;
  for (const std::string& suite : suites) title += (title.empty() ? "" : ", ") + suite;

  report::Page page;
  report::Fills fills(groups);
  const report::Drawn drawn = report::drawn_of(run, groups, options);
  for (const report::Shown& shown : drawn.trials) {
    if (options.warn && !shown.digest.flaw.empty()) options.warn(shown.digest.flaw);
  }
  report::add_warnings(page, groups, drawn, options.at_the_edge);
  report::add_tables(page, rows, options.reference);
  report::add_bars(page, groups);
  report::add_curves(page, groups, options.lines);
  report::add_stacks(page, groups, drawn, fills);
  report::add_gaps(page, drawn);
  report::add_timelines(page, drawn, fills);
  report::add_who_pays(page, rows);
  report::add_context(page, run, rows);
  return page.finish(title, fmt::format("{} trial{}, started {}, hopbench {}", rows.size(), rows.size() == 1 ? "" : "s",
                                        made.when.empty() ? "at a time unknown" : made.when,
                                        made.version.empty() ? "of a version unknown" : made.version));
}

}  // namespace hopbench
