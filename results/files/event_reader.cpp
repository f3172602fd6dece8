#include "results/files/event_reader.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "backends/base/error.h"
#include "backends/base/json_value.h"
#include "backends/base/printable.h"
#include "backends/base/record/event.h"
#include "results/files/record_json.h"

namespace hopbench {
namespace {

constexpr std::size_t kLongestLine = std::size_t{64} << 20;  // far more than an event of 65536 ranks takes

EventKind kind_of(const std::string& what) {
  static const std::map<std::string, EventKind> kinds = [] {
    std::map<std::string, EventKind> all;
    for (int k = 0; k <= static_cast<int>(EventKind::kFault); ++k) {
      all[to_string(static_cast<EventKind>(k))] = static_cast<EventKind>(k);
    }
    return all;
  }();
  const auto kind = kinds.find(what);
  if (kind == kinds.end()) throw usage_error("no event is called '" + what + "'");
  return kind->second;
}

/// Returns a time. Throws above 4e18 ns, so that sums and differences of two times do not overflow.
Duration time_of(const nlohmann::json& j) {
  const auto ns = integer_of<std::int64_t>(j);
  if (std::abs(double(ns)) > 4e18) throw usage_error("a time of more than a hundred years");
  return Duration{ns};
}

/// Reads a field into `value`, which keeps what it has if the field is not there.
template <class T>
void read_if_there(const nlohmann::json& j, const char* name, T& value) {
  if (!j.contains(name)) return;
  try {
    read_value(j[name], value);
  } catch (const nlohmann::json::exception& error) {
    throw usage_error(fmt::format("'{}': {}", name, json_mistake(error)));
  } catch (const Error& error) {
    throw error.in(fmt::format("'{}'", name));
  }
}

LoggedEvent event_of(const nlohmann::json& j) {
  LoggedEvent logged{{}, j.value("text", "")};
  Event& event = logged.event;
  event.time = Time{time_of(field_of(j, "t"))};
  event.rank = integer_of<int>(field_of(j, "rank"));
  event.what = kind_of(field_of(j, "what"));
  read_if_there(j, "iter", event.iter);
  read_if_there(j, "peer", event.peer);
  read_if_there(j, "kind", event.kind);
  read_if_there(j, "count", event.count);
  if (j.contains("value") && j["value"].is_number()) event.value = j["value"];
  if (j.contains("since")) event.since = Time{time_of(j["since"])};
  if (j.contains("first")) event.first = j["first"].get<std::int64_t>();
  if (j.contains("delay")) event.delay = time_of(j["delay"]);
  read_if_there(j, "senders", event.senders);
  read_if_there(j, "tags", event.tags);
  read_if_there(j, "weights", event.weights);
  return logged;
}

/// Throws if the log's first line does not name this trial, or if `line` is nothing: the log is empty.
void check_head(const std::optional<std::string>& line, const std::string& path, const std::string& trial_id) {
  if (!line) throw usage_error(path + ":1: damaged: the event log is empty: run the trial again");
  const nlohmann::json head = too_deep(*line) ? nlohmann::json() : nlohmann::json::parse(*line, nullptr, false);
  const bool names_one = head.is_object() && head.contains("trial") && head["trial"].is_string();
  if (!names_one) throw usage_error(path + ":1: damaged: no head of an event log: run the trial again");
  const auto trial = head["trial"].get<std::string>();
  if (trial != trial_id)
    throw usage_error(fmt::format("{}:1: the log is of trial {}: run the trial again", path, quotable(trial)));
}

/// Returns the number of ranks that events can name; 0: not known.
std::int64_t ranks_of(const TrialRow& row) {
  std::int64_t ranks = row.labels.world;
  for (const RankRecord& rank : row.record.ranks) ranks = std::max(ranks, std::int64_t{rank.rank} + 1);
  return ranks;
}

/// Throws if no trial with this number of ranks (0: not known) has such an event.
void check_event(const Event& event, std::int64_t ranks) {
  const auto not_before_the_start = [](const char* name, Duration time) {
    if (time.count() < 0) throw usage_error(fmt::format("'{}' is {} ns, and a trial begins at 0", name, time.count()));
  };
  not_before_the_start("t", event.time.time_since_epoch());
  not_before_the_start("since", event.since.time_since_epoch());
  const auto one_of_them = [&](const char* name, int rank, int least) {
    if (rank >= least && (ranks == 0 || rank < ranks)) return;
    throw usage_error(fmt::format("'{}' is {}, expected a rank from 0 {}", name, rank,
                                  ranks > 0 ? fmt::format("to {}", ranks - 1) : "on"));
  };
  one_of_them("rank", event.rank, 0);
  one_of_them("peer", event.peer, -1);
  for (const int sender : event.senders) one_of_them("senders", sender, 0);
}

}  // namespace

struct EventLines::File {
  std::string path;
  gzFile file = nullptr;
  ~File() {
    if (file != nullptr) gzclose(file);
  }
};

EventLines::EventLines(const std::string& path) : file_(new File{path, gzopen(path.c_str(), "rb")}) {}
EventLines::~EventLines() = default;

bool EventLines::there() const { return file_->file != nullptr; }

std::optional<std::string> EventLines::next() {
  std::string line;
  std::array<char, 4096> part{};
  while (gzgets(file_->file, part.data(), int(part.size())) != nullptr) {
    line += part.data();
    if (line.size() > kLongestLine)
      throw usage_error(file_->path + ": a line does not end: the log is damaged: run the trial again");
    if (line.empty() || line.back() != '\n') continue;  // empty: it begins with a zero
    line.pop_back();
    return line;
  }
  int code = Z_OK;
  const std::string why = gzerror(file_->file, &code);  // "PATH: why"
  if (code != Z_OK && code != Z_STREAM_END) throw usage_error(why + ": the log is damaged: run the trial again");
  return line.empty() ? std::nullopt : std::optional(line);
}

EventReader::EventReader(const std::string& path, const TrialRow& row)
    : path_(path), trial_(row.record.id), ranks_(ranks_of(row)), lines_(path) {
  if (!lines_.there()) throw usage_error(path + " cannot be read: was the run made with --no-events?");
}

std::optional<LoggedEvent> EventReader::next() {
  const auto damaged = [&](const std::string& why) {
    return usage_error(fmt::format("{}:{}: damaged: {}: run the trial again", path_, line_, why));
  };
  if (line_ == 0) check_head(lines_.next(), path_, trial_), ++line_;
  while (const std::optional<std::string> line = lines_.next()) {
    ++line_;
    try {
      LoggedEvent logged = event_of(nlohmann::json::parse(*line));
      check_event(logged.event, ranks_);
      return logged;
    } catch (const nlohmann::json::exception& error) {
      throw damaged(json_mistake(error));
    } catch (const Error& error) {
      throw damaged(error.what());
    }
  }
  return std::nullopt;
}

LogEnds::LogEnds(const TrialRecord& record) {
  for (const RankRecord& rank : record.ranks) {
    if (rank.lost.empty() && rank.finished > Time{}) open_.insert(rank.rank);
  }
}

std::string LogEnds::flaw() const {
  if (open_.empty()) return "";
  constexpr std::size_t kShown = 8;
  std::vector<std::string> ranks;
  for (const int rank : open_) ranks.push_back(std::to_string(rank));
  return fmt::format("the log ends early: the end of rank {} is not in it", listed(ranks, kShown));
}

void check_event_log(const RunFolder& folder, const TrialRow& row) {
  const std::string path = find_event_log(folder, row.record.id);
  if (!std::filesystem::exists(path)) {
    if (row.record.path.empty()) return;
    throw usage_error(folder.event_log(row.record.id) + " is not there: run the trial again");
  }
  EventReader reader(path, row);
  LogEnds ends(row.record);
  while (const std::optional<LoggedEvent> logged = reader.next()) ends.on(logged->event);
  if (const std::string flaw = ends.flaw(); !flaw.empty())
    throw usage_error(path + ": " + flaw + ": run the trial again");
}

void check_log_head(const std::string& path, const std::string& trial_id) {
  EventLines lines(path);
  if (lines.there()) check_head(lines.next(), path, trial_id);
}

std::string find_event_log(const RunFolder& folder, const std::string& trial_id) {
  const std::string plain = folder.event_log(trial_id);
  return std::filesystem::exists(plain) ? plain : plain + ".gz";
}

}  // namespace hopbench
