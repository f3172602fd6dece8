#include "backends/runtime/mailbox.h"

#include <algorithm>

namespace hopbench {
namespace {

constexpr Iter kFirst = std::numeric_limits<Iter>::min();
constexpr Iter kLast = std::numeric_limits<Iter>::max();

bool all_iterations(const Match& m) { return m.first == kFirst && m.last == kLast; }

bool covers(const Match& wide, const Match& narrow) {
  return (wide.from == kAnyone || wide.from == narrow.from) && wide.first <= narrow.first && narrow.last <= wide.last;
}

/// Returns true if both are of one sender, and overlap or follow each other directly.
bool joinable(const Match& a, const Match& b) {
  if (a.from != b.from) return false;
  const Match& low = a.first <= b.first ? a : b;
  const Match& high = a.first <= b.first ? b : a;
  return low.last == kLast || high.first <= low.last + 1;
}

void add_range(std::vector<Match>& ranges, Match wanted) {
  for (bool grown = true; grown;) {  // a range that grew may reach the next one
    grown = false;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      if (!joinable(ranges[i], wanted)) continue;
      wanted.first = std::min(wanted.first, ranges[i].first);
      wanted.last = std::max(wanted.last, ranges[i].last);
      ranges.erase(ranges.begin() + static_cast<std::ptrdiff_t>(i));
      grown = true;
      break;
    }
  }
  if (std::any_of(ranges.begin(), ranges.end(), [&](const Match& old) { return covers(old, wanted); })) return;
  std::erase_if(ranges, [&](const Match& old) { return covers(wanted, old); });
  ranges.push_back(wanted);
}

}  // namespace

std::size_t Mailbox::Lane::count_of(Iter k) const {
  const auto at = std::lower_bound(counts.begin(), counts.end(), k, [](const auto& c, Iter i) { return c.first < i; });
  return at != counts.end() && at->first == k ? at->second : 0;
}

void Mailbox::Lane::counted(Iter k, std::ptrdiff_t change) {
  auto at = std::lower_bound(counts.begin(), counts.end(), k, [](const auto& c, Iter i) { return c.first < i; });
  if (at == counts.end() || at->first != k) at = counts.insert(at, {k, 0});
  at->second += static_cast<std::size_t>(change);
  if (at->second == 0) counts.erase(at);
}

std::size_t Mailbox::Lane::find(const Match& match) const {
  if (match.first == match.last && count_of(match.first) == 0) return messages.size();
  for (std::size_t i = head; i < messages.size(); ++i) {
    if (match.admits(messages[i])) return i;
  }
  return messages.size();
}

Message Mailbox::Lane::remove(std::size_t at) {
  Message message = std::move(messages[at]);
  counted(message.iter, -1);
  if (at == head) {
    ++head;
    if (head == messages.size() || (head >= 32 && head * 2 >= messages.size())) {
      messages.erase(messages.begin(), messages.begin() + static_cast<std::ptrdiff_t>(head));
      head = 0;
    }
  } else {
    messages.erase(messages.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return message;
}

const Mailbox::Lane* Mailbox::lane(Kind kind) const {
  for (const Lane& l : lanes_) {
    if (l.kind == kind) return &l;
  }
  return nullptr;
}

Mailbox::Lane& Mailbox::lane_or_new(Kind kind) {
  if (Lane* found = lane(kind)) return *found;
  lanes_.emplace_back();
  lanes_.back().kind = kind;
  return lanes_.back();
}

bool Mailbox::put(Message message) {
  if (message.kind < kFirstReserved && is_shut(message.from)) return false;
  Lane& l = lane_or_new(message.kind);
  for (const Match& m : l.ignored) {
    if (m.admits(message)) return false;
  }
  l.counted(message.iter, 1);
  l.messages.push_back(std::move(message));
  ++size_;
  return true;
}

std::optional<Message> Mailbox::take(const Match& match) {
  Lane* l = lane(match.kind);
  if (l == nullptr) return std::nullopt;
  const std::size_t at = l->find(match);
  if (at == l->messages.size()) return std::nullopt;
  --size_;
  return l->remove(at);
}

std::vector<Message> Mailbox::take_all(const Match& match) {
  std::vector<Message> taken;
  Lane* l = lane(match.kind);
  if (l == nullptr || l->find(match) == l->messages.size()) return taken;
  std::vector<Message> kept;
  for (std::size_t i = l->head; i < l->messages.size(); ++i) {
    Message& m = l->messages[i];
    if (match.admits(m)) {
      l->counted(m.iter, -1);
      taken.push_back(std::move(m));
    } else {
      kept.push_back(std::move(m));
    }
  }
  l->messages = std::move(kept);
  l->head = 0;
  size_ -= taken.size();
  return taken;
}

std::size_t Mailbox::count(const Match& match) const {
  const Lane* l = lane(match.kind);
  if (l == nullptr) return 0;
  if (match.from == kAnyone && all_iterations(match)) return l->size();
  if (match.from == kAnyone && match.first == match.last) return l->count_of(match.first);
  const auto begin = l->messages.begin() + static_cast<std::ptrdiff_t>(l->head);
  return static_cast<std::size_t>(
      std::count_if(begin, l->messages.end(), [&](const Message& m) { return match.admits(m); }));
}

const Message* Mailbox::peek(const Match& match) const {
  const Lane* l = lane(match.kind);
  if (l == nullptr) return nullptr;
  const std::size_t at = l->find(match);
  return at == l->messages.size() ? nullptr : &l->messages[at];
}

std::vector<Message> Mailbox::ignore(const Match& match) {
  if (match.first > match.last) return {};
  add_range(lane_or_new(match.kind).ignored, match);
  return take_all(match);
}

std::vector<Message> Mailbox::shut(int from) {
  if (!is_shut(from)) shut_.push_back(from);
  std::vector<Message> dropped;
  for (const Lane& l : lanes_) {
    if (l.kind >= kFirstReserved) continue;
    for (Message& message : take_all({.kind = l.kind, .from = from})) dropped.push_back(std::move(message));
  }
  return dropped;
}

void Mailbox::open(int from) { std::erase(shut_, from); }

bool Mailbox::is_shut(int from) const { return std::find(shut_.begin(), shut_.end(), from) != shut_.end(); }

std::size_t Mailbox::ignored_ranges() const {
  std::size_t n = 0;
  for (const Lane& l : lanes_) n += l.ignored.size();
  return n;
}

}  // namespace hopbench
