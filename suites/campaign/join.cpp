#include "suites/campaign/join.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "backends/base/error.h"
#include "backends/base/process/signals.h"
#include "backends/base/process/tell.h"
#include "backends/base/text.h"
#include "backends/fleet/host_file.h"
#include "backends/fleet/socket.h"
#include "models/dataset.h"
#include "results/files/context.h"
#include "suites/trial/child_task.h"
#include "suites/trial/rank_assignment.h"

namespace hopbench {
namespace {

constexpr Duration kTimeout{std::chrono::seconds(30)};

std::string interface_of(const GatheringOptions& options) {
  const char* const said = std::getenv("GLOO_SOCKET_IFNAME");
  return !options.interface.empty() || said == nullptr ? options.interface : said;
}

Duration timeout_of(const GatheringOptions& options) {
  if (options.rendezvous_timeout.empty()) return kTimeout;
  long long ns = 0;
  if (!parse_duration(options.rendezvous_timeout, ns) || ns <= 0)
    throw usage_error("--rendezvous-timeout is a time such as 30s or 500ms, not '" + options.rendezvous_timeout + "'");
  return Duration{ns};
}

Introduction introduction(const std::string& interface, const std::vector<std::string>& command_line) {
  Introduction about;
  about.machine = machine_name();
  about.boot = boot_id();
  if (!interface.empty()) about.address = machine_addresses(interface).front();
  about.program = version_with_commit();
  about.context = context_json(command_line);
  return about;
}

/// Returns a folder of this user alone. Other users with access to it could send the processes to another place.
std::string folder_of_machine() {
  std::string folder = (std::filesystem::temp_directory_path() / ("hopbench-" + std::to_string(geteuid()))).string();
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    throw environment_error("cannot make " + folder + ": " + std::strerror(errno) +
                            ": --rendezvous names another place");
  struct stat found {};
  if (lstat(folder.c_str(), &found) != 0 || !S_ISDIR(found.st_mode) || found.st_uid != geteuid() ||
      (found.st_mode & 077) != 0)
    throw environment_error(folder + " is not a folder of this user alone: remove it, or --rendezvous names another");
  return folder;
}

bool on_one_machine(const ProcessIdentity& standing) { return standing.local_size == standing.size; }

std::unique_ptr<MeetingPoint> meeting_of(const GatheringOptions& options, const ProcessIdentity& standing) {
  const std::string run = standing.run.empty() ? "parent-" + std::to_string(getppid()) : standing.run;
  if (!options.rendezvous.empty()) return open_meeting_point(options.rendezvous, standing.run);
  if (!standing.address.empty()) return open_meeting_point("tcp://" + standing.address, standing.run);
  if (on_one_machine(standing)) return open_meeting_point(folder_of_machine(), run);
  throw usage_error(
      standing.by + "=" + std::to_string(standing.number) + " says that this is one of " +
      std::to_string(standing.size) +
      " processes, but not where they meet: --rendezvous with a folder that all machines share, "
      "redis://host:port/prefix or tcp://host:port; or MASTER_ADDR and MASTER_PORT. To run alone, unset " +
      standing.by);
}

struct Company {
  std::vector<std::string> by_ssh;
  std::vector<int> slots;  // process 0 first
};

/// Reads which machines come by ssh. This machine is process 0, with no rank unless the file has it.
Company read_company(const std::string& path) {
  const std::vector<HostLine> lines = read_host_file(path);
  const bool said = std::any_of(lines.begin(), lines.end(), [](const HostLine& line) { return line.slots > 0; });
  Company company{{}, {0}};
  for (const HostLine& line : lines) {
    const int slots = said ? std::max(line.slots, 1) : kAnyNumber;
    if (line.host == "localhost") {
      company.slots.front() = slots;
      continue;
    }
    company.by_ssh.push_back(line.host);
    company.slots.push_back(slots);
  }
  return company;
}

/// Returns what reads the data set and traces of an errand's trial when they are seen for the first time, so that the
/// processes of all later trials find them in memory. What cannot be read is left to the trial, which says why.
std::function<void(const std::string&)> reader_of_data() {
  return [seen = std::set<std::string>()](const std::string& job) mutable {
    try {
      const WorkloadSpec model = task_from_text(job).spec.workload;
      if (model.dataset.empty() || !seen.insert(model.dataset + " " + model.dataset_path).second) return;
      find_dataset(model.dataset).load({.path = model.dataset_path, .size = model.size, .seed = model.seed});
    } catch (const std::exception&) {
    }
  };
}

std::string own_program() {
  std::error_code error;
  const std::string path = std::filesystem::read_symlink("/proc/self/exe", error).string();
  return error ? "hopbench" : path;
}

}  // namespace

ProcessIdentity place_in_run(const GatheringOptions& options) {
  const bool runs_apart = !options.shard.empty() && std::getenv("HOPBENCH_WORLD_SIZE") == nullptr;
  return identity_of([&](const char* name) -> const char* {
    const std::string_view text = name;
    const bool numbers_machines = text == "JOB_COMPLETION_INDEX" || text == "SKYPILOT_NODE_RANK";
    return runs_apart && numbers_machines ? nullptr : std::getenv(name);
  });
}

std::optional<int> serve(const GatheringOptions& options, bool only_prints) {
  const ProcessIdentity standing = place_in_run(options);
  if (standing.number == 0) return std::nullopt;
  if (!options.hosts.empty()) throw usage_error("--hosts starts the other processes itself: unset " + standing.by);
  if (only_prints) return static_cast<int>(ExitCode::kOk);
  const AgentOptions agent{.number = standing.number,
                           .size = standing.size,
                           .about = introduction(interface_of(options), options.command_line),
                           .timeout = timeout_of(options),
                           .interrupts = &count_interrupts(),
                           .prepare = reader_of_data()};
  return run_agent(agent, *meeting_of(options, standing));
}

Gathering::Gathering(const GatheringOptions& options) {
  const ProcessIdentity standing = place_in_run(options);
  if (options.hosts.empty() && standing.by.empty() && !options.rendezvous.empty()) {
    throw usage_error(
        "--rendezvous is for a run of several processes, but no launcher says which one this is: set "
        "HOPBENCH_RANK and HOPBENCH_WORLD_SIZE in each, or leave it out");
  }
  if (options.hosts.empty() && standing.size == 1) return;
  FleetOptions fleet{.size = standing.size,
                     .interface = interface_of(options),
                     .timeout = timeout_of(options),
                     .interrupted = count_interrupt_from_elsewhere,
                     .interrupts = &count_interrupts()};
  fleet.about = introduction(fleet.interface, options.command_line);
  if (options.hosts.empty()) {
    fleet.one_machine = on_one_machine(standing);
    meeting_ = meeting_of(options, standing);
  } else {
    if (standing.size > 1) throw usage_error("--hosts starts the other processes itself: unset " + standing.by);
    const Company company = read_company(options.hosts);
    fleet.size = 1 + static_cast<int>(company.by_ssh.size());
    fleet.slots = company.slots;
    meeting_ = open_ssh_point(options.ssh, company.by_ssh, own_program());
  }
  fleet_ = Fleet::gather(fleet, *meeting_);
  tell(std::to_string(fleet_->size()) + (fleet_->size() == 1 ? " process on " : " processes on ") +
       std::to_string(fleet_->hosts()) + (fleet_->hosts() == 1 ? " machine\n" : " machines\n"));
}

std::string Gathering::processes_json() const {
  if (fleet_ == nullptr) return "";
  nlohmann::json all = nlohmann::json::array();
  for (const FleetMember& member : fleet_->members()) {
    const nlohmann::json context = nlohmann::json::parse(member.context, nullptr, false);
    all.push_back({{"process", all.size()},
                   {"machine", member.machine},
                   {"host", member.host},
                   {"address", member.address.empty() ? "loopback" : member.address},
                   {"clock_offset_ns", member.clock_offset_ns},
                   {"clock_error_ns", member.clock_error_ns},
                   {"context", context.is_discarded() ? nlohmann::json(nullptr) : context}});
  }
  return all.dump();
}

int Gathering::telling_all(const std::function<int()>& work) const {
  if (fleet_ == nullptr) return work();
  try {
    const int code = work();
    fleet_->set_exit_code(code);
    return code;
  } catch (const Error& error) {
    fleet_->set_exit_code(static_cast<int>(error.code()));
    throw;
  }
}

void Gathering::check(const std::vector<TrialSpec>& trials) const {
  if (fleet_ == nullptr) return;
  for (const TrialSpec& spec : trials) check_place(spec, *fleet_);
}

void Gathering::check_same(const std::string& context_json) const {
  const nlohmann::json context = nlohmann::json::parse(context_json, nullptr, false);
  const auto processes = context.is_object() ? context.find("processes") : context.end();
  const std::size_t then = processes == context.end() || !processes->is_array() ? 1 : processes->size();
  const std::size_t now = fleet_ == nullptr ? 1 : std::size_t(fleet_->size());
  if (then == now) return;
  throw usage_error("this run was begun by " + std::to_string(then) + (then == 1 ? " process" : " processes") +
                    " and is to be resumed by " + std::to_string(now) +
                    ": start it again in the same way, or --force to have trials of both in one table");
}

int agent_main() {
  try {
    const Summons summons = read_summons(std::cin);
    const AgentOptions agent{.number = summons.number,
                             .size = summons.size,
                             .about = introduction("", {"hopbench", "agent"}),
                             .interrupts = &count_interrupts(),
                             .prepare = reader_of_data()};
    return run_agent(agent, *summons.meeting);
  } catch (const std::exception& error) {
    tell("hopbench agent on " + machine_name() + ": " + error.what() + "\n");
    const auto* ours = dynamic_cast<const Error*>(&error);
    return static_cast<int>(ours != nullptr ? ours->code() : ExitCode::kEnvironment);
  }
}

}  // namespace hopbench
