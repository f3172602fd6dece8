// One mailbox a rank, received from selectively (kind, iteration, sender). It replaces the papers' queue zoo: update
// queue, token queue and pull queue are matches on it. Touched only under the node's turn, so it has no lock.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
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
  bool has(const Match& match) const { return peek(match) != nullptr; }
  /// The oldest message that `match` admits, left where it is; nullptr if there is none.
  const Message* peek(const Match& match) const;

  /// Drops what `match` admits, now and on arrival from now on. Ranges of iterations that overlap or touch become one
  /// and a wider ignore swallows the narrower ones, so "everything before k" may be said every iteration. Returns what
  /// was dropped now.
  std::vector<Message> ignore(const Match& match);

  std::size_t size() const { return size_; }
  /// How many ranges of iterations are ignored, over all kinds and senders.
  std::size_t ignored_ranges() const;

 private:
  struct Lane {  // one kind
    Kind kind{};
    std::vector<Message> messages;  // in order of arrival, from `head` on; before it lie the husks of what was taken
    std::size_t head = 0;
    std::vector<std::pair<Iter, std::size_t>> counts;  // by iteration, rising; few at any time
    std::vector<Match> ignored;

    std::size_t size() const { return messages.size() - head; }
    std::size_t count_of(Iter k) const;
    void counted(Iter k, std::ptrdiff_t change);
    std::size_t find(const Match& match) const;  // messages.size() if there is none
    Message remove(std::size_t at);
  };
  const Lane* lane(Kind kind) const;
  Lane* lane(Kind kind) { return const_cast<Lane*>(std::as_const(*this).lane(kind)); }
  Lane& lane_or_new(Kind kind);

  std::vector<Lane> lanes_;  // few: a scan finds one faster than a tree
  std::size_t size_ = 0;
};

}  // namespace hopbench
