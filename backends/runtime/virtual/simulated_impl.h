// The inside of Simulation, seen by simulated*.cpp only.
#pragma once

#include <exception>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backends/base/random.h"
#include "backends/runtime/virtual/event_queue.h"
#include "backends/runtime/virtual/job_pool.h"
#include "backends/runtime/virtual/simulated.h"

namespace hopbench {

struct SimStrand {
  enum class State { kFree, kNew, kRunning, kAwait, kOccupied };

  std::unique_ptr<Strand> strand;
  State state = State::kFree;
  int rank = 0;
  std::uint32_t id = 0;
  bool is_body = false;

  std::uint32_t wait = 0;  // counts its waits, so that events of earlier waits are known to be stale
  const Ready* ready = nullptr;
  const char* why = "";
  Time since{};
  bool due = false;      // the deadline, or the end of its work, has come
  bool outcome = false;  // of an await

  bool stop = false;
  std::exception_ptr thrown;  // by `ready`, which runs on the simulation's side
  Job* job = nullptr;         // to be run on the simulation's own stack
};

class SimRank final : public Runtime {
 public:
  using Owner = Simulation::Impl;
  SimRank(Owner& simulation, int rank) : simulation_(simulation), rank_(rank) {}

  Time now() const override;
  void post(int to, Message message) override;
  bool await(const Ready& ready, Time deadline, const char* why, int messages = 1) override;
  Occupied occupy(Work work) override;
  void spawn(std::function<void()> strand) override;

 private:
  friend Owner;
  SimStrand& running();  // throws Stop if it is to end
  void start_job(SimStrand& self, Job& job, bool may_run_elsewhere);
  void begin_wait(SimStrand& self, SimStrand::State state, const char* why);
  void queue_last(SimStrand& self);
  void yield_until(SimStrand& self, Time when);
  void hold_turn(SimStrand& self, Time until);
  void wait_until(SimStrand& self, Time when);

  Owner& simulation_;
  int rank_;
  std::vector<SimStrand*> strands_;  // oldest wait first
  SimStrand* holder_ = nullptr;      // works without yielding
  bool started_ = false, must_finish_ = true, body_returned_ = false, dead_ = false;
  std::vector<int> peers_;  // ascending
};

class Simulation::Impl {
 public:
  Impl(const SimulationOptions& options, Simulation& self);
  ~Impl();

  void start(int r, std::function<void()> body, bool must_finish);
  void run();
  void push(SimEvent event);
  SimStrand& new_strand(int rank, std::function<void()> body, bool is_body);
  void post(SimRank& from, int to, Message message);
  void connect(int a, int b);
  std::uint32_t add_action(std::function<void()> action) { return actions_.put(std::move(action)); }

  SimulationOptions options_;
  Time now_{};
  std::unique_ptr<Network> network_;
  std::vector<std::unique_ptr<SimRank>> ranks_;
  std::function<std::string(int)> describe_;
  std::function<void(int)> before_kill_;
  JobPool pool_;
  SimStrand* running_ = nullptr;
  bool stopping_ = false;
  std::int64_t events_run_ = 0, messages_delivered_ = 0;

 private:
  struct Envelope {
    Message message;
    int to = 0;
    Time posted{};
  };
  struct LastOfPair {  // --shuffle only: keeps a pair's order
    Time time{};
    std::uint32_t tie = 0;
  };

  void begin();
  void loop();
  bool stale(const SimEvent& event) const;
  void dispatch(const SimEvent& event);
  void give_turns(SimRank& rank);
  bool can_run(SimStrand& strand);
  SimStrand* next(SimRank& rank);
  void resume(SimStrand& strand);
  void ended(SimStrand& strand);
  void body_ended(SimRank& rank);
  void stop(SimStrand& strand);
  bool stop_servers();
  void stop_everything();
  void kill(SimRank& rank);
  void fail(int rank, std::exception_ptr error);
  void say_to_peers(SimRank& rank, Kind kind);
  void send_off(std::uint32_t envelope);
  void arrived(std::uint32_t envelope);
  void arrived_shuffled(std::uint32_t envelope);
  void deliver(std::uint32_t envelope);
  std::string deadlock_report() const;
  std::string clock_end_report() const;
  /// Returns a line for each strand, those at work first: the rank, the reason and length of its wait, and the text of
  /// describe_.
  std::string under_way() const;

  Simulation& self_;
  EventQueue queue_;
  Slots<Envelope> envelopes_;
  Slots<std::function<void()>> actions_;
  std::vector<std::unique_ptr<SimStrand>> strands_;
  std::vector<SimStrand*> free_strands_;
  bool connected_ = false;       // some pair has been connected
  std::int64_t live_ = 0;        // events on the heap that a run waits for
  std::int64_t unfinished_ = 0;  // ranks that must finish and have not
  std::int64_t idle_ = 0;        // deadlines in a row with nothing else on the way
  Time last_turn_{};             // when something last happened
  bool touched_ = false;         // this event gave a strand a turn, or a message
  std::exception_ptr failure_;
  Random schedule_;
  std::unordered_map<std::uint64_t, LastOfPair> last_of_pair_;
};

}  // namespace hopbench
