// For the tests of results/: records in which every field differs from its default, and a folder to write to.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>

#include "results/files/run_folder.h"
#include "tests/folder.h"

namespace hopbench {

inline RankRecord full_rank() {
  RankRecord rank;
  rank.rank = 3;
  rank.worker = 4;
  rank.server = true;
  rank.marks = {{Time(Duration(1234567890123)), 0, Duration(40000001), 32, 0.1f},
                {Time(Duration(1234567890124)), 1, Duration(0), 0, std::numeric_limits<float>::quiet_NaN()}};
  rank.finished = Time(Duration(9876543210));
  rank.lost = "leave";
  rank.compute = Duration(11);
  rank.injected_delay = Duration(13);
  rank.vector_ops = Duration(14);
  rank.waits = {{"a \"token\"", Duration(15)}, {"parameters", Duration(16)}};
  rank.iters = 17;
  rank.iters_jumped = 18;
  rank.gradients = 19;
  rank.gradients_lost = 20;
  rank.samples = 21;
  rank.messages_sent = 22;
  rank.bytes_sent = std::int64_t{1} << 60;
  rank.slow_events = 24;
  rank.overruns = 25;
  rank.staleness_mean = 0.1;
  rank.staleness_max = 26;
  rank.gap_mean = 1.0 / 3;
  rank.gap_max = 27;
  rank.queue_max = 28;
  rank.heard = {{1, 7}, {3, 9}};
  rank.heard_step = 4;
  rank.lost_in = {2, 5};
  rank.figures = {{"prediction error", 0.6}};
  rank.host = 4;
  rank.bytes_to = {5, 6};
  rank.cpu_s = 0.3;
  rank.cpu_wait_s = 0.4;
  rank.contended_s = 0.5;
  rank.max_rss_bytes = 29;
  rank.state_vectors = 2.5;
  rank.awaited_bodies = 3;
  rank.carriers = "gloo: 1-3";
  rank.congestion_control = "reno";
  rank.gpu = "0000:3b:00.0";
  rank.gpu_shared_well = true;
  rank.gpu_fallbacks = 3;
  rank.gpu_remarks = "graph of batch 8: yes, 370 nodes";
  rank.staged_bodies = 12;
  rank.link_late_median_s = 0.1;
  rank.link_late_p99_s = 0.2;
  rank.machine = "a";
  return rank;
}

inline TrialLabels full_labels(const std::string& variant, int order) {
  TrialLabels labels;
  labels.suite = "s";
  labels.measure = "m";
  labels.what = "rate";
  labels.scenario = "one, \"slow\"";
  labels.protocol = "hop";
  labels.variant = variant;
  labels.knobs = "backup=1";
  labels.backend = "reference";
  labels.transport = "sim";
  labels.clock = "virtual";
  labels.model = "lenet";
  labels.dataset = "fashion_mnist";
  labels.topology = "ring";
  labels.status_mark = "x";
  labels.split = "iid";
  labels.optimizer = "sgd";
  labels.network = "100us";
  labels.world = 9;
  labels.batch = 32;
  labels.hosts = 8;
  labels.row_order = 2;
  labels.cost_s = 0.04;
  labels.learns = false;
  labels.tuned = true;
  labels.seed = ~std::uint64_t{0};
  labels.repeat = 2;
  labels.order = order;
  labels.target_loss = 0.5;
  labels.target_hold = 1;
  labels.target_model = TargetModel::kMean;
  labels.experimental = true;
  labels.source = "memory";
  labels.reading = "hop/H1-H14";
  labels.faults = true;
  labels.unharmed = "fedcba9876543210";
  return labels;
}

inline TrialRow full_row(const std::string& variant = "hop backup=1", int order = 0) {
  TrialRow row;
  row.labels = full_labels(variant, order);
  TrialRecord& record = row.record;
  record.id = "s/m/one/" + variant + "/1/2";
  record.hash = "0123456789abcdef";
  record.status = TrialStatus::kInterrupted;
  record.failure = {FailureKind::kInterrupted, 3, "line\nbreak"};
  record.warnings = {WarningKind::kNotSteady, {WarningKind::kOverpaced, "so much"}};
  record.time_s = 0.1 + 0.2;
  record.ranks_lost = 1;
  record.first_lost_s = 0.25;
  record.ranks = {full_rank()};
  record.curve = {{"mean", Time(Duration(0)), 0, 0, 1.0, 0, 0},
                  {"mean", Time(Duration(2000000000)), 10, 640, 0, 0.5, 1}};
  record.params_hash = "beef";
  record.window_start_s = 1;
  record.window_end_s = 2;
  record.samples_per_s = 1e-5;
  record.iters_per_s = std::numeric_limits<double>::infinity();
  record.wait_share = std::numeric_limits<double>::quiet_NaN();
  record.median_iteration_s = 0.04;
  record.main_wait = "parameters";
  record.path = {{"compute", Duration(30)}, {"messages, \"x\"", Duration(31)}};
  record.samples_heard_per_s = 5e-6;
  record.window_ideal_samples_per_s = 123456789.123;
  record.slowest_rank_samples_per_s = 4;
  record.without_slowest_samples_per_s = 4.5;
  record.overrun_share = 0.05;
  record.wall_s = 77.7;
  record.cpu_s = 88.8;
  record.max_rss_bytes = 99;
  return row;
}

}  // namespace hopbench
