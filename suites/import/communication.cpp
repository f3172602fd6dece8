#include "suites/import/communication.h"

#include <algorithm>
#include <cctype>
#include <span>

#include "backends/base/error.h"

namespace hopbench {
namespace {

constexpr std::size_t kMostNames = 1000, kLongestName = 256;

// Libraries, then operations.
constexpr std::string_view kWords[] = {
    "nccl",          "rccl",         "hccl",       "oneccl",         "msccl",
    "gloo:",         "c10d::",       "mpi:",       "ucc:",           "nvshmem",
    "rocshmem",      "deep_ep",      "deepep",     "cross_device_",  "userbuffers",
    "quickreduce",   "quick_reduce", "all-reduce", "all_reduce",     "allreduce",
    "all-gather",    "all_gather",   "allgather",  "reduce-scatter", "reduce_scatter",
    "reducescatter", "all-to-all",   "all_to_all", "alltoall",       "broadcast",
    "barrier",       "-send",        "-recv",      "sendrecv",       "record_param_comms"};
constexpr std::string_view kSuspects[] = {"reduce", "gather", "scatter", "combine",  "dispatch",  "send",
                                          "recv",   "p2p",    "peer",    "exchange", "internode", "comm"};

std::string lower_of(std::string_view name) {
  std::string lower(name.substr(0, kLongestName));
  for (char& c : lower) c = char(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

bool has_any(const std::string& lower, std::span<const std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

}  // namespace

void NameTimes::add(const std::string& name, double seconds) {
  const std::string key = name.substr(0, kLongestName);
  if (const auto at = seconds_.find(key); at != seconds_.end() || seconds_.size() < kMostNames)
    seconds_[key] += seconds;
}

std::vector<std::pair<std::string, double>> NameTimes::longest(std::size_t most) const {
  std::vector<std::pair<std::string, double>> found(seconds_.begin(), seconds_.end());
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  found.resize(std::min(most, found.size()));
  return found;
}

void Communication::add_word(std::string_view word) {
  if (word.empty()) throw usage_error("--communication needs a word: an empty one is in every name");
  added_.push_back(lower_of(word));
}

bool Communication::has_added_word(std::string_view name) const {
  return has_any(lower_of(name), std::vector<std::string_view>(added_.begin(), added_.end()));
}

Communication::Kind Communication::kind_of(const std::string& name) {
  if (const auto at = known_.find(name); at != known_.end()) return at->second;
  const std::string lower = lower_of(name);
  Kind kind;
  // PyTorch's own operators and kernels compute, as aten::broadcast_to and at::native::reduce_kernel do.
  const bool computes = lower.starts_with("aten::") || lower.find("at::native::") != std::string::npos;
  kind.communicates = (!computes && has_any(lower, kWords)) || has_added_word(name);
  kind.is_suspect = !computes && !kind.communicates && has_any(lower, kSuspects);
  if (known_.size() < kMostNames * 10 && name.size() <= kLongestName) known_[name] = kind;
  return kind;
}

bool Communication::is(const std::string& name) { return kind_of(name).communicates; }

bool Communication::is_collective(std::string_view name) {
  static constexpr std::string_view kMessages[] = {"send", "recv"};
  return !has_any(lower_of(name), kMessages);
}

void Communication::note(const std::string& name, double seconds) {
  const Kind kind = kind_of(name);
  if (kind.communicates) taken.add(name, seconds);
  if (kind.is_suspect) suspect.add(name, seconds);
}

}  // namespace hopbench
