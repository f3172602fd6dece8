// `run --shard 2/3`: one of several parts of a run, for machines that do not see each other (Slurm arrays, indexed
// Jobs). Each part is a run of its own with a folder of its own. `hopbench merge` joins the folders.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "suites/campaign/options.h"
#include "suites/trial/trial.h"

namespace hopbench {

/// A shard: its number among those of the run, and the settings that all of them must have in common. A result folder
/// says both in its context.json.
struct RunShard {
  int number = 1, of = 1;        // counted from 1
  std::string filter, exclude;   // that chose the trials of the whole run
  std::string events = "brief";  // detail of the event logs
  std::uint64_t shuffle = 0;
  std::vector<std::string> dump;

  std::string name() const { return std::to_string(number) + "/" + std::to_string(of); }
};

/// Returns the shard that a new run with these options is; nothing without --shard. Error(kUsage) unless --shard is
/// "2/3" or the like, with 1 <= number <= count.
std::optional<RunShard> shard_of(const CampaignOptions& options);

/// Returns the shard that the folder of such a context.json holds; nothing if it is no shard's. Error(kUsage) naming
/// `path` if it is damaged.
std::optional<RunShard> shard_in(const std::string& context_json, const std::string& path);

/// Returns the JSON object for the context.
std::string to_json(const RunShard& shard);

/// Checks that a resumed shard goes on with the settings that it was begun with. Error(kUsage) names the flag to give,
/// or to leave out, if --shard, --events, --shuffle or --dump differ.
void check_goes_on(const RunShard& shard, const CampaignOptions& options);

/// Returns "--filter 'hop'; no --filter" for the first setting in which the shards differ (number aside), or "".
std::string difference(const RunShard& a, const RunShard& b);

/// Returns the number of the shard that runs the trial at this place (from 0) of the run. The sum of the digits of the
/// place, written in base `of`, decides (a Thue-Morse sequence): each shard has one of any `of` trials from a multiple
/// of `of` on, and no variant or scenario that comes round regularly falls to one shard alone.
int shard_of_place(std::size_t place, int of);

/// Keeps the shard's trials, in their order, of `trials`, the whole run's. Error(kUsage) if there are fewer trials than
/// shards, or if trials would not be comparable: real processes need a pace that the suite gives, since each machine
/// would calibrate its own.
void keep_shard(const RunShard& shard, std::vector<TrialSpec>& trials);

/// Returns the flags that give a run these settings, with a space before each: " --shard 2/3 --filter 'hop'".
std::string shard_flags(const RunShard& shard);
/// Returns the same without --shard.
std::string setting_flags(const RunShard& shard);

/// Returns hopbench, as the user called it.
std::string called_program();

}  // namespace hopbench
