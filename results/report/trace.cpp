#include "results/report/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "backends/base/record/event.h"
#include "results/files/event_reader.h"

namespace hopbench {
namespace {

/// Return microseconds, to the nanosecond.
std::string us(Time t) { return fmt::format("{:.3f}", double(t.time_since_epoch().count()) / 1e3); }
std::string us(Duration d) { return fmt::format("{:.3f}", double(d.count()) / 1e3); }
std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

// The state of one trial while its log is read.
class TraceWriter::Trial {
 public:
  Trial(TraceWriter& to, int pid, const TrialRow& row) : to_(to), pid_(pid) {
    to_.event(
        fmt::format(R"("ph":"M","name":"process_name","pid":{},"args":{{"name":{}}})", pid_, quoted(row.record.id)));
    for (const RankRecord& rank : row.record.ranks) {
      to_.event(fmt::format(R"("ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":"{} {}"}})", pid_,
                            rank.rank, rank.server ? "server" : "rank", rank.rank));
      if (!rank.server) enter(rank.rank, -1);
    }
  }

  void on(const LoggedEvent& logged) {
    const Event& e = logged.event;
    switch (e.what) {
      case EventKind::kGradient:
        slice("gradient", e,
              fmt::format(R"("iteration":{},"samples":{},"slowdown_us":{})", e.iter, e.count, us(e.delay)));
        return counter("samples", e, double(e.count));
      case EventKind::kWait:
        return slice("wait: " + logged.text, e, fmt::format(R"("iteration":{})", e.iter));
      case EventKind::kEnter:
        enter(e.rank, e.iter);
        return counter("gap", e, double(e.iter - slowest()));
      case EventKind::kReduced:
        return average(e);
      case EventKind::kFinished:
        leave(e.rank);
        return instant("finished", e);
      case EventKind::kLost:
        return instant("lost gradient: " + logged.text, e);
      case EventKind::kPeerDied:
        return instant(fmt::format("rank {} died", e.peer), e);
      case EventKind::kFault:
        if (e.since != Time{} && e.since < e.time) return slice(logged.text, e, "");
        return instant(logged.text, e);
      default:
        return message(logged);
    }
  }

 private:
  void message(const LoggedEvent& logged) {
    const Event& e = logged.event;
    const std::string name = logged.text.empty() ? fmt::format("kind {}", e.kind) : logged.text;
    if (e.what == EventKind::kSend) {
      under_way_[{e.rank, e.peer}].push_back(++to_.flows_);
      flow("s", name, e, to_.flows_);
    } else if (e.what == EventKind::kDeliver || e.what == EventKind::kDrop) {
      arrived(name, e);
    } else if (e.what == EventKind::kTake) {
      counter("mailbox", e, double(--mailbox_[e.rank]));
    }
  }

  // A pair's messages stay in order, so its oldest message under way is the one that arrives. A message that is dropped
  // from a mailbox had arrived before.
  void arrived(const std::string& name, const Event& e) {
    std::deque<std::int64_t>& flows = under_way_[{e.peer, e.rank}];
    if (e.what == EventKind::kDeliver) {
      counter("mailbox", e, double(++mailbox_[e.rank]));
    } else if (e.since == Time{}) {
      return counter("mailbox", e, double(--mailbox_[e.rank]));
    }
    if (flows.empty()) return;
    flow("f", name, e, flows.front());
    flows.pop_front();
  }

  void average(const Event& e) {
    Iter oldest = e.iter;
    for (const Iter tag : e.tags) oldest = std::min(oldest, tag);
    instant(fmt::format("average of {}", e.senders.size()), e);
    counter("staleness", e, double(e.iter - oldest));
  }

  void enter(int rank, Iter iter) {
    leave(rank);
    entered_[rank] = iter;
    ++working_[iter];
  }

  void leave(int rank) {
    const auto was = entered_.find(rank);
    if (was == entered_.end()) return;
    const auto there = working_.find(was->second);
    if (--there->second == 0) working_.erase(there);
    entered_.erase(was);
  }

  Iter slowest() const {
    return working_.empty() ? std::numeric_limits<Iter>::max() : std::max<Iter>(0, working_.begin()->first);
  }

  void slice(const std::string& name, const Event& e, const std::string& args) {
    to_.event(fmt::format(R"("ph":"X","name":{},"pid":{},"tid":{},"ts":{},"dur":{},"args":{{{}}})", quoted(name), pid_,
                          e.rank, us(e.since), us(e.time - e.since), args));
  }
  void instant(const std::string& name, const Event& e) {
    to_.event(
        fmt::format(R"("ph":"i","s":"t","name":{},"pid":{},"tid":{},"ts":{})", quoted(name), pid_, e.rank, us(e.time)));
  }
  void counter(const std::string& name, const Event& e, double value) {
    to_.event(fmt::format(R"("ph":"C","name":"{}, rank {}","pid":{},"ts":{},"args":{{"{}":{}}})", name, e.rank, pid_,
                          us(e.time), name, value));
  }
  // An arrow starts and ends in slices, so a message gets one of no length at either end.
  void flow(const char* phase, const std::string& name, const Event& e, std::int64_t id) {
    to_.event(fmt::format(R"("ph":"X","name":{},"pid":{},"tid":{},"ts":{},"dur":0)",
                          quoted((*phase == 's' ? "send " : "receive ") + name), pid_, e.rank, us(e.time)));
    to_.event(fmt::format(R"("ph":"{}","cat":"message","name":"message","id":{},"pid":{},"tid":{},"ts":{}{})", phase,
                          id, pid_, e.rank, us(e.time), *phase == 'f' ? R"(,"bp":"e")" : ""));
  }

  TraceWriter& to_;
  int pid_;
  std::map<int, Iter> entered_;  // workers that have not finished
  std::map<Iter, int> working_;  // the number of them in each iteration
  std::map<std::pair<int, int>, std::deque<std::int64_t>> under_way_;
  std::map<int, int> mailbox_;
};

TraceWriter::TraceWriter(std::function<void(const std::string&)> put) : put_(std::move(put)) {
  put_("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
}

void TraceWriter::event(const std::string& fields) {
  put_((first_ ? "{" : ",\n{") + fields + "}");
  first_ = false;
}

std::string TraceWriter::add(const RunFolder& run, const TrialRow& row) {
  EventReader reader(find_event_log(run, row.record.id), row);
  LogEnds ends(row.record);
  Trial trial(*this, ++trials_, row);
  while (const std::optional<LoggedEvent> logged = reader.next()) {
    trial.on(*logged);
    ends.on(logged->event);
  }
  return ends.flaw();
}

void TraceWriter::finish() { put_("\n]}\n"); }

}  // namespace hopbench
