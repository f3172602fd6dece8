#include "suites/campaign/preflight.h"

#include <fmt/format.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "backends/compute/backend.h"
#include "backends/transport/wire.h"
#include "models/dataset.h"
#include "results/files/run_folder.h"
#include "suites/trial/dump.h"

namespace hopbench {
namespace {

void check_transport(const std::string& name) {
  if (name == "sim") return;
  if (const std::string why = find_transport(name).unavailable(); !why.empty()) {
    throw environment_error(fmt::format("transport '{}' is not available: {}", name, why));
  }
}

constexpr const char *kDumps = "/dump", *kWhat = "dump.txt";

/// Returns the words once each, in the order of the documentation.
std::string as_one_word(const std::vector<std::string>& what) {
  std::vector<std::string> words;
  for (const char* word : {"params", "gradients", "samples"}) {
    if (std::find(what.begin(), what.end(), word) != what.end()) words.emplace_back(word);
  }
  return fmt::format("{}", fmt::join(words, ","));
}

}  // namespace

void check_backend(const std::string& name) {
  for (const BackendEntry& entry : backends()) {
    if (name != entry.name) continue;
    if (const std::string why = entry.unavailable(); !why.empty()) {
      throw environment_error(fmt::format("compute backend '{}' is not available: {}", name, why));
    }
  }
}

void check_stack() {
  constexpr rlim_t kLeast = 1 << 20;  // ten times what a small trial was seen to need
  rlimit stack{};
  if (getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur >= kLeast) return;
  throw environment_error(fmt::format("a stack may have {} KiB only: allow at least {} (ulimit -s 8192)",
                                      stack.rlim_cur / 1024, kLeast / 1024));
}

void check_interface(const std::string& asked) {
  const std::string name = asked.empty() ? "lo" : asked;
  ifreq request{};
  name.copy(request.ifr_name, IFNAMSIZ - 1);
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const bool known = name.size() < IFNAMSIZ && fd >= 0 && ::ioctl(fd, SIOCGIFFLAGS, &request) == 0;
  if (fd >= 0) ::close(fd);
  if (!known) {
    throw environment_error(fmt::format(
        "there is no network interface '{}' (transport.interface, --iface): name one that `ip link` lists", name));
  }
  if ((request.ifr_flags & IFF_UP) == 0) {
    throw environment_error(fmt::format(
        "network interface '{0}' (transport.interface, --iface) is down: `ip link set {0} up` as root", name));
  }
}

void check_available(const std::vector<TrialSpec>& trials) {
  std::set<std::string> transports, interfaces, backends, splits;
  std::map<std::string, DatasetPair> data;
  for (const TrialSpec& spec : trials) {
    transports.insert(spec.transport);
    if (spec.transport == "gloo" || spec.transport == "auto") interfaces.insert(spec.interface);
    backends.insert(spec.workload.backend);
    if (spec.transport != "sim")
      for (const OtherBackend& other : spec.workload.others) backends.insert(other.backend);
    const WorkloadSpec& w = spec.workload;
    if (w.dataset.empty()) continue;
    const std::string set = fmt::format("{} {} {}", w.dataset, w.dataset_path, w.size);
    if (!data.contains(set)) {
      data[set] = find_dataset(w.dataset).load({.path = w.dataset_path, .size = w.size, .seed = w.seed});
    }
    check_augment(w.augment, *data[set].train);
    const std::string parts = fmt::format("{} {} {} {} {} {}", set, static_cast<int>(w.split.what), w.split.alpha,
                                          w.split.shards_per_worker, w.split.feature, w.everybody());
    if (splits.insert(parts).second) split(*data[set].train, w.split, w.everybody(), w.seed, w.repeat);
  }
  for (const std::string& name : transports) check_transport(name);
  for (const std::string& name : interfaces) check_interface(name);
  for (const std::string& name : backends) check_backend(name);
}

void check_dump(const std::vector<std::string>& what, const std::vector<TrialSpec>& trials, bool agreed) {
  if (what.empty()) return;
  const Dump dump{what, ""};
  std::int64_t bytes = 0;
  for (const TrialSpec& spec : trials) {
    if (const std::string why = why_no_dump(dump, spec); !why.empty())
      throw usage_error(fmt::format("--dump: {}: {}", spec.id(), why));
    bytes += dump_size(dump, spec);
  }
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  if (bytes <= kMost || agreed) return;
  throw usage_error(
      fmt::format("--dump: {} of {} trial{} take {:.1f} GiB: choose fewer with --filter or "
                  "run.evaluations, or take it with --force",
                  fmt::join(what, ", "), trials.size(), trials.size() == 1 ? "" : "s", double(bytes) / double(kMost)));
}

void begin_dump(const RunFolder& folder, const std::vector<std::string>& what) {
  const std::string dumps = folder.path() + kDumps;
  std::error_code failed;
  std::filesystem::create_directories(dumps, failed);
  if (failed) throw environment_error(fmt::format("--dump: cannot make the folder {}: {}", dumps, failed.message()));
  folder.write_text(kWhat, as_one_word(what) + "\n");
}

void check_dump_goes_on(const std::string& folder, const std::vector<std::string>& what) {
  const std::string said = folder + "/" + kWhat, dumps = folder + kDumps;
  if (!std::filesystem::exists(said) && !std::filesystem::exists(dumps)) return;
  std::string before;
  if (std::filesystem::is_regular_file(said)) std::ifstream(said) >> before;
  if (!before.empty() && as_one_word(what) == before) return;
  if (before.empty())
    throw usage_error(
        fmt::format("{} does not say what {} holds: put the run's own file there, or remove both", said, dumps));
  throw usage_error(fmt::format("{} was started with --dump {}: give the same --dump again, or remove {} and {}",
                                folder, before, said, dumps));
}

}  // namespace hopbench
