// The flags of import.
#include <CLI/CLI.hpp>

#include "cli/parsed.h"

namespace hopbench {
namespace {

constexpr const char* kImportExamples = R"(
Examples:
  hopbench import csv times.csv --unit ms -o job.trace.csv
  hopbench import kineto profiles/ -o job.trace.csv        a file of the PyTorch profiler for each rank
  hopbench import perfetto timeline.json.gz --parallel "dp2 pp4" -o job.trace.csv

The trace is what a scenario replays: compute = [{ kind = "trace", file = "job.trace.csv" }])";

CLI::App& add_format(CLI::App& command, Parsed& parsed, const std::string& format, const std::string& what) {
  ImportCommand& o = parsed.importing;
  CLI::App& sub = *command.add_subcommand(format, what);
  sub.footer(kImportExamples);
  sub.add_option("path", o.paths, "files, plain or gzip")->required();
  sub.add_option("-o,--output", o.output, "the trace; - is standard output")->required();
  sub.add_flag("--force", o.force, "write over a file that is there");
  sub.add_option("--skip", o.skip, "leave out the first N steps, as those of compilation or warm-up")
      ->check(CLI::Range(0, 1'000'000'000));
  sub.callback([&parsed, format] {
    parsed.importing.format = format;
    parsed.command = [&parsed] { return command_import(parsed.importing); };
  });
  return sub;
}

void add_layout(CLI::App& sub, ImportCommand& o) {
  CLI::Option* parallel = sub.add_option(
      "--parallel", o.parallel,
      "sizes of a job, \"dp2 pp4 tp1\"; its ranks count tp first, then dp, then pp: a row for each replica");
  sub.add_option("--replicas", o.replicas, "as many replicas, of ranks that follow each other")
      ->check(CLI::Range(1, 100'000))
      ->excludes(parallel);
  sub.add_option("--communication", o.communication,
                 "a word in the names of kernels or spans that communicate, beside the known ones; may be repeated")
      ->allow_extra_args(false);
}

}  // namespace

void add_import_commands(CLI::App& app, Parsed& parsed) {
  ImportCommand& o = parsed.importing;
  CLI::App& command = *app.add_subcommand("import", "recordings of training jobs as traces, which scenarios replay");
  command.require_subcommand(1);
  command.footer(kImportExamples);
  CLI::App& csv = add_format(command, parsed, "csv", "CSV with rank, step and seconds (or begin and end)");
  csv.add_option("--rank-column", o.columns.rank, "name of the column (default: rank, worker, replica, ...)");
  csv.add_option("--step-column", o.columns.step, "the same (default: step, iteration, ...)");
  CLI::Option* seconds =
      csv.add_option("--seconds-column", o.columns.seconds, "the same (default: seconds, duration, step_time, ...)");
  csv.add_option("--begin-column", o.columns.begin, "instead of a duration (default: begin, start, ...)")
      ->excludes(seconds);
  csv.add_option("--end-column", o.columns.end, "the same (default: end, stop, ...)")->excludes(seconds);
  csv.add_option("--unit", o.columns.unit, "of the times: s, ms, us, ns (default: as their column says, as in step_ms)")
      ->check(CLI::IsMember({"s", "ms", "us", "ns"}));
  CLI::App& kineto = add_format(command, parsed, "kineto", "traces of the PyTorch profiler, a file for each rank");
  add_layout(kineto, o);
  CLI::App& perfetto = add_format(command, parsed, "perfetto", "Chrome JSON, events with args.step, pid = rank");
  add_layout(perfetto, o);
  perfetto.add_flag("--align", o.align, "the ranks' clocks differ: align them by the ends of collectives");
}

}  // namespace hopbench
