#include "protocols/outer/fragments.h"

namespace hopbench::outer {

Knob fragments_knob() {
  return knob("fragments", 2, 1, 100000, "P: parts of the model, each sent once in a period",
              "memory H; the default: ours");
}

std::string too_many_fragments(const Setting& setting) {
  const int fragments = setting.knobs.integer("fragments"), period = setting.knobs.integer("period");
  if (fragments > period)
    return "fragments = " + std::to_string(fragments) + " are more than the period of " + std::to_string(period) +
           " steps: each is sent after a step of its own. Take fewer fragments or a longer period";
  if (setting.parameters > 0 && fragments > setting.parameters)
    return "fragments = " + std::to_string(fragments) + " are more than the model's " +
           std::to_string(setting.parameters) + " parameters: take fewer";
  return "";
}

}  // namespace hopbench::outer
