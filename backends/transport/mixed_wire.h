// One Wire made of two: some peers are reached through shared memory, the others over a network.
//
// A wait is the memory wire's. The network wire, which has threads anyway, wakes it through WireOptions::news.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backends/transport/wire.h"

namespace hopbench {

class MixedWire : public Wire {
 public:
  /// `memory` is connected to all peers except `far`, and `network` to these. News of `network` wakes `memory`.
  MixedWire(std::unique_ptr<Wire> memory, std::unique_ptr<Wire> network, const std::vector<int>& far);

  bool try_send(int to, const Message& message) override;
  std::optional<Message> poll() override;
  void wait(Duration timeout, int messages = 1) override { memory_->wait(timeout, messages); }
  void wake() override { memory_->wake(); }
  std::map<std::string, std::vector<int>> carriers() const override;
  std::int64_t awaited_bodies() const override;
  void close(Duration timeout) override;

 private:
  const std::unique_ptr<Wire> memory_, network_;  // the second wakes the first, and so is destroyed first
  const std::set<int> far_;
  bool network_is_next_ = false;  // to be polled
};

/// Connects over `network` with the peers for which `near` is false or with which no memory can be shared, and with the
/// others through shared memory. Both sides of a pair must have the same `near`. If all peers are of one kind, the wire
/// is that kind's own, unless `always_both`.
std::unique_ptr<Wire> connect_mixed(const WireOptions& options, Meeting& meeting, const std::function<bool(int)>& near,
                                    const Transport& network, bool always_both = false);

}  // namespace hopbench
