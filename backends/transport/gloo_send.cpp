// GlooLink: the sending side.
#include <gloo/transport/unbound_buffer.h>

#include <utility>

#include "backends/transport/body.h"
#include "backends/transport/gloo_frame.h"
#include "backends/transport/gloo_link.h"

namespace hopbench {

/// Hands the message to Gloo at once, unless its body takes time there: because Gloo may write it into the socket, or
/// because it must be copied from a device first. Then another thread sends it.
bool GlooLink::try_send(const Message& message) {
  {
    const std::lock_guard lock(mutex_);
    if (dead_) return true;
    if (queue_.size() == kQueue) {
      refused_ = true;
      return false;
    }
    const bool is_free = queue_.empty() && !starting_ && room_for_flight();
    const bool at_once = is_free && !on_device(message.body) && (is_frame(message) || waits(message.body));
    Outgoing outgoing{message, false};
    if (at_once) {
      note_started(start(outgoing));
    } else {
      queue_.push_back(std::move(outgoing));
    }
    if (!landing_due()) return true;
  }
  changed_.notify_one();
  return true;
}

void GlooLink::say_bye() {
  {
    const std::lock_guard lock(mutex_);
    if (dead_) return;
    queue_.push_back({{}, true});
  }
  changed_.notify_one();
}

bool GlooLink::is_frame(const Message& message) {
  return frame_bytes(message.words.size(), message.body.stored()) <= kFrameBytes;
}

/// Returns true for a large body that the peer has to ask for.
bool GlooLink::waits(const Payload& body) const { return body.stored() > their_floats_; }

/// Hands the message to Gloo as the next flight. Returns true if that has a body of its own. One thread at a time.
bool GlooLink::start(const Outgoing& outgoing) {
  Flight& flight = flights_[started_ % kFlights];
  const Payload body = on_host(outgoing.message.body);
  const std::size_t bytes = write_frame(outgoing.message, body, outgoing.bye, flight.frame.all(), kFrameBytes);
  try {
    flight.frame.buffer->send(kOther, kFrameSlot, 0, bytes);
    if (is_frame(outgoing.message)) return false;
    flight.body = body;
    // Gloo only reads it, but its interface has only one kind of buffer.
    flight.body_buffer = buffer_for(const_cast<float*>(body.raw()), body.stored() * sizeof(float));
    flight.body_buffer->send(kOther, waits(body) ? kBodySlot : kEagerSlot);
    if (waits(body)) ++awaited_bodies_;
    return true;
  } catch (const std::exception&) {
    // The pair is dead, as the watch will report.
  }
  return false;
}

/// Called with the mutex held.
void GlooLink::note_started(bool large) {
  ++started_;
  if (large) ++large_;
}

/// Called with the mutex held. A body must not be held longer than it takes, since its owner may want to write.
bool GlooLink::landing_due() const { return !queue_.empty() || large_ > 0 || started_ - landed_ >= kFlights / 2; }

void GlooLink::land_all() {
  Flight* oldest = nullptr;
  try {
    while (next_landing(oldest) && land(*oldest)) {
    }
  } catch (const std::exception& error) {  // a device's body that cannot be read, or that no memory can hold
    report(error);
    died();
  }
}

/// Waits until it is sent. Returns false if it will not be.
bool GlooLink::land(Flight& flight) {
  if (!await_done(lander_waits_, *flight.frame.buffer, Direction::kSend)) return false;
  if (flight.body_buffer && !await_done(lander_waits_, *flight.body_buffer, Direction::kSend)) return false;
  const std::lock_guard lock(mutex_);
  if (flight.body_buffer) --large_;
  flight.body_buffer.reset();
  flight.body = {};
  ++landed_;
  return true;
}

/// Starts the queued messages. Then sets `oldest` to the oldest one under way; false: there will be none.
bool GlooLink::next_landing(Flight*& oldest) {
  bool room = false;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stopping_ || dead_ || landing_due(); });
    if (stopping_ || dead_) return false;
    while (!queue_.empty() && room_for_flight()) {
      const Outgoing next = std::move(queue_.front());
      queue_.pop_front();
      starting_ = true;  // no other thread starts one; messages queue meanwhile, and their senders need not wait
      lock.unlock();
      const bool large = start(next);
      lock.lock();
      starting_ = false;
      note_started(large);
    }
    if (queue_.size() <= kQueue / 2) room = std::exchange(refused_, false);
    oldest = &flights_[landed_ % kFlights];
  }
  if (room) tell_of_room();
  return true;
}

}  // namespace hopbench
