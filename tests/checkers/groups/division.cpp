// Prague, smart: what a division is. A worker that asks and is in no group that it has not been given has all others of
// that kind divided, but for those that have left, and those that have asked over `slow_threshold` times less than it:
//   - into disjoint groups of group_size to 2 group_size - 1, or one where fewer are idle;
//   - with inter_intra and several hosts, one of which has two: of each host all but one, its head, so, then all heads
//     so, then each host together, without those over `slow_threshold` behind the fastest of it.
// Heads are drawn: that a worker is never one of several is as unlikely as (1 - 1/m) for each division in which m of
// its host are idle. Less than 1e-9 is no accident.
//
// Groups are numbered as they are made, but told one by one, later. So the divisions are played along at the end, when
// it is known who was in which group. Of one that is told once the generator knows of a death it is not known: it may
// have had the dead in it. From the first division on that made such a group nothing is asked, but that the dead are in
// none that is told after the generator has heard of it, unless it was told to others before.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class Division : public Checker {
 public:
  explicit Division(const CheckedRun& run)
      : Checker("division"),
        generator_(run.workers),
        size_(std::size_t(run.integer("group_size"))),
        threshold_(run.integer("slow_threshold")),
        two_levels_(run.flag("inter_intra")),
        workers_(std::size_t(run.workers)) {
    for (std::size_t w = 0; w < workers_.size(); ++w) workers_[w].host = run.hosts.empty() ? int(w) : run.hosts[w];
  }

  void on(const Event& event) override {
    if (event.rank != generator_) return;
    if (event.what == EventKind::kPeerDied) return dies(event);
    const bool asks = event.what == EventKind::kTake && event.kind == kRequestKind && dead_.count(event.peer) == 0;
    const bool tells = event.what == EventKind::kSend && event.kind == kReplyKind && event.iter >= 0;
    if (!asks && !tells) return;
    log_.push_back({event.time, event.peer, asks, asks && event.count != 0});
    if (!tells) return;
    const bool fresh = groups_[event.iter].empty();
    groups_[event.iter].insert(event.peer);
    named_[event.iter] = std::uint64_t(event.count);
    if (dead_.empty()) return;
    unknown_ = std::min(unknown_, event.iter);
    for (const int w : dead_) {
      if (fresh && names(event.iter, w)) fail(event.time, w, "is dead and in group " + std::to_string(event.iter));
    }
  }

  void finish() override {
    for (const Said& said : log_) {
      Worker& worker = workers_[std::size_t(said.worker)];
      if (said.leaves) worker.left = true;
      if (!said.asks) --worker.waiting;
      if (!said.asks || said.leaves) continue;
      ++worker.asked;
      if (worker.waiting == 0 && !divide(said)) return;
    }
    if (dead_.empty() && next_ != Iter(groups_.size()))
      fail(Time{}, generator_, "made groups that no division is to make");
    for (std::size_t w = 0; w < workers_.size(); ++w) {
      if (!workers_[w].headed && workers_[w].log_chance < std::log(1e-9))
        fail(Time{}, int(w), "is never the head of its host");
    }
  }

 private:
  using Members = std::set<int>;
  static constexpr int kInFirstWord = 64;  // workers that an event names
  struct Said {
    Time time;
    int worker;
    bool asks, leaves;  // or is told
  };
  struct Worker {
    int host = 0;
    Iter asked = 0;
    int waiting = 0;  // groups it is in and has not been given
    bool left = false, headed = false;
    double log_chance = 0;  // that it was never a head
  };

  bool names(Iter group, int w) const { return w < kInFirstWord && (named_.at(group) >> w & 1) != 0; }

  /// To the divisions it is as one that leaves; of the groups that it was in it may not have been told.
  void dies(const Event& gone) {
    dead_.insert(gone.peer);
    log_.push_back({gone.time, gone.peer, true, true});
    for (auto& [group, members] : groups_) {
      if (names(group, gone.peer)) members.insert(gone.peer);
    }
  }

  bool slow(int w, Iter than) const { return threshold_ > 0 && workers_[std::size_t(w)].asked < than - threshold_; }

  /// False: not as it should be, and what follows cannot be told.
  bool divide(const Said& said) {
    look();
    Members idle, heads;
    std::map<int, Members> hosts;
    for (int w = 0; w < int(workers_.size()); ++w) {
      const Worker& worker = workers_[std::size_t(w)];
      if (worker.waiting > 0 || worker.left || slow(w, workers_[std::size_t(said.worker)].asked)) continue;
      idle.insert(w);
      hosts[worker.host].insert(w);
    }
    if (!two_levels_ || hosts.size() == 1 || hosts.size() == idle.size()) return split(said, idle, 0);
    for (const auto& [host, members] : hosts) {
      Members left = members;
      if (!split(said, left, 1)) return false;
      heads.insert(*left.begin());
      note_head(*left.begin(), members);
    }
    if (!split(said, heads, 0)) return false;
    for (const auto& [host, members] : hosts) {
      if (!whole_host(said, members)) return false;
    }
    return true;
  }

  /// The next groups are to be of `members`, until so many are left; those remain in it.
  bool split(const Said& said, Members& members, std::size_t left) {
    const std::size_t all = members.size() - left;
    while (members.size() > left) {
      const Members& group = groups_[next_];
      const bool fits = group.size() >= std::min(size_, all) && group.size() < 2 * size_ &&
                        std::includes(members.begin(), members.end(), group.begin(), group.end());
      if (!fits || members.size() < group.size() + left) return wrong(said, members);
      for (const int w : group) members.erase(w);
      make(group);
    }
    return true;
  }

  bool whole_host(const Said& said, const Members& members) {
    Iter most = 0;
    for (const int w : members) most = std::max(most, workers_[std::size_t(w)].asked);
    Members fast;
    for (const int w : members) {
      if (!slow(w, most)) fast.insert(w);
    }
    if (fast.size() < 2) return true;
    if (groups_[next_] != fast) return wrong(said, fast);
    make(fast);
    return true;
  }

  void make(const Members& group) {
    for (const int w : group) ++workers_[std::size_t(w)].waiting;
    ++next_;
  }

  void note_head(int head, const Members& members) {
    if (members.size() < 2) return;  // nothing was drawn
    workers_[std::size_t(head)].headed = true;
    for (const int w : members) workers_[std::size_t(w)].log_chance += std::log1p(-1.0 / double(members.size()));
  }

  bool wrong(const Said& said, const Members& of) {
    if (!dead_.empty() && (next_ >= unknown_ || groups_[next_].empty())) return false;
    std::string who;
    for (const int w : groups_[next_]) who += " " + std::to_string(w);
    std::string should;
    for (const int w : of) should += " " + std::to_string(w);
    fail(said.time, said.worker, "made a division with the group of" + who + " where one of" + should + " is due");
    return false;
  }

  int generator_;
  std::size_t size_;
  Iter threshold_;
  bool two_levels_;
  std::vector<Worker> workers_;
  std::vector<Said> log_;
  std::map<Iter, Members> groups_;                   // who was told of each
  std::map<Iter, std::uint64_t> named_;              // whom its members were told of, the first 64 workers
  Iter next_ = 0;                                    // to be made
  Members dead_;                                     // that the generator knows of
  Iter unknown_ = std::numeric_limits<Iter>::max();  // the first group that may have had others in it when it was made
};

}  // namespace

CheckerPtr division(const CheckedRun& run) { return std::make_unique<Division>(run); }

}  // namespace hopbench::checkers
