// FlexRR: a slice is given once for an offer, one at a time to a helper, who is in no earlier iteration; the i-th that
// a helper gets of an iteration is at most 2^(i-1) first slices; each is confirmed, as large as it was given, and
// before its worker adds up.
#include <algorithm>
#include <cmath>
#include <set>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class Slices : public Checker {
 public:
  explicit Slices(const CheckedRun& run)
      : Checker("slices"),
        workers_(run.workers),
        first_(std::max(1.0, std::ceil(run.real("first_slice") * run.batch))),
        at_(std::size_t(run.workers), -1) {}

  void on(const Event& event) override {
    if (event.rank >= workers_) return;
    if (event.what == EventKind::kEnter) at_[std::size_t(event.rank)] = event.iter;
    if (event.what == EventKind::kReduced) added_up(event);
    if (event.what != EventKind::kSend || event.peer >= workers_) return;
    if (event.kind == kRequestKind && !offers_.insert({event.rank, event.peer}).second)
      fail(event.time, event.rank, "offers its help to " + std::to_string(event.peer) + " again, without an answer");
    if (event.kind == kReplyKind) given(event);
    if (event.kind == kAckKind) confirmed(event);
  }

  void finish() override {
    for (const auto& [pair, slice] : given_) {
      if (slice.open > 0) fail(Time{}, pair.second, "never confirmed a slice of " + std::to_string(pair.first));
    }
  }

 private:
  struct Slice {
    Iter iter = -1;
    std::int64_t open = 0;  // samples that are not confirmed
    double most = 0;        // samples of the next one
  };

  void given(const Event& event) {
    const int helper = event.peer;
    if (offers_.erase({helper, event.rank}) == 0)
      fail(event.time, event.rank, "answers an offer that " + std::to_string(helper) + " did not make");
    if (event.count == 0) return;
    look();
    Slice& slice = given_[{event.rank, helper}];
    if (slice.open > 0) fail(event.time, event.rank, "gives rank " + std::to_string(helper) + " a second slice");
    if (at_[std::size_t(helper)] < event.iter)
      fail(event.time, event.rank, "gives a slice to rank " + std::to_string(helper) + ", which is behind");
    if (slice.iter != event.iter) slice = {.iter = event.iter, .most = first_};
    if (double(event.count) > slice.most)
      fail(event.time, event.rank,
           "gives " + std::to_string(event.count) + " samples, at most " + std::to_string(slice.most) + " were due");
    slice.most *= 2;
    slice.open = event.count;
  }

  void confirmed(const Event& event) {
    Slice& slice = given_[{event.peer, event.rank}];
    if (slice.iter != event.iter || slice.open != event.count)
      fail(event.time, event.rank, "confirms " + std::to_string(event.count) + " samples that it was not given");
    slice.open = 0;
  }

  void added_up(const Event& event) {
    for (const auto& [pair, slice] : given_) {
      if (pair.first == event.rank && slice.open > 0)
        fail(event.time, event.rank, "adds up without what rank " + std::to_string(pair.second) + " has");
    }
  }

  int workers_;
  double first_;
  std::vector<Iter> at_;
  std::set<std::pair<int, int>> offers_;        // (helper, worker): not answered
  std::map<std::pair<int, int>, Slice> given_;  // (worker, helper)
};

}  // namespace

CheckerPtr slices(const CheckedRun& run) { return std::make_unique<Slices>(run); }

}  // namespace hopbench::checkers
