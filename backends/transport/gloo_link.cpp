#include "backends/transport/gloo_link.h"

#include <gloo/common/error.h>
#include <gloo/transport/context.h>
#include <gloo/transport/device.h>
#include <gloo/transport/pair.h>
#include <gloo/transport/unbound_buffer.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>
#include <utility>

#include "backends/transport/body.h"
#include "backends/transport/gloo_frame.h"

namespace hopbench {
namespace {

using std::chrono::milliseconds;

// Both ends of a pair see themselves as rank 0 of two: Gloo's ranks are local names, they are not on the wire.
constexpr int kOther = 1;
enum Slot : std::uint64_t { kFrameSlot, kBodySlot, kTokenSlot, kFarewellSlot, kWatchSlot };

constexpr milliseconds kForever = std::chrono::hours(24 * 365);
constexpr std::size_t kTokenBytes = 16;

std::string random_token() {
  std::random_device device;
  std::string token;
  while (token.size() < kTokenBytes) token.push_back(static_cast<char>(device() & 0xff));
  return token;
}

}  // namespace

void GlooLink::Waiting::abort() const {
  if (buffer == nullptr) return;
  if (direction == Direction::kReceive) {
    buffer->abortWaitRecv();
  } else {
    buffer->abortWaitSend();
  }
}

GlooLink::GlooLink(int peer, std::shared_ptr<gloo::transport::Device> device, Duration timeout)
    : peer_(peer), timeout_(timeout), token_(random_token()) {
  context_ = device->createContext(0, 2);
  // Gloo waits five times this long for a connection.
  context_->setTimeout(std::max(milliseconds(1), std::chrono::duration_cast<milliseconds>(timeout / 5)));
  pair_ = context_->createPair(kOther).get();
}

GlooLink::~GlooLink() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    receiver_waits_.abort();
    lander_waits_.abort();
  }
  changed_.notify_all();
  if (receiver_.joinable()) receiver_.join();
  if (lander_.joinable()) lander_.join();
  // Softly, so that what was sent arrives. Before the buffers go: Gloo may be filling or sending one.
  context_->getPair(kOther).reset();
}

std::string GlooLink::blob() const {
  const std::vector<char> address = pair_->address().bytes();
  return token_ + std::string(address.begin(), address.end());
}

std::unique_ptr<GlooLink::Buffer> GlooLink::buffer_for(void* data, std::size_t bytes) {
  return context_->createUnboundBuffer(data, bytes);
}

std::string GlooLink::connect(const std::string& blob) {
  if (blob.size() <= kTokenBytes) return "its address is malformed";
  try {
    pair_->connect(std::vector<char>(blob.begin() + kTokenBytes, blob.end()));
    // Whoever connected must know the token that only this peer was told. Nothing else hangs on this context, so a
    // time-out harms nobody else.
    said_ = blob.substr(0, kTokenBytes);
    heard_.resize(kTokenBytes);
    token_in_ = buffer_for(heard_.data(), kTokenBytes);
    token_out_ = buffer_for(said_.data(), kTokenBytes);
    token_in_->recv(kOther, kTokenSlot);
    token_out_->send(kOther, kTokenSlot);
    const auto limit = std::chrono::duration_cast<milliseconds>(timeout_);
    if (!token_in_->waitRecv(limit) || !token_out_->waitSend(limit)) return "interrupted";
    return heard_ == token_ ? "" : "somebody else connected";
  } catch (const std::exception& e) {
    return e.what();
  }
}

void GlooLink::start(GlooInbox& inbox) {
  inbox_ = &inbox;
  farewell_in_ = buffer_for(&last_in_, 1);
  farewell_out_ = buffer_for(&last_out_, 1);
  // In one piece: pages that no frame ever fills cost nothing, and a piece for each frame would touch one for its size.
  memory_ = std::make_unique_for_overwrite<char[]>((kPosted + kFlights) * kFrameBytes);
  for (std::size_t i = 0; i < kPosted; ++i) post(frames_.emplace_back(frame_at(i)));
  for (std::size_t i = 0; i < kFlights; ++i)
    flights_.push_back({.frame = frame_at(kPosted + i), .body = {}, .body_buffer = {}});
  receiver_ = std::thread([this] { receive_all(); });
  lander_ = std::thread([this] { land_all(); });
}

GlooLink::Frame GlooLink::frame_at(std::size_t i) {
  char* const memory = memory_.get() + i * kFrameBytes;
  return {.memory = memory, .buffer = buffer_for(memory, kFrameBytes)};
}

void GlooLink::post(Frame& frame) {
  try {
    frame.buffer->recv(kOther, kFrameSlot);
    frame.posted = true;
  } catch (const std::exception&) {
    frame.posted = false;  // the pair is dead; frames that came before are still to be read
  }
}

bool GlooLink::watch(Buffer& buffer) {
  try {
    pair_->recv(&buffer, kWatchSlot, 0, 0);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

void GlooLink::died() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(dead_, true)) return;
  receiver_waits_.abort();
  lander_waits_.abort();
  queue_.clear();
  changed_.notify_all();
}

/// Waits for an operation that was started on `buffer`. False: it will not complete, or this link is being taken down.
bool GlooLink::await_done(Waiting& me, Buffer& buffer, Direction direction) {
  const auto wait = [&](milliseconds limit) {
    return direction == Direction::kReceive ? buffer.waitRecv(limit) : buffer.waitSend(limit);
  };
  const auto settle = [&] {  // returns whether the pair is dead
    const std::lock_guard lock(mutex_);
    me = {};
    return dead_ && !stopping_;
  };
  // On a dead pair nothing completes any more: a wait tells only whether it had. It may time out, for there is nothing
  // left to close.
  const milliseconds look(1);
  try {
    bool dead = false;
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return false;
      dead = dead_;
      if (!dead) me = {&buffer, direction};
    }
    if (dead) return wait(look);
    const bool done = wait(kForever);
    return settle() && !done ? wait(look) : done;
  } catch (const std::exception&) {
    settle();
    return false;
  }
}

void GlooLink::abandon(std::unique_ptr<Buffer> buffer, Payload body) {
  const std::lock_guard lock(mutex_);
  abandoned_.emplace_back(std::move(body), std::move(buffer));
}

// --- Receiving

void GlooLink::receive_all() {
  bool parted = false;
  try {
    parted = receive_frames() && part();
  } catch (const std::exception& error) {  // a damaged frame, or a body that no memory can hold
    const std::lock_guard lock(inbox_->mutex);
    inbox_->damage = error.what();
  }
  // A death after the last word is no loss.
  if (!parted && !bye_delivered_) deliver({.from = peer_, .kind = kGone, .words = {}, .body = {}});
  finished_ = true;
  const std::lock_guard lock(inbox_->mutex);
  inbox_->changed.notify_all();
}

bool GlooLink::receive_frames() {
  for (std::size_t i = 0;; i = (i + 1) % frames_.size()) {
    Frame& frame = frames_[i];
    if (!frame.posted || !await_done(receiver_waits_, *frame.buffer, Direction::kReceive)) return false;
    ReadFrame got = read_frame(frame.all(), peer_);
    if (got.bye) return true;
    post(frame);
    if (!got.whole && !receive_body(got.message, got.floats, got.numbers)) return false;
    got.message.body = arrived(got.message.body, got.device);
    deliver(std::move(got.message));
  }
}

bool GlooLink::receive_body(Message& message, std::size_t floats, std::size_t numbers) {
  ArrivingBody body(floats, numbers);
  auto buffer = buffer_for(body.data(), body.bytes());
  try {
    buffer->recv(kOther, kBodySlot);
  } catch (const std::exception&) {
    return false;
  }
  message.body = body.whole();
  if (await_done(receiver_waits_, *buffer, Direction::kReceive)) return true;
  abandon(std::move(buffer), message.body);
  return false;
}

/// The peer sends no more. Tells it that all of it came, and stays until the peer says the same: whoever hangs up
/// earlier would have the kernel throw away what the other has not read yet.
bool GlooLink::part() {
  if (!bye_delivered_) deliver({.from = peer_, .kind = kBye, .words = {}, .body = {}});
  try {
    farewell_in_->recv(kOther, kFarewellSlot);
    farewell_out_->send(kOther, kFarewellSlot);
  } catch (const std::exception&) {
    return false;
  }
  return await_done(receiver_waits_, *farewell_out_, Direction::kSend) &&
         await_done(receiver_waits_, *farewell_in_, Direction::kReceive);
}

void GlooLink::deliver(Message message) {
  if (message.kind == kBye) bye_delivered_ = true;
  bool wake = false;
  {
    const std::lock_guard lock(inbox_->mutex);
    if (message.kind >= kServing) inbox_->woken = true;  // about a peer, which no wait counts on
    inbox_->arrived.push_back(std::move(message));
    wake = inbox_->enough() || inbox_->woken;
  }
  if (wake) inbox_->changed.notify_one();
}

// --- Sending

bool GlooLink::try_send(const Message& message) {
  {
    const std::lock_guard lock(mutex_);
    if (dead_) return true;
    if (queue_.size() == kQueue) {
      refused_ = true;
      return false;
    }
    Outgoing outgoing{message, false};
    if (!queue_.empty() || !start(outgoing)) queue_.push_back(std::move(outgoing));
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

/// Hands it to Gloo. With the mutex held. False: too many are under way.
bool GlooLink::start(const Outgoing& outgoing) {
  if (started_ - landed_ == kFlights) return false;
  Flight& flight = flights_[started_ % kFlights];
  const Payload body = on_host(outgoing.message.body);
  const std::size_t words = outgoing.message.words.size();
  const std::size_t bytes = write_frame(outgoing.message, body, outgoing.bye, flight.frame.all(), kFrameBytes);
  try {
    flight.frame.buffer->send(kOther, kFrameSlot, 0, bytes);
    ++started_;
    if (frame_bytes(words, body.stored()) <= kFrameBytes) return true;
    flight.body = body;
    // Gloo only reads it, though its interface has one kind of buffer.
    flight.body_buffer = buffer_for(const_cast<float*>(body.raw()), body.stored() * sizeof(float));
    flight.body_buffer->send(kOther, kBodySlot);
    ++large_;
  } catch (const std::exception&) {
    // The pair is dead, and so the watch will say.
  }
  return true;
}

/// With the mutex held. A body is not to be held longer than it takes: its owner may want to write.
bool GlooLink::landing_due() const { return !queue_.empty() || large_ > 0 || started_ - landed_ >= kFlights / 2; }

void GlooLink::land_all() {
  Flight* oldest = nullptr;
  while (next_landing(oldest)) {
    if (!await_done(lander_waits_, *oldest->frame.buffer, Direction::kSend)) return;
    if (oldest->body_buffer && !await_done(lander_waits_, *oldest->body_buffer, Direction::kSend)) return;
    const std::lock_guard lock(mutex_);
    if (oldest->body_buffer) --large_;
    oldest->body_buffer.reset();
    oldest->body = {};
    ++landed_;
  }
}

/// Starts what had to queue. Then the oldest that is under way; false: there will be none.
bool GlooLink::next_landing(Flight*& oldest) {
  bool room = false;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stopping_ || dead_ || landing_due(); });
    if (stopping_ || dead_) return false;
    while (!queue_.empty() && start(queue_.front())) queue_.pop_front();
    if (queue_.size() <= kQueue / 2) room = std::exchange(refused_, false);
    oldest = &flights_[landed_ % kFlights];
  }
  if (room) {
    {
      const std::lock_guard lock(inbox_->mutex);
      inbox_->room = true;
    }
    inbox_->changed.notify_one();
  }
  return true;
}

}  // namespace hopbench
