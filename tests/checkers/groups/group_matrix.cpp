// Averaging over a group is a matrix: 1/|G| on G x G, the identity elsewhere. So it is symmetric, doubly stochastic
// (the mean of all models stays) and idempotent. The matrix is put together from what each member says it has averaged;
// so all members must speak of the same group. Of a group that a member died in, it is that of those whose models came;
// what it has not averaged itself is not asked for.
#include <algorithm>
#include <cmath>
#include <set>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class GroupMatrix : public Checker {
 public:
  explicit GroupMatrix(const CheckedRun& run)
      : Checker("group_matrix"), workers_(run.workers), number_(std::size_t(run.workers), 0) {}

  void on(const Event& event) override {
    if (event.rank >= workers_) return;
    if (is_death(event)) dead_.insert(event.rank);
    if (names_group(event)) number_[std::size_t(event.rank)] = event.iter;
    if (event.what != EventKind::kReduced) return;
    // Under a static schedule several groups have the same number.
    Rows& rows = groups_[{number_[std::size_t(event.rank)], event.senders}];
    std::map<int, double>& row = rows[event.rank];
    if (!row.empty()) fail(event.time, event.rank, "averaged over the same group twice");
    for (std::size_t i = 0; i < event.senders.size(); ++i) row[event.senders[i]] += double(event.weights[i]);
    if (rows.size() < event.senders.size()) return;
    look();
    check(event, rows);
    groups_.erase({number_[std::size_t(event.rank)], event.senders});
  }

  void finish() override {
    for (const auto& [group, rows] : groups_) {
      const auto done = [&, &came = rows](int member) { return came.count(member) != 0 || dead_.count(member) != 0; };
      if (std::all_of(group.second.begin(), group.second.end(), done)) continue;
      fail(Time{}, rows.begin()->first,
           "averaged over a group of " + std::to_string(group.second.size()) + ", as only " +
               std::to_string(rows.size()) + " of them did");
    }
  }

 private:
  using Rows = std::map<int, std::map<int, double>>;  // member -> member -> weight

  void check(const Event& event, Rows& rows) {
    const auto differ = [](double a, double b) { return !(std::abs(a - b) < 1e-5); };
    for (const int i : event.senders) {
      if (rows.count(i) == 0) return fail(event.time, i, "is in a group, but did not average over it");
    }
    for (const int i : event.senders) {
      double row = 0, column = 0;
      for (const int j : event.senders) {
        row += rows[i][j];
        column += rows[j][i];
        double squared = 0;
        for (const int k : event.senders) squared += rows[i][k] * rows[k][j];
        if (differ(rows[i][j], rows[j][i])) fail(event.time, i, "the group's matrix is not symmetric");
        if (differ(squared, rows[i][j])) fail(event.time, i, "the group's matrix is not idempotent");
      }
      if (differ(row, 1)) fail(event.time, i, "its weights sum to " + std::to_string(row));
      if (differ(column, 1)) fail(event.time, i, "the weights its model was given sum to " + std::to_string(column));
    }
  }

  int workers_;
  std::set<int> dead_;
  std::vector<Iter> number_;                                  // of the group a worker is in
  std::map<std::pair<Iter, std::vector<int>>, Rows> groups_;  // not all of whose members have averaged
};

}  // namespace

CheckerPtr group_matrix(const CheckedRun& run) { return std::make_unique<GroupMatrix>(run); }

}  // namespace hopbench::checkers
