// Prague's group generator (GG) and its static schedule, without the messages: which workers average next, and which of
// their groups may run (protocols/groups/prague.cpp).
//
//   group buffer     a worker that was drawn into a group finds it there when it asks for its next one
//   group division   if a worker finds its buffer empty, all idle workers, whose buffers are empty too, are divided
//                    into disjoint groups
//   inter/intra      one idle worker of each host, its head, averages with the heads of other hosts, and the others
//                    among themselves; then the whole host together. A division makes both groups at once
//   slowdown filter  a division leaves out workers that have asked far fewer times than the one that caused it.
//                    That one may itself be slow, but it has already arrived, so no worker waits for it
//   lock vector      a group runs once its members' earlier groups are done. All buffers are in the order in which
//                    the groups were made, so groups cannot wait for each other in a circle
#pragma once

#include <deque>
#include <map>
#include <vector>

#include "backends/base/random.h"
#include "protocols/groups/groups.h"

namespace hopbench::groups {

struct DivisionRule {
  int group_size = 3;  // least members of a group, if that many workers are idle
  bool inter_intra = true;
  Iter slow_threshold = 4;  // slow: more than this many requests behind the asking worker; 0: no filter
};

class GroupGenerator {
 public:
  /// `host_of` is the host of each worker.
  GroupGenerator(std::vector<int> host_of, DivisionRule rule);

  /// Records that worker w has done a step and wants its next group.
  void request(int w, Random random);
  /// Records that worker w does no further step: it is drawn no more, but wants the groups that it is in, one by one.
  void leave(int w);
  /// Records that worker w is done with the group it was given last. Does nothing if w was lost.
  void release(int w);
  /// Records that worker w has died, and removes it from groups that no member has been given yet. It stays in a group
  /// that a member has been given, since all must name the same group; they do without it
  /// (protocols/groups/group_average.h).
  void lose(int w);
  bool has_lost(int w) const { return workers_[static_cast<std::size_t>(w)].lost; }

  /// A worker that wanted a group, and its group, which runs. No members: the worker has left and is in no other.
  struct Answer {
    int worker;
    Assignment group;
  };
  std::vector<Answer> answers();

 private:
  struct Worker {
    int host = 0;
    Iter asked = 0;  // its requests: the progress counter
    bool wants = false, left = false, lost = false;
    std::deque<Iter> buffer{};  // numbers of groups it was drawn into and has not been given
    Iter lock = kFree;          // the running group it is in
  };
  static constexpr Iter kFree = -1;

  Worker& worker(int w) { return workers_[static_cast<std::size_t>(w)]; }
  bool slow(Iter asked, Iter than) const { return rule_.slow_threshold > 0 && asked < than - rule_.slow_threshold; }
  void divide(int asking, Random& random);
  void make_random_groups(std::vector<int> members, Random& random);
  void make_group(std::vector<int> members);
  void run_groups();
  void given(Iter number);

  std::vector<Worker> workers_;
  DivisionRule rule_;
  Iter next_number_ = 0;
  struct Made {
    std::vector<int> members;
    bool runs = false;
    std::size_t given = 0;  // the members that were given it or have died
  };
  std::map<Iter, Made> groups_;  // those that not all members have been given
};

/// Returns the workers that worker w averages with, itself included, in each of the 4 steps of the static schedule. It
/// is for 4 workers per host, numbered by rank. Step 1: number 0 of all hosts together, 2 with 3, 1 idle. Step 3:
/// number 1 of all hosts together, 0 with 3, 2 idle. Steps 2 and 4: the whole host.
std::vector<std::vector<int>> static_schedule(const std::vector<int>& host_of, int w);
bool has_static_schedule(const std::vector<int>& host_of);

}  // namespace hopbench::groups
