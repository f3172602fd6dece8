// The interface that a new real transport implements. One Wire a rank; only the pairs a topology needs are connected.
//
// A waiting strand polls the wire itself, so a message costs no thread hop. Threads exist only where a library forces
// them (Gloo's blocking sends and receives). Messages of one sender come in order. The end of a peer is a message too,
// one for each peer: kBye, where the peer sent it or else where it closed; or kGone, after its last message, if it died
// before. A rank may send kBye itself and go on sending, since its responders still answer. Its later end is then not a
// message.
//
// Threads: `wait` runs at the same time as any other call, any thread calls `wake`; the rest: one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/base/time.h"
#include "backends/runtime/message.h"

namespace hopbench {

class Wire {
 public:
  virtual ~Wire() = default;

  /// Hands a message over to peer `to`. Returns false if there is no room: ask again after `wait`. Messages to a peer
  /// that is gone vanish. The body is held until it has been sent; a large one is never copied on the caller's thread.
  virtual bool try_send(int to, const Message& message) = 0;

  /// Returns the next message that has arrived whole; in order per sender, fair between senders.
  virtual std::optional<Message> poll() = 0;

  /// Blocks until something may have changed (`messages` to be polled, the end of a peer, room to send, wake), or for
  /// `timeout`. May return early.
  virtual void wait(Duration timeout, int messages = 1) = 0;

  /// Makes a `wait` in progress, or the next one, return. Any thread may call it.
  virtual void wake() = 0;

  /// Returns the peers by the transport that carries messages to them.
  virtual std::map<std::string, std::vector<int>> carriers() const = 0;

  /// Returns the number of bodies that exceeded the receiver's room made ahead, and so waited until it asked for them.
  virtual std::int64_t awaited_bodies() const { return 0; }

  /// Sends kBye to every peer after all that was sent, and waits for theirs (or their death), at most `timeout`: as
  /// long as the slowest peer may still run. The only orderly end: without it queued messages are lost and peers see
  /// kGone. Afterwards only poll, carriers, awaited_bodies and the destructor may be called.
  virtual void close(Duration timeout) = 0;
};

/// The means by which ranks learn where the others listen, before they are connected: every rank puts in one blob for
/// each peer, and gets theirs. Real trials answer it through the launcher's control channel. Throws Error naming the
/// ranks that are missing.
class Meeting {
 public:
  virtual ~Meeting() = default;
  /// blobs[i] is for peers[i]; returns the blobs that those peers have for this rank, in the same order.
  virtual std::vector<std::string> exchange(const std::vector<int>& peers, const std::vector<std::string>& blobs) = 0;
};

struct WireOptions {
  int rank = 0, size = 1;
  std::vector<int> peers;  // ascending, without rank
  std::string interface;   // network interface to listen on; empty: as `address` says
  Duration connect_timeout{std::chrono::seconds(30)};
  std::string address = {};  // to listen on; empty: loopback
  /// The largest body that is sent often, such as a model. A wire may make room for such bodies before they come, in at
  /// most `eager_bytes` of memory for all peers together. 0: it does not.
  std::size_t body_bytes = 0, eager_bytes = std::size_t{64} << 20;
  /// Over Gloo: called from any thread when a `wait` would return. For a caller that waits for several wires at once.
  std::function<void()> news = {};
};

/// A transport in the registry. `unavailable` returns why this build or machine lacks it; empty: it is available.
struct Transport {
  const char* name;
  const char* summary;
  std::string (*unavailable)();
  std::unique_ptr<Wire> (*connect)(const WireOptions&, Meeting&);
  /// Must be called in a rank's process before it makes its first vector; may be nullptr.
  void (*prepare)() = nullptr;
  /// True if it takes one of the other transports for each pair of ranks, and is not a way of its own.
  bool chooses = false;
};

/// Returns all transports for real processes (not `sim`), in the order they are listed.
const std::vector<Transport>& transports();
/// Throws Error(kUsage) with the known names if `name` is not among them.
const Transport& find_transport(std::string_view name);

}  // namespace hopbench
