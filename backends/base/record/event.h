// The event stream: what a protocol does, as checkers, traces and metrics see it. They see nothing else.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/base/iter.h"
#include "backends/base/time.h"

namespace hopbench {

enum class EventKind : std::uint8_t {
  kEnter,     // rank entered iteration iter (iter 0 at the start); from -> iter is a jump if it is more than one ahead
  kGradient,  // rank finished computing a gradient of iteration iter on `count` samples from `first` on, begun at
              // `since`, of which a slowdown added `delay`; value = the loss
  kOperated,  // rank finished a vector operation (an average, an optimizer step) begun at `since`, if it took time
  kReduced,   // rank combined the vectors of `senders` (their tags, the weights used) into its own in iteration iter
  kApplied,   // rank (a server, or a worker's own step) applied a gradient that sender `peer` computed in iteration
              // iter; value = the factor of that step, if it is not 1
  kSend,      // rank posted a message of `kind`, iteration iter, `count` = words[0] if any, to peer
  kDeliver,   // rank's mailbox received it from peer, which posted it at `since` (virtual time only)
  kDrop,      // rank's mailbox dropped it (ignored: too late)
  kTake,      // a strand of rank took it from the mailbox
  kSpend,     // rank removed `count` tokens of peer's queue TokenQ(peer -> rank)
  kWait,      // rank waited from `since` until now; text = the reason
  kLost,      // a gradient of rank, iteration iter, is thrown away; text = why
  kReport,    // rank reported a snapshot after iteration iter
  kFinished,  // rank's body returned
  kPeerDied,  // rank knows that peer is dead
  kFault,     // the scenario has done something to rank: text = "crash", "leave", "join", "hang" (begun at `since`)
};

struct Event {
  Time time{};
  int rank = 0;
  EventKind what = EventKind::kEnter;
  Iter iter = 0;
  int peer = -1;
  std::uint16_t kind = 0;  // message kind
  std::int64_t count = 0;  // tokens, samples, words[0]
  std::int64_t first = 0;  // kGradient: position of its first sample, in the order the worker took it from
  double value = 0;
  Time since{};
  Duration delay{};
  std::vector<int> senders{};  // kReduced only
  std::vector<Iter> tags{};
  std::vector<float> weights{};
  const char* text = "";  // static storage: a reason
};

/// An observer of every event, in the order of the trial's clock within a rank (virtual time: across all ranks).
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on(const Event& event) = 0;
  /// Virtual time only: called after each simulated event has been dealt with and every strand waits again. Invariants
  /// that a strand may break and mend within one turn are checked here.
  virtual void settled(Time) {}
};

}  // namespace hopbench
