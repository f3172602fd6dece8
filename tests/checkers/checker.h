// A checker holds one invariant against the event stream of a trial. The stream (results/record.h) is all it sees: it
// shares no code with the protocols, so a planted bug cannot hide in both.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "backends/base/record/event.h"
#include "backends/base/record/trial_record.h"

namespace hopbench::checkers {

using Setting = std::variant<bool, std::int64_t, double, std::string>;

/// A rank that is killed is told of twice: by a kPeerDied of the rank itself, and, of a worker, by a kFinished. So to
/// checkers that look no closer it is one that has finished.
inline bool is_death(const Event& event) { return event.what == EventKind::kPeerDied && event.rank == event.peer; }

/// Returns the factor of the step with which a gradient was applied.
inline double step_scale(const Event& applied) { return applied.value == 0 ? 1 : applied.value; }

/// A worker that is away while the others go on is told of likewise, by a kFinished. It is there again with the next
/// iteration that it enters.

/// The facts about a trial that a checker needs, as plain data: it asks neither the protocol nor its topology class.
struct CheckedRun {
  std::string protocol{};
  std::map<std::string, Setting> knobs{};
  int workers = 1, servers = 0;
  int batch = 1;                             // samples of a worker in an iteration
  std::vector<int> hosts{};                  // of each worker; empty: every one on its own
  std::vector<std::pair<int, int>> edges{};  // a -> b: a sends to b; both ways listed where undirected
  Iter iterations = 0;                       // of the stop rule; 0: credits decide
  std::set<int> leave_early{};               // workers that end before those iterations
  bool absences = false;                     // some worker is away for a while
  /// False for the merged events of real processes: nobody calls settled() there, so the checkers that need it are left
  /// out.
  bool virtual_time = true;

  bool has(const std::string& name) const { return knobs.count(name) != 0; }
  bool flag(const std::string& name) const;             // false if there is no such knob
  std::int64_t integer(const std::string& name) const;  // 0 if there is no such knob
  double real(const std::string& name) const;           // 0 if there is no such knob
  std::string text(const std::string& name) const;      // "" if there is no such knob
};

/// The numbers of the message kinds on the wire. Written out again on purpose (see above); cluster.cpp holds them
/// against those of protocols/node/node.h.
inline constexpr std::uint16_t kParamsKind = 1, kTokenKind = 2, kAckKind = 3, kPushKind = 4, kPullKind = 5,
                               kWeightsKind = 6, kReduceScatterKind = 7, kClockKind = 10, kSkipKind = 11,
                               kRequestKind = 12, kReplyKind = 13;
/// Nodes send each other these about absences.
inline constexpr std::uint16_t kAwayKind = 0xFFF0, kBackKind = 0xFFF2, kStateKind = 0xFFF4;

/// Returns true if a worker begins to average with the group whose number is the event's iteration: it takes the
/// controller's answer, or sends its slices. These go to no rank if all the others are known to be dead.
inline bool names_group(const Event& event) {
  return (event.what == EventKind::kSend && event.kind == kReduceScatterKind) ||
         (event.what == EventKind::kTake && event.kind == kReplyKind);
}

/// The workers' graph. Distances are recomputed without the workers that have finished: nobody waits for those.
class Graph {
 public:
  explicit Graph(const CheckedRun& run);
  const std::vector<int>& in(int worker) const { return in_[std::size_t(worker)]; }
  const std::vector<int>& out(int worker) const { return out_[std::size_t(worker)]; }
  int size() const { return int(in_.size()); }
  bool undirected() const;
  bool regular() const;  // all in-degrees and out-degrees alike
  /// Edges on the shortest directed path a -> b over workers that are left in; kFar if there is none.
  static constexpr std::int64_t kFar = 1'000'000;
  std::int64_t distance(int a, int b) const { return distance_[std::size_t(a)][std::size_t(b)]; }
  void remove(int worker);

 private:
  void measure();
  std::vector<std::vector<int>> in_, out_;
  std::vector<char> removed_;
  std::vector<std::vector<std::int64_t>> distance_;
};

class Checker : public Observer {
 public:
  explicit Checker(std::string name) : name_(std::move(name)) {}
  const std::string& name() const { return name_; }
  /// Called after the last event, for mistakes that only the whole stream can show.
  virtual void finish() {}
  /// Called after that with the ranks' records, in their order, for mistakes in what they count.
  virtual void hold_against(const std::vector<RankRecord>&) {}
  bool ok() const { return count_ == 0; }
  std::int64_t violation_count() const { return count_; }
  /// The first few, each "t=0.120000s rank 3: ...".
  const std::vector<std::string>& violations() const { return violations_; }
  /// Returns the number of times that the invariant was put to the test: a checker that never looked proves nothing.
  std::int64_t looked() const { return looked_; }

 protected:
  void fail(Time time, int rank, const std::string& what);
  void look() { ++looked_; }

 private:
  std::string name_;
  std::vector<std::string> violations_;
  std::int64_t count_ = 0, looked_ = 0;
};

}  // namespace hopbench::checkers
