#include "suites/campaign/adjust.h"

#include <fmt/format.h>

#include <regex>

#include "backends/base/error.h"
#include "backends/base/text.h"
#include "suites/campaign/filter.h"

namespace hopbench {
namespace {

void set_duration(const std::string& text, const char* flag, Duration& to) {
  if (text.empty()) return;
  long long ns = 0;
  if (!parse_duration(text, ns) || ns <= 0) {
    throw usage_error(fmt::format("{} is a time such as 30s or 500ms, not '{}'", flag, text));
  }
  to = Duration{ns};
}

EventDetail detail_of(const std::string& events) {
  if (events == "none") return EventDetail::kNone;
  return events == "all" ? EventDetail::kAll : EventDetail::kBrief;
}

}  // namespace

void keep_matching(const std::string& filter, std::vector<TrialSpec>& trials) {
  if (filter.empty()) return;
  const std::regex matching = regular_expression(filter, "--filter");
  std::erase_if(trials, [&](const TrialSpec& spec) { return !std::regex_search(spec.id(), matching); });
}

void adjust(const CampaignOptions& options, std::vector<TrialSpec>& trials) {
  keep_matching(options.filter, trials);
  if (!options.exclude.empty()) {
    const std::regex exclude = regular_expression(options.exclude, "--exclude");
    std::erase_if(trials, [&](const TrialSpec& spec) { return std::regex_search(spec.id(), exclude); });
  }
  for (TrialSpec& spec : trials) {
    set_duration(options.trial_timeout, "--trial-timeout", spec.trial_timeout);
    set_duration(options.rendezvous_timeout, "--rendezvous-timeout", spec.rendezvous_timeout);
    set_duration(options.stall_timeout, "--stall-timeout", spec.stall_timeout);
    spec.strands = options.strands == "threads" ? StrandKind::kThreads : StrandKind::kFibers;
    spec.shuffle = options.shuffle;
    spec.sim_threads = options.threads;
    spec.events = detail_of(options.events);
  }
}

}  // namespace hopbench
