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

#include "backends/base/ran_out.h"
#include "backends/transport/body.h"
#include "backends/transport/gloo_frame.h"

namespace hopbench {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kForever = std::chrono::hours(24 * 365);
constexpr std::size_t kTokenBytes = 16;

std::string random_token() {
  std::random_device device;
  std::string token;
  while (token.size() < kTokenBytes) token.push_back(static_cast<char>(device() & 0xff));
  return token;
}

constexpr std::size_t kFewest = 2, kMost = 4;  // number of bodies that a peer may send ahead

}  // namespace

Eager eager_of(const WireOptions& options) {
  const bool in_frames = frame_bytes(0, options.body_bytes / sizeof(float)) <= GlooLink::kFrameBytes;
  if (in_frames || options.peers.empty()) return {};
  const std::size_t of_a_peer = options.eager_bytes / options.peers.size();
  const std::size_t posted = std::clamp(of_a_peer / options.body_bytes, std::size_t{0}, kMost);
  if (posted > 0) return {.floats = options.body_bytes / sizeof(float), .posted = posted};
  if (of_a_peer <= kFewest * GlooLink::kFrameBytes) return {};
  return {.floats = of_a_peer / kFewest / sizeof(float), .posted = kFewest};  // parts of bodies may still fit
}

void GlooLink::Waiting::abort() const {
  if (buffer == nullptr) return;
  if (direction == Direction::kReceive) {
    buffer->abortWaitRecv();
  } else {
    buffer->abortWaitSend();
  }
}

GlooLink::GlooLink(int peer, std::shared_ptr<gloo::transport::Device> device, Duration timeout, Eager eager)
    : peer_(peer), timeout_(timeout), token_(random_token()), eager_(eager) {
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
  // Closes softly, so that sent data arrives. Must precede the buffers' end: Gloo may be filling or sending one.
  context_->getPair(kOther).reset();
}

std::string GlooLink::blob() const {
  const std::vector<char> address = pair_->address().bytes();
  const std::uint64_t room = eager_.floats;
  std::string said = token_ + std::string(sizeof room, '\0');
  std::memcpy(said.data() + kTokenBytes, &room, sizeof room);
  return said + std::string(address.begin(), address.end());
}

std::unique_ptr<GlooLink::Buffer> GlooLink::buffer_for(void* data, std::size_t bytes) {
  return context_->createUnboundBuffer(data, bytes);
}

std::string GlooLink::connect(const std::string& blob) {
  constexpr std::size_t kBefore = kTokenBytes + sizeof their_floats_;  // bytes before the address
  if (blob.size() <= kBefore) return "its address is malformed";
  std::memcpy(&their_floats_, blob.data() + kTokenBytes, sizeof their_floats_);
  try {
    pair_->connect(std::vector<char>(blob.begin() + kBefore, blob.end()));
    // The process that connected must know the token that only this peer was given. Nothing else depends on this
    // context, so a time-out does no other harm.
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
  // In one piece: pages that no frame ever fills cost nothing. A piece for each frame would touch a page for its size.
  memory_ = std::make_unique_for_overwrite<char[]>((kPosted + kFlights) * kFrameBytes);
  for (std::size_t i = 0; i < kPosted; ++i) post(frames_.emplace_back(frame_at(i)));
  for (std::size_t i = 0; i < eager_.posted; ++i) post_body(Vec::uninitialised(eager_.floats));
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
    frame.posted = false;  // the pair is dead; earlier frames are still to be read
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
  bool room = false;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(dead_, true)) return;
    receiver_waits_.abort();
    lander_waits_.abort();
    queue_.clear();
    room = std::exchange(refused_, false);
    changed_.notify_all();
  }
  if (room) tell_of_room();
}

/// Notifies the thread that waits because a message was refused.
void GlooLink::tell_of_room() {
  {
    const std::lock_guard lock(inbox_->mutex);
    inbox_->room = true;
  }
  inbox_->tell();
}

/// Waits for the operation started on `buffer`. Returns false if it will not complete, or this link is being closed.
bool GlooLink::await_done(Waiting& me, Buffer& buffer, Direction direction) {
  const auto wait = [&](milliseconds limit) {
    return direction == Direction::kReceive ? buffer.waitRecv(limit) : buffer.waitSend(limit);
  };
  const auto settle = [&] {  // returns whether the pair is dead
    const std::lock_guard lock(mutex_);
    me = {};
    return dead_ && !stopping_;
  };
  // On a dead pair no operation completes any more. A wait reports only whether it had completed, and may time out,
  // because there is nothing left to close.
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
    report(error);
  }
  // A death after the last frame loses nothing.
  if (!parted && !bye_delivered_) deliver({.from = peer_, .kind = kGone, .words = {}, .body = {}});
  finished_ = true;
  const std::lock_guard lock(inbox_->mutex);
  inbox_->tell();
}

/// Makes the next poll report the damage.
void GlooLink::report(const std::exception& damage) {
  {
    const std::lock_guard lock(inbox_->mutex);
    inbox_->damage = ran_out(damage).value_or(damage.what());
    inbox_->woken = true;
  }
  inbox_->tell();
}

/// A small message is waited for, so it is delivered before its frame is posted again, which costs a system call and
/// wakes a thread of the peer. Before a body the frame is posted first, because more bodies may follow.
bool GlooLink::receive_frames() {
  for (std::size_t i = 0;; i = (i + 1) % frames_.size()) {
    Frame& frame = frames_[i];
    if (!std::exchange(frame.posted, false) || !await_done(receiver_waits_, *frame.buffer, Direction::kReceive))
      return false;
    ReadFrame got = read_frame(frame.all(), peer_);
    if (got.bye) return true;
    const bool small = got.whole;
    if (!small) post(frame);
    if (!small && !receive_body(got.message, got.floats, got.numbers)) return false;
    got.message.body = arrived(got.message.body, got.device);
    deliver(std::move(got.message));
    if (small) post(frame);
  }
}

/// Posts the receive of a body, unless the pair is dead. Bodies that came before its death are still to be read.
void GlooLink::post_body(Vec room) {
  Landing landing{.room = std::move(room), .buffer = {}};
  landing.buffer = buffer_for(landing.room.mutable_data(), landing.room.size() * sizeof(float));
  try {
    landing.buffer->recv(kOther, kEagerSlot);
    landings_.push_back(std::move(landing));
  } catch (const std::exception&) {
  }
}

/// Keeps the body where it came, unless it is so much smaller that a copy saves memory.
bool GlooLink::receive_posted(Message& message, std::size_t floats, std::size_t numbers) {
  if (landings_.empty()) return false;
  Landing landing = std::move(landings_.front());
  landings_.pop_front();
  if (!await_done(receiver_waits_, *landing.buffer, Direction::kReceive)) {
    abandon(std::move(landing.buffer), landing.room.share());
    return false;
  }
  constexpr std::size_t kMuchLarger = 8;
  if (numbers > 0 || kMuchLarger * floats <= landing.room.size()) {
    ArrivingBody body(floats, numbers);
    std::memcpy(body.data(), landing.room.data(), body.bytes());
    message.body = body.whole();
    post_body(std::move(landing.room));
  } else {
    message.body = landing.room.slice(0, floats);
    post_body(Vec::uninitialised(eager_.floats));
  }
  return true;
}

bool GlooLink::receive_body(Message& message, std::size_t floats, std::size_t numbers) {
  if (eager_.posted > 0 && floats <= eager_.floats) return receive_posted(message, floats, numbers);
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

/// Handles the peer's last frame. Tells the peer that all has arrived, and waits until it says the same. If one side
/// hung up earlier, the kernel would throw away what the other side has not read yet.
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
    if (message.kind >= kServing) inbox_->woken = true;  // about a peer; no wait counts on it
    inbox_->arrived.push_back(std::move(message));
    wake = inbox_->enough() || inbox_->woken;
  }
  if (wake) inbox_->tell();
}

}  // namespace hopbench
