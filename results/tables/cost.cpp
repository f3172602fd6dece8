#include "results/tables/cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "results/arithmetic/curve.h"
#include "results/tables/summary_parts.h"
#include "results/tables/terms.h"

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

TableRow cost_row(const Variant& variant) {
  const auto trials = variant.ok();
  if (trials.empty()) return {variant.name, count_cell(variant), "-", "-", "-", "-"};
  std::vector<double> cost, bytes;
  for (const TrialRow* row : trials) {
    double sent = 0;
    for (const RankRecord& rank : row->record.ranks) sent += double(rank.bytes_sent);
    cost.push_back(host_seconds(*row));
    bytes.push_back(sent / samples_of(row->record));
  }
  const bool never = std::any_of(cost.begin(), cost.end(), [](double s) { return std::isinf(s); });
  const Number seconds = median_of(cost);
  return {variant.name,
          count_cell(variant),
          {Number{double(hosts_in(trials[0]->record)), int(trials.size())}, kCountNumber},
          {never ? "not reached" : text_of(seconds), seconds},
          {median_of(bytes), kPlainNumber},
          links_text(trials)};
}

Table cost_table(const Group& group) {
  const char* const seconds = group.is_convergence() ? "host-s to target" : "host-s a million samples";
  Table table{.title = group.title() + ": cost",
              .columns = {"variant",
                          "n",
                          "hosts",
                          {seconds, seconds, "s"},
                          {"bytes a sample", "bytes a sample", "bytes"},
                          "bytes a sample between hosts"},
              .caption = group.in_words() + ": cost",
              .narrow = {"variant", seconds, "bytes a sample"}};
  for (const Variant& variant : group.variants) table.rows.push_back(cost_row(variant));
  table.note("hosts: those of workers and servers, each taken for the whole time; a link: both ways together");
  return table;
}

/// Returns the number of samples in gradients that were not lost.
double counted(const RankRecord& rank) {
  if (rank.gradients == 0) return 0;
  return double(rank.samples) * double(rank.gradients - rank.gradients_lost) / double(rank.gradients);
}

bool crashed(const RankRecord& rank) { return rank.lost == "crash"; }

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// A part of what a worker pays in a trial in which all ranks together counted `all` samples. NaN: not known.
struct Payment {
  const char* column;
  double (*of)(const RankRecord& rank, double all);
  Format format;
};
constexpr Payment kPayments[] = {
    {"share of samples", [](const RankRecord& rank, double all) { return all > 0 ? counted(rank) / all : kUnknown; },
     kShareNumber},
    {"gradients lost", [](const RankRecord& rank, double) { return double(rank.gradients_lost) + gradients_cut(rank); },
     kPlainNumber},
    {"mean age", [](const RankRecord& rank, double) { return rank.staleness_mean; }, kPlainNumber},
    {"loss on its own",
     [](const RankRecord& rank, double) {
       const auto own = rank.figures.find("loss on its own samples");
       if (own == rank.figures.end()) return kUnknown;
       return std::isfinite(own->second) ? own->second : std::numeric_limits<double>::infinity();
     },
     {[](double loss) { return std::isinf(loss) ? std::string("diverged") : number_text(loss); }}}};

/// A trial and the samples that its ranks counted together.
using Counted = std::pair<const TrialRow*, double>;

/// Returns the median over the trials in which the worker did not crash.
Number paid_by(const std::vector<Counted>& trials, std::size_t worker, const Payment& payment) {
  std::vector<double> values;
  for (const auto& [row, all] : trials) {
    const RankRecord& rank = row->record.ranks[worker];
    const double value = crashed(rank) ? kUnknown : payment.of(rank, all);
    if (!std::isnan(value)) values.push_back(value);
  }
  return median_of(values);
}

/// Returns "4.0 % / 6.2 % / 8.1 %": least, median and most of the workers for which the value is known.
Cell payment_cell(const std::vector<Number>& workers, const Payment& payment) {
  std::vector<double> known;
  for (const Number& worker : workers) {
    if (worker.n > 0) known.push_back(worker.value);
  }
  if (known.empty()) return {Number{}, kPlainNumber};
  const Number number = median_of(known);
  const auto [least, most] = number.range.value_or(Interval{number.value, number.value});
  const auto text = payment.format.text;
  if (text(least) == text(most)) return {text(least), number};
  return {fmt::format("{} / {} / {}", text(least), text(number.value), text(most)), number};
}

void add_payers(Table& table, const Variant& variant, PayersShown shown) {
  std::vector<Counted> trials;
  for (const TrialRow* row : variant.ok()) {
    Counted& trial = trials.emplace_back(row, 0);
    for (const RankRecord& rank : row->record.ranks) trial.second += counted(rank);
  }
  std::vector<std::size_t> workers;
  const std::vector<RankRecord>& ranks = trials.front().first->record.ranks;
  for (std::size_t w = 0; w < ranks.size(); ++w) {
    if (!ranks[w].server) workers.push_back(w);
  }
  const bool each = shown == PayersShown::kEachWorker;
  const std::size_t first = table.rows.size();
  table.rows.resize(first + (each ? workers.size() : 1));
  for (std::size_t i = 0; first + i < table.rows.size(); ++i)
    table.rows[first + i].emplace_back(each ? fmt::format("{}, worker {}", variant.name, workers[i]) : variant.name);
  for (const Payment& payment : kPayments) {
    std::vector<Number> paid;
    for (const std::size_t worker : workers) {
      paid.push_back(paid_by(trials, worker, payment));
      if (paid.back().n > 0 && paid.back().value != 0) std::erase(table.idle, payment.column);
      if (each) table.rows[first + paid.size() - 1].push_back(payment_cell({paid.back()}, payment));
    }
    if (!each) table.rows[first].push_back(payment_cell(paid, payment));
  }
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
  const std::string& split = group.labels().split;
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

std::vector<Table> cost_tables(std::span<const TrialRow> rows) {
  std::vector<Table> tables;
  for (const Group& group : groups_of(rows, "")) tables.push_back(cost_table(group));
  return tables;
}

std::vector<Table> who_pays_tables(std::span<const TrialRow> rows, PayersShown shown) {
  std::vector<Table> tables;
  const bool each = shown == PayersShown::kEachWorker;
  const char* const first = each ? "worker" : "variant";
  for (const Group& group : groups_of(rows, "")) {
    Table table{.title = group.title() + ": who pays",
                .columns = {first},
                .caption = group.in_words() + ": who pays",
                .narrow = {first, "share of samples", "loss on its own"},
                .idle = {"gradients lost", "mean age", "loss on its own"}};
    for (const Payment& payment : kPayments) table.columns.push_back(listed(payment.column));
    for (const Variant& variant : group.variants) {
      const auto trials = variant.ok();
      if (!trials.empty() && (is_skewed(group) || uneven(trials))) add_payers(table, variant, shown);
    }
    if (!each) table.note("a / b / c: the worker with the least, the median worker, the one with the most");
    table.note("variants whose workers count alike are left out, unless data are skewed");
    table.note(
        "share: of the samples in gradients that were not lost; lost: with those that were cut short and thrown away; "
        "age: of what the worker averaged; loss: of the final mean model, only where data are skewed and time is "
        "virtual");
    if (const std::string note = crash_note(group); !note.empty()) table.note(note);
    if (!table.rows.empty()) tables.push_back(std::move(table));
  }
  return tables;
}

std::vector<Table> skewed_who_pays(std::span<const TrialRow> rows) {
  std::vector<TrialRow> skewed;
  for (const TrialRow& row : rows) {
    if (!row.labels.split.empty() && row.labels.split != "iid") skewed.push_back(row);
  }
  return who_pays_tables(skewed, PayersShown::kSpread);
}

}  // namespace hopbench
