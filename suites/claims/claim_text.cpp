#include "suites/claims/claim_text.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "backends/base/text.h"
#include "models/dataset.h"
#include "models/datasets/dataset_path.h"
#include "results/files/record_json.h"
#include "results/tables/table.h"
#include "results/tables/terms.h"

namespace hopbench {
namespace {

using PaperJson = nlohmann::ordered_json;

std::string minutes_text(double minutes) {
  return minutes < 1 ? fmt::format("{:.0f} s", minutes * 60) : fmt::format("{:.1f} min", minutes);
}

std::string data_text(const PaperSuite& suite) { return suite.data.empty() ? "drawn" : join(suite.data, ", "); }

/// Returns a verdict, and how it relates to the expected one.
std::string verdict_text(const JudgedClaim& judged) {
  if (!judged.finding) return "not run: " + judged.not_run;
  const std::string verdict = to_string(judged.finding->verdict);
  const ClaimVerdict expected = judged.claim.expects.at(judged.profile);
  if (judged.finding->failed) return "differs: trials failed";
  if (!judged.expected()) return fmt::format("{}, but expected: {}", verdict, to_string(expected));
  return expected == ClaimVerdict::kHolds ? verdict : verdict + ", as expected";
}

/// Returns the reason for a verdict: what the rows say, and the paper's file if, as expected, the claim does not hold.
std::string reason_text(const JudgedClaim& judged) {
  if (!judged.finding) return "";
  std::string text = judged.finding->reason;
  if (judged.finding->verdict != ClaimVerdict::kHolds && judged.expected())
    text += (text.empty() ? "" : ": ") + judged.claim.because;
  return text;
}

std::string markdown_cell(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, "\\");
  return text;
}

PaperJson number_json(double value) {
  if (std::isfinite(value)) return value;
  return value > 0 ? "inf" : "nan";
}

PaperJson judged_entry(const JudgedClaim& judged) {
  const Claim& claim = judged.claim;
  PaperJson j{{"paper", judged.paper},
              {"claim", claim.id},
              {"profile", judged.profile},
              {"figure", claim.figure},
              {"says", claim.says},
              {"published", claim.published},
              {"confidence", claim.confidence},
              {"metric", claim.metric},
              {"expected", to_string(claim.expects.at(judged.profile))}};
  if (judged.finding) {
    const Finding& finding = *judged.finding;
    j["verdict"] = to_string(finding.verdict);
    j["ours"] = finding.text;
    if (finding.number) j["number"] = number_json(*finding.number);
    if (finding.interval) j["interval"] = {number_json(finding.interval->low), number_json(finding.interval->high)};
    j["n"] = finding.n;
    j["reason"] = reason_text(judged);
    j["caption"] = judged.caption;
  } else {
    j["verdict"] = "not run";
    j["reason"] = judged.not_run;
  }
  j["command"] = judged.command;
  j["minutes"] = judged.minutes;
  return j;
}

/// Returns true if the files of a data set are where it looks for them.
bool data_is_here(const std::string& dataset) {
  const DatasetEntry& entry = find_dataset(dataset);
  std::error_code ignored;
  return entry.default_path.empty() || std::filesystem::is_directory(entry.default_path, ignored);
}

}  // namespace

bool JudgedClaim::expected() const {
  return !finding || (finding->verdict == claim.expects.at(profile) && !finding->failed);
}

std::string missing_data(const PaperSuite& suite) {
  for (const std::string& name : suite.data) {
    if (data_is_here(name)) continue;
    return fmt::format("{} is not there: {}", name, callable(find_dataset(name).get));
  }
  return "";
}

std::string command_of(const Paper& paper, const Claim& claim, const std::string& profile) {
  return fmt::format("hopbench reproduce {} --claim {}{}", paper.name, claim.id,
                     profile == "full" ? " --profile full" : "");
}

std::string papers_text(const std::vector<Paper>& papers) {
  Table table{.columns = {"paper", "venue", "claims", "smoke", "full", "data"}};
  for (const Paper& paper : papers) {
    double smoke = 0, full = 0;
    std::vector<std::string> data;
    for (const PaperSuite& suite : paper.suites) {
      smoke += suite.smoke_minutes;
      full += suite.full_minutes;
      for (const std::string& name : suite.data) {
        const bool here = data_is_here(name);
        const std::string told = here ? name : name + " (not here)";
        if (std::find(data.begin(), data.end(), told) == data.end()) data.push_back(told);
      }
    }
    table.rows.push_back({paper.name, paper.venue, fmt::format("{}", paper.claims.size()), minutes_text(smoke),
                          minutes_text(full), data.empty() ? "drawn" : join(data, ", ")});
  }
  return to_text(table, false);
}

std::string claims_text(const Paper& paper) {
  std::string text = fmt::format("{}: {}, {}\n{}\n", paper.name, paper.title, paper.venue, paper.sizes);
  for (const Claim& claim : paper.claims) {
    const PaperSuite& suite = paper.suite(claim.suite);
    text += fmt::format("\n{}  {}: {}\n", claim.id, claim.figure, claim.says);
    text += fmt::format("    published: {} ({})\n", claim.published, provenance(claim.confidence));
    text += fmt::format("    {}: smoke {}, full {}; {}; data: {}\n", claim.suite, minutes_text(suite.smoke_minutes),
                        minutes_text(suite.full_minutes), suite.memory, data_text(suite));
    const std::string profile = claim.expects.contains("full") ? "full" : "smoke";
    text += fmt::format("    {}\n", command_of(paper, claim, profile));
  }
  return text;
}

std::string judged_text(const Paper& paper, const std::vector<JudgedClaim>& claims) {
  std::string text = fmt::format("{}: {}, {}\n", paper.name, paper.title, paper.venue), suite;
  for (const JudgedClaim& judged : claims) {
    const Claim& claim = judged.claim;
    if (claim.suite != suite) {
      suite = claim.suite;
      text += fmt::format("\n{} ({})\n", suite, judged.profile);
      if (!judged.caption.empty()) text += "  " + judged.caption + "\n";
    }
    text += fmt::format("\n  {}  {}: {}\n", claim.id, claim.figure, claim.says);
    text += fmt::format("    published: {} ({})\n", claim.published, provenance(claim.confidence));
    if (judged.finding) text += fmt::format("    here:      {}\n", judged.finding->text);
    text += fmt::format("    {}\n", verdict_text(judged));
    const std::string reason = reason_text(judged);
    if (!reason.empty()) text += fmt::format("    {}\n", reason);
  }
  return text;
}

std::string judged_json(const std::vector<JudgedClaim>& claims) {
  PaperJson list = PaperJson::array();
  for (const JudgedClaim& judged : claims) list.push_back(judged_entry(judged));
  const PaperJson all{{"schema_version", kSchemaVersion}, {"claims", std::move(list)}};
  return all.dump(1, ' ', false, PaperJson::error_handler_t::replace) + "\n";
}

std::string judged_markdown(const std::vector<JudgedClaim>& claims) {
  std::string text =
      "| paper | figure | claim | published | here | verdict and reason | command | time |\n"
      "|---|---|---|---|---|---|---|---|\n";
  for (const JudgedClaim& judged : claims) {
    const Claim& claim = judged.claim;
    const std::string reason = reason_text(judged);
    std::vector<std::string> cells{judged.paper,
                                   claim.figure,
                                   claim.says,
                                   fmt::format("{} ({})", claim.published, provenance(claim.confidence)),
                                   judged.finding ? judged.finding->text : "-",
                                   verdict_text(judged) + (reason.empty() ? "" : ": " + reason),
                                   "`" + judged.command + "`",
                                   minutes_text(judged.minutes)};
    for (std::string& cell : cells) cell = markdown_cell(cell);
    text += "| " + join(cells, " | ") + " |\n";
  }
  return text;
}

}  // namespace hopbench
