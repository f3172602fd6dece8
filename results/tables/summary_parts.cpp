#include "results/tables/summary_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "backends/base/text.h"
#include "results/files/kinds.h"

namespace hopbench {
namespace {

std::string shares_text(std::map<std::string, int> counts, std::size_t of) {
  std::vector<std::string> parts;
  for (const auto& [mark, count] : counts) {
    parts.push_back(std::size_t(count) == of ? mark : fmt::format("{} ({} of {})", mark, count, of));
  }
  return join(parts, ", ");
}

}  // namespace

std::vector<const TrialRow*> Variant::ok() const {
  std::vector<const TrialRow*> list;
  for (const TrialRow* row : trials) {
    if (row->record.status == TrialStatus::kOk) list.push_back(row);
  }
  return list;
}

std::vector<const TrialRow*> Group::trials() const {
  std::vector<const TrialRow*> list;
  for (const Variant& variant : variants) list.insert(list.end(), variant.trials.begin(), variant.trials.end());
  return list;
}

const Variant* Group::find(const std::string& name) const {
  const auto hit = std::find_if(variants.begin(), variants.end(), [&](const Variant& v) { return v.name == name; });
  return hit == variants.end() ? nullptr : &*hit;
}

bool Group::is_convergence() const { return variants.front().trials.front()->labels.what == "convergence"; }

std::vector<Pair> pairs_of(const Variant& a, const Variant& b) {
  std::vector<Pair> pairs;
  for (const TrialRow* left : a.ok()) {
    for (const TrialRow* right : b.ok()) {
      if (left->labels.seed == right->labels.seed && left->labels.repeat == right->labels.repeat) {
        pairs.push_back({left, right});
      }
    }
  }
  return pairs;
}

std::string number_text(double value, int digits) {
  if (std::isnan(value)) return "-";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  if (value == 0) return "0";
  // By way of the rounded number: 99.999 is 100.0, not 100.00.
  std::string scientific = fmt::format("{:.{}e}", value, digits - 1);
  const int exponent = std::stoi(scientific.substr(scientific.find('e') + 1));
  constexpr int kLeastPlain = -4, kMostPlain = 14;  // more digits than these tell nothing
  if (exponent < kLeastPlain || exponent > kMostPlain) return scientific;
  return fmt::format("{:.{}f}", value, std::max(0, digits - 1 - exponent));
}

std::string whole_text(double value) {
  return value == std::floor(value) ? fmt::format("{:.0f}", value) : number_text(value);
}

std::string percent_text(double share) {
  const double percent = 100 * share;
  return fmt::format("{:.{}f} %", percent, percent < 9.95 && percent > 0 ? 1 : 0);
}

std::string median_text(std::span<const double> values, std::string (*text)(double)) {
  if (text == nullptr) text = [](double value) { return number_text(value); };
  std::string middle = text(median(values));
  if (values.size() < 2) return middle;
  if (const auto interval = median_interval(values))
    return fmt::format("{} [{}, {}]", middle, text(interval->low), text(interval->high));
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  if (text(*least) == text(*most)) return middle;
  return fmt::format("{} ({} .. {})", middle, text(*least), text(*most));
}

std::string ratio_text(std::span<const double> a, std::span<const double> b) {
  const auto text = [](double ratio) { return number_text(ratio, 3); };
  const PairedRatio paired = paired_ratio(a, b);
  if (paired.n == 0) return "-";
  std::string ratio = text(paired.ratio) + "x";
  if (paired.interval)
    return fmt::format("{} [{}, {}]", ratio, text(paired.interval->low), text(paired.interval->high));
  if (paired.n == 1) return ratio;
  const double first = a[0] / b[0], second = a[1] / b[1];
  return fmt::format("{} ({} .. {})", ratio, text(std::min(first, second)), text(std::max(first, second)));
}

std::string count_text(const Variant& variant) {
  const std::size_t ok = variant.ok().size(), all = variant.trials.size();
  return ok == all ? fmt::format("{}", all) : fmt::format("{} of {}", ok, all);
}

std::vector<std::string> marks_of(const TrialRow& row) {
  std::vector<std::string> marks;
  if (!row.labels.status_mark.empty()) marks.push_back(row.labels.status_mark);
  if (row.labels.experimental) marks.emplace_back("experimental");
  if (row.record.status == TrialStatus::kFailed) marks.emplace_back("failed");
  if (row.record.status == TrialStatus::kInterrupted) marks.emplace_back("interrupted");
  for (const Warning& warning : row.record.warnings) {
    const bool of_rates = warning.kind == WarningKind::kNotSteady || warning.kind == WarningKind::kNoSteadyWindow ||
                          warning.kind == WarningKind::kShortWarmUp;
    if (!of_rates || row.labels.what != "convergence") marks.emplace_back(to_string(warning.kind));
  }
  return marks;
}

std::string marks_text(const Variant& variant) {
  std::map<std::string, int> counts;
  for (const TrialRow* row : variant.trials) {
    for (const std::string& mark : marks_of(*row)) ++counts[mark];
  }
  return shares_text(std::move(counts), variant.trials.size());
}

void add_marks_column(Grid& grid, const Group& group) {
  std::vector<std::string> column{"marks"};
  for (const Variant& variant : group.variants) column.push_back(marks_text(variant));
  if (std::all_of(column.begin() + 1, column.end(), [](const std::string& cell) { return cell.empty(); })) return;
  for (std::size_t r = 0; r < column.size(); ++r) grid.rows[r].push_back(column[r]);
}

}  // namespace hopbench
