#include "results/summary_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "backends/base/text.h"

namespace hopbench {
namespace {

std::string shares_text(std::map<std::string, int> counts, std::size_t of) {
  std::vector<std::string> parts;
  for (const auto& [mark, count] : counts) {
    parts.push_back(std::size_t(count) == of ? mark : fmt::format("{} ({} of {})", mark, count, of));
  }
  return join(parts, ", ");
}

bool is_rate_warning(const std::string& warning) { return warning == "not steady" || warning == "no steady window"; }

}  // namespace

std::string mark_of(const std::string& warning) { return warning.substr(0, warning.find(':')); }

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
  const int before_point = static_cast<int>(std::floor(std::log10(std::abs(value)))) + 1;
  if (before_point < -3) return fmt::format("{:.{}e}", value, digits - 1);
  return fmt::format("{:.{}f}", value, std::max(0, digits - before_point));
}

std::string percent_text(double share) {
  const double percent = 100 * share;
  return fmt::format("{:.{}f} %", percent, percent < 9.95 && percent > 0 ? 1 : 0);
}

std::string median_text(std::span<const double> values) {
  const std::string middle = number_text(median(values));
  if (values.size() < 2) return middle;
  if (const auto interval = median_interval(values)) {
    return fmt::format("{} [{}, {}]", middle, number_text(interval->low), number_text(interval->high));
  }
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  if (number_text(*least) == number_text(*most)) return middle;
  return fmt::format("{} ({} .. {})", middle, number_text(*least), number_text(*most));
}

std::string ratio_text(std::span<const double> a, std::span<const double> b) {
  const auto text = [](double ratio) { return number_text(ratio, 3); };
  const PairedRatio paired = paired_ratio(a, b);
  if (paired.n == 0) return "-";
  const std::string ratio = text(paired.ratio) + "x";
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

std::string marks_text(const Variant& variant, bool with_rate_warnings) {
  std::map<std::string, int> counts;
  for (const TrialRow* row : variant.trials) {
    if (!row->labels.status_mark.empty()) ++counts[row->labels.status_mark];
    if (row->labels.experimental) ++counts["experimental"];
    if (row->record.status == TrialStatus::kFailed) ++counts["failed"];
    if (row->record.status == TrialStatus::kInterrupted) ++counts["interrupted"];
    for (const std::string& warning : row->record.warnings) {
      const std::string mark = mark_of(warning);
      if (with_rate_warnings || !is_rate_warning(mark)) ++counts[mark];
    }
  }
  return shares_text(std::move(counts), variant.trials.size());
}

}  // namespace hopbench
