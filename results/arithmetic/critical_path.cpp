#include "results/arithmetic/critical_path.h"

#include <algorithm>
#include <optional>

#include "backends/base/record/event.h"

namespace hopbench {
namespace {

constexpr const char* kSlowdown = "slowdown, rank ";

std::int64_t ns(Time time) { return time.time_since_epoch().count(); }
Time time_of(std::int64_t ns) { return Time{Duration{ns}}; }

}  // namespace

std::string slowdown_of(int rank) { return kSlowdown + std::to_string(rank); }
bool is_slowdown(std::string_view use) { return use.starts_with(kSlowdown); }

std::int64_t CriticalPath::place_of(const char* reason) {
  const auto known = std::find(reasons_.begin(), reasons_.end(), reason);
  if (known == reasons_.end()) return reasons_.push_back(reason), std::int64_t(reasons_.size()) - 1;
  return known - reasons_.begin();
}

void CriticalPath::on(const Event& event) {
  Rank& rank = ranks_[std::size_t(event.rank)];
  const std::int64_t now = ns(event.time), since = ns(event.since);
  switch (event.what) {
    case EventKind::kGradient:
      rank.works.push({since, now - since, 2 * event.delay.count() + 1});
      break;
    case EventKind::kOperated:
      rank.works.push({since, now - since, 0});
      break;
    case EventKind::kWait:
      rank.waits.push({now, now - since, place_of(event.text)});
      break;
    case EventKind::kDeliver:
      rank.deliveries.push({now, now - since, event.peer});
      break;
    default:
      break;
  }
}

// A walk backwards from (rank, time). It uses each piece of work, wait and delivery of a rank once, the later ones
// first, so that it ends even if messages take no time.
class CriticalPath::Walk {
 public:
  Walk(const CriticalPath& path, int rank, Time end, Time from)
      : reasons_(path.reasons_), number_of_(path.number_of_), rank_(rank), time_(end), from_(from) {
    for (const Rank& each : path.ranks_)
      left_.push_back({Trail::Reader(each.works), Trail::Reader(each.waits), Trail::Reader(each.deliveries)});
  }

  std::map<std::string, Duration> run() && {
    while (time_ > from_) step();
    return std::move(parts_);
  }

 private:
  struct Work {  // a gradient or a vector operation
    Time begin{}, end{};
    bool gradient = false;
    Duration delay{};  // of a gradient: what a slowdown added
  };
  struct Wait {  // of the body
    Time begin{}, end{};
    const char* why = "";
  };
  struct Delivery {
    Time at{}, sent{};
    int from = 0;
  };
  struct Left {
    Trail::Reader works, waits, deliveries;
  };

  void step() {
    const std::optional<Work> work = last_work();
    const std::optional<Wait> wait = last_wait();
    const std::optional<Delivery> came = last_delivery();
    const bool waited = wait && wait->end >= time_;
    const bool came_now = came && came->at == time_, worked = work && work->end == time_;
    const bool computing = work && work->end > time_;
    if (waited && came_now) return follow(*came, wait->why);
    if (worked) return take(*work);
    if (computing && came_now && !waited) return follow(*came, "an answer");
    if (computing && !waited) return take(*work);
    if (waited) return spend(std::string("waiting, ") + wait->why, wait->begin);
    // The body's last action takes no time, or is not recorded. Go on with what was before it.
    Time last{};
    if (wait) last = std::max(last, wait->end);
    if (work) last = std::max(last, work->end);
    spend("other", last);
  }

  /// Returns the last work that began before now.
  std::optional<Work> last_work() {
    Trail::Reader& all = left().works;
    while (!all.empty() && time_of(all.last()[0]) >= time_) all.pop();
    if (all.empty()) return std::nullopt;
    const auto [begin, length, delay] = all.last();
    return Work{time_of(begin), time_of(begin + length), delay != 0, Duration(delay / 2)};
  }

  std::optional<Wait> last_wait() {
    Trail::Reader& all = left().waits;
    while (!all.empty() && time_of(all.last()[0] - all.last()[1]) >= time_) all.pop();
    if (all.empty()) return std::nullopt;
    const auto [end, length, reason] = all.last();
    return Wait{time_of(end - length), time_of(end), reasons_[std::size_t(reason)]};
  }

  /// Returns the last delivery that came until now.
  std::optional<Delivery> last_delivery() {
    Trail::Reader& all = left().deliveries;
    while (!all.empty() && time_of(all.last()[0]) > time_) all.pop();
    if (all.empty()) return std::nullopt;
    const auto [at, under_way, from] = all.last();
    return Delivery{time_of(at), time_of(at - under_way), int(from)};
  }

  /// Takes the work up to now. A gradient's pieces leave layer by layer, so that now may be within the gradient.
  void take(const Work& work) {
    if (!work.gradient) return spend("vector operations", work.begin);
    const Duration whole = work.end - work.begin, done = time_ - work.begin;
    const Duration delay = scaled(work.delay, double(done.count()) / double(whole.count()));
    if (delay > Duration{}) spend(slowdown_of(number_of_ ? number_of_(rank_) : rank_), time_ - delay);
    spend("compute", work.begin);
  }

  void follow(const Delivery& came, const char* reason) {
    left().deliveries.pop();
    spend(std::string("messages, ") + reason, came.sent);
    rank_ = came.from;
  }

  void spend(const std::string& part, Time since) {
    since = std::max(since, from_);
    if (time_ > since) parts_[part] += time_ - since;
    time_ = std::min(time_, since);
  }

  Left& left() { return left_[std::size_t(rank_)]; }

  const std::vector<const char*>& reasons_;
  const std::function<int(int)>& number_of_;
  int rank_;
  Time time_, from_;
  std::vector<Left> left_;
  std::map<std::string, Duration> parts_;
};

std::map<std::string, Duration> CriticalPath::to(int rank, Time end, Time from) const {
  return Walk(*this, rank, end, from).run();
}

}  // namespace hopbench
