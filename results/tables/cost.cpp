#include "results/tables/cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "results/arithmetic/curve.h"
#include "results/tables/summary_parts.h"

namespace hopbench {
namespace {

constexpr std::size_t kLinksShown = 4;
constexpr double kMillion = 1e6;

using HostLink = std::pair<int, int>;

int hosts_in(const TrialRecord& record) {
  int most = -1;
  for (const RankRecord& rank : record.ranks) most = std::max(most, rank.host);
  return most + 1;
}

/// Returns the seconds for which the trial took its hosts: until the target, or for a million samples. NaN: not known;
/// infinity: it never reached the target.
double host_seconds(const TrialRow& row) {
  const TrialRecord& record = row.record;
  const int hosts = hosts_in(record);
  if (hosts == 0) return std::nan("");
  if (row.labels.what == "convergence") {
    if (row.labels.target_loss <= 0) return std::nan("");
    return target_reached(row).time_s.fitted.value_or(std::numeric_limits<double>::infinity()) * hosts;
  }
  return record.samples_per_s > 0 ? kMillion / record.samples_per_s * hosts : std::nan("");
}

double samples_of(const TrialRecord& record) {
  double sum = 0;
  for (const RankRecord& rank : record.ranks) sum += double(rank.samples);
  return sum;
}

/// Returns the bytes a sample over each link between two hosts, both ways together.
std::map<HostLink, double> links_of(const TrialRecord& record) {
  std::map<HostLink, double> links;
  const double samples = samples_of(record);
  for (const RankRecord& rank : record.ranks) {
    for (std::size_t to = 0; to < rank.bytes_to.size(); ++to) {
      if (int(to) == rank.host || rank.bytes_to[to] == 0 || samples == 0) continue;
      links[std::minmax(rank.host, int(to))] += double(rank.bytes_to[to]) / samples;
    }
  }
  return links;
}

std::string links_text(const std::vector<const TrialRow*>& trials) {
  std::map<HostLink, std::vector<double>> all;
  for (const TrialRow* row : trials) {
    for (const auto& [link, bytes] : links_of(row->record)) all[link].push_back(bytes);
  }
  std::vector<std::pair<double, HostLink>> by_bytes;
  for (auto& [link, bytes] : all) {
    bytes.resize(trials.size());  // 0 in the other trials
    by_bytes.emplace_back(median(bytes), link);
  }
  std::stable_sort(by_bytes.begin(), by_bytes.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text;
  for (std::size_t i = 0; i < std::min(by_bytes.size(), kLinksShown); ++i) {
    const auto& [bytes, link] = by_bytes[i];
    text += fmt::format("{}{}-{}: {}", text.empty() ? "" : ", ", link.first, link.second, number_text(bytes));
  }
  if (by_bytes.size() > kLinksShown) text += fmt::format(", {} more", by_bytes.size() - kLinksShown);
  return text.empty() ? "-" : text;
}

Grid cost_grid(const Group& group) {
  Grid grid;
  grid.title = group.title + ": cost";
  const std::string seconds = group.is_convergence() ? "host-s to target" : "host-s a million samples";
  grid.rows.push_back({"variant", "n", "hosts", seconds, "bytes a sample", "bytes a sample between hosts"});
  for (const Variant& variant : group.variants) {
    const auto trials = variant.ok();
    if (trials.empty()) {
      grid.rows.push_back({variant.name, count_text(variant), "-", "-", "-", "-"});
      continue;
    }
    std::vector<double> cost, bytes;
    for (const TrialRow* row : trials) {
      double sent = 0;
      for (const RankRecord& rank : row->record.ranks) sent += double(rank.bytes_sent);
      cost.push_back(host_seconds(*row));
      bytes.push_back(sent / samples_of(row->record));
    }
    const bool never = std::any_of(cost.begin(), cost.end(), [](double s) { return std::isinf(s); });
    grid.rows.push_back({variant.name, count_text(variant), fmt::format("{}", hosts_in(trials[0]->record)),
                         never ? "not reached" : median_text(cost), median_text(bytes), links_text(trials)});
  }
  grid.narrow = {"variant", column_name(seconds), "bytes a sample"};
  grid.notes = {"hosts: those of workers and servers, each taken for the whole time; a link: both ways together"};
  return grid;
}

/// Returns the number of samples in gradients that were not lost.
double counted(const RankRecord& rank) {
  if (rank.gradients == 0) return 0;
  return double(rank.samples) * double(rank.gradients - rank.gradients_lost) / double(rank.gradients);
}

bool crashed(const RankRecord& rank) { return rank.lost == "crash"; }

/// The cost to one worker, medians over the repeats. NaN: not known. An infinite loss: it diverged.
struct Paid {
  double share = 0, lost = 0, age = 0, loss = 0;
};

/// A trial and the samples that its ranks counted together.
struct Counted {
  const TrialRow* row;
  double all;
};
std::vector<Counted> counted_of(const Variant& variant) {
  std::vector<Counted> trials;
  for (const TrialRow* row : variant.ok()) {
    double all = 0;
    for (const RankRecord& rank : row->record.ranks) all += counted(rank);
    trials.push_back({row, all});
  }
  return trials;
}

Paid paid_by(const std::vector<Counted>& trials, std::size_t worker) {
  std::vector<double> share, lost, age, loss;
  for (const auto& [row, all] : trials) {
    const RankRecord& rank = row->record.ranks[worker];
    if (crashed(rank)) continue;  // not known, which is not 0
    share.push_back(all > 0 ? counted(rank) / all : std::nan(""));
    lost.push_back(double(rank.gradients_lost) + gradients_cut(rank));
    age.push_back(rank.staleness_mean);
    const auto own = rank.figures.find("loss on its own samples");
    if (own == rank.figures.end()) continue;
    loss.push_back(std::isfinite(own->second) ? own->second : std::numeric_limits<double>::infinity());
  }
  return {median(share), median(lost), median(age), median(loss)};
}

std::string share_text(double share) { return std::isnan(share) ? "-" : percent_text(share); }
std::string plain_text(double value) { return number_text(value); }
std::string loss_text(double loss) { return std::isinf(loss) ? "diverged" : number_text(loss); }

/// Returns "4.0 % / 6.2 % / 8.1 %": least, median and most of the workers for which the value is known.
std::string workers_text(const std::vector<Paid>& workers, double Paid::*what, std::string (*text)(double)) {
  std::vector<double> known;
  for (const Paid& paid : workers) {
    if (!std::isnan(paid.*what)) known.push_back(paid.*what);
  }
  if (known.empty()) return "-";
  const auto [least, most] = std::minmax_element(known.begin(), known.end());
  if (text(*least) == text(*most)) return text(*least);
  return fmt::format("{} / {} / {}", text(*least), text(median(known)), text(*most));
}

void add_payers(Grid& grid, const Variant& variant, PayersShown shown) {
  const std::vector<Counted> counts = counted_of(variant);
  const TrialRecord& any = counts.front().row->record;
  std::vector<Paid> workers;
  for (std::size_t w = 0; w < any.ranks.size(); ++w) {
    if (any.ranks[w].server) continue;
    workers.push_back(paid_by(counts, w));
    const Paid& paid = workers.back();
    if (paid.lost > 0) std::erase(grid.idle, "gradients lost");
    if (std::abs(paid.age) > 0) std::erase(grid.idle, "mean age");
    if (!std::isnan(paid.loss)) std::erase(grid.idle, "loss on its own");
    if (shown == PayersShown::kEachWorker) {
      grid.rows.push_back({fmt::format("{}, worker {}", variant.name, w), share_text(paid.share), plain_text(paid.lost),
                           plain_text(paid.age), loss_text(paid.loss)});
    }
  }
  if (shown == PayersShown::kEachWorker) return;
  grid.rows.push_back({variant.name, workers_text(workers, &Paid::share, share_text),
                       workers_text(workers, &Paid::lost, plain_text), workers_text(workers, &Paid::age, plain_text),
                       workers_text(workers, &Paid::loss, loss_text)});
}

/// Returns "what rank 3 had done died with it" about all ranks that crashed in a trial of the group; "" if none did.
std::string crash_note(const Group& group) {
  std::set<int> ranks;
  for (const TrialRow* row : group.trials()) {
    for (const RankRecord& rank : row->record.ranks) {
      if (crashed(rank) && row->record.status == TrialStatus::kOk) ranks.insert(rank.rank);
    }
  }
  if (ranks.empty()) return "";
  return fmt::format("what rank {} had done died with {}: shares are of what the others did", fmt::join(ranks, ", "),
                     ranks.size() == 1 ? "it" : "them");
}

bool is_skewed(const Group& group) {
  const std::string& split = group.variants.front().trials.front()->labels.split;
  return !split.empty() && split != "iid";
}

/// Returns true if in some trial a worker's part is less than 95 % of another's.
bool uneven(const std::vector<const TrialRow*>& trials) {
  return std::any_of(trials.begin(), trials.end(), [](const TrialRow* row) {
    double least = std::numeric_limits<double>::infinity(), most = 0;
    for (const RankRecord& rank : row->record.ranks) {
      if (rank.server) continue;
      least = std::min(least, counted(rank));
      most = std::max(most, counted(rank));
    }
    return least < 0.95 * most;
  });
}

}  // namespace

double gradients_cut(const RankRecord& rank) {
  const auto cut = rank.figures.find("gradients cut");
  return cut == rank.figures.end() ? 0 : cut->second;
}

std::vector<Grid> cost_grids(std::span<const TrialRow> rows) {
  std::vector<Grid> grids;
  for (const Group& group : groups_of(rows, "")) grids.push_back(cost_grid(group));
  return grids;
}

std::vector<Grid> who_pays_grids(std::span<const TrialRow> rows, PayersShown shown) {
  std::vector<Grid> grids;
  for (const Group& group : groups_of(rows, "")) {
    Grid grid;
    grid.title = group.title + ": who pays";
    const bool each = shown == PayersShown::kEachWorker;
    grid.rows.push_back(
        {each ? "worker" : "variant", "share of samples", "gradients lost", "mean age, iterations", "loss on its own"});
    grid.narrow = {grid.rows[0][0], "share of samples", "loss on its own"};
    grid.idle = {"gradients lost", "mean age", "loss on its own"};
    for (const Variant& variant : group.variants) {
      const auto trials = variant.ok();
      if (!trials.empty() && (is_skewed(group) || uneven(trials))) add_payers(grid, variant, shown);
    }
    if (!each)
      grid.notes.emplace_back("a / b / c: the worker with the least, the median worker, the one with the most");
    grid.notes.emplace_back("variants whose workers count alike are left out, unless data are skewed");
    grid.notes.emplace_back(
        "share: of the samples in gradients that were not lost; lost: with those that were cut short and thrown away; "
        "age: of what the worker averaged; loss: of the final mean model, only where data are skewed and time is "
        "virtual");
    if (const std::string note = crash_note(group); !note.empty()) grid.notes.push_back(note);
    if (grid.rows.size() > 1) grids.push_back(std::move(grid));
  }
  return grids;
}

std::vector<Grid> skewed_who_pays(std::span<const TrialRow> rows) {
  std::vector<TrialRow> skewed;
  for (const TrialRow& row : rows) {
    if (!row.labels.split.empty() && row.labels.split != "iid") skewed.push_back(row);
  }
  return who_pays_grids(skewed, PayersShown::kSpread);
}

}  // namespace hopbench
