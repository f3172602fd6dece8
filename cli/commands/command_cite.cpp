// `hopbench cite`: BibTeX of the tool and of the papers behind protocols.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include "backends/base/text.h"
#include "cli/commands.h"
#include "cli/outputs.h"
#include "protocols/node/protocol.h"
#include "results/files/context.h"
#include "results/files/run_folder.h"

namespace hopbench {
namespace {

bool digits(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Abbreviations by which journals are known, and their names. All other venues are conferences, or arXiv.
constexpr std::pair<std::string_view, std::string_view> kJournals[] = {
    {"JPDC", "Journal of Parallel and Distributed Computing"},
    {"TPDS", "IEEE Transactions on Parallel and Distributed Systems"},
    {"JMLR", "Journal of Machine Learning Research"},
    {"TMLR", "Transactions on Machine Learning Research"},
    {"PVLDB", "Proceedings of the VLDB Endowment"},
};

/// A place where a paper appeared, for BibTeX: "@inproceedings", "booktitle = {ICML}", "year = {2019}".
struct Publication {
  std::string entry, field, name, year;
};

/// Returns the parts of "VENUE YEAR" or "arXiv IDENTIFIER".
Publication publication_of(const std::string& where) {
  const std::string last = where.substr(where.rfind(' ') + 1), venue = where.substr(0, where.rfind(' '));
  if (where.starts_with("arXiv ")) return {"misc", "howpublished", "arXiv:" + last, "20" + last.substr(0, 2)};
  const std::string year = digits(last) ? last : "";
  for (const auto& [abbreviation, name] : kJournals) {
    if (venue == abbreviation) return {"article", "journal", std::string(name), year};
  }
  return {"inproceedings", "booktitle", venue, year};
}

/// A paper that is cited. Protocols of one paper share an entry.
struct CitedPaper {
  std::string text;  // "AUTHORS: TITLE, VENUE YEAR"
  std::vector<std::string> protocols;
};

/// Returns all protocols that a run's variants use, in the order of its rows.
std::vector<std::string> protocols_of_run(const std::string& folder) {
  std::vector<std::string> names;
  const RunFolder run = open_run(folder);
  for (const TrialRow& row : run.rows()) {
    if (std::find(names.begin(), names.end(), row.labels.protocol) == names.end()) names.push_back(row.labels.protocol);
  }
  return names;
}

}  // namespace

std::string bibtex_entry(const std::string& key, const std::string& paper, const std::string& note) {
  const std::size_t colon = paper.find(": "), comma = paper.rfind(", ");
  if (colon == std::string::npos || comma == std::string::npos || comma < colon) {
    return fmt::format("@misc{{{},\n  title = {{{{{}}}}},\n  note = {{{}}}\n}}\n", key, paper, note);
  }
  std::string authors = replaced(paper.substr(0, colon), " et al.", ", others");
  authors = replaced(std::move(authors), ", ", " and ");
  const std::string title = paper.substr(colon + 2, comma - colon - 2);
  const Publication in = publication_of(paper.substr(comma + 2));
  return fmt::format("@{}{{{},\n  author = {{{}}},\n  title = {{{{{}}}}},\n  {} = {{{}}},\n{}  note = {{{}}}\n}}\n",
                     in.entry, key, authors, title, in.field, in.name,
                     in.year.empty() ? "" : fmt::format("  year = {{{}}},\n", in.year), note);
}

int command_cite(const CiteOptions& options) {
  std::vector<std::string> names;
  for (const std::string& what : options.what) {
    const std::vector<std::string> more =
        std::filesystem::is_directory(what) ? protocols_of_run(what) : std::vector<std::string>{what};
    names.insert(names.end(), more.begin(), more.end());
  }
  std::vector<CitedPaper> papers;
  std::string own;
  for (const std::string& name : names) {
    const Protocol& protocol = find_protocol(name);
    if (protocol.source == Source::kOwn) {
      own += fmt::format("\n% {}: proposed here, so there is no paper to cite\n", name);
      continue;
    }
    const std::string text(protocol.paper);
    const auto known =
        std::find_if(papers.begin(), papers.end(), [&](const CitedPaper& paper) { return paper.text == text; });
    CitedPaper& paper = known == papers.end() ? papers.emplace_back(CitedPaper{text, {}}) : *known;
    if (std::find(paper.protocols.begin(), paper.protocols.end(), name) == paper.protocols.end()) {
      paper.protocols.push_back(name);
    }
  }
  fmt::print(
      "@software{{hopbench,\n  title = {{hopbench: benchmarks of heterogeneity-aware distributed training "
      "protocols}},\n"
      "  author = {{{{The hopbench authors}}}},\n"
      "  version = {{{}}}\n}}\n",
      version_with_commit());
  if (!papers.empty())
    fmt::print("\n% Authors are given by their surnames, which is all that hopbench knows. Add their first names.\n");
  for (const CitedPaper& paper : papers) {
    fmt::print("\n{}", bibtex_entry(paper.protocols.front(), paper.text,
                                    fmt::format("protocol {}", fmt::join(paper.protocols, ", "))));
  }
  fmt::print("{}", own);
  return 0;
}

}  // namespace hopbench
