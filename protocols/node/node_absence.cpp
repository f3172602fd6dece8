// Node: workers that are away for a while, as the scenario says (a leave with `lasts`).
//
// A worker leaves where it would have begun an iteration. If the protocol goes on without it (Protocol::rejoins), it
// says so to its peers (kAway), and each of them answers (kNoted). Until a peer's answer the worker drops all else that
// comes from it, because that was sent to a worker that was thought to be there. So no message crosses an absence.
// Absences are numbered: a kBack is void if a later kAway of that rank is known already. A server notes the return of a
// worker when it answers its kAsk, so no worker counts before its state is on its way.
//
// In other protocols nothing of the worker runs during its absence, and its peers are not told: they wait for it.
#include <algorithm>
#include <utility>

#include "backends/base/record/event.h"
#include "backends/base/record/rank_record.h"
#include "protocols/node/node.h"

namespace hopbench {

constexpr const char* kReturn = "its return";
constexpr const char* kAnswers = "its peers to have noted its absence";

const std::vector<int>& Node::peers() const {
  static const std::vector<int> kNone;
  return options_.peers == nullptr ? kNone : *options_.peers;
}

bool Node::returned() { return std::exchange(returned_, false); }

/// Is away as the scenario says where iteration k would begin.
void Node::meet_absences(Iter k) {
  const auto due = [&](const Fault& fault) { return fault.returns() && fault.is_due(k, now()); };
  if (options_.stop.credits == nullptr && k >= options_.stop.iterations) return;
  for (auto at = faults_.begin(); (at = std::find_if(faults_.begin(), faults_.end(), due)) != faults_.end();) {
    const Fault fault = *at;
    faults_.erase(at);  // before the turn is given away
    be_away(fault);
  }
}

void Node::be_away(const Fault& fault) {
  const Time since = now();
  emit({.what = EventKind::kFault, .iter = entered_, .since = since, .text = "away"});
  close_last_iteration();
  if (options_.protocol != nullptr && goes_on_without(*options_.protocol, options_.knobs)) {
    stay_away(since + fault.lasts);
  } else {
    stand_still(fault.lasts);
    waited(since, now(), kReturn);
  }
  // A second mark of the same iteration, without samples: see absent_since.
  record_->marks.push_back({.end = now(), .iter = entered_});
  emit({.what = EventKind::kFault, .iter = entered_, .since = since, .text = "return"});
  returned_ = true;
}

void Node::stay_away(Time until) {
  ++times_away_;
  away_ = true;
  for (const int peer : peers()) {
    if (present(peer)) say_away(peer);
  }
  wait([] { return false; }, until, kReturn, 1);
  const auto unanswered = [&](int peer) { return present(peer) && runtime_.mailbox.is_shut(peer); };
  wait([&] { return std::none_of(peers().begin(), peers().end(), unanswered); }, kAnswers);
  for (const int peer : peers()) runtime_.mailbox.open(peer);  // of those that have left, nothing comes any more
  away_ = false;
}

/// Reports this rank's absence, also to a peer that is away: it may return first.
void Node::say_away(int to) {
  if (ended(to)) return;
  for (const Message& message : runtime_.mailbox.shut(to)) {
    const auto kind = static_cast<std::uint16_t>(message.kind);
    emit({.what = EventKind::kDrop, .iter = message.iter, .peer = to, .kind = kind});
  }
  post(to, kAway, times_away_, {}, {});
}

void Node::say_back() {
  for (const int peer : peers()) {
    if (!ended(peer)) post(peer, kBack, times_away_, {}, {});
  }
}

void Node::ask_for_state(int from, Iter k) { send(from, kAsk, k, {}, {times_away_}); }

void Node::note_absences() {
  while (const std::optional<Message> away = take(is(kAway))) {
    last_absence_.resize(static_cast<std::size_t>(size), 0);
    last_absence_[static_cast<std::size_t>(away->from)] = away->iter;
    if (!ended(away->from)) note_parting(away->from, Parting::kAbsent);
    post(away->from, kNoted, away->iter, {}, {});
  }
  while (const std::optional<Message> noted = take(is(kNoted))) {
    if (noted->iter == times_away_) runtime_.mailbox.open(noted->from);
  }
  while (const std::optional<Message> back = take(is(kBack))) note_return(back->from, back->iter);
  while (std::optional<Message> asked = take(is(kAsk))) asked_for_state_.push_back(std::move(*asked));
  give_states();
}

void Node::note_return(int from, Iter absence) {
  const auto at = static_cast<std::size_t>(from);
  const bool last = last_absence_.size() <= at || absence >= last_absence_[at];
  if (last && parting(from) == Parting::kAbsent) note_parting(from, Parting::kNone);
  if (away_ && !runtime_.mailbox.is_shut(from)) say_away(from);  // it does not know yet
}

void Node::give_states() {
  std::erase_if(asked_for_state_, [&](const Message& asked) { return give_state(asked); });
}

/// Answers a worker that has asked for this rank's state. Returns false if it must wait for that state.
bool Node::give_state(const Message& asked) {
  if (away_) {
    if (!runtime_.mailbox.is_shut(asked.from)) say_away(asked.from);
    return true;
  }
  if (is_server()) {
    const std::optional<Welcomed> welcomed = welcome_ ? welcome_(asked.from, asked.iter) : Welcomed{asked.iter};
    if (!welcomed) return false;
    note_return(asked.from, asked.words[0]);
    post(asked.from, kState, welcomed->iter, kept_ != nullptr ? kept_->share() : Payload(), welcomed->words);
    return true;
  }
  if (model_of_ < asked.iter) return false;
  post(asked.from, kState, asked.iter, model_ != nullptr ? model_->share() : Payload(), {});
  return true;
}

}  // namespace hopbench
