// What a new real transport implements. One Wire a rank; only the pairs a topology needs are connected.
//
// A strand that waits polls the wire itself, so a message costs no thread hop; threads exist only where a library
// forces them (Gloo's blocking sends and receives). Messages of one sender come in order. The end of a peer is a
// message too, one for each peer: kBye, where the peer sent it or else where it closed; or kGone, after its last
// message, if it died before. A rank may send kBye itself and go on sending (its responders still answer); its later
// end is no message then.
//
// Threads: `wait` runs beside all others, `wake` is called by anybody; the rest is called by one thread at a time.
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

  /// Hands a message over to peer `to`. False: no room now, ask again after `wait`. Messages to a peer that is gone
  /// vanish. The message's body is held until it has been sent; a large one is never copied on the caller's thread.
  virtual bool try_send(int to, const Message& message) = 0;

  /// The next message that has arrived whole; in order per sender, fair between senders.
  virtual std::optional<Message> poll() = 0;

  /// Blocks until something may have changed (`messages` to be polled, the end of a peer, room to send, wake), or for
  /// `timeout`. May return early.
  virtual void wait(Duration timeout, int messages = 1) = 0;

  /// Makes a `wait` in progress, or the next one, return. From any thread.
  virtual void wake() = 0;

  /// The peers by the transport that carries messages to them.
  virtual std::map<std::string, std::vector<int>> carriers() const = 0;

  /// Bodies that were larger than the room that the receiver makes ahead, so that they waited until it asked for them.
  virtual std::int64_t awaited_bodies() const { return 0; }

  /// Tells every peer kBye after all that was sent, and waits for theirs (or their death), at most `timeout`: as long
  /// as the slowest peer may still run. The only orderly end: without it what is still queued is lost and peers see
  /// kGone. No call may follow but poll, carriers, awaited_bodies and the destructor's.
  virtual void close(Duration timeout) = 0;
};

/// How ranks learn where the others listen before they are connected: every rank puts in one blob for each peer, gets
/// theirs. Real trials answer it through the launcher's control channel. Throws Error naming the ranks that are
/// missing.
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
  /// The largest body that is sent often, as a model is. A wire may make room for such bodies before they come, in at
  /// most `eager_bytes` of memory for all peers together. 0: it does not.
  std::size_t body_bytes = 0, eager_bytes = std::size_t{64} << 20;
  /// Over Gloo: called from any thread when a `wait` would return. For whoever waits for several wires at once.
  std::function<void()> news = {};
};

/// A transport as the registry lists it. `unavailable` says why this build or machine lacks it; empty: it is there.
struct Transport {
  const char* name;
  const char* summary;
  std::string (*unavailable)();
  std::unique_ptr<Wire> (*connect)(const WireOptions&, Meeting&);
  /// To be called in a rank's process before it makes its first vector; may be nullptr.
  void (*prepare)() = nullptr;
  /// It takes one of the other transports for each pair of ranks, and is no way of its own.
  bool chooses = false;
};

/// All transports for real processes (not `sim`), in the order they are listed.
const std::vector<Transport>& transports();
/// Throws Error(kUsage) with the known names.
const Transport& find_transport(std::string_view name);

}  // namespace hopbench
