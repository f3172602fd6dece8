#include "tests/checkers/checker.h"

#include <algorithm>
#include <cstdio>
#include <deque>
#include <set>

namespace hopbench::checkers {

bool CheckedRun::flag(const std::string& name) const {
  const auto found = knobs.find(name);
  return found != knobs.end() && std::get<bool>(found->second);
}

std::int64_t CheckedRun::integer(const std::string& name) const {
  const auto found = knobs.find(name);
  return found == knobs.end() ? 0 : std::get<std::int64_t>(found->second);
}

double CheckedRun::real(const std::string& name) const {
  const auto found = knobs.find(name);
  return found == knobs.end() ? 0 : std::get<double>(found->second);
}

std::string CheckedRun::text(const std::string& name) const {
  const auto found = knobs.find(name);
  return found == knobs.end() ? std::string() : std::get<std::string>(found->second);
}

Graph::Graph(const CheckedRun& run)
    : in_(std::size_t(run.workers)), out_(std::size_t(run.workers)), removed_(std::size_t(run.workers), 0) {
  const std::set<std::pair<int, int>> unique(run.edges.begin(), run.edges.end());
  for (const auto& [a, b] : unique) {
    out_[std::size_t(a)].push_back(b);
    in_[std::size_t(b)].push_back(a);
  }
  for (auto& list : in_) std::sort(list.begin(), list.end());
  measure();
}

bool Graph::undirected() const {
  for (int i = 0; i < size(); ++i) {
    if (in(i) != out(i)) return false;
  }
  return true;
}

bool Graph::regular() const {
  return std::all_of(in_.begin(), in_.end(), [&](const auto& list) { return list.size() == in_[0].size(); }) &&
         std::all_of(out_.begin(), out_.end(), [&](const auto& list) { return list.size() == in_[0].size(); });
}

void Graph::remove(int worker) {
  removed_[std::size_t(worker)] = 1;
  measure();
}

void Graph::measure() {
  const std::size_t n = in_.size();
  distance_.assign(n, std::vector<std::int64_t>(n, kFar));
  for (std::size_t start = 0; start < n; ++start) {
    auto& far = distance_[start];
    if (removed_[start]) continue;
    far[start] = 0;
    std::deque<int> open{int(start)};
    for (; !open.empty(); open.pop_front()) {
      for (int next : out(open.front())) {
        if (removed_[std::size_t(next)] || far[std::size_t(next)] != kFar) continue;
        far[std::size_t(next)] = far[std::size_t(open.front())] + 1;
        open.push_back(next);
      }
    }
  }
}

void Checker::fail(Time time, int rank, const std::string& what) {
  if (count_++ >= 5) return;
  char where[64];
  std::snprintf(where, sizeof where, "t=%.6fs rank %d: ", to_seconds(time), rank);
  violations_.push_back(where + what);
}

}  // namespace hopbench::checkers
