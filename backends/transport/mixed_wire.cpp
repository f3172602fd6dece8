#include "backends/transport/mixed_wire.h"

#include <algorithm>
#include <iterator>
#include <thread>
#include <utility>

#include "backends/base/error.h"
#include "backends/transport/shm.h"

namespace hopbench {

MixedWire::MixedWire(std::unique_ptr<Wire> memory, std::unique_ptr<Wire> network, const std::vector<int>& far)
    : memory_(std::move(memory)), network_(std::move(network)), far_(far.begin(), far.end()) {}

bool MixedWire::try_send(int to, const Message& message) {
  return (far_.contains(to) ? network_ : memory_)->try_send(to, message);
}

std::optional<Message> MixedWire::poll() {
  for (int turn = 0; turn < 2; ++turn) {
    network_is_next_ = !network_is_next_;
    if (auto message = (network_is_next_ ? network_ : memory_)->poll()) return message;
  }
  return std::nullopt;
}

std::map<std::string, std::vector<int>> MixedWire::carriers() const {
  auto all = memory_->carriers();
  all.merge(network_->carriers());
  return all;
}

std::int64_t MixedWire::awaited_bodies() const { return memory_->awaited_bodies() + network_->awaited_bodies(); }

// Closes both at once: a peer of one kind may wait for this rank's farewell before it says its own to the other kind.
void MixedWire::close(Duration timeout) {
  const std::jthread other([&] { network_->close(timeout); });
  memory_->close(timeout);
}

namespace {

std::unique_ptr<Wire> connect_network(const Transport& network, const WireOptions& options, Meeting& meeting,
                                      const std::map<int, std::string>& refused) {
  const std::string why = network.unavailable();
  if (why.empty()) return network.connect(options, meeting);
  const std::string peer = std::to_string(options.peers.front());
  const auto refusal = refused.find(options.peers.front());
  throw environment_error((refusal == refused.end()
                               ? "rank " + std::to_string(options.rank) + " and rank " + peer + " share no memory"
                               : refusal->second) +
                          ", and " + why)
      .as(FailureKind::kEnvironment, options.rank);
}

}  // namespace

std::unique_ptr<Wire> connect_mixed(const WireOptions& options, Meeting& meeting, const std::function<bool(int)>& near,
                                    const Transport& network, bool always_both) {
  WireOptions close = options, far = options;
  std::erase_if(close.peers, [&](int peer) { return !near(peer); });
  std::unique_ptr<Wire> memory;
  std::map<int, std::string> refused;
  if (!close.peers.empty() || options.peers.empty() || always_both) memory = connect_shm(close, meeting, refused);
  std::erase_if(far.peers, [&](int peer) { return near(peer) && !refused.contains(peer); });
  if (far.peers.empty() && memory != nullptr && !always_both) return memory;
  if (far.peers.size() == options.peers.size() && !always_both) memory.reset();  // all refused
  if (memory != nullptr) far.news = [wire = memory.get()] { wire->wake(); };
  auto wire = connect_network(network, far, meeting, refused);
  if (memory == nullptr) return wire;
  return std::make_unique<MixedWire>(std::move(memory), std::move(wire), far.peers);
}

}  // namespace hopbench
