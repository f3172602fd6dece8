// Node: messages and waits. Its arithmetic is in node_arithmetic.cpp.
#include "protocols/node/node.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "backends/base/record/event.h"
#include "backends/base/record/rank_record.h"
#include "backends/runtime/message_event.h"

namespace hopbench {
namespace {

std::vector<int> count_from(int first, int n) {
  std::vector<int> ranks;
  for (int r = 0; r < n; ++r) ranks.push_back(first + r);
  return ranks;
}

constexpr Iter kSteady = 20;  // from then on, optimizers and protocols have the state that they will keep

// `who` is a text such as "rank 3 died".
Error death(const std::string& who, int rank, const char* why) {
  return trial_error(who + " while rank " + std::to_string(rank) + " waited for " + why);
}

}  // namespace

const char* kind_name(std::uint16_t kind) {
  static constexpr const char* kNames[] = {nullptr, "params",  "token",          "ack",        "push",
                                           "pull",  "weights", "reduce-scatter", "all-gather", "broadcast",
                                           "clock", "skip",    "request",        "reply",      "part"};
  return kind < std::size(kNames) ? kNames[kind] : nullptr;
}

Node::Node(Runtime& runtime, Workload& workload, NodeOptions options)
    : rank(options.rank),
      size(options.workers + options.servers),
      runtime_(runtime),
      workload_(workload),
      options_(std::move(options)),
      servers_(count_from(options_.workers, options_.servers)),
      charge_(options_.costs.wire_bytes > 0 ? double(options_.costs.wire_bytes) / bytes_of(workload.size()) : 1),
      record_(std::make_unique<RankRecord>()),
      absences_(std::any_of(options_.scenario.faults.begin(), options_.scenario.faults.end(),
                            [](const Fault& fault) { return fault.returns(); })),
      faults_(options_.scenario.faults_of(rank)) {
  HB_ASSERT(rank >= 0 && rank < size);
  HB_ASSERT(options_.graph != nullptr && options_.graph->size() == options_.workers);
  record_->rank = rank;
  record_->server = is_server();
  record_->host = host(rank);
  constexpr int kMostHosts = 64;
  int hosts = 0;
  for (int r = 0; r < size && hosts <= kMostHosts; ++r) hosts = std::max(hosts, host(r) + 1);
  if (hosts <= kMostHosts) record_->bytes_to.resize(std::size_t(hosts));
}

Node::~Node() = default;

double& Node::figure(const std::string& name) { return record_->figures[name]; }

int Node::host(int r) const { return options_.host_of == nullptr ? r : options_.host_of->at(std::size_t(r)); }

bool Node::running(Iter k) {
  if (absences_) meet_absences(k);
  const bool more =
      !leaves(k) && (options_.stop.credits != nullptr ? options_.stop.credits->take() : k < options_.stop.iterations);
  const Vec* const reported = std::exchange(reported_, nullptr);
  if (!more) close_last_iteration();
  if (!more && reported != nullptr) options_.final_model(reported->watch());
  over_ = !more;
  return more;
}

Iter Node::end() const {
  return options_.stop.credits != nullptr ? std::numeric_limits<Iter>::max() : options_.stop.iterations;
}

std::int64_t Node::total_iterations() const {
  return options_.stop.credits != nullptr ? options_.stop.credits->total()
                                          : options_.stop.iterations * options_.workers;
}

Random Node::random(Purpose purpose, Iter k) const {
  return Random(RandomKey{options_.seed, options_.repeat, purpose, rank, k});
}

Random Node::common_random(Purpose purpose, Iter k) const {
  return Random(RandomKey{options_.seed, options_.repeat, purpose, -1, k});
}

// --- Messages

void Node::send(int to, Kind kind, Iter k, Payload body, Words words) {
  HB_ASSERT(to >= 0 && to < size);
  if (present(to)) post(to, kind, k, std::move(body), words);
}

void Node::post(int to, Kind kind, Iter k, Payload body, Words words) {
  const std::int64_t own = bytes_with(body) - kHeaderBytes;
  const std::int64_t bytes = kHeaderBytes + (charge_ == 1 ? own : std::llround(charge_ * double(own)));
  ++record_->messages_sent;
  record_->bytes_sent += bytes;
  if (!record_->bytes_to.empty()) record_->bytes_to[std::size_t(host(to))] += bytes;
  runtime_.post(to, {.from = rank, .kind = kind, .iter = k, .words = words, .body = std::move(body), .bytes = bytes});
}

Message Node::recv(const Match& match, const char* why) {
  std::optional<Message> message;
  while (!message) {
    message = recv_unless_left(match, why);
    if (message || match.from == kAnyone || present(match.from)) continue;
    if (!gone_.empty()) throw death(gone_, rank, why);
    throw trial_error("rank " + std::to_string(rank) + " waits for " + why + " from rank " +
                      std::to_string(match.from) + (died(match.from) ? ", which has died" : ", which has left"))
        .as(FailureKind::kError, rank);
  }
  return std::move(*message);
}

std::optional<Message> Node::recv_unless_left(const Match& match, const char* why) {
  wait([&] { return has(match) || (match.from != kAnyone && !present(match.from)); }, why);
  return take(match);
}

std::vector<Message> Node::gather(std::span<const int> senders, int at_least, const Match& match, const char* why) {
  HB_ASSERT(match.from == kAnyone && at_least <= static_cast<int>(senders.size()));
  const auto enough = [&] {
    if (partings_.empty() && runtime_.mailbox.count(match) < static_cast<std::size_t>(at_least)) return false;
    int here = 0, to_come = 0;
    for (int r : senders) {
      Match theirs = match;
      theirs.from = r;
      if (has(theirs)) {
        ++here;
      } else if (present(r) || (died(r) && !bears_the_death_of(r))) {
        ++to_come;  // from a dead rank it never comes, so the wait fails
      }
    }
    return here >= at_least || to_come == 0;
  };
  note_departures();
  const auto here = static_cast<int>(std::min<std::size_t>(runtime_.mailbox.count(match), senders.size()));
  // Once a rank has left, fewer than `at_least` may be enough, because the next message may be the last there is.
  wait(enough, why, partings_.empty() ? std::max(1, at_least - here) : 1);
  record_->queue_max = std::max(record_->queue_max, static_cast<std::int64_t>(runtime_.mailbox.size()));
  std::vector<Message> messages = runtime_.mailbox.take_all(match);
  for (const Message& message : messages) emit(message_event(EventKind::kTake, now(), rank, message.from, message));
  std::stable_sort(messages.begin(), messages.end(),
                   [](const Message& a, const Message& b) { return a.from < b.from; });
  return messages;
}

std::optional<Message> Node::take_newest(const Match& match) {
  std::optional<Message> newest;
  while (std::optional<Message> next = take(match)) newest = std::move(next);
  return newest;
}

std::optional<Message> Node::take(const Match& match) {
  record_->queue_max = std::max(record_->queue_max, static_cast<std::int64_t>(runtime_.mailbox.size()));
  while (std::optional<Message> message = runtime_.mailbox.take(match)) {
    const bool lost = is_lost(*message);
    emit(message_event(lost ? EventKind::kDrop : EventKind::kTake, now(), rank, message->from, *message));
    if (!lost) return message;
    figure("messages lost") += 1;
  }
  return std::nullopt;
}

bool Node::is_lost(const Message& message) const {
  if (options_.loss == 0 || std::find(lossy_.begin(), lossy_.end(), message.kind) == lossy_.end()) return false;
  const RandomKey key{options_.seed, options_.repeat, Purpose::kLoss, rank, message.iter};
  Random draws(key);
  constexpr std::size_t kKinds = 1 << 16;
  draws.skip(2 * (kKinds * std::size_t(message.from) + std::size_t(message.kind)));  // a draw for each sender and kind
  return draws.chance(options_.loss);
}

void Node::ignore(const Match& match) {
  for (const Message& message : runtime_.mailbox.ignore(match))
    emit(message_event(EventKind::kDrop, now(), rank, message.from, message));
}

// --- Waits

bool Node::until(const Ready& ready, Time deadline, const char* why) { return wait(ready, deadline, why, 1); }

bool Node::wait(const Ready& ready, Time deadline, const char* why, int messages) {
  const bool background = background_;
  const Time since = now();
  note_departures();
  if (is_server() && ++server_waits_ > kSteady) note_held();
  const bool at_once = ready();
  bool holds = at_once;
  for (bool in_time = true; in_time;) {
    if (!holds && !gone_.empty()) throw death(gone_, rank, why);
    // Called even if `ready` holds already, so that a runtime that polls gets its chance.
    in_time = runtime_.await([&] { return departure_here() || ready(); }, deadline, why, std::exchange(messages, 1));
    background_ = background;
    note_departures();
    holds = ready();
    if (holds) break;
  }
  if (!at_once && !background) waited(since, why);
  return holds;
}

void Node::waited(Time since, Time until, const char* why) {
  if (until <= since) return;
  record_->waits[why] += until - since;
  emit_at(until, {.what = EventKind::kWait, .iter = entered_, .since = since, .text = why});
}

void Node::until(const Ready& ready, const char* why) { until(ready, kNever, why); }

void Node::sleep(Duration duration, const char* why) {
  until([] { return false; }, now() + duration, why);
}

void Node::poll() {
  until([] { return true; }, "what has arrived");
}

void Node::spawn(std::function<void()> strand) {
  runtime_.spawn([this, strand = std::move(strand)] {
    background_ = true;
    strand();
  });
}

bool Node::departure_here() const {
  if (has(is(kBye)) || has(is(kGone))) return true;
  return absences_ && (has(is(kAway)) || has(is(kBack)) || has(is(kNoted)) || has(is(kAsk)));
}

void Node::note_parting(int r, Parting how) {
  partings_.resize(static_cast<std::size_t>(size), Parting::kNone);
  partings_[static_cast<std::size_t>(r)] = how;
}

bool Node::bears_the_death_of(int r) const {
  return options_.protocol != nullptr && r < options_.workers && continues(*options_.protocol, options_.knobs);
}

void Node::note_departures() {
  while (const std::optional<Message> bye = runtime_.mailbox.take(is(kBye))) {
    note_parting(bye->from, Parting::kLeft);
  }
  while (const std::optional<Message> gone = runtime_.mailbox.take(is(kGone))) {
    note_parting(gone->from, Parting::kDied);
    emit(message_event(EventKind::kPeerDied, now(), rank, gone->from, *gone));
    if (!bears_the_death_of(gone->from) && gone_.empty()) gone_ = "rank " + std::to_string(gone->from) + " died";
  }
  if (absences_) note_absences();
}

// --- Events for checkers

void Node::emit(Event&& event) const { emit_at(now(), std::move(event)); }

void Node::emit_at(Time time, Event&& event) const {
  if (runtime_.observer == nullptr) return;
  event.time = time;
  event.rank = rank;
  runtime_.observer->on(event);
}

void Node::enter(Iter k) {
  HB_ASSERT(k > entered_);
  returned_ = false;
  if (open_.iter < 0 && !record_->marks.empty())
    record_->marks.back().end = now();  // its absence, until it has a state
  close_iteration(k);
  entered_ = k;
  open_ = {.iter = k};
  if (k >= kSteady) note_held();
  emit({.what = EventKind::kEnter, .iter = k});
}

void Node::note_held() {
  const std::int64_t held = Storage::floats_held() - held_before_;
  least_held_ = least_held_ < 0 ? held : std::min(least_held_, held);
}

double Node::state_vectors() const {
  return least_held_ < 0 ? 0 : static_cast<double>(least_held_) / static_cast<double>(workload_.size());
}

void Node::close_iteration(Iter next) {
  if (entered_ >= 0 && open_.iter >= 0) {  // else it was closed before an absence
    open_.end = now();
    record_->marks.push_back(open_);
    ++record_->iters;
  }
  for (Iter jumped = entered_ + 1; jumped < next; ++jumped) {
    record_->marks.push_back({.end = now(), .iter = jumped});
    ++record_->iters_jumped;
  }
}

void Node::close_last_iteration() {
  const bool finished = open_.samples > 0 || model_of_ > entered_;  // reported though its work was cut short
  if (open_.iter >= 0 && finished) close_iteration(entered_ + 1);
  open_ = {.iter = -1};  // from now on, a gradient for another worker is of no iteration
}

void Node::averaged(Iter k, std::span<const int> ranks, double weight) {
  averaged(k, ranks, std::vector<float>(ranks.size(), static_cast<float>(weight)));
}

void Node::averaged(Iter k, std::span<const int> ranks, std::vector<float> weights) {
  HB_ASSERT(weights.size() == ranks.size());
  contributed();
  emit({.what = EventKind::kReduced,
        .iter = k,
        .senders = {ranks.begin(), ranks.end()},
        .tags = std::vector<Iter>(ranks.size(), k),
        .weights = std::move(weights)});
}

void Node::applied(int sender, Iter k, double scale) {
  hears(sender, k);
  emit({.what = EventKind::kApplied, .iter = k, .peer = sender, .value = scale == 1 ? 0 : scale});
}

void Node::hears(int sender, Iter k) {
  // Servers hear the same if each has a part of the model. Then the first one records it for all.
  const bool records = !is_server() || rank == options_.workers || hears_alone_;
  if (sender != rank && sender < options_.workers && records) note_heard(sender, k);
}

void Node::contributed() {
  if (!is_server()) note_heard(rank, entered_);
}

void Node::note_heard(int worker, Iter k) {
  auto& heard = record_->heard;
  const auto at = std::lower_bound(heard.begin(), heard.end(), std::pair(worker, Iter{-1}));
  if (at == heard.end() || at->first != worker) {
    heard.insert(at, {worker, k});
  } else if (k > at->second) {
    record_->heard_step = std::max(record_->heard_step, k - at->second);
    at->second = k;
  }
}

void Node::spent(int owner, std::int64_t tokens) {
  emit({.what = EventKind::kSpend, .iter = entered_, .peer = owner, .count = tokens});
}

void Node::lost(Iter k, const char* why) {
  ++record_->gradients_lost;
  record_->lost_in.push_back(k);
  emit({.what = EventKind::kLost, .iter = k, .text = why});
}

void Node::continued() {
  --record_->gradients;
  if (newest_.slow && before_.slow) --record_->slow_events;
  newest_ = {newest_.samples + before_.samples, newest_.took + before_.took, newest_.slow || before_.slow};
}

void Node::abandoned() {
  --record_->gradients;
  if (newest_.slow) --record_->slow_events;
  record_->samples -= newest_.samples;
  open_.samples -= newest_.samples;
  open_.compute -= newest_.took;
  figure("gradients cut") += 1;
  figure("samples abandoned") += newest_.samples;
  emit({.what = EventKind::kLost, .iter = entered_, .count = newest_.samples, .text = "cut short"});
}

void Node::report(Iter k, const Vec& x) {
  emit({.what = EventKind::kReport, .iter = k});
  model_ = &x;
  model_of_ = k;
  if (absences_) give_states();
  if (options_.snapshot) options_.snapshot(k, now(), record_->samples, x);
  if (!options_.final_model) return;
  if (over_) options_.final_model(x.watch());
  reported_ = over_ ? nullptr : &x;
}

void Node::keeps(const Vec* weights) {
  if (kept_ != nullptr) last_kept_ = kept_->watch();
  kept_ = weights;
}

void Node::retire() {
  close_last_iteration();
  background_ = true;
  leave_body();
}

void Node::finish() {
  close_last_iteration();
  model_ = nullptr;  // it may end with the body
  record_->finished = now();
  record_->queue_max = std::max(record_->queue_max, static_cast<std::int64_t>(runtime_.mailbox.size()));
  emit({.what = EventKind::kFinished, .iter = entered_});
}

}  // namespace hopbench
