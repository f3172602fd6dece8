// The control channel between the launcher and a rank: what is no message is an error, and messages come as they went.
#include "backends/runtime/process/control.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "tests/fuzz/fuzz.h"

using namespace hopbench;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  int ends[2];
  HB_ASSERT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  const std::size_t sent = std::min<std::size_t>(size, 64 * 1024);
  HB_ASSERT(send(ends[0], data, sent, MSG_DONTWAIT) == ssize_t(sent));
  close(ends[0]);
  ControlChannel channel(ends[1]);
  HB_ASSERT(!channel.fill());  // all of it, and then the other end is gone
  fuzz::accepts([&] {
    std::size_t bytes = 0;
    while (const auto message = channel.take()) bytes += message->text.size();
    HB_ASSERT(bytes <= sent);
  });
  return 0;
}
