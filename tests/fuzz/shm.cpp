// Shared memory: where a peer says that it is, and what it writes into the ring. The segment is this process's own.
#include "backends/transport/shm_peer.h"

#include <sstream>

#include "tests/fuzz/fuzz.h"

using namespace hopbench;

namespace {

/// The content of the segment on the other side, as a rank lays it out.
struct Other {
  ShmSegment& segment = ShmSegment::mine();
  ShmChannel* channel = new (segment.allocate(sizeof(ShmChannel))) ShmChannel;
  ShmBell* bell = new (segment.allocate(sizeof(ShmBell))) ShmBell;

  /// Nobody reads it any more, whatever the input gave back: else its memory would be lost to the next input.
  void free(const std::string& address) const {
    std::istringstream text(address);
    std::string word;
    for (int i = 0; i < 4; ++i) text >> word;
    std::uint64_t block = 0;
    text >> block;
    char* const base = reinterpret_cast<char*>(channel) - segment.offset_of(channel);
    reinterpret_cast<std::atomic<std::uint32_t>*>(base + block)->store(0);
  }

  std::string address(const std::string& numbers) const {
    if (!numbers.empty()) return segment.address() + ' ' + numbers;
    return segment.address() + ' ' + std::to_string(segment.offset_of(channel)) + ' ' +
           std::to_string(segment.lend(channel)) + ' ' + std::to_string(segment.offset_of(bell)) + ' ' +
           std::to_string(segment.lend(bell));
  }
};

void take_all(ShmPeer& peer, const Other& other, const std::string& numbers, const std::string& ring) {
  new (other.channel) ShmChannel;
  if (!peer.connect(other.address(numbers)).empty() || !numbers.empty()) return;
  if (!ring.empty()) other.channel->put(0, ring.data(), ring.size());
  other.channel->written = ring.size();
  fuzz::accepts([&] {
    while (const std::optional<Message> message = peer.take()) {
      HB_ASSERT(message->body.empty() || message->body.raw() != nullptr);
    }
  });
}

}  // namespace

// The first line stands behind the segment's address if it is not empty; what follows it is in the ring.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Other other;
  static ShmBell& mine = *new (other.segment.allocate(sizeof(ShmBell))) ShmBell;
  const std::string text = fuzz::text_of(data, size);
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string address;
  {
    ShmPeer peer(1, mine);
    address = peer.address();
    take_all(peer, other, text.substr(0, end), text.substr(std::min(end + 1, text.size()), ShmChannel::kRing));
  }
  other.free(address);
  return 0;
}
