#include "backends/fleet/errand.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>

#include "backends/base/error.h"
#include "backends/base/json_value.h"
#include "backends/base/ran_out.h"
#include "backends/runtime/process/crew.h"

namespace hopbench {
namespace {

/// Reads "<JSON>\n<bytes>". Returns nothing unless the JSON is an object.
std::optional<nlohmann::json> head_of(const std::string& text, std::string& rest) {
  const std::size_t line = text.find('\n');
  if (line == std::string::npos) return std::nullopt;
  nlohmann::json head = nlohmann::json::parse(text.substr(0, line), nullptr, false);
  if (!head.is_object()) return std::nullopt;
  rest = text.substr(line + 1);
  return head;
}

/// Takes `size` bytes from the front of `rest`. Throws if there are fewer.
std::string taken(std::string& rest, std::uint64_t size) {
  if (size > rest.size()) throw trial_error("a text of a fleet is cut off");
  std::string part = rest.substr(0, size);
  rest.erase(0, size);
  return part;
}

/// Returns the result of a process that could not be started.
LaunchResult not_started(const std::exception& error) {
  LaunchResult result;
  result.failure = failure_of(error);
  result.complaint = result.failure;
  result.ranks.resize(1);
  return result;
}

}  // namespace

std::string to_text(const Errand& errand) {
  const nlohmann::json head{{"number", errand.place.number},
                            {"ranks", errand.place.ranks},
                            {"rendezvous", errand.rendezvous_timeout.count()},
                            {"stall", errand.stall_timeout.count()},
                            {"trial", errand.trial_timeout.count()}};
  return head.dump() + "\n" + errand.job;
}

bool from_text(const std::string& text, Errand& errand) {
  const std::optional<nlohmann::json> head = head_of(text, errand.job);
  if (!head) return false;
  try {
    const auto duration = [&](const char* name) { return Duration{integer_of<std::int64_t>(head->at(name))}; };
    errand.place = {integer_of<int>(head->at("number")), integer_of<int>(head->at("ranks"))};
    errand.rendezvous_timeout = duration("rendezvous");
    errand.stall_timeout = duration("stall");
    errand.trial_timeout = duration("trial");
    return errand.place.number >= 0 && errand.place.number < errand.place.ranks;
  } catch (const std::exception&) {
    return false;
  }
}

std::string result_to_text(const LaunchResult& result) {
  const std::string failure = to_bytes(result.failure);
  const std::string complaint = result.complaint ? to_bytes(*result.complaint) : "";
  const nlohmann::json head{{"ok", result.ok},
                            {"interrupted", result.interrupted},
                            {"wall_s", result.wall_s},
                            {"failure", failure.size()},
                            {"complaint", complaint.size()}};
  return head.dump() + "\n" + failure + complaint + (result.ranks.empty() ? "" : result.ranks.front().result);
}

bool result_from_text(const std::string& text, LaunchResult& result) {
  std::string rest;
  const std::optional<nlohmann::json> head = head_of(text, rest);
  if (!head) return false;
  try {
    result = {};
    result.ok = head->at("ok").get<bool>();
    result.interrupted = head->at("interrupted").get<bool>();
    result.wall_s = head->at("wall_s").get<double>();
    result.failure = failure_from_bytes(taken(rest, integer_of<std::uint64_t>(head->at("failure"))));
    const auto complaint = integer_of<std::uint64_t>(head->at("complaint"));
    if (complaint > 0) result.complaint = failure_from_bytes(taken(rest, complaint));
    result.ranks.resize(1);
    result.ranks.front().ok = result.ok;
    result.ranks.front().result = std::move(rest);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

Errands::Errands(std::vector<std::string> command, std::function<void(const std::string& job)> prepare)
    : command_(std::move(command)), prepare_(std::move(prepare)), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (wake_ < 0) {
    throw environment_error(std::string("cannot wait for trials: ") + std::strerror(errno) +
                            ": raise the limit on open files (ulimit -n)");
  }
}

Errands::~Errands() {
  interrupts_ = 2;
  for (auto& [number, thread] : threads_) thread.join();
  close(wake_);
}

void Errands::begin(std::int64_t number, const Errand& errand) {
  if (threads_.empty()) interrupts_ = 0;
  try {
    threads_.emplace_back(number, std::thread([this, number, errand] { run(number, errand); }));
  } catch (const std::exception& error) {
    // take_done() expects a thread for each result.
    const std::string result = result_to_text(not_started(error));
    threads_.emplace_back(number, std::thread());
    const std::lock_guard lock(mutex_);
    done_.push_back({number, result});
    eventfd_write(wake_, 1);
  }
}

void Errands::run(std::int64_t number, const Errand& errand) {
  std::string result;
  try {
    if (prepare_) {
      const std::lock_guard lock(preparing_);
      prepare_(errand.job);
    }
    LocalCrew crew("", true);
    LaunchOptions launch_with;
    launch_with.command = command_;
    launch_with.job = errand.job;
    launch_with.rendezvous_timeout = errand.rendezvous_timeout;
    launch_with.stall_timeout = errand.stall_timeout;
    launch_with.trial_timeout = errand.trial_timeout;
    launch_with.alone = errand.place;
    launch_with.interrupts = &interrupts_;
    launch_with.placement = {{&crew}, {0}, {errand.place}};
    result = result_to_text(launch(launch_with));
  } catch (const std::exception& error) {
    result = result_to_text(not_started(error));
  }
  const std::lock_guard lock(mutex_);
  done_.push_back({number, std::move(result)});
  eventfd_write(wake_, 1);
}

std::vector<Errands::Done> Errands::take_done() {
  std::vector<Done> done;
  {
    const std::lock_guard lock(mutex_);
    eventfd_t ignored = 0;
    eventfd_read(wake_, &ignored);
    done.swap(done_);
  }
  for (const Done& each : done) {
    const auto thread = std::find_if(threads_.begin(), threads_.end(),
                                     [&](const auto& running) { return running.first == each.number; });
    if (thread == threads_.end()) continue;
    if (thread->second.joinable()) thread->second.join();
    threads_.erase(thread);
  }
  return done;
}

}  // namespace hopbench
