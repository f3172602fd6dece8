#include "backends/runtime/virtual/rendezvous.h"

#include <deque>
#include <map>
#include <utility>

namespace hopbench {
namespace {

constexpr std::int64_t kHead = 64;  // bytes of a head and of a permission, the same as of a message without a body

class Rendezvous final : public Network {
 public:
  Rendezvous(std::unique_ptr<Network> inner, std::int64_t bytes, Timeline& timeline)
      : inner_(std::move(inner)), largest_(bytes), timeline_(timeline) {}

  void transfer(const Flow& flow, std::function<void()> arrived) override {
    Pair& pair = pairs_[{flow.from, flow.to}];
    const std::int64_t number = pair.first + static_cast<std::int64_t>(pair.under_way.size());
    pair.under_way.push_back({std::move(arrived)});
    const auto there = [this, &pair, number] { arrive(pair, number); };
    if (flow.bytes <= largest_) return inner_->transfer(flow, there);
    inner_->transfer({flow.from, flow.to, kHead}, [this, flow, there] {
      inner_->transfer({flow.to, flow.from, kHead}, [this, flow, there] { inner_->transfer(flow, there); });
    });
  }

 private:
  struct Message {
    std::function<void()> arrived;
    bool there = false;
  };
  struct Pair {
    std::int64_t first = 0;  // number of the first of under_way
    std::deque<Message> under_way;
  };

  /// Hands over the messages that have arrived, up to the first that has not.
  void arrive(Pair& pair, std::int64_t number) {
    pair.under_way[static_cast<std::size_t>(number - pair.first)].there = true;
    while (!pair.under_way.empty() && pair.under_way.front().there) {
      timeline_.at(timeline_.now(), std::move(pair.under_way.front().arrived));
      pair.under_way.pop_front();
      ++pair.first;
    }
  }

  std::unique_ptr<Network> inner_;
  const std::int64_t largest_;  // the largest size that needs no permission
  Timeline& timeline_;
  std::map<std::pair<int, int>, Pair> pairs_;
};

}  // namespace

std::unique_ptr<Network> make_rendezvous(std::unique_ptr<Network> inner, std::int64_t bytes, Timeline& timeline) {
  return std::make_unique<Rendezvous>(std::move(inner), bytes, timeline);
}

}  // namespace hopbench
