// Node, the interface for authors of protocols. It is written once over Runtime, so a protocol is one straight-line
// function that runs unchanged with real processes and in virtual time.
//
// Every wait takes a reason (`why`, static text), which appears in the deadlock report and in the "time waiting, by
// reason" column. The node measures computing, waiting and bytes, so every protocol is instrumented for free and
// equally. Only waits of the body count: the strands that it spawns wait for work meanwhile and are left out.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/base/iter.h"
#include "backends/base/random.h"
#include "backends/runtime/runtime.h"
#include "models/workload.h"
#include "protocols/node/node_options.h"
#include "protocols/node/optimizer.h"
#include "protocols/node/protocol.h"
#include "protocols/node/topology.h"

namespace hopbench {

struct Event;
struct RankRecord;

// The kinds of messages the built-in protocols use. A protocol of your own may use these or count from kFirstOwnKind.
inline constexpr Kind kParams{1}, kToken{2}, kAck{3}, kPush{4}, kPull{5}, kWeights{6}, kReduceScatter{7}, kAllGather{8},
    kBroadcast{9}, kClock{10}, kSkip{11}, kRequest{12}, kReply{13}, kPart{14};
inline constexpr std::uint16_t kFirstOwnKind = 64;
/// Between nodes only. A worker is away (kAway, which is answered with kNoted) and back; it asks for a state (kAsk,
/// kState).
inline constexpr Kind kAway{0xFFF0}, kNoted{0xFFF1}, kBack{0xFFF2}, kAsk{0xFFF3}, kState{0xFFF4};
/// Returns "params" for kParams, and so on; nullptr for a kind of your own.
const char* kind_name(std::uint16_t kind);

/// The load of a worker's host, as a monitor shows it. `cpu`: the share of a core that other programs take. `memory`:
/// the share of the memory that is in use.
struct Load {
  double cpu = 0, memory = 0;
};

/// Returns the end of the reason of such a failure: "as the scenario says: allreduce stops when a worker is lost".
std::string why_stopped(const Protocol& protocol);

/// Returns the bytes that `numbers` numbers of a vector take, for Node::operate.
inline double bytes_of(std::size_t numbers) { return static_cast<double>(numbers * sizeof(float)); }
inline double bytes_of(const Payload& x) { return bytes_of(x.stored()); }

struct Gradient {
  Vec values;
  float loss = 0;
  int samples = 0;
  Duration took{};  // on the trial's clock, without any wait
};

/// One term of a weighted average, and where it came from.
struct Term {
  int sender = 0;
  Iter tag = 0;
  Payload value;
  float weight = 1;
};

class Node {
 public:
  Node(Runtime& runtime, Workload& workload, NodeOptions options);
  ~Node();

  const int rank, size;  // size: workers and servers
  bool is_server() const { return rank >= options_.workers; }
  int worker_count() const { return options_.workers; }
  int batch() const { return workload_.spec().batch; }  // the trial's, of one worker
  const std::vector<int>& workers() const { return graph().ranks(); }
  const std::vector<int>& servers() const { return servers_; }
  const Topology& graph() const { return *options_.graph; }
  const std::vector<int>& neighbours() const { return graph().in(rank); }  // of an undirected graph
  int host(int r) const;
  /// Returns false while r is away, and once it has left: it finished (its body returned and its last message is here),
  /// or it died and the protocol goes on. Updated in every wait, so a `ready` may call it.
  bool present(int r) const { return parting(r) == Parting::kNone; }
  /// Returns true if r is not present because it died, possibly in the middle of something.
  bool died(int r) const { return parting(r) == Parting::kDied; }
  /// Returns true if r is not present and will not return.
  bool ended(int r) const { return died(r) || parting(r) == Parting::kLeft; }
  /// The ranks that this one is connected with, ascending.
  const std::vector<int>& peers() const;
  /// Fails the trial, because this worker cannot go on without `dead`: "rank 2 cannot go on: <why>". If the scenario
  /// crashes all of `dead`, the message says that this is as the scenario says.
  [[noreturn]] void give_up(std::span<const int> dead, const std::string& why) const;

  Time now() const { return runtime_.now(); }
  /// Returns true if the run's stop rule lets iteration k begin. Must be called exactly once before each iteration.
  /// False closes the last one: rates then leave out what follows, such as waiting for unfinished workers.
  bool running(Iter k);
  /// Returns the first iteration that no rank runs, or the largest Iter if credits decide.
  Iter end() const;
  /// Returns the iterations of all workers together by the stop rule, to which "a fraction of the run" refers.
  std::int64_t total_iterations() const;
  Random random(Purpose purpose, Iter k) const;
  Random common_random(Purpose purpose, Iter k) const;  // the same draws on every rank

  // --- Messages. Once a rank has died, a wait throws an Error that names it, unless the protocol continues.
  /// Sends a message; never blocks. A message to a rank that has left is dropped.
  void send(int to, Kind kind, Iter k, Payload body = {}, Words words = {});
  /// Blocks for the oldest message that matches. Throws Error if it can only come from a rank that has left.
  Message recv(const Match& match, const char* why);
  /// Does the same for one sender, but returns nothing if the sender has left without sending it.
  std::optional<Message> recv_unless_left(const Match& match, const char* why);
  /// Blocks until `at_least` of `senders` have a matching message here. Returns all matching messages by ascending
  /// sender (of one sender: oldest first). Does not wait for a sender that has left: if all that are still present have
  /// a message here, those are enough.
  std::vector<Message> gather(std::span<const int> senders, int at_least, const Match& match, const char* why);
  std::optional<Message> take(const Match& match);
  /// Takes all that match, and returns the one that came last. For a sender whose newer message makes its older ones
  /// useless.
  std::optional<Message> take_newest(const Match& match);
  /// Lets messages of that kind be lost, each with the probability network.loss. A lost one has travelled and is
  /// dropped here. Such messages may only be taken with the two functions above, as nothing may wait for them.
  void may_lose(Kind kind) {
    lossy_.push_back(kind);
    if (options_.loss > 0) figure("messages lost");
  }
  bool has(const Match& match) const { return runtime_.mailbox.has(match); }
  /// Drops matching messages that are here, and others on arrival from now on.
  void ignore(const Match& match);
  void until(const Ready& ready, const char* why);
  bool until(const Ready& ready, Time deadline, const char* why);
  void sleep(Duration duration, const char* why);
  /// Takes in what has arrived, without waiting. Only then does has() see it, if this rank has not waited for long.
  void poll();
  /// Starts another strand of this rank, which ends when the rank ends. What it refers to must outlive the body.
  void spawn(std::function<void()> strand);

  // --- Absences (node_absence.cpp). If the scenario has a worker leave for a while, that happens inside running(k).
  /// Returns true, once, if this worker has been away since the last call. It must then take over a state, where the
  /// protocol says, before it enters an iteration.
  bool returned();
  /// Asks a peer for its state after k iterations: a worker's parameters, or a server's part of the weights. Never
  /// blocks. The answer is of kind kState; its body is empty if nothing has been reported yet. To a server, this worker
  /// is present again from the moment at which the server answers.
  void ask_for_state(int from, Iter k);
  /// Reports to all peers that this worker is present again (if the protocol rejoins).
  void say_back();
  /// The iteration with which a worker goes on, and words for it.
  struct Welcomed {
    Iter iter = 0;
    Words words{};
  };
  /// Sets the function that a server calls when a worker asks for its state after k iterations. If it returns nothing,
  /// the worker waits, and the function is called again when something has come. Without it k stays.
  using Welcome = std::function<std::optional<Welcomed>(int worker, Iter k)>;
  void welcome(Welcome welcome) { welcome_ = std::move(welcome); }

  // --- Arithmetic
  Vec initial();  // the same bits on every rank
  /// Computes the gradient of the mean loss at x over this worker's samples of iteration k. Gives the turn away
  /// meanwhile; x may then be written (copy on write: the gradient is at x as it was). Announces each bucket as soon as
  /// it is complete, with the turn, last layer first.
  using BucketReady = std::function<void(const Bucket& bucket, const Vec& so_far)>;
  Gradient gradient(const Vec& x, Iter k, Samples samples = {}, const BucketReady& bucket_ready = {});
  /// Returns the current load: the scenario's slowdown (if drawn per iteration, the last one's), and with real
  /// processes the last gradient's wait for a core and the host's memory. In virtual time `memory` is 0.
  Load load();
  /// Returns an optimizer for a vector whose first n numbers are a whole model's, statistics included, or trained ones.
  Optimizer optimizer(std::size_t n) { return Optimizer(*this, std::min(n, trainable()), decayed_slices(tensors())); }
  /// Returns one for a server's part of a model: n trained numbers, of which weight decay is for `decayed`.
  Optimizer optimizer(std::size_t n, std::vector<Slice> decayed) { return Optimizer(*this, n, std::move(decayed)); }
  /// Returns the factor of a step with the mean over so many samples that makes it as long as optimizer.step =
  /// "per_sample" asks: samples / (workers x batch); 1 under "as_written". For updates of a number of samples that
  /// varies.
  double per_sample(std::int64_t samples) const;
  std::size_t trainable() const { return workload_.trainable(); }  // trained numbers of a model; statistics follow
  /// Returns the trained part of a model, or of its gradient: all but running statistics.
  Payload trained(const Vec& x) const { return x.slice(0, trainable()); }
  Payload trained(const Payload& x) const { return x.slice(0, trainable()); }
  const std::vector<Bucket>& buckets() const { return workload_.buckets(); }
  std::vector<Tensor> tensors() const { return workload_.tensors(); }  // of the trained part
  /// Returns the sum of weight * value in the order given (by convention ascending sender). Charges the rank, and
  /// reports the senders, tags and weights to the checkers.
  Vec reduce(Iter k, std::span<const Term> terms);
  /// Reports to the checkers and the counters that this rank's vector is now such a sum, which operate() has computed.
  /// `terms` need no values. A server reports with applied() which gradients it has heard.
  void summed(Iter k, std::span<const Term> terms);
  /// Runs `arithmetic`, any other vector operation, at once, without giving the turn away, and charges the rank for
  /// `bytes` read and written.
  void operate(double bytes, const std::function<void()>& arithmetic);
  /// Does the same with arithmetic that has a result, and returns that.
  template <class Arithmetic>
  auto computed(double bytes, const Arithmetic& arithmetic) {
    decltype(arithmetic()) result{};
    operate(bytes, [&] { result = arithmetic(); });
    return result;
  }
  /// Does the same for a strand that works while the body does, on a core of its own. Gives the turn away meanwhile, so
  /// `arithmetic` may use nothing that other strands write. Not counted in the rank's vector operations.
  void operate_beside(double bytes, const std::function<void()>& arithmetic);

  /// Returns how many vectors of the model's size this process keeps for the rank: the fewest that it held at the start
  /// of an iteration (a server: when it began to wait), from iteration 20 on. 0 if it did not get there. Meaningless if
  /// other ranks live in the process.
  double state_vectors() const;

  /// Returns the bytes that are charged for each byte of a vector: 1, or more if the model stands for a larger one.
  double charge() const { return charge_; }

  // --- Reports to checkers, metrics and traces; free of cost.
  void enter(Iter k);  // iteration k begins; every body calls it, from 0 on
  /// Reports to the checkers that this rank's vector is now the sum of these ranks' vectors of iteration k, each times
  /// `weight`. For averages that reduce() does not compute, along a ring or at a server.
  void averaged(Iter k, std::span<const int> ranks, double weight);
  void averaged(Iter k, std::span<const int> ranks, std::vector<float> weights);  // a weight for each
  /// Records that another worker has an average which includes all that this worker has computed so far.
  void contributed();
  /// Records that a server, or the owner of x, applied sender's gradient of iteration k, with a step scaled by `scale`.
  void applied(int sender, Iter k, double scale = 1);
  /// Says that this server hears workers which others do not hear, as one of a region does.
  void hears_alone() { hears_alone_ = true; }
  /// Records, for `staleness_mean`, that a term of this rank's vector was `behind` iterations (at a server: updates)
  /// behind it. reduce() does this for its own terms.
  void aged(Iter behind);
  /// Records where a server keeps its part of the weights, for evaluation. It must stay valid until the next call;
  /// nullptr ends this.
  void keeps(const Vec* weights);
  /// Returns a server's part of the weights, as it is or as it was last; empty if the rank never kept one.
  Payload kept() const { return kept_ != nullptr ? kept_->watch() : last_kept_; }
  void spent(int owner, std::int64_t tokens);  // took tokens from TokenQ(owner -> rank)
  void lost(Iter k, const char* why);          // own gradient of iteration k is thrown away
  /// Says that the gradient computed last is a further part of the one before: they count as one gradient.
  void continued();
  /// Says that the gradient computed last, of this iteration, was cut short and is thrown away. It is no gradient then,
  /// its samples are no work, and its time is time in which the device could have worked.
  void abandoned();
  /// Returns a figure of the protocol's own, by its name in tables; 0 at first.
  double& figure(const std::string& name);
  /// Reports the model after k iterations, to be evaluated later, off the clock. x must live until the next running().
  void report(Iter k, const Vec& x);

  /// Ends the body's own iterations; it stays only to answer others. Its waits from here on do not count, and the last
  /// iteration is closed if running() has not done so. If the worker leaves, its body ends here.
  void retire();

  /// Runs the body as the scenario says, from the moment at which it joins, then finish(). If the worker is to leave,
  /// running() returns false before the end, or throws Error if the protocol then stops.
  void live(const std::function<void()>& body);

  /// Returns the counters so far. They are final after finish(), which is called once the body has returned (never for
  /// a server that was ended by Stop).
  RankRecord& record() { return *record_; }
  void finish();
  Iter iteration() const { return entered_; }  // the last that it has entered; -1 before the first

 private:
  friend class Optimizer;
  bool is_lost(const Message& message) const;
  void emit(Event&& event) const;
  void hears(int sender, Iter k);  // records that an average or a step here used sender's work of iteration k
  void note_heard(int worker, Iter k);
  void emit_at(Time time, Event&& event) const;  // fills in time and rank
  /// `messages` is the number of messages that must still come before `ready` can hold.
  bool wait(const Ready& ready, Time deadline, const char* why, int messages);
  void wait(const Ready& ready, const char* why, int messages = 1) { wait(ready, kNever, why, messages); }
  void waited(Time since, Time until, const char* why);
  void waited(Time since, const char* why);
  bool departure_here() const;
  void note_departures();
  enum class Parting : char { kNone, kLeft, kDied, kAbsent };
  Parting parting(int r) const { return partings_.empty() ? Parting::kNone : partings_[std::size_t(r)]; }
  void note_parting(int r, Parting how);
  bool bears_the_death_of(int r) const;
  /// A piece of work and its end. If the rank hung from then on, that time is not part of what the work took.
  struct Done {
    Occupied occupied;
    Time end;
  };
  Done occupy(Work work);
  Duration operated(Work work);
  Scenario::Where where(int worker) const;  // for the scenario's draws
  double slowdown_in(Iter k) const;         // of a gradient that begins now
  double vector_slowdown() const;
  Payload for_gradient(const Vec& x, std::int64_t first, int count, bool shared);
  Work vector_work(double bytes, const std::function<void()>& arithmetic) const;
  bool leaves(Iter k);
  void leave_body() const;
  void post(int to, Kind kind, Iter k, Payload body, Words words);
  void meet_absences(Iter k);
  void be_away(const Fault& fault);
  void stay_away(Time until);
  void say_away(int to);
  void note_absences();
  void note_return(int from, Iter absence);
  void give_states();
  bool give_state(const Message& asked);
  void meet_faults(Iter k);
  void hang(Duration lasts, FaultKind what = FaultKind::kHang);
  void stand_still(Duration lasts);
  Duration hung_since(Time over, bool background);
  void emit_fault(FaultKind what, Time since) const;
  void close_iteration(Iter next);
  void close_last_iteration();

  Runtime& runtime_;
  Workload& workload_;
  NodeOptions options_;
  std::vector<int> servers_;
  std::vector<Parting> partings_;  // by rank; empty: all are present
  std::string gone_;               // why a wait must fail: "rank 3 died"
  void note_held();
  const std::int64_t held_before_ = Storage::floats_held();
  std::int64_t least_held_ = -1;  // -1: not known yet
  std::int64_t server_waits_ = 0;
  bool hears_alone_ = false;
  std::vector<Kind> lossy_;  // of messages that may be lost
  bool background_ = false;  // the strand that runs now was spawned by the body
  Iter entered_ = -1;
  IterationMark open_;  // of the iteration entered last
  const double charge_;
  const std::unique_ptr<RankRecord> record_;
  Occupied last_gradient_;
  struct Computed {
    int samples = 0;
    Duration took{};
    bool slow = false;  // it met a slowdown
  };
  Computed newest_, before_;  // the gradient computed last, and the one before
  std::vector<std::uint32_t> columns_;
  const Vec* reported_ = nullptr;  // not yet handed on
  bool over_ = false;              // running() has returned false
  const Vec* model_ = nullptr;     // reported last, after model_of_ iterations
  Iter model_of_ = 0;
  Welcome welcome_;
  const bool absences_;  // some worker of the scenario is away for a while
  bool away_ = false, returned_ = false;
  Iter times_away_ = 0;                  // of this worker
  std::vector<Iter> last_absence_;       // by rank: number of the last absence that it announced
  std::deque<Message> asked_for_state_;  // not yet answered
  const Vec* kept_ = nullptr;            // of a server
  Payload last_kept_;
  std::vector<Fault> faults_;  // of this rank, still to come
  std::deque<Load> loads_;     // the readings that the monitor shows now and later
  struct Hang {
    Time since, until;
  };
  std::vector<Hang> hangs_;  // past hangs, in order of time
  double staleness_sum_ = 0;
  std::int64_t staleness_terms_ = 0;
};

}  // namespace hopbench
