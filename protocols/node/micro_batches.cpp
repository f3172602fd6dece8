#include "protocols/node/micro_batches.h"

#include <algorithm>

#include "protocols/node/collectives.h"

namespace hopbench {
namespace {

/// Makes `sum`, the sum over `samples` samples, the sum over those of g too. Both are means, weighed by their samples.
void add_part(Node& self, CutGradient& sum, const Gradient& g) {
  if (sum.samples == 0) {
    sum.values = g.values;
  } else {
    const double all = sum.samples + g.samples;
    sum.values = combined(self, {{sum.samples / all, share(sum.values)}, {g.samples / all, share(g.values)}});
  }
  sum.samples += g.samples;
}

}  // namespace

Samples part_of(int batch, int parts, int part) {
  const auto begin = [&](int i) { return static_cast<int>(std::int64_t{batch} * i / parts); };
  return {.first = begin(part), .count = begin(part + 1) - begin(part)};
}

CutGradient gradient_in_parts(Node& self, const Vec& x, Iter k, int parts, const std::function<bool()>& go_on) {
  const int batch = self.batch();
  parts = std::clamp(parts, 1, batch);
  CutGradient cut;
  for (int part = 0; part < parts && (part == 0 || go_on()); ++part) {
    Samples some = part_of(batch, parts, part);
    some.first += k * batch;
    const Gradient g = self.gradient(x, k, some);
    if (part > 0) self.continued();
    add_part(self, cut, g);
  }
  cut.whole = cut.samples == batch;
  return cut;
}

void may_abandon(Node& self) {
  for (const char* figure : {"gradients cut", "samples abandoned"}) self.figure(figure);
}

Knob parts_knob(int fallback) {
  return knob("parts", std::int64_t{fallback}, 1, 1000,
              "micro-batches of a gradient, after each of which it can be cut", "ours");
}

}  // namespace hopbench
