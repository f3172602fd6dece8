// Prague's group generator (GG) and its static schedule, without the messages: which workers average next, and which of
// their groups may run (protocols/prague.cpp).
//
//   group buffer     a worker that was drawn into a group finds it there when it asks for its next one
//   group division   a worker that finds its buffer empty has all idle ones, whose buffers are empty too, divided into
//                    disjoint groups
//   inter/intra      of each host one idle worker, its head, averages with other hosts' heads, the others among
//                    themselves; then all of the host together. A division makes both groups at once
//   slowdown filter  a division leaves out who has asked far fewer times than the worker that caused it. It may itself
//                    be a slow one: then it is there already and nobody waits for it
//   lock vector      a group runs once its members' earlier groups are done. As all buffers are in the order in which
//                    the groups were made, no circle of groups can wait
#pragma once

#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "backends/base/random.h"
#include "protocols/groups.h"

namespace hopbench {

struct DivisionRule {
  int group_size = 3;  // at least so many, where so many are idle
  bool inter_intra = true;
  Iter slow_threshold = 4;  // how many fewer requests than the asking worker's are not slow; 0: no filter
};

class GroupGenerator {
 public:
  /// host_of: of each worker.
  GroupGenerator(std::vector<int> host_of, DivisionRule rule);

  /// Worker w has done a step and wants its next group.
  void request(int w, Random random);
  /// Worker w does no further step: it is drawn no more, but wants the groups it has been drawn into, one by one.
  void leave(int w);
  /// Worker w is done with the group it was given last. Of one that was lost: nothing.
  void release(int w);
  /// Worker w has died, and groups that nobody has been given yet are without it. Where somebody has, w
  /// stays a member, as all must speak of the same group; they do without it (protocols/group_average.h).
  void lose(int w);
  bool has_lost(int w) const { return workers_[static_cast<std::size_t>(w)].lost; }

  /// Who wanted a group and has one that runs. A group of nobody: the worker has left and was in no further one.
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
    std::size_t given = 0;  // to so many members, or they have died
  };
  std::map<Iter, Made> groups_;  // that not all members have been given
};

/// The static schedule has a period of 4 steps and is written for 4 workers a host, numbered by rank: 0 of all hosts
/// together, 2 with 3, 1 idle; the whole host; 1 of all hosts together, 0 with 3, 2 idle; the whole host. Here: whom
/// worker w averages with in each of the 4 steps, itself included.
std::vector<std::vector<int>> static_schedule(const std::vector<int>& host_of, int w);
bool has_static_schedule(const std::vector<int>& host_of);

}  // namespace hopbench
