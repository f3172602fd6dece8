#include "backends/runtime/network.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace hopbench {
namespace {

class SimpleNetwork final : public Network {
 public:
  SimpleNetwork(const NetworkSpec& spec, Timeline& timeline) : spec_(spec), timeline_(timeline) {}
  void transfer(const Flow& flow, std::function<void()> arrived) override {
    Time& free_at = free_at_[static_cast<std::uint64_t>(flow.from) << 32 | static_cast<std::uint32_t>(flow.to)];
    free_at = std::max(free_at, timeline_.now() + spec_.latency);
    if (spec_.bandwidth > 0) free_at += seconds_to_duration(static_cast<double>(flow.bytes) / spec_.bandwidth);
    timeline_.at(free_at, std::move(arrived));
  }

 private:
  NetworkSpec spec_;
  Timeline& timeline_;
  std::unordered_map<std::uint64_t, Time> free_at_;
};

class InstantNetwork final : public Network {
 public:
  explicit InstantNetwork(Timeline& timeline) : timeline_(timeline) {}
  void transfer(const Flow&, std::function<void()> arrived) override {
    timeline_.at(timeline_.now(), std::move(arrived));
  }

 private:
  Timeline& timeline_;
};

}  // namespace

std::unique_ptr<Network> make_network(const NetworkSpec& spec, int, Timeline& timeline, std::uint64_t, std::uint32_t) {
  return std::make_unique<SimpleNetwork>(spec, timeline);
}

std::unique_ptr<Network> make_instant_network(Timeline& timeline) { return std::make_unique<InstantNetwork>(timeline); }

}  // namespace hopbench
