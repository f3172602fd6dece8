#include "suites/campaign/errands.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "backends/base/printable.h"
#include "backends/base/process/cores.h"

namespace hopbench {
namespace {

constexpr Duration kPatience{std::chrono::milliseconds(50)};  // latest notice of a ^C or a piece that was given back

/// Reads the machine of a process from its context.
struct Machine {
  explicit Machine(const std::string& context_json) {
    const nlohmann::json context = nlohmann::json::parse(context_json, nullptr, false);
    if (!context.is_object() || !context.contains("machine") || !context.at("machine").is_object()) return;
    const nlohmann::json& machine = context.at("machine");
    const auto number = [&](const char* name) {
      const auto found = machine.find(name);
      return found != machine.end() && found->is_number_integer() ? std::max(1, found->get<int>()) : 1;
    };
    cores = number("cores");
    usable = number("usable_cores");
    if (machine.contains("isa") && machine.at("isa").is_string()) isa = machine.at("isa").get<std::string>();
  }
  int cores = 1, usable = 1;
  std::string isa;
};

std::string name_of_process(const Fleet& fleet, int process) {
  return fmt::format("process {} ({})", process, printable(fleet.members()[std::size_t(process)].machine));
}

/// A piece that an agent has.
struct Away {
  std::size_t piece;
  std::size_t helper;  // index
  int slot;
};

/// An agent and its free slots.
struct Helper {
  Share share;
  std::vector<int> free;
  bool gone = false;
};

class Dispatcher {
 public:
  Dispatcher(Fleet& fleet, const std::vector<Share>& shares, Pieces& pieces, const ErrandWork& work)
      : fleet_(fleet), pieces_(pieces), work_(work) {
    for (const Share& share : shares) {
      if (share.process == 0 || share.jobs == 0) continue;
      Helper helper{share, {}, false};
      for (int slot = share.jobs - 1; slot >= 0; --slot) helper.free.push_back(slot);
      helpers_.push_back(std::move(helper));
    }
  }

  void run() {
    while (true) {
      take_leave_of_lost();
      hand_out();
      if (away_.empty()) return;
      pass_on_interrupts();
      for (EndedErrand& ended : fleet_.await_errands(kPatience)) finish(ended);
    }
  }

 private:
  /// Gives each agent in turn a piece, as long as there are pieces and free slots.
  void hand_out() {
    for (bool some = true; some;) {
      some = false;
      for (std::size_t h = 0; h < helpers_.size(); ++h) {
        Helper& helper = helpers_[h];
        if (helper.gone || helper.free.empty()) continue;
        const std::optional<std::size_t> piece = pieces_.take();
        if (!piece) return;
        const int slot = helper.free.back();
        helper.free.pop_back();
        away_[++number_] = {*piece, h, slot};
        fleet_.begin_errand(helper.share.process, number_, work_.errand(*piece, helper.share, slot));
        some = true;
      }
    }
  }

  void finish(EndedErrand& ended) {
    const auto found = away_.find(ended.number);
    if (found == away_.end()) return;
    const Away away = found->second;
    Helper& helper = helpers_[away.helper];
    away_.erase(found);
    helper.free.push_back(away.slot);
    const bool lacking = !ended.result.ok && ended.result.failure.kind == FailureKind::kEnvironment;
    if (lacking) {
      give_back(away);
      // The complaint does not name the one process as a rank.
      leave(helper, "cannot compute a trial: " + ended.result.complaint.value_or(ended.result.failure).text);
      return;
    }
    work_.keep(away.piece, helper.share, std::move(ended.result));
    pieces_.done(away.piece);
  }

  void take_leave_of_lost() {
    for (std::size_t h = 0; h < helpers_.size(); ++h) {
      Helper& helper = helpers_[h];
      const std::string& why = fleet_.why_lost(helper.share.process);
      if (why.empty()) continue;
      leave(helper, "was lost: " + why);
      for (auto each = away_.begin(); each != away_.end();) {
        if (each->second.helper == h) give_back(each->second);
        each = each->second.helper == h ? away_.erase(each) : std::next(each);
      }
    }
  }

  void give_back(const Away& away) {
    work_.lost(away.piece);
    pieces_.give_back(away.piece);
  }

  /// The agent gets no more pieces.
  void leave(Helper& helper, const std::string& why) {
    if (std::exchange(helper.gone, true)) return;
    work_.tell(
        fmt::format("{} {}; other processes compute its trials\n", name_of_process(fleet_, helper.share.process), why));
  }

  void pass_on_interrupts() {
    const int wanted = pieces_.failed() ? 2 : std::min(work_.interrupts(), 2);
    for (; passed_on_ < wanted; ++passed_on_) fleet_.interrupt_errands();
  }

  Fleet& fleet_;
  Pieces& pieces_;
  const ErrandWork& work_;
  std::vector<Helper> helpers_;
  std::map<std::int64_t, Away> away_;  // by number
  std::int64_t number_ = 0;
  int passed_on_ = 0;
};

}  // namespace

std::vector<Share> shares_of(Fleet* fleet, int jobs, const std::function<void(const std::string&)>& tell) {
  if (fleet == nullptr) return {{0, usable_cores(), jobs > 0 ? jobs : usable_cores()}};
  std::vector<Machine> machines;
  std::map<int, int> usable_on, processes_on;  // by host
  for (const FleetMember& member : fleet->members()) {
    machines.emplace_back(member.context);
    usable_on[member.host] += machines.back().usable;
    ++processes_on[member.host];
  }
  std::vector<Share> shares;
  for (std::size_t p = 0; p < machines.size(); ++p) {
    const int host = fleet->members()[p].host;
    const bool shared = usable_on[host] > machines[p].cores;
    const int even = std::max(1, machines[p].cores / processes_on[host]);
    Share share{int(p), shared ? std::min(machines[p].usable, even) : machines[p].usable, 0};
    share.jobs = jobs > 0 ? jobs : share.cores;
    if (machines[p].isa != machines.front().isa) {
      share.jobs = 0;
      tell(
          fmt::format("{} computes no trials in virtual time: its instruction sets ({}) are not those of process 0 "
                      "({}), so results could differ in their last bits\n",
                      name_of_process(*fleet, int(p)), printable(machines[p].isa), printable(machines.front().isa)));
    }
    shares.push_back(share);
  }
  return shares;
}

void spread(std::vector<Share>& shares, std::size_t trials) {
  std::size_t all = 0;
  for (const Share& share : shares) all += std::size_t(share.jobs);
  if (trials >= all) return;
  for (Share& share : shares) share.jobs = int((std::size_t(share.jobs) * trials + all - 1) / all);
}

void do_elsewhere(Fleet& fleet, const std::vector<Share>& shares, Pieces& pieces, const ErrandWork& work) {
  Dispatcher(fleet, shares, pieces, work).run();
}

}  // namespace hopbench
