// The messages of a launcher and its agents, invitations, summons and host files.
#include <sstream>

#include "backends/fleet/agent.h"
#include "backends/fleet/crew_text.h"
#include "backends/fleet/host_file.h"
#include "backends/fleet/meeting_point.h"
#include "tests/fuzz/fuzz.h"

using namespace hopbench;

namespace {

void read_messages(const std::string& text) {
  if (ControlMessage message; from_bytes(text, message)) HB_ASSERT(to_bytes(message) == text);
  if (Introduction about; from_text(text, about)) {
    Introduction again;
    HB_ASSERT(from_text(to_text(about), again) && to_text(again) == to_text(about));
  }
  if (RemoteJob job; from_text(text, job)) {
    RemoteJob again;
    HB_ASSERT(from_text(to_text(job), again) && to_text(again) == to_text(job));
  }
  const auto board = Board::create(4, 0);
  show_slots(text, -1, {0, 1, 2}, *board);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Folder folder;
  const std::string text = fuzz::text_of(data, size);
  read_messages(text);
  if (const auto invitation = invitation_from_text(text)) {
    const auto again = invitation_from_text(to_text(*invitation));
    HB_ASSERT(again && again->token == invitation->token && again->answer == invitation->answer &&
              again->addresses == invitation->addresses);
  }
  fuzz::accepts([&] {
    std::istringstream in(text);
    read_summons(in);
  });
  const std::string file = folder.put("hosts", text);
  fuzz::accepts([&] { read_host_file(file); }, file);
  return 0;
}
