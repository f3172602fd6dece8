#include "protocols/groups/ready_queue.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "backends/base/error.h"

namespace hopbench::groups {
namespace ready_queue {

/// The parts of a graph of groups, by union-find. A part counts if some worker of it is still here.
class Parts {
 public:
  explicit Parts(const std::vector<char>& here)
      : above_(here.size()), here_(here), count_(static_cast<int>(std::count(here.begin(), here.end(), 1))) {
    std::iota(above_.begin(), above_.end(), 0);
  }

  int of(int worker) {
    for (int* up = &above(worker); *up != worker; up = &above(worker)) worker = *up = above(*up);  // halves the way
    return worker;
  }

  void join(const std::vector<int>& group) {
    for (int member : group) {
      const auto a = static_cast<std::size_t>(of(group.front())), b = static_cast<std::size_t>(of(member));
      if (a == b) continue;
      if (here_[a] != 0 && here_[b] != 0) --count_;
      above_[b] = static_cast<int>(a);
      here_[a] = static_cast<char>(here_[a] | here_[b]);
    }
  }

  int count() const { return count_; }

 private:
  int& above(int worker) { return above_[static_cast<std::size_t>(worker)]; }

  std::vector<int> above_;
  std::vector<char> here_;  // of a part's root: 1 if some worker of the part is here
  int count_;
};

}  // namespace ready_queue

int fewest_groups(int workers, int group_size) { return (workers - 1 + group_size - 2) / (group_size - 1); }

ReadyQueue::ReadyQueue(int workers, int group_size, int window)
    : group_size_(group_size), window_(window), here_(static_cast<std::size_t>(workers), 1) {
  HB_ASSERT(group_size >= 2 && (window == 0 || window >= fewest_groups(workers, group_size)));
}

void ReadyQueue::ready(int worker) { queue_.push_back(worker); }

void ReadyQueue::left(int worker) {
  here_[static_cast<std::size_t>(worker)] = 0;
  std::erase(queue_, worker);
}

int ReadyQueue::workers_left() const { return static_cast<int>(std::count(here_.begin(), here_.end(), 1)); }

/// Returns the duties in the order of falling `kept`: the parts of fewer groups are finer.
std::vector<ReadyQueue::Duty> ReadyQueue::duties() const {
  std::vector<Duty> duties;
  ready_queue::Parts parts(here_);
  for (int kept = 0; kept < window_ && kept <= static_cast<int>(latest_.size()); ++kept) {
    if (kept > 0) parts.join(latest_[latest_.size() - static_cast<std::size_t>(kept)]);
    const int further = window_ - 1 - kept;  // groups in that window after the next one
    const int too_many = parts.count() - (1 + further * (group_size_ - 1));
    if (too_many > 0) duties.push_back({kept, too_many + 1});
  }
  std::reverse(duties.begin(), duties.end());
  return duties;
}

/// Returns the fewest ready workers that do all duties, first come, first served; nothing if the ready ones cannot.
/// Each is of a part of its own, in coarse parts and therefore in finer ones, so all duties together need no more
/// workers than the largest of them.
std::optional<std::vector<int>> ReadyQueue::bridging() const {
  std::vector<int> chosen;
  for (const auto& [kept, wanted] : duties()) {
    ready_queue::Parts parts(here_);
    for (int i = 1; i <= kept; ++i) parts.join(latest_[latest_.size() - static_cast<std::size_t>(i)]);
    std::set<int> joined;
    for (int worker : chosen) joined.insert(parts.of(worker));
    for (int worker : queue_) {
      if (static_cast<int>(joined.size()) < wanted && joined.insert(parts.of(worker)).second) chosen.push_back(worker);
    }
    if (static_cast<int>(joined.size()) < wanted) return std::nullopt;
  }
  return chosen;
}

std::optional<std::vector<int>> ReadyQueue::next_group() {
  const auto size = static_cast<std::size_t>(group_size_);
  if (queue_.size() < size) return std::nullopt;
  std::optional<std::vector<int>> group = bridging();
  if (!group) return std::nullopt;
  const auto in_group = [&](int worker) { return std::find(group->begin(), group->end(), worker) != group->end(); };
  for (auto next = queue_.begin(); group->size() < size; ++next) {
    if (!in_group(*next)) group->push_back(*next);
  }
  HB_ASSERT(group->size() == size);
  std::erase_if(queue_, in_group);
  std::sort(group->begin(), group->end());
  latest_.push_back(*group);
  if (static_cast<int>(latest_.size()) >= window_) latest_.pop_front();
  return group;
}

std::vector<int> ReadyQueue::stranded() {
  if (workers_left() >= group_size_) return {};
  std::vector<int> alone(queue_.begin(), queue_.end());
  queue_.clear();
  return alone;
}

}  // namespace hopbench::groups
