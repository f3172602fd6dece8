// The flags of record, advise and whatif.
#include <CLI/CLI.hpp>

#include "cli/parsed.h"

namespace hopbench {
namespace {

constexpr const char* kRecordExamples = R"(
Examples:
  hopbench record suites/cnn_hetero.toml --set compute.pace=off --set iterations=300 -o recording
  mpirun -np 4 hopbench record my.toml -o recording
  hopbench advise recording/cluster.toml                  which protocol to use there)";

constexpr const char* kAdviseExamples = R"(
Examples:
  hopbench advise recording/cluster.toml
  hopbench advise my_job.toml --present ps_bsp --json=answer.json
  hopbench advise my_job.toml --candidates mine.toml      [[protocol]]s of your own

Exit codes: 0 there is an answer; 2 a mistake in the cluster file; 3 the present protocol's trials failed.)";

constexpr const char* kWhatifExamples = R"(
Examples:
  hopbench whatif recording/cluster.toml                  how much each worker slows the job
  hopbench whatif my_job.toml --without 3 --rank 5=1x
  hopbench whatif my_job.toml --link 0-1=10Gbit/s --link 2=25Gbit/s)";

void add_cluster_flags(CLI::App& command, ClusterCommand& o, const std::string& runs) {
  command.add_option("cluster", o.cluster, "cluster file (TOML); - is standard input")->required();
  command.add_option("--present", o.present,
                     "protocol that the job uses now (default: the file's first, else allreduce)");
  command.add_option("--scenario", o.scenario, "name, if the file has several");
  add_suite_flags(command, o.suite_options);
  command.get_option("--runs")->description(runs);
  add_answer_flags(command, o.jobs, o.resume);
}

void add_record(CLI::App& app, Parsed& parsed) {
  RecordOptions& o = parsed.record;
  CLI::App& command = *app.add_subcommand("record", "record a job and its machines as a cluster file");
  command.footer(kRecordExamples);
  command.add_option("suite", o.suite, "suite file: its first trial in real processes is recorded")->required();
  command.add_option("-o,--output", o.output, "folder, new or empty, for cluster.toml and its trace")->required();
  command.add_option("-f,--filter", o.filter, "the first trial whose id matches this");
  add_suite_flags(command, o.suite_options);
  add_process_flags(command, o);
  command.callback([&] { parsed.command = [&] { return command_record(parsed.record); }; });
}

void add_advise(CLI::App& app, Parsed& parsed) {
  AdviseOptions& o = parsed.advise;
  CLI::App& command = *app.add_subcommand("advise", "which protocol to use on a cluster, and how certain that is");
  command.footer(kAdviseExamples);
  add_cluster_flags(command, o, "repeats of every trial (default: the file's, else 20)");
  command.add_option("--candidates", o.candidates,
                     "file with the [[protocol]]s to compare (default: those of hopbench)");
  command.add_option("--errors", o.errors, "file with errors of virtual time (default: that of hopbench)");
  command.add_option("-o,--output", o.output, "result folder, new or empty (default: hopbench-results/<utc>-<id>)");
  add_output(command, "--json", o.json, "the answer as JSON (alone: on standard output)");
  CLI::Option* target =
      command.add_option("--target-loss", o.target_loss, "also the time to this loss, of a model that learns")
          ->check(check_above_zero);
  command.add_option("--stand-in", o.stand_in, "with --target-loss: the model that learns (default: the job's own)")
      ->needs(target);
  command.add_option("--samples", o.samples, "with --target-loss: samples of a trial (default: 200 iterations)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}))
      ->needs(target);
  command.callback([&] { parsed.command = [&] { return command_advise(parsed.advise); }; });
}

void add_whatif(CLI::App& app, Parsed& parsed) {
  WhatifOptions& o = parsed.whatif;
  CLI::App& command = *app.add_subcommand(
      "whatif", "how much each worker slows a job, and the job without a worker or with other links");
  command.footer(kWhatifExamples);
  add_cluster_flags(command, o, "repeats of every trial (default: 5)");
  command.add_option("--without", o.changes.without, "the job without this worker; repeatable")
      ->expected(1)
      ->take_all();
  command
      .add_option("--rank", o.changes.ranks,
                  "RANK=FACTORx: this worker takes FACTOR times as long as an ideal one; repeatable")
      ->expected(1)
      ->take_all();
  command
      .add_option("--link", o.changes.links, "HOST-HOST=RATE or HOST=RATE: a link or a NIC with this rate; repeatable")
      ->expected(1)
      ->take_all();
  add_output(command, "--json", o.json, "the tables as JSON, with numbers (alone: on standard output)");
  command.callback([&] { parsed.command = [&] { return command_whatif(parsed.whatif); }; });
}

}  // namespace

void add_advise_commands(CLI::App& app, Parsed& parsed) {
  add_record(app, parsed);
  add_advise(app, parsed);
  add_whatif(app, parsed);
}

}  // namespace hopbench
