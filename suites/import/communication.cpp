#include "suites/import/communication.h"

#include <algorithm>
#include <cctype>
#include <tuple>

#include "backends/base/error.h"

namespace hopbench {
namespace {

constexpr std::size_t kMostNames = 10'000, kLongestName = 256;

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
constexpr std::string_view kMessages[] = {"send", "recv"};

std::string lower_of(std::string_view name) {
  std::string lower(name);
  for (char& c : lower) c = char(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

template <class Words>
bool has_any(const std::string& lower, const Words& words) {
  return std::any_of(std::begin(words), std::end(words),
                     [&](const auto& word) { return lower.find(word) != std::string::npos; });
}

}  // namespace

void Communication::add_word(std::string_view word) {
  if (word.empty()) throw usage_error("--communication needs a word: an empty one is in every name");
  added_.push_back(lower_of(word));
}

Communication::Entry& Communication::entry(const std::string& name) {
  if (name.size() > kLongestName) return entry(name.substr(0, kLongestName));
  if (const auto at = known_.find(name); at != known_.end()) return at->second;
  const std::string lower = lower_of(name);
  // PyTorch's own operators and kernels compute, as aten::broadcast_to and at::native::reduce_kernel do.
  const bool computes = lower.starts_with("aten::") || lower.find("at::native::") != std::string::npos;
  Entry found{.added = has_any(lower, added_)};
  if (found.added || (!computes && has_any(lower, kWords)))
    found.kind = NameKind::kCommunication;
  else if (!computes && has_any(lower, kSuspects))
    found.kind = NameKind::kSuspect;
  return (known_.size() < kMostNames ? known_[name] : beyond_) = found;
}

bool Communication::is_collective(std::string_view name) { return !has_any(lower_of(name), kMessages); }

std::vector<std::pair<std::string, double>> Communication::longest(NameKind kind, std::size_t most) const {
  std::vector<std::pair<std::string, double>> found;
  for (const auto& [name, entry] : known_)
    if (entry.kind == kind && entry.seconds > 0) found.emplace_back(name, entry.seconds);
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return std::tie(b.second, a.first) < std::tie(a.second, b.first); });
  found.resize(std::min(most, found.size()));
  return found;
}

}  // namespace hopbench
