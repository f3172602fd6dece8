#include "results/tables/sensitivity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "backends/base/record/kinds.h"
#include "backends/base/text.h"
#include "results/arithmetic/curve.h"
#include "results/files/csv.h"

namespace hopbench {
namespace {

constexpr double kNoNumber = std::numeric_limits<double>::infinity();

bool finite_throughout(const TrialRecord& record) {
  return std::all_of(record.curve.begin(), record.curve.end(),
                     [](const CurvePoint& point) { return point.model != "mean" || std::isfinite(point.loss); });
}

std::vector<std::string> variants_of(const Sensitivity& sensitivity) {
  std::vector<std::string> names;
  for (const Tried& tried : sensitivity.tried) {
    if (names.empty() || names.back() != tried.variant) names.push_back(tried.variant);
  }
  return names;
}

std::string cell(const Sensitivity& sensitivity, const Tried& tried) {
  if (tried.failed > 0 && tried.failed == tried.loss.size()) return "failed";
  if (tried.diverged()) return "diverged";
  if (sensitivity.target_loss <= 0) return number_text(tried.median_loss());
  if (tried.median_samples() == kNoNumber) return fmt::format("> {:.0f}", tried.end);
  return number_text(tried.median_samples());
}

// If the upper one of the two middle values is "never", so is the median, since half of "never" is not a number.
double median_or_never(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() || values[values.size() / 2] == kNoNumber ? kNoNumber : median(values);
}

std::string lr_text(double lr) { return fmt::format("{:.4g}", lr); }

}  // namespace

void Tried::add(const TrialRow& row) {
  const CurvePoint* last = final_point(row.record, "mean");
  const bool good = row.record.status == TrialStatus::kOk && last != nullptr && finite_throughout(row.record);
  loss.push_back(good ? last->loss : kNoNumber);
  samples.push_back(good ? target_reached(row).samples.fitted.value_or(kNoNumber) : kNoNumber);
  if (row.record.status != TrialStatus::kOk) {
    if (failed == 0) failure = row.record.failure;
    ++failed;
  }
  if (!good) return;
  end = curve_end(row.record).samples;
  interval = evaluation_interval(row.record);
}

double Tried::median_samples() const { return median_or_never(samples); }
double Tried::median_loss() const { return median_or_never(loss); }

bool Tried::diverged() const { return median_loss() == kNoNumber; }

bool better(const Tried& a, const Tried& b) {
  if (a.median_samples() != b.median_samples()) return a.median_samples() < b.median_samples();
  if (a.median_loss() != b.median_loss()) return a.median_loss() < b.median_loss();
  return a.lr < b.lr;
}

int Sensitivity::best(const std::string& variant) const {
  int found = -1;
  for (std::size_t i = 0; i < tried.size(); ++i) {
    if (tried[i].variant != variant || tried[i].diverged()) continue;
    if (found < 0 || better(tried[i], tried[std::size_t(found)])) found = int(i);
  }
  return found;
}

const Failure* Sensitivity::why_failed(const std::string& variant) const {
  const Failure* first = nullptr;
  for (const Tried& one : tried) {
    if (one.variant != variant) continue;
    if (one.failed < one.loss.size()) return nullptr;
    if (first == nullptr) first = &one.failure;
  }
  return first;
}

bool Sensitivity::on_edge(std::size_t index) const {
  const Tried& chosen = tried[index];
  double least = chosen.lr, most = chosen.lr;
  for (const Tried& other : tried) {
    if (other.variant != chosen.variant) continue;
    least = std::min(least, other.lr);
    most = std::max(most, other.lr);
  }
  return chosen.lr == least || chosen.lr == most;
}

Table sensitivity_table(const Sensitivity& sensitivity) {
  std::set<double> rates;
  for (const Tried& tried : sensitivity.tried) rates.insert(tried.lr);
  Table table{.title = sensitivity.title, .columns = {"variant"}};
  for (const double lr : rates) table.columns.emplace_back("lr " + lr_text(lr));
  std::string row_of;
  for (std::size_t i = 0; i < sensitivity.tried.size(); ++i) {
    const Tried& tried = sensitivity.tried[i];
    const std::string name = tried.variant + (tried.knobs.empty() ? "" : " " + tried.knobs);
    if (name != row_of) table.rows.emplace_back(rates.size() + 1).front() = row_of = name;
    const auto column = std::distance(rates.begin(), rates.find(tried.lr));
    const bool best = sensitivity.best(tried.variant) == int(i);
    table.rows.back()[std::size_t(column) + 1] = (best ? "*" : "") + cell(sensitivity, tried);
  }
  table.note(sensitivity.target_loss > 0
                 ? fmt::format("samples until the loss is {}; *: the variant's best; > N: not reached in N",
                               sensitivity.target_loss)
                 : "loss at the end (no target is set); *: the variant's best");
  return table;
}

std::vector<std::string> sensitivity_warnings(const Sensitivity& sensitivity) {
  std::vector<std::string> warnings, at_the_edge;
  for (const std::string& variant : variants_of(sensitivity)) {
    const int found = sensitivity.best(variant);
    if (found < 0) {
      const Failure* const failure = sensitivity.why_failed(variant);
      warnings.push_back(variant + (failure == nullptr ? ": every setting diverged or failed"
                                                       : ": every trial failed: " + what_happened(*failure)));
      continue;
    }
    const Tried& best = sensitivity.tried[std::size_t(found)];
    if (sensitivity.on_edge(std::size_t(found)))
      at_the_edge.push_back(fmt::format("{} ({})", variant, lr_text(best.lr)));
    if (sensitivity.target_loss <= 0) continue;
    if (best.median_samples() == kNoNumber) {
      warnings.push_back(variant + ": no setting reached the target: chosen by the loss at the end");
    } else if (best.median_samples() < best.interval) {
      warnings.push_back(
          fmt::format("{}: the target is reached before the first evaluation, after {:.0f} samples: "
                      "raise run.evaluations to tell settings apart",
                      variant, best.interval));
    }
  }
  if (!at_the_edge.empty()) {
    warnings.push_back(
        fmt::format("the best learning rate lies on the edge of the grid for {}: a better one may lie beyond, so widen "
                    "[tune] lr",
                    join(at_the_edge, ", ")));
  }
  return warnings;
}

std::string sensitivity_csv(const Sensitivity& sensitivity) {
  std::string text = "variant,lr,knobs,repeats,target_loss,samples_to_target,final_loss,best\n";
  const auto known = [](double value) { return value == kNoNumber ? std::string() : csv_number(value); };
  for (std::size_t i = 0; i < sensitivity.tried.size(); ++i) {
    const Tried& tried = sensitivity.tried[i];
    text +=
        fmt::format("{},{},{},{},{},{},{},{}\n", csv_field(tried.variant), csv_number(tried.lr), csv_field(tried.knobs),
                    tried.loss.size(), sensitivity.target_loss > 0 ? csv_number(sensitivity.target_loss) : "",
                    known(tried.median_samples()), tried.diverged() ? "inf" : csv_number(tried.median_loss()),
                    sensitivity.best(tried.variant) == int(i) ? 1 : 0);
  }
  return text;
}

}  // namespace hopbench
