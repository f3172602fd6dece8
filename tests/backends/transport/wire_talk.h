// The messages of the tests of wires.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "backends/runtime/virtual/network.h"
#include "backends/transport/mixed_wire.h"
#include "backends/transport/wire.h"
#include "tests/backends/transport/transport_names.h"

namespace hopbench {

inline constexpr Kind kData{1}, kAck{2};

inline std::vector<int> others(int size, int rank) {
  std::vector<int> peers;
  for (int r = 0; r < size; ++r) {
    if (r != rank) peers.push_back(r);
  }
  return peers;
}

inline Message message_of(Kind kind, Iter iter, std::size_t floats = 0) {
  Message message{.from = -1, .kind = kind, .iter = iter, .words = {}, .body = {}};
  if (floats > 0) {
    Vec body(floats);
    body.fill(static_cast<float>(iter));
    message.body = body.share();
  }
  message.bytes = kHeaderBytes + static_cast<std::int64_t>(floats * sizeof(float));
  return message;
}

inline void send(Wire& wire, int to, const Message& message) {
  while (!wire.try_send(to, message)) wire.wait(std::chrono::milliseconds(100));
}

/// The next message; the test is lost if none comes.
inline Message next(Wire& wire) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (true) {
    if (auto message = wire.poll()) return std::move(*message);
    if (std::chrono::steady_clock::now() > deadline) throw std::runtime_error("no message came");
    wire.wait(std::chrono::seconds(1));
  }
}

/// The next that is no farewell: a peer that is done early says its own while others still talk.
inline Message next_data(Wire& wire) {
  while (true) {
    Message message = next(wire);
    if (message.kind != kBye) return message;
  }
}

inline bool whole(const Message& m, std::size_t floats) {
  if (m.body.size() != floats) return false;
  const float expected = static_cast<float>(m.iter);
  return std::all_of(m.body.data(), m.body.data() + floats, [&](float v) { return v == expected; });
}

/// Some pairs through shared memory, others over Gloo: 0 and 1, 1 and 3.
inline std::unique_ptr<Wire> connect_some(const WireOptions& options, Meeting& meeting) {
  const auto near = [&](int peer) { return (options.rank + peer) % 3 != 1; };
  return connect_mixed(options, meeting, near, find_transport("gloo"), true);
}
inline const Transport kMixed{"mixed", "", find_transport("auto").unavailable, connect_some,
                              find_transport("auto").prepare};

/// Every transport as it is, and over emulated links: "gloo", "emulated_gloo". "mixed" in place of those that choose.
inline std::vector<std::string> wire_names() {
  std::vector<std::string> names{"mixed"};
  for (const char* prefix : {"", "emulated_"}) {
    for (const std::string& name : single_transports()) names.push_back(prefix + name);
  }
  return names;
}
inline bool is_emulated(const std::string& wire) { return wire.starts_with("emulated_"); }
inline const Transport& transport_of(const std::string& wire) {
  if (wire == kMixed.name) return kMixed;
  return find_transport(is_emulated(wire) ? wire.substr(wire.find('_') + 1) : wire);
}

/// Emulated links that are there and hold nothing up.
inline NetworkSpec wide_links() {
  NetworkSpec spec;
  spec.latency = Duration{};
  spec.bandwidth = 0;
  return spec;
}

}  // namespace hopbench
