// One mailbox for each rank, received from selectively (kind, iteration, sender). It replaces the papers' many queues:
// update queue, token queue and pull queue are matches on it. Used only under the node's turn: it has no lock.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "backends/runtime/message.h"

namespace hopbench {

class Mailbox {
 public:
  /// Adds a message, in order of arrival. Returns false if it was dropped because of `ignore` or `shut`.
  bool put(Message message);

  /// Removes and returns the oldest message that `match` admits, or returns nullopt.
  std::optional<Message> take(const Match& match);
  /// Removes and returns all messages that `match` admits, in order of arrival.
  std::vector<Message> take_all(const Match& match);

  /// Returns the number of messages that `match` admits. Constant for {kind} and {kind, one iteration}, else a scan.
  std::size_t count(const Match& match) const;
  bool has(const Match& match) const { return peek(match) != nullptr; }
  /// Returns the oldest message that `match` admits and leaves it where it is; nullptr if there is none.
  const Message* peek(const Match& match) const;

  /// Drops the messages that `match` admits, now and on arrival from now on. Ranges of iterations that overlap or touch
  /// become one, and a wider ignore swallows the narrower ones. So "everything before k" may be ignored every
  /// iteration. Returns the messages that were dropped now.
  std::vector<Message> ignore(const Match& match);

  /// Drops all messages of a rank, except those of reserved kinds, now and on arrival from now on, until open().
  /// Returns the messages that were dropped now.
  std::vector<Message> shut(int from);
  void open(int from);
  bool is_shut(int from) const;

  std::size_t size() const { return size_; }
  /// Returns the number of ranges of iterations that are ignored, over all kinds and senders.
  std::size_t ignored_ranges() const;

 private:
  struct Lane {  // one kind
    Kind kind{};
    std::vector<Message> messages;  // in order of arrival, from `head` on; before it lie the husks of taken messages
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
  std::vector<int> shut_;    // ranks
  std::size_t size_ = 0;
};

}  // namespace hopbench
