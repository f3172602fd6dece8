#include "suites/import/spans.h"

#include <algorithm>
#include <utility>

namespace hopbench {
namespace {

/// Adds spans to others. The first ones are moved, since most ranks have one thread of a kind.
void append(Spans& to, Spans&& more) {
  if (to.empty()) {
    to = std::move(more);
  } else {
    to.insert(to.end(), more.begin(), more.end());
  }
}

}  // namespace

void unite(Spans& spans, double gap) {
  if (spans.empty()) return;
  const auto earlier = [](const Span& a, const Span& b) { return a.begin < b.begin; };
  if (!std::is_sorted(spans.begin(), spans.end(), earlier)) std::sort(spans.begin(), spans.end(), earlier);
  std::size_t last = 0;
  for (std::size_t i = 1; i < spans.size(); ++i) {
    if (spans[i].begin <= spans[last].end + gap) {
      spans[last].end = std::max(spans[last].end, spans[i].end);
    } else {
      spans[++last] = spans[i];
    }
  }
  spans.resize(last + 1);
}

Spans without(const Spans& from, const Spans& taken) {
  Spans left;
  auto next = taken.begin();
  for (Span span : from) {
    while (next != taken.end() && next->end <= span.begin) ++next;
    for (auto cut = next; cut != taken.end() && cut->begin < span.end; ++cut) {
      if (cut->begin > span.begin) left.push_back({span.begin, cut->begin});
      span.begin = std::max(span.begin, cut->end);
    }
    if (span.begin < span.end) left.push_back(span);
  }
  return left;
}

Spans common_to(const Spans& a, const Spans& b) {
  Spans both;
  for (std::size_t i = 0, k = 0; i < a.size() && k < b.size();) {
    const Span span{std::max(a[i].begin, b[k].begin), std::min(a[i].end, b[k].end)};
    if (span.begin < span.end) both.push_back(span);
    a[i].end < b[k].end ? ++i : ++k;
  }
  return both;
}

Spans within(const Spans& spans, double begin, double end) {
  Spans inside;
  auto at = std::partition_point(spans.begin(), spans.end(), [&](const Span& span) { return span.end <= begin; });
  for (; at != spans.end() && at->begin < end; ++at)
    inside.push_back({std::max(at->begin, begin), std::min(at->end, end)});
  return inside;
}

double length_of(const Spans& spans) {
  double length = 0;
  for (const Span& span : spans) length += span.end - span.begin;
  return length;
}

void WorkSpans::add(std::int64_t rank, SpanOf work, std::uint64_t thread, Span span) {
  constexpr std::size_t kMostSpans = std::size_t{1} << 21;
  const auto [at, is_new] = ranks_[rank].try_emplace(thread);
  if (is_new) ++threads_;
  at->second[std::size_t(work)].push_back(span);
  if (++kept_ > kMostSpans) compact();
}

void WorkSpans::compact() {
  constexpr std::size_t kEnough = std::size_t{1} << 20;
  constexpr double kFirstGap = 1.0 / 16;
  for (bool again = true; again; again = kept_ > kEnough) {
    kept_ = 0;
    for (auto& [rank, threads] : ranks_) {
      for (auto& [thread, works] : threads) {
        for (Spans& spans : works) {
          unite(spans, gap_);
          spans.shrink_to_fit();
          kept_ += spans.size();
        }
      }
    }
    if (kept_ > kEnough) gap_ = std::max(kFirstGap, 2 * gap_);
  }
}

void WorkSpans::clear() {
  ranks_.clear();
  kept_ = threads_ = 0;
  gap_ = 0;
}

Spans WorkSpans::take_exposed(std::int64_t rank) {
  Spans compute, communication;
  for (auto& [thread, works] : ranks_[rank]) {
    Spans own_compute = std::exchange(works[std::size_t(SpanOf::kCompute)], {});
    Spans own_communication = std::exchange(works[std::size_t(SpanOf::kCommunication)], {});
    unite(own_compute);
    unite(own_communication);
    own_compute = without(own_compute, own_communication);
    append(compute, std::move(own_compute));
    append(communication, std::move(own_communication));
  }
  unite(compute);
  unite(communication);
  return without(communication, compute);
}

}  // namespace hopbench
