// One peer over Gloo: a pair with a context of its own, a thread that receives and a thread that lands what is sent.
//
// Gloo's source makes this necessary:
// - A wait that times out closes every pair of its context. Therefore each pair has a context of its own, and no wait
//   has a time-out, except on a pair that is dead already.
// - If a pair dies, Gloo wakes threads that wait for an operation that has not begun. It forgets the receive that is
//   being filled and the send that is being written. Therefore one thread of the wire watches all pairs through a
//   receive that never begins, and `died` aborts what Gloo forgot.
// - A receive that had completed before the death still counts: see `await_done`.
// - A send completes only after its receive is posted, and the notice of that waits behind all that this side sends.
//   Therefore receives are posted ahead: of frames, and of large bodies (Eager). Only a larger body has its receive
//   posted when its head is here, and waits for it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backends/runtime/message.h"
#include "backends/transport/wire.h"

namespace gloo::transport {
class Context;
class Device;
class Pair;
class UnboundBuffer;
}  // namespace gloo::transport

namespace hopbench {

/// Opens a device on an interface or, without one, an address; both empty: loopback. Throws Error naming the problem.
std::shared_ptr<gloo::transport::Device> open_gloo_device(const std::string& interface,
                                                          const std::string& address = "");

/// The inbox that all links of a wire deliver into, and that the wire's user waits on.
struct GlooInbox {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Message> arrived;
  std::size_t wanted = 1;  // number that must have arrived before the waiting thread is woken for them
  bool woken = false;      // by another thread, or by the end of a peer
  std::string damage;      // what came is not a message: the next poll reports it
  bool room = false;       // a link that had refused a message has room again
  std::function<void()> news = {};

  bool enough() const { return arrived.size() >= wanted; }
  /// Reports news to the waiting thread.
  void tell() {
    changed.notify_all();
    if (news) news();
  }
};

/// Large bodies whose receives are posted ahead on a link: `posted` bodies, of at most `floats` floats each.
struct Eager {
  std::size_t floats = 0, posted = 0;
};
/// Shares the memory that the options allow among the peers.
Eager eager_of(const WireOptions& options);

// Both ends of a pair see themselves as rank 0 of two: Gloo's ranks are local names, they are not on the wire.
inline constexpr int kOther = 1;
/// The kinds of transfers between the two. Gloo matches a send with the receive of the same kind.
enum GlooSlot : std::uint64_t { kFrameSlot, kBodySlot, kTokenSlot, kFarewellSlot, kWatchSlot, kEagerSlot };

class GlooLink {
 public:
  static constexpr std::size_t kFrameBytes = 64 * 1024;  // header, words and a small body travel as one frame
  static constexpr std::size_t kPosted = 16;             // frames whose receives are posted ahead
  static constexpr std::size_t kQueue = 256;             // messages that may wait to be sent
  static constexpr std::size_t kFlights = 16;            // messages that may be under way

  GlooLink(int peer, std::shared_ptr<gloo::transport::Device> device, Duration timeout, Eager eager = {});
  ~GlooLink();  // never hangs: aborts what its threads wait for
  GlooLink(const GlooLink&) = delete;
  GlooLink& operator=(const GlooLink&) = delete;

  int peer() const { return peer_; }
  /// Returns this side's address, the token that a connecting process must send, and the largest body it has room for.
  std::string blob() const;
  /// Connects to the other side's blob and exchanges tokens. Returns "" if the right peer is there, else the error.
  std::string connect(const std::string& blob);

  void start(GlooInbox& inbox);
  bool try_send(const Message& message);
  /// Sends the last frame, after all that was sent.
  void say_bye();
  /// Returns true if both sides have sent everything, or the peer is gone.
  bool finished() const { return finished_; }
  std::int64_t awaited_bodies() const { return awaited_bodies_; }

  /// Posts a receive that only the pair's death completes; false if the pair is dead. For the watching thread.
  bool watch(gloo::transport::UnboundBuffer& buffer);
  void died();

 private:
  using Buffer = gloo::transport::UnboundBuffer;
  enum class Direction { kReceive, kSend };
  struct Waiting {  // the operation that one thread is blocked on
    Buffer* buffer = nullptr;
    Direction direction = Direction::kReceive;
    void abort() const;
  };
  struct Frame {
    char* memory;  // kFrameBytes
    std::unique_ptr<Buffer> buffer;
    bool posted = false;
    std::span<char> all() const { return {memory, kFrameBytes}; }
  };
  struct Landing {  // for a body that may come, or that Gloo is receiving
    Vec room;
    std::unique_ptr<Buffer> buffer;
  };
  struct Flight {
    Frame frame;
    Payload body;  // if it does not fit into the frame
    std::unique_ptr<Buffer> body_buffer;
  };
  struct Outgoing {
    Message message;
    bool bye = false;
  };

  std::unique_ptr<Buffer> buffer_for(void* data, std::size_t bytes);
  bool await_done(Waiting& me, Buffer& buffer, Direction direction);
  void post(Frame& frame);
  /// Keeps memory that Gloo may still be working on until the pair is closed.
  void abandon(std::unique_ptr<Buffer> buffer, Payload body);

  void receive_all();
  bool receive_frames();  // true: the peer sent its last frame, false: it died
  bool receive_body(Message& message, std::size_t floats, std::size_t numbers);
  bool receive_posted(Message& message, std::size_t floats, std::size_t numbers);
  void post_body(Vec room);
  bool part();
  void deliver(Message message);
  void report(const std::exception& damage);
  void tell_of_room();

  Frame frame_at(std::size_t i);
  static bool is_frame(const Message& message);
  bool waits(const Payload& body) const;
  bool room_for_flight() const { return started_ - landed_ < kFlights; }
  bool start(const Outgoing& outgoing);
  void note_started(bool large);
  bool landing_due() const;
  void land_all();
  bool land(Flight& flight);
  bool next_landing(Flight*& oldest);

  const int peer_;
  const Duration timeout_;
  const std::string token_;  // to be sent by the peer
  const Eager eager_;
  std::uint64_t their_floats_ = 0;  // the largest body that the peer has room for
  std::shared_ptr<gloo::transport::Context> context_;
  gloo::transport::Pair* pair_ = nullptr;
  GlooInbox* inbox_ = nullptr;

  std::string said_, heard_;  // tokens
  std::unique_ptr<Buffer> token_in_, token_out_;
  std::unique_ptr<char[]> memory_;  // of all frames, those that are posted first
  std::vector<Frame> frames_;
  char last_in_ = 0, last_out_ = 0;  // of the farewell
  std::unique_ptr<Buffer> farewell_in_, farewell_out_;

  std::mutex mutex_;  // protects the members below
  std::condition_variable changed_;
  std::deque<Outgoing> queue_;
  Waiting receiver_waits_, lander_waits_;
  std::vector<std::pair<Payload, std::unique_ptr<Buffer>>> abandoned_;
  bool dead_ = false, stopping_ = false;
  bool starting_ = false;                 // a thread hands a message to Gloo, without the mutex
  std::vector<Flight> flights_;           // in turn
  std::size_t started_ = 0, landed_ = 0;  // since the start
  std::size_t large_ = 0;                 // flights under way that hold a body
  bool refused_ = false;                  // a message, for lack of room; a thread waits for room

  bool bye_delivered_ = false;    // used by the receiving thread only, like what follows
  std::deque<Landing> landings_;  // in the order in which they were posted
  std::atomic<bool> finished_{false};
  std::atomic<std::int64_t> awaited_bodies_{0};
  std::thread receiver_, lander_;
};

}  // namespace hopbench
