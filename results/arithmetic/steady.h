// Rates over the steady part of a trial, and how far ranks ran ahead: arithmetic over what the ranks recorded
// (fairness section 5).
#pragma once

#include "backends/base/record/trial_record.h"

namespace hopbench {

/// A part of the trial's clock.
struct Window {
  Time from{}, until{};
};

/// Returns the share of [begin, end] that lies inside the window, 0 to 1. An empty interval counts as 1 if `end` lies
/// in (from, until].
double share_inside(Time begin, Time end, const Window& window);

/// Fills the rates of the record, overrun_share, main_wait, and adds warnings. Returns the window of the rates.
///
/// The warm-up of a worker (ranks below `workers`) ends at its first mark with at least `warmup` iterations done
/// (jumped ones count, since it is about how far ranks may be ahead of each other) and at least `warmup_time` on the
/// trial's clock. The common window begins at the latest of those and ends when the first worker has done its last
/// iteration. An iteration that crosses an edge of the window counts by the share of its time inside, so that a window
/// of few iterations is not off by whole ones.
///
/// Over the window: samples_per_s (all workers), samples_heard_per_s (of gradients that came to another rank),
/// iters_per_s (mean of the workers), median_iteration_s (iterations
/// wholly inside). Over the whole trial: wait_share (waiting / time of the workers, to each one's finish), main_wait,
/// overrun_share (of the iterations).
///
/// Warnings: kNotSteady (halves of the window differ by more than 10 % in samples/s); kNoSteadyWindow (it is empty, or
/// its fastest worker has fewer than 5 iterations in it: rates are over the whole trial); kOversubscribed (overruns
/// above 5 %); kContended (of a worker, contended_s above 5 % of the trial).
Window fill_rates(TrialRecord& record, Iter warmup, Duration warmup_time, int workers);

/// Returns the largest share, over the workers that were there to the end, of a worker's samples in the window of the
/// rates whose gradients came to no other rank; 0 if no rank recorded what it used. The record must have its marks.
double largest_unheard_share(const TrialRecord& record, int workers);

/// Returns true if the machine influenced the result: the trial ended well, but oversubscribed or cpu-contended.
bool disturbed(const TrialRecord& record);

/// Returns by how much the rate of the record's window is above that of a long run, as a factor: the iterations of all
/// workers in the window, over what they are if each makes as many as the slowest (at least one). Workers that were
/// away for a while are left out. 1 if workers may be ahead by any number (no gap_bound). The record must have its
/// marks and its window.
double lead_in_window(const TrialRecord& record);
/// A factor above which it is reported.
inline constexpr double kLongLead = 1.1;

/// Fills gap_mean and gap_max of every worker from the marks: at each entry into an iteration after the first, its own
/// iteration minus that of the slowest worker that has not finished. Entries at the same instant count as made
/// together. A jump is one entry, into the iteration it leads to.
void fill_gaps(TrialRecord& record, int workers);

}  // namespace hopbench
