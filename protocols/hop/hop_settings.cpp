#include "protocols/hop/hop_settings.h"

namespace hopbench::hop {

HopSettings::HopSettings(const KnobValues& knobs)
    : max_ig(knobs.text("gap_control") == "tokens" ? knobs.integer("max_ig") : 0),
      backup(knobs.integer("backup")),
      staleness(knobs.integer("staleness")),
      max_jump(knobs.integer("max_jump")),
      skip_trigger(knobs.integer("skip_trigger")),
      parallel(knobs.text("form") == "parallel"),
      keep_self(knobs.flag("skip_keep_self")),
      keeps_momentum(knobs.text("jump_momentum") == "keep"),
      check_receiver(knobs.flag("check_receiver")),
      acknowledges(knobs.text("gap_control") == "notify_ack"),
      reuse(knobs.flag("reuse")) {}

std::vector<Knob> hop_knobs() {
  return {
      knob("max_ig", 5, 1, 1000, "tokens a queue holds at the start: the most iterations ahead of a neighbour", "ours"),
      knob("backup", 0, 0, 1000, "in-neighbours (N_buw), not all, whose update may be missing", "memory M"),
      knob("staleness", 0, 0, 1000,
           "s: iteration k takes each neighbour's newest update, of k - s at least; 0: the standard receive",
           "memory L"),
      knob("max_jump", 0, 0, 1000,
           "longest jump of a worker that is behind; 0, 1: no skipping; on an undirected graph none is longer than "
           "max_ig",
           "memory M"),
      knob("skip_trigger", 2, 1, 1000, "iterations behind every out-neighbour from which on a worker jumps",
           "memory H"),
      knob("skip_keep_self", false, "after a jump a worker's own model counts as one more share", "ours"),
      choice("jump_momentum", {"drop", "keep"},
             "parallel: what the momentum has of a gradient that a jump throws away; drop: nothing, no step is made "
             "with it; keep: the gradient",
             "ours"),
      knob("check_receiver", false,
           "an update is not sent to a neighbour that can no longer use it, as far as tokens tell", "memory L"),
      knob("reuse", true,
           "with staleness: a neighbour's newest update is averaged in every iteration; false: only once", "memory L"),
      choice("form", {"parallel", "serial"},
             "parallel: the gradient overlaps the exchange; serial: step, then exchange", "memory H"),
      choice("gap_control", {"tokens", "queues", "notify_ack"},
             "queues: no tokens, the update queues alone bound the gap, with backup nothing does; notify_ack: one "
             "update an edge",
             "memory H"),
  };
}

std::optional<std::int64_t> hop_gap_bound(const Setting& setting) {
  const HopSettings set(setting.knobs);
  const bool heard = set.backup == 0 && (!set.skips() || setting.graph.undirected());  // of every in-neighbour
  const std::int64_t lead =
      setting.graph.largest_lead(set.acknowledges ? 2 : set.max_ig, heard ? set.staleness + 1 : 0);
  return lead < 0 ? std::nullopt : std::optional(lead);
}

Changes hop_changes(const Setting& setting) {
  const HopSettings set(setting.knobs);
  return set.backup > 0 || set.skips() ? Changes::kWork : Changes::kForm;
}

std::string hop_note(const Setting& setting) {
  if (!HopSettings(setting.knobs).drops() || setting.knobs.given("jump_momentum")) return "";
  return "a gradient that a jump throws away moves neither the momentum nor the reported model; that is new, and "
         "jump_momentum = 'keep' is as before";
}

std::string hop_refuses(const Setting& setting) {
  const HopSettings set(setting.knobs);
  if (!setting.graph.strongly_connected()) return unconnected(setting.graph);
  if (set.backup > 0 && set.staleness > 0)
    return "backup and staleness together have no known rule: set one of them to 0";
  if (set.backup + set.staleness > 0 && set.acknowledges)
    return "notify_ack with backup or staleness: a slow receiver would block its senders: take tokens";
  if (!set.reuse && set.staleness == 0)
    return "reuse = false says what staleness does with an update that is not new: set staleness to 1 or more";
  if (set.check_receiver && set.max_ig == 0)
    return "check_receiver asks the tokens how far a receiver is: it needs gap_control = 'tokens'";
  if (!set.skips() && (set.keep_self || set.keeps_momentum))
    return std::string(set.keep_self ? "skip_keep_self = true" : "jump_momentum = 'keep'") +
           " says what a jump does: set max_jump to 2 or more";
  for (int r = 0; r < setting.workers; ++r) {
    const int others = int(setting.graph.in(r).size());  // |N_in| - 1
    if (set.backup > 0 && set.backup >= others)
      return "backup = " + std::to_string(set.backup) + ", but worker " + std::to_string(r) + " has " +
             std::to_string(others) + " in-neighbours: it would wait for none of them: take less";
  }
  if (set.skips() && set.max_ig == 0) return "skipping counts tokens: it needs gap_control = 'tokens'";
  if (set.skips() && set.backup == 0 && set.staleness < set.max_jump)
    return "skipping needs neighbours that tolerate missing updates: set backup to 1 or more, or staleness to max_jump";
  return "";
}

}  // namespace hopbench::hop
