#include "suites/critical_path.h"

#include <algorithm>

namespace hopbench {

void CriticalPath::on(const Event& event) {
  Rank& rank = ranks_[std::size_t(event.rank)];
  switch (event.what) {
    case EventKind::kGradient:
    case EventKind::kOperated:
      rank.works.push_back({event.since, event.time, event.what == EventKind::kGradient, event.delay});
      break;
    case EventKind::kWait:
      rank.waits.push_back({event.since, event.time, event.text});
      break;
    case EventKind::kDeliver:
      rank.deliveries.push_back({event.time, event.since, event.peer});
      break;
    default:
      break;
  }
}

// Backwards from (rank, time). Of every rank it uses each piece of work, wait and delivery once, the later ones first,
// so that it ends even where messages take no time.
class CriticalPath::Walk {
 public:
  Walk(const std::vector<Rank>& ranks, int rank, Time end, Time from)
      : ranks_(ranks), rank_(rank), time_(end), from_(from) {
    for (const Rank& each : ranks) left_.push_back({each.works.size(), each.waits.size(), each.deliveries.size()});
  }

  std::map<std::string, Duration> run() && {
    while (time_ > from_) step();
    return std::move(parts_);
  }

 private:
  struct Left {
    std::size_t works, waits, deliveries;
  };

  void step() {
    const Work* work = last_work();
    const Wait* wait = last_wait();
    const Delivery* came = last_delivery();
    const bool waited = wait != nullptr && wait->end >= time_;
    const bool came_now = came != nullptr && came->at == time_, worked = work != nullptr && work->end == time_;
    const bool computing = work != nullptr && work->end > time_;
    if (waited && came_now) return follow(*came, wait->why);
    if (worked) return take(*work);
    if (computing && came_now && !waited) return follow(*came, "an answer");
    if (computing && !waited) return take(*work);
    if (waited) return spend(std::string("waiting, ") + wait->why, wait->begin);
    // What the body did takes no time, or is not told: on to what was before it.
    Time last{};
    if (wait != nullptr) last = std::max(last, wait->end);
    if (work != nullptr) last = std::max(last, work->end);
    spend("other", last);
  }

  /// The last one that began before now.
  const Work* last_work() {
    const std::vector<Work>& all = here().works;
    while (left().works > 0 && all[left().works - 1].begin >= time_) --left().works;
    return left().works > 0 ? &all[left().works - 1] : nullptr;
  }

  const Wait* last_wait() {
    const std::vector<Wait>& all = here().waits;
    while (left().waits > 0 && all[left().waits - 1].begin >= time_) --left().waits;
    return left().waits > 0 ? &all[left().waits - 1] : nullptr;
  }

  /// The last that came until now.
  const Delivery* last_delivery() {
    const std::vector<Delivery>& all = here().deliveries;
    while (left().deliveries > 0 && all[left().deliveries - 1].at > time_) --left().deliveries;
    return left().deliveries > 0 ? &all[left().deliveries - 1] : nullptr;
  }

  /// The work up to now; a gradient's pieces leave layer by layer, so that now may be within it.
  void take(const Work& work) {
    if (!work.gradient) return spend("vector operations", work.begin);
    const Duration whole = work.end - work.begin, done = time_ - work.begin;
    const Duration delay = scaled(work.delay, double(done.count()) / double(whole.count()));
    if (delay > Duration{}) spend("slowdown, rank " + std::to_string(rank_), time_ - delay);
    spend("compute", work.begin);
  }

  void follow(const Delivery& came, const char* reason) {
    --left().deliveries;
    spend(std::string("messages, ") + reason, came.sent);
    rank_ = came.from;
  }

  void spend(const std::string& part, Time since) {
    since = std::max(since, from_);
    if (time_ > since) parts_[part] += time_ - since;
    time_ = std::min(time_, since);
  }

  const Rank& here() const { return ranks_[std::size_t(rank_)]; }
  Left& left() { return left_[std::size_t(rank_)]; }

  const std::vector<Rank>& ranks_;
  int rank_;
  Time time_, from_;
  std::vector<Left> left_;
  std::map<std::string, Duration> parts_;
};

std::map<std::string, Duration> CriticalPath::to(int rank, Time end, Time from) const {
  return Walk(ranks_, rank, end, from).run();
}

}  // namespace hopbench
