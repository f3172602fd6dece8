// Spans of time in which the threads or streams of ranks compute and communicate, in bounded memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace hopbench {

struct Span {
  double begin = 0, end = 0;
};
/// Spans in ascending order that do not overlap.
using Spans = std::vector<Span>;

/// Sorts spans, and unites those that overlap or whose distance is at most `gap`.
void unite(Spans& spans, double gap = 0);
/// Returns the parts of `from` that no span of `taken` covers. Both must be united.
Spans without(const Spans& from, const Spans& taken);
/// Returns what both cover. Both must be united.
Spans common_to(const Spans& a, const Spans& b);
/// Returns what `spans` cover from `begin` to `end`, and its length. `spans` must be united.
Spans within(const Spans& spans, double begin, double end);
double length_of(const Spans& spans);

enum class SpanOf { kCompute, kCommunication };

/// Spans of the threads of one rank or of several. Keeps at most 2^21 spans (32 MiB) of all ranks together, which
/// vectors may round up to twice as much. If there are more, even after overlapping spans of a thread are united, it
/// closes the shortest gaps between spans of a thread: closed_gap() says up to which length.
class WorkSpans {
 public:
  /// Threads of all ranks, which take about 150 bytes each beside their spans. A reader refuses more than this many.
  static constexpr std::size_t kMostThreads = 100'000;
  std::size_t threads() const { return threads_; }
  void add(std::int64_t rank, SpanOf work, std::uint64_t thread, Span span);
  /// Forgets all spans and threads.
  void clear();
  /// Returns when the rank communicates and no thread of it computes, and forgets its spans. While a thread
  /// communicates, it does not compute.
  Spans take_exposed(std::int64_t rank);
  double closed_gap() const { return gap_; }

 private:
  using Threads = std::map<std::uint64_t, std::array<Spans, 2>>;  // by SpanOf
  void compact();

  std::map<std::int64_t, Threads> ranks_;
  std::size_t kept_ = 0, threads_ = 0;
  double gap_ = 0;
};

}  // namespace hopbench
