#include "protocols/groups/group_generator.h"

#include <algorithm>
#include <span>

#include "backends/base/error.h"

namespace hopbench::groups {

GroupGenerator::GroupGenerator(std::vector<int> host_of, DivisionRule rule) : rule_(rule) {
  for (int host : host_of) workers_.push_back({.host = host});
}

void GroupGenerator::request(int w, Random random) {
  ++worker(w).asked;
  worker(w).wants = true;
  if (worker(w).buffer.empty()) divide(w, random);
}

void GroupGenerator::leave(int w) { worker(w).wants = worker(w).left = true; }

void GroupGenerator::release(int w) {
  HB_ASSERT(worker(w).lock != kFree || worker(w).left);
  worker(w).lock = kFree;
}

void GroupGenerator::lose(int w) {
  Worker& dead = worker(w);
  for (Iter number : dead.buffer) {
    const auto group = groups_.find(number);
    if (group->second.given > 0) {
      given(number);
    } else if (std::erase(group->second.members, w); group->second.members.empty()) {
      groups_.erase(group);
    }
  }
  dead = {.host = dead.host, .asked = dead.asked, .left = true, .lost = true};
}

void GroupGenerator::given(Iter number) {
  const auto group = groups_.find(number);
  if (++group->second.given == group->second.members.size()) groups_.erase(group);
}

void GroupGenerator::divide(int asking, Random& random) {
  std::vector<int> idle;
  std::map<int, std::vector<int>> hosts;
  for (int w = 0; w < static_cast<int>(workers_.size()); ++w) {
    if (!worker(w).buffer.empty() || worker(w).left || slow(worker(w).asked, worker(asking).asked)) continue;
    idle.push_back(w);
    hosts[worker(w).host].push_back(w);
  }
  if (!rule_.inter_intra || hosts.size() == 1 || hosts.size() == idle.size())
    return make_random_groups(std::move(idle), random);

  std::vector<int> heads;
  for (const auto& [host, members] : hosts) {
    heads.push_back(members[random.below(members.size())]);
    std::vector<int> others = members;
    std::erase(others, heads.back());
    make_random_groups(std::move(others), random);
  }
  make_random_groups(std::move(heads), random);

  // No worker has arrived at the second step yet, not even the asking one, so all must be fast.
  for (auto& [host, members] : hosts) {
    Iter most = 0;
    for (int w : members) most = std::max(most, worker(w).asked);
    std::erase_if(members, [&](int w) { return slow(worker(w).asked, most); });
    if (members.size() > 1) make_group(members);
  }
}

void GroupGenerator::make_random_groups(std::vector<int> members, Random& random) {
  random.shuffle(std::span<int>(members));
  const std::size_t n = members.size();
  const std::size_t groups = std::max<std::size_t>(1, n / static_cast<std::size_t>(rule_.group_size));
  for (std::size_t i = 0; i < groups && n > 0; ++i) {
    const auto at = [&](std::size_t group) {
      return members.begin() + static_cast<std::ptrdiff_t>(n * group / groups);
    };
    make_group({at(i), at(i + 1)});
  }
}

void GroupGenerator::make_group(std::vector<int> members) {
  std::sort(members.begin(), members.end());
  for (int w : members) worker(w).buffer.push_back(next_number_);
  groups_[next_number_++].members = std::move(members);
}

void GroupGenerator::run_groups() {
  for (auto& made : groups_) {
    const Iter number = made.first;
    Made& group = made.second;
    const auto next = [&](int w) { return worker(w).lock == kFree && worker(w).buffer.front() == number; };
    if (group.runs || !std::all_of(group.members.begin(), group.members.end(), next)) continue;
    group.runs = true;
    for (int w : group.members) worker(w).lock = number;
  }
}

std::vector<GroupGenerator::Answer> GroupGenerator::answers() {
  run_groups();
  std::vector<Answer> answers;
  for (int w = 0; w < static_cast<int>(workers_.size()); ++w) {
    Worker& waiting = worker(w);
    if (!waiting.wants || (!waiting.buffer.empty() && waiting.lock != waiting.buffer.front())) continue;
    waiting.wants = false;
    answers.push_back({w, {}});
    if (waiting.buffer.empty()) continue;
    const auto group = groups_.find(waiting.buffer.front());
    answers.back().group = {group->first, group->second.members};
    waiting.buffer.pop_front();
    given(group->first);
  }
  return answers;
}

bool has_static_schedule(const std::vector<int>& host_of) {
  const Division hosts = by_host(host_of);
  return std::all_of(hosts.begin(), hosts.end(), [](const Group& host) { return host.size() == 4; });
}

std::vector<std::vector<int>> static_schedule(const std::vector<int>& host_of, int w) {
  HB_ASSERT(has_static_schedule(host_of));
  const Division hosts = by_host(host_of);
  const Group& mine = hosts[group_of(hosts, w)];
  std::vector<std::vector<int>> schedule;
  for (std::size_t across = 0; across < 2; ++across) {
    std::vector<int> group;
    if (w == mine[across]) {
      for (const Group& members : hosts) group.push_back(members[across]);
    } else if (w == mine[across + 1]) {
      group = {w};
    } else {
      group = mine;
      std::erase_if(group, [&](int other) { return other == mine[across] || other == mine[across + 1]; });
    }
    std::sort(group.begin(), group.end());
    schedule.push_back(std::move(group));
    schedule.push_back(mine);
  }
  return schedule;
}

}  // namespace hopbench::groups
