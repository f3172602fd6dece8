// One mailbox a rank, received from selectively (kind, iteration, sender). It replaces the papers' queue zoo: update
// queue, token queue and pull queue are matches on it. Touched only under the node's turn, so it has no lock.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "backends/runtime/message.h"

namespace hopbench {

class Mailbox {
 public:
  /// Adds a message, in order of arrival. Returns false if it was dropped because a standing `ignore` admits it.
  bool put(Message message);

  /// The oldest message that `match` admits, removed; or nothing.
  std::optional<Message> take(const Match& match);
  /// All that `match` admits, removed, in order of arrival.
  std::vector<Message> take_all(const Match& match);

  /// How many `match` admits. Constant time for {kind} and {kind, one iteration}; a scan of that kind otherwise.
  std::size_t count(const Match& match) const;
  bool has(const Match& match) const;
  /// The oldest message that `match` admits, left where it is; nullptr if there is none.
  const Message* peek(const Match& match) const;

  /// Drops what `match` admits, now and on arrival from now on. A wider ignore of the same kind and sender replaces a
  /// narrower one, so "everything before k" may be said every iteration. Returns what was dropped now.
  std::vector<Message> ignore(const Match& match);

  std::size_t size() const { return size_; }

 private:
  struct Lane {                          // one kind
    std::deque<Message> messages;        // in order of arrival
    std::map<Iter, std::size_t> counts;  // by iteration
    std::vector<Match> ignored;
  };
  std::map<Kind, Lane> lanes_;
  std::size_t size_ = 0;
};

}  // namespace hopbench
