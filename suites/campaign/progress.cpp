#include "suites/campaign/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "backends/base/printable.h"
#include "backends/base/process/tell.h"
#include "backends/base/record/kinds.h"
#include "results/report/chart.h"

namespace hopbench {
namespace {

using Clock = std::chrono::steady_clock;

std::string clock_text(double seconds) {
  const auto s = std::lround(seconds);
  return s >= 3600 ? fmt::format("{}h{:02}m", s / 3600, s / 60 % 60) : fmt::format("{}m{:02}s", s / 60, s % 60);
}

}  // namespace

Progress::Progress(std::size_t trials, bool live)
    : trials_(trials), live_(live), start_(Clock::now()), drawn_(start_) {}

void Progress::wipe() {
  if (shown_) std::fputs("\r\033[K", stderr);
  shown_ = false;
}

void Progress::say(const std::string& line) {
  wipe();
  std::fprintf(stderr, "%s\n", printable_lines(line).c_str());
  std::fflush(stderr);
}

// Returns the time left, from the mean so far. Trials differ in length, but their order is mixed: no guess is better.
std::string Progress::time_left() const {
  if (done_ == 0) return "";
  const double each = std::chrono::duration<double>(Clock::now() - start_).count() / double(done_);
  return ", about " + clock_text(each * double(trials_ - done_)) + " left";
}

void Progress::draw(const std::string& more) {
  if (!live_ || running_.empty()) return;
  wipe();
  std::string line = fmt::format("[{}/{}{}] {}{}", done_ + 1, trials_, time_left(), running_.front().spec->id(), more);
  if (running_.size() > 1) line += fmt::format(", and {} more", running_.size() - 1);
  // A line that wraps could not be rewritten.
  std::fputs(chart::shortened(line, terminal_columns(STDERR_FILENO, 80) - 1).c_str(), stderr);
  std::fflush(stderr);
  shown_ = true;
}

void Progress::begin(const TrialSpec& spec) {
  const std::lock_guard lock(mutex_);
  running_.push_back({&spec, Clock::now()});
  draw("");
}

void Progress::tick(const Board& board, const TrialSpec& spec) {
  const std::lock_guard lock(mutex_);
  if (!live_ || running_.empty() || running_.front().spec != &spec ||
      Clock::now() - drawn_ < std::chrono::milliseconds(200))
    return;
  drawn_ = Clock::now();
  const int ranks = spec.transport == "sim" ? 1 : spec.workers();
  std::int64_t fastest = -1, slowest = -1, all = 0;
  double loss = 0;  // of the gradients computed last, mean over the ranks
  int slowest_rank = 0;
  for (int r = 0; r < ranks; ++r) {
    const std::int64_t at = board.slot(r).iteration.load(std::memory_order_relaxed);
    all += std::max<std::int64_t>(at, 0);
    loss += board.slot(r).loss.load(std::memory_order_relaxed) / ranks;
    fastest = std::max(fastest, at);
    if (r == 0 || at < slowest) {
      slowest = at;
      slowest_rank = r;
    }
  }
  std::string more;
  const double seconds = std::chrono::duration<double>(drawn_ - running_.front().begun).count();
  if (fastest >= 0) more += fmt::format("  iteration {}", fastest);
  if (fastest > 0) more += fmt::format(", {:.3g} a second", double(all) / ranks / seconds);
  if (loss != 0) more += fmt::format(", loss {:.3g}", loss);
  if (ranks > 1 && slowest >= 0 && slowest < fastest) more += fmt::format(", rank {} at {}", slowest_rank, slowest);
  draw(more);
}

void Progress::end(const TrialSpec& spec, const TrialRecord& record) {
  const std::lock_guard lock(mutex_);
  std::erase_if(running_, [&](const Running& running) { return running.spec == &spec; });
  ++done_;
  std::string line = fmt::format("[{}/{}] {}: ", done_, trials_, spec.id());
  switch (record.status) {
    case TrialStatus::kOk:
      line += fmt::format("{:.0f} samples/s, {:.1f} s{}", record.samples_per_s, record.time_s,
                          spec.transport == "sim" ? " of virtual time" : "");
      break;
    case TrialStatus::kFailed:
      line += "FAILED: " + record.failure.text;
      break;
    case TrialStatus::kInterrupted:
      line += "interrupted";
      break;
  }
  for (const Warning& warning : record.warnings) line += "\n    warning: " + in_words(warning);
  say(line);
  draw("");
}

void Progress::lost(const TrialSpec& spec) {
  const std::lock_guard lock(mutex_);
  std::erase_if(running_, [&](const Running& running) { return running.spec == &spec; });
}

void Progress::again() {
  const std::lock_guard lock(mutex_);
  --done_;
  say("    the machine disturbed this trial: measured again, whatever comes out");
}

}  // namespace hopbench
