#include "backends/transport/shm_peer.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <iomanip>
#include <new>
#include <sstream>
#include <utility>

#include "backends/base/error.h"
#include "backends/transport/body.h"

namespace hopbench {

/// The head of a message in the ring is followed by the words, then by the body unless it is lent.
/// The place of a body: behind the words, in the sender's segment, or on the device, where a Loan follows the words.
enum Lent : std::uint8_t { kInside, kInSegment, kOnDevice };

struct ShmPeer::Head {
  std::int64_t iter = 0, bytes = 0;
  std::uint64_t floats = 0;         // number that the body stores
  std::uint64_t numbers = 0;        // numbers of a sparse body; 0: it is dense
  std::uint64_t at = 0, block = 0;  // of a lent body: its place in the sender's segment, and what to give back
  std::uint16_t kind = 0;
  std::uint8_t words = 0;
  std::uint8_t lent = kInside;
  std::uint8_t device = 0;  // the body lay on a device
};

namespace {

ShmChannel* new_channel() {
  void* const memory = ShmSegment::mine().allocate(sizeof(ShmChannel));
  if (memory == nullptr) throw environment_error("out of shared memory: use fewer ranks");
  return new (memory) ShmChannel;
}

std::string to_hex(const DeviceSpace::Loan& loan) {
  std::ostringstream text;
  for (const unsigned char byte : std::bit_cast<std::array<unsigned char, sizeof loan>>(loan))
    text << std::hex << std::setw(2) << std::setfill('0') << int(byte);
  return text.str();
}

std::optional<DeviceSpace::Loan> loan_from_hex(const std::string& text) {
  std::array<unsigned char, sizeof(DeviceSpace::Loan)> bytes{};
  if (text.size() != 2 * bytes.size()) return std::nullopt;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const char* const begin = text.data() + 2 * i;
    if (std::from_chars(begin, begin + 2, bytes[i], 16).ptr != begin + 2) return std::nullopt;
  }
  return std::bit_cast<DeviceSpace::Loan>(bytes);
}

std::uint64_t rounded(std::uint64_t bytes) { return (bytes + 7) / 8 * 8; }

/// Returns the object at that place of the peer's memory. Throws Error if it cannot be there.
template <class T>
T* there(const ShmView& view, std::uint64_t offset) {
  if (offset % alignof(T) != 0) throw trial_error("its address is malformed");
  return reinterpret_cast<T*>(view.at(offset, sizeof(T)));
}

}  // namespace

ShmPeer::ShmPeer(int rank, ShmBell& bell) : rank_(rank), bell_(bell), out_(new_channel()) {}

ShmPeer::~ShmPeer() {
  std::uint32_t open = ShmChannel::kOpen;
  out_->state.compare_exchange_strong(open, ShmChannel::kLeft);
  if (view_ != nullptr) {
    told_ = true;
    try {
      while (take()) {  // gives back what they hold
      }
    } catch (const Error&) {  // what is not a message holds nothing that could be given back
    }
    in_->deaf.store(1, std::memory_order_seq_cst);
    their_bell_->ring(true);
    view_->give_back(in_block_);
    view_->give_back(bell_block_);
  }
  if (process_ >= 0) close(process_);
  ShmSegment::mine().release(out_);  // reused once the peer has given it back
}

std::string ShmPeer::address() {
  ShmSegment& segment = ShmSegment::mine();
  std::ostringstream text;
  text << segment.address() << ' ' << segment.offset_of(out_) << ' ' << segment.lend(out_) << ' '
       << segment.offset_of(&bell_) << ' ' << segment.lend(&bell_);
  if (device_space() == nullptr) return text.str();
  if (const auto sample = device_space()->lend_sample()) text << ' ' << to_hex(*sample);
  return text.str();
}

std::string ShmPeer::connect(const std::string& address) {
  std::istringstream text(address);
  std::string segment[4];
  std::uint64_t channel = 0, bell = 0;
  if (!(text >> segment[0] >> segment[1] >> segment[2] >> segment[3] >> channel >> in_block_ >> bell >> bell_block_))
    return "its address is malformed";
  try {
    auto view = std::make_shared<ShmView>(segment[0] + ' ' + segment[1] + ' ' + segment[2] + ' ' + segment[3]);
    in_ = there<ShmChannel>(*view, channel);
    their_bell_ = there<ShmBell>(*view, bell);
    for (const std::uint64_t block : {in_block_, bell_block_}) there<std::atomic<std::uint32_t>>(*view, block);
    if (view->pid() != getpid()) {
      process_ = int(syscall(SYS_pidfd_open, view->pid(), 0));
      if (process_ < 0 && errno != ESRCH) return std::string("its process cannot be watched: ") + std::strerror(errno);
      if (process_ < 0) dead_ = true;
    }
    view_ = std::move(view);
    std::string sample;
    if (text >> sample) try_device(sample);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

void ShmPeer::try_device(const std::string& sample) {
  const std::optional<DeviceSpace::Loan> loan = loan_from_hex(sample);
  if (!loan) {
    trouble_with_device_ = "its sample is malformed";
  } else if (device_space() != nullptr) {
    trouble_with_device_ = device_space()->trouble_with(*loan, view_->own());
  }
}

bool ShmPeer::try_send(const Message& message) {
  if (dead_ || out_->deaf.load(std::memory_order_acquire) != 0) return true;
  const bool lend = message.body.stored() >= kSharedFloats;
  const std::size_t words = message.words.size() * sizeof(std::int64_t);
  // If the body is lent, a loan may follow.
  const std::size_t most = lend ? sizeof(DeviceSpace::Loan) : message.body.stored() * sizeof(float);
  const std::uint64_t bytes = rounded(sizeof(Head) + words + most);

  const auto room = [&] {
    return ShmChannel::kRing - (written_ - out_->read.load(std::memory_order_seq_cst)) >= bytes &&
           sent_ - out_->taken.load(std::memory_order_seq_cst) < ShmChannel::kQueue;
  };
  if (!room()) {
    // The peer looks for this after it makes room, so room made in between is seen here or reported there.
    refused_ = true;
    out_->refused.store(1, std::memory_order_seq_cst);
    if (!room()) return false;
    refused_ = false;
  }
  Head head{.iter = message.iter, .bytes = message.bytes, .floats = message.body.stored()};
  head.numbers = message.body.sparse() ? message.body.size() : 0;
  head.kind = static_cast<std::uint16_t>(message.kind);
  head.words = static_cast<std::uint8_t>(message.words.size());
  head.device = on_device(message.body) ? 1 : 0;
  if (words > 0) out_->put(written_ + sizeof head, message.words.begin(), words);
  if (lend) {
    lend_body(message.body, head, written_ + sizeof head + words);
  } else if (most > 0) {
    out_->put(written_ + sizeof head + words, on_host(message.body).raw(), most);
  }
  out_->put(written_, &head, sizeof head);
  written_ += bytes;
  out_->written.store(written_, std::memory_order_release);
  out_->messages.store(++sent_, std::memory_order_seq_cst);
  their_bell_->ring(message.kind >= kServing);
  return true;
}

/// Lends the vector where it lies. If it belongs to another process, or to no block, lends a copy on the device.
bool ShmPeer::lend_on_device(const Payload& body, Head& head, std::uint64_t place) {
  DeviceSpace& device = *device_space();
  if (!lends_device_ || !device.lends()) return false;
  Payload there = body;
  std::optional<DeviceSpace::Loan> loan = device.lend(there.data());
  if (!loan && device.lends()) {
    there = Vec::copy_of(body).share();
    loan = device.lend(there.data());
  }
  if (!loan) return false;
  head.lent = kOnDevice;
  head.block = ShmSegment::mine().lend(loan->counter);
  out_->put(place, &*loan, sizeof *loan);
  return true;
}

void ShmPeer::lend_body(const Payload& body, Head& head, std::uint64_t place) {
  ShmSegment& segment = ShmSegment::mine();
  if (head.device != 0 && lend_on_device(body, head, place)) return;
  Payload there = on_host(body);
  if (!segment.contains(there.raw())) there = Vec::copy_of(there).share();  // older than the segment, or another's
  head.lent = kInSegment;
  head.at = segment.offset_of(there.raw());
  head.block = segment.lend(there.raw());
}

Payload ShmPeer::borrowed(const Head& head, std::uint64_t place) const {
  DeviceSpace::Loan loan;
  in_->get(place, &loan, sizeof loan);
  DeviceSpace* const device = device_space();
  if (device == nullptr)
    throw environment_error(
        "a vector came from another rank's GPU, and this rank has none: give all ranks one backend");
  float* const numbers = device->borrow(loan, view_->own());
  const auto give_back = [view = view_, block = head.block, device] {
    device->finish();
    view->give_back(block);
  };
  return Payload(StorageRef(new Storage(*device, numbers, head.floats, give_back)), 0, head.floats);
}

Payload ShmPeer::body_of(const Head& head, std::uint64_t place) const {
  if (head.floats == 0 && head.numbers == 0) return {};
  if (head.lent == kOnDevice) return borrowed(head, place);
  if (head.lent == kInside) {
    ArrivingBody body(head.floats, head.numbers);
    in_->get(place, body.data(), body.bytes());
    return body.whole();
  }
  auto* const numbers = reinterpret_cast<float*>(view_->at(head.at, head.floats * sizeof(float)));
  const auto give_back = [view = view_, block = head.block] { view->give_back(block); };
  StorageRef storage(new Storage(host_space(), numbers, head.floats, give_back));
  return head.numbers > 0 ? Payload::of_entries(std::move(storage), head.numbers, head.floats)
                          : Payload(std::move(storage), 0, head.floats);
}

/// The other side is this same program. But if it goes wrong, it must not take this process down.
void ShmPeer::check(const Head& head, std::uint64_t bytes) const {
  const bool inside = head.lent == kInside, in_segment = head.lent == kInSegment;
  bool good = head.words <= Words::kMax && head.lent <= kOnDevice && body_is_possible(head.floats, head.numbers);
  good = good && (!inside || head.floats <= ShmChannel::kRing / sizeof(float));
  const std::uint64_t body = inside ? head.floats * sizeof(float) : sizeof(DeviceSpace::Loan);
  good = good && rounded(sizeof head + head.words * sizeof(std::int64_t) + body) <= bytes;
  good = good && (!in_segment || head.at % alignof(float) == 0) && (inside || head.block % alignof(std::uint32_t) == 0);
  if (!good) refuse();
  if (!inside) view_->at(head.block, sizeof(std::uint32_t));
}

void ShmPeer::refuse() const {
  throw trial_error("what rank " + std::to_string(rank_) +
                    " left in shared memory is not a message: run the trial again");
}

std::optional<Message> ShmPeer::take() {
  const bool end = ended();  // before looking for the last message
  const std::uint64_t there_are = in_->written.load(std::memory_order_acquire) - read_;
  if (there_are == 0) {
    if (!end || told_.exchange(true)) return std::nullopt;
    const bool said = in_->state.load(std::memory_order_acquire) == ShmChannel::kAllSaid;
    return Message{.from = rank_, .kind = said ? kBye : kGone, .words = {}, .body = {}};
  }
  Head head;
  if (there_are < sizeof head || there_are > ShmChannel::kRing) refuse();
  in_->get(read_, &head, sizeof head);
  check(head, there_are);
  Message message{.from = rank_, .kind = Kind{head.kind}, .iter = head.iter, .words = {}, .body = {}};
  message.bytes = head.bytes;
  std::uint64_t place = read_ + sizeof head;
  for (int w = 0; w < head.words; ++w, place += sizeof(std::int64_t)) {
    std::int64_t value = 0;
    in_->get(place, &value, sizeof value);
    message.words.push_back(value);
  }
  try {
    message.body = arrived(body_of(head, place), head.device != 0);
  } catch (const Error&) {
    // Unlike those in the segment, a vector on a device goes with its owner: nothing from here on can be received.
    if (head.lent != kOnDevice || !ended()) throw;
    read_ = in_->written.load(std::memory_order_acquire);
    told_ = true;
    return Message{.from = rank_, .kind = kGone, .words = {}, .body = {}};
  }
  place += head.lent == kInside ? head.floats * sizeof(float) : sizeof(DeviceSpace::Loan);
  read_ += rounded(place - read_);
  in_->read.store(read_, std::memory_order_seq_cst);
  in_->taken.store(++taken_, std::memory_order_seq_cst);
  if (in_->refused.load(std::memory_order_seq_cst) != 0 && in_->refused.exchange(0) != 0) their_bell_->ring(true);
  if (message.kind == kBye) told_ = true;
  return message;
}

void ShmPeer::say_bye() {
  out_->state.store(ShmChannel::kAllSaid, std::memory_order_release);
  their_bell_->ring(true);
}

int ShmPeer::waiting() const {
  return static_cast<int>(in_->messages.load(std::memory_order_seq_cst) - in_->taken.load(std::memory_order_seq_cst));
}

bool ShmPeer::news() {
  if (ended() && !told_) return true;
  const bool room = refused_ && (out_->refused.load(std::memory_order_seq_cst) == 0 || dead_ || out_->deaf != 0);
  if (room) refused_ = false;
  return room;
}

bool ShmPeer::silent() const { return ended() && in_->written.load(std::memory_order_acquire) == read_; }

}  // namespace hopbench
