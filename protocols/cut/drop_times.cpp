#include "protocols/cut/drop_times.h"

#include <algorithm>
#include <numeric>

namespace hopbench::cut {
namespace drop_times {

constexpr double kRounding = 1e-6;   // relative; workers tell each other their times in single precision
constexpr double kLeastGain = 0.01;  // the best of many limits looks better than it is

/// A micro-batch that a limit may cut.
struct Part {
  double begin = 0, end = 0;
  int samples = 0;
  std::size_t iteration = 0;
};

/// Appends a gradient's micro-batches to `parts`.
void append_parts(const MicroBatchTimes& times, std::size_t iteration, std::vector<Part>& parts) {
  for (std::size_t p = 0; p < times.begins.size(); ++p) {
    const bool last = p + 1 == times.begins.size();  // another one ends where the next begins
    parts.push_back({times.begins[p], last ? times.end : times.begins[p + 1], times.samples[p], iteration});
  }
}

}  // namespace drop_times

std::optional<double> best_limit(const std::vector<MeasuredIteration>& iterations) {
  using namespace drop_times;
  if (iterations.front().workers.size() < 2) return std::nullopt;  // it waits for nobody
  std::vector<Part> parts;
  std::vector<double> whole(iterations.size()), cut(iterations.size());  // times without and with the limit
  double all = 0, kept = 0;                                              // samples
  for (std::size_t k = 0; k < iterations.size(); ++k) {
    for (const MicroBatchTimes& times : iterations[k].workers) {
      append_parts(times, k, parts);
      whole[k] = std::max(whole[k], times.end);
      all += std::accumulate(times.samples.begin(), times.samples.end(), 0.0);
    }
  }
  const auto gained = [&](std::size_t k) {
    return (whole[k] + iterations[k].communication) / (cut[k] + iterations[k].communication) / double(whole.size());
  };
  std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.begin < b.begin; });
  std::optional<double> best;
  double faster = 0, most = 1 + kLeastGain;  // `faster`: the mean speed-up of an iteration
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Part& part = parts[i];
    if (cut[part.iteration] > 0) faster -= gained(part.iteration);
    cut[part.iteration] = std::max(cut[part.iteration], part.end);
    faster += gained(part.iteration);
    kept += part.samples;
    const bool limit = part.begin > 0 && (i + 1 == parts.size() || parts[i + 1].begin > part.begin);
    if (limit && faster * kept / all > most) most = faster * kept / all, best = part.begin * (1 + kRounding);
  }
  return best;  // what began at that very time is within it
}

}  // namespace hopbench::cut
