// The oracle for DBW's k: gradients, norms and times of arrival from the event log, and the formulas of
// docs/protocols.md by brute force.
#include <cmath>
#include <optional>

#include "tests/replay/replay.h"

namespace hopbench {
namespace {

struct Update {
  double k = 0, loss = 0, mean2 = 0, sum2 = 0;
};

struct Arrivals {
  double out = 0;
  int made_of = 0;
  std::vector<double> after{};  // the i-th gradient, s after it was out
};

class Choices {
 public:
  Choices(const Cluster& cluster, int window) : cluster_(cluster), window_(std::size_t(window)) {
    models_.assign(std::size_t(cluster.nodes), numbers_of(cluster.work->initial().share()));
    gradients_.resize(models_.size());
    losses_.resize(models_.size());
    reports_.resize(models_.size());
    versions_.push_back({.made_of = cluster.nodes});
  }

  std::string run() {
    for (const Event& event : cluster_.events) {
      if (event.what == EventKind::kFinished) break;  // from now on fewer can be waited for
      const auto r = std::size_t(event.rank);
      if (event.what == EventKind::kGradient) {
        gradients_[r] = gradient_at(cluster_, models_[r], event, false);
        losses_[r] = event.value;
      }
      if (event.what == EventKind::kReport) models_[r] = numbers_of(cluster_.reports[r][reports_[r]++].x);
      if (event.what == EventKind::kTake && event.kind == std::uint16_t(kPush)) {
        Arrivals& version = versions_[std::size_t(event.iter)];
        version.after.push_back(seconds(event) - version.out);
      }
      if (event.what == EventKind::kReduced) update(event);
      const bool publishes = event.what == EventKind::kSend && event.kind == std::uint16_t(kWeights);
      if (publishes && event.iter == Iter(versions_.size())) published(event);
      if (!wrong_.empty()) return wrong_;
    }
    return "";
  }

 private:
  static double seconds(const Event& event) { return to_seconds(event.time); }

  void update(const Event& event) {
    Update seen{.k = double(event.senders.size())};
    Numbers mean(models_[0].size(), 0.0);
    for (const int sender : event.senders) {
      const Numbers& g = gradients_[std::size_t(sender)];
      for (std::size_t i = 0; i < g.size(); ++i) mean[i] += g[i] / seen.k;
      seen.sum2 += squared_length(g);
      seen.loss += losses_[std::size_t(sender)] / seen.k;
    }
    seen.mean2 = squared_length(mean);
    updates_.push_back(seen);
  }

  /// V of the `window` updates that end with number u.
  std::optional<double> variance(std::size_t u) const {
    double scatter = 0, free = 0;
    for (std::size_t i = u + 1 - std::min(u + 1, window_); i <= u; ++i) {
      scatter += std::max(0.0, updates_[i].sum2 - updates_[i].k * updates_[i].mean2);
      free += updates_[i].k - 1;
    }
    return free > 0 ? std::optional(scatter / free) : std::nullopt;
  }

  /// T(1) .. T(n) after updates of so many gradients: the best rising fit, by its min-max formula.
  std::vector<double> times(int made_of) const {
    std::vector<double> sum(std::size_t(cluster_.nodes), 0.0), count = sum, fit = sum;
    for (const Arrivals& version : versions_) {
      for (std::size_t i = 0; version.made_of == made_of && i < version.after.size(); ++i) {
        sum[i] += version.after[i];
        count[i] += 1;
      }
    }
    for (const double times : count) {
      if (times == 0) return {};
    }
    for (std::size_t i = 0; i < fit.size(); ++i) {
      double largest = 0;
      for (std::size_t a = 0; a <= i; ++a) {
        double least = INFINITY, all = 0, weight = 0;
        for (std::size_t b = a; b < fit.size(); ++b) {
          all += sum[b];
          weight += count[b];
          if (b >= i) least = std::min(least, all / weight);
        }
        largest = std::max(largest, least);
      }
      fit[i] = largest;
    }
    return fit;
  }

  /// Returns the gain of a second of waiting for k, for each k from 1; nothing while an estimate is missing.
  std::optional<std::vector<double>> gains(int made_of) const {
    const std::size_t last = updates_.size() - 1;
    const double lr = double(cluster_.optimizer.lr);
    double missed = 0, bend = 0, slope2 = 0;
    for (std::size_t u = 0; u < last; ++u) {
      const auto v = variance(u);
      if (!v) continue;
      const Update& at = updates_[u];
      missed += lr * (at.mean2 - *v / at.k) - (at.loss - updates_[u + 1].loss);
      bend += lr * lr / 2 * at.mean2;
    }
    const auto v = variance(last);
    const std::vector<double> t = times(made_of);
    if (updates_.size() <= window_ || !v || !(missed > 0) || t.empty()) return std::nullopt;
    for (std::size_t i = updates_.size() - window_; i <= last; ++i)
      slope2 += (updates_[i].mean2 - *v / updates_[i].k) / double(window_);
    slope2 = std::max(0.0, slope2);
    const double bent = missed / bend * lr * lr / 2;
    std::vector<double> rates;
    for (std::size_t k = 1; k <= t.size(); ++k)
      rates.push_back(((lr - bent) * slope2 - bent * *v / double(k)) / t[k - 1]);
    return rates;
  }

  void published(const Event& event) {
    const int made_of = int(updates_.back().k);
    versions_.push_back({.out = seconds(event), .made_of = made_of});
    const auto rates = gains(made_of);
    int best = 0;
    for (int k = 1; rates && k <= cluster_.nodes; ++k) {
      const double rate = (*rates)[std::size_t(k - 1)];
      if (rate > 0 && (best == 0 || rate >= (*rates)[std::size_t(best - 1)])) best = k;
    }
    if (best == 0) best = cluster_.nodes;
    if (event.count == best) return;
    // A rate that is as good but for rounding is as right.
    const double is = rates ? (*rates)[std::size_t(event.count - 1)] : 0,
                 due = rates ? (*rates)[std::size_t(best - 1)] : 0;
    if (rates && std::abs(is - due) <= 1e-3 * std::abs(due)) return;
    wrong_ = "version " + std::to_string(event.iter) + ": waits for " + std::to_string(event.count) + ", and " +
             std::to_string(best) + " gains more a second";
  }

  const Cluster& cluster_;
  std::size_t window_;
  std::vector<Numbers> models_, gradients_;
  std::vector<double> losses_;
  std::vector<std::size_t> reports_;
  std::vector<Update> updates_;
  std::vector<Arrivals> versions_;
  std::string wrong_;
};

}  // namespace

std::string replayed_choices(const Cluster& cluster, int window) { return Choices(cluster, window).run(); }

}  // namespace hopbench
