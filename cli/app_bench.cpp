// The flags of bench.
#include <CLI/CLI.hpp>
#include <limits>

#include "cli/parsed.h"

namespace hopbench {
namespace {

void add_bench_losses(CLI::App& bench, Parsed& parsed) {
  BenchLossesOptions& o = parsed.bench_losses;
  CLI::App& losses = *bench.add_subcommand("losses", "the losses of some steps, and all that is needed to repeat them");
  losses
      .add_option("model", o.model,
                  "see hopbench list models; or a suite, of which a trial's first worker trains alone")
      ->required();
  losses.add_option("-o,--output", o.output, "folder to write to")->required();
  losses.add_option("--steps", o.steps, "how many")->check(CLI::Range(1, 1000000));
  const std::vector<CLI::Option*> own = {
      losses.add_option("--dataset", o.dataset, "default: the model's own"),
      losses.add_option("--path", o.path, "folder of the data set's files"),
      losses.add_option("--backend", o.backend, "see hopbench list backends"),
      losses.add_option("--threads", o.threads, "of a gradient")->check(CLI::Range(1, 1024)),
      losses.add_option("--batch", o.batch, "samples of a step")->check(CLI::Range(1, 1000000)),
      losses.add_option("--lr", o.lr, "learning rate")->check(check_finite)->check(CLI::Range(0.0, 1e6)),
      losses.add_option("--momentum", o.momentum, "of SGD")->check(check_finite)->check(CLI::Range(0.0, 1.0)),
      losses.add_option("--weight-decay", o.weight_decay, "of SGD")->check(check_finite)->check(CLI::Range(0.0, 1e6))};
  losses.add_option("--filter", o.filter, "of a suite: the first trial whose id this regular expression matches");
  losses.add_option("--worker", o.worker, "of a suite: whose samples, in whose order")->check(CLI::Range(0, 1000000));
  losses.add_option("--set", o.sets, "of a suite: KEY=VALUE, as in run; repeatable");
  losses.callback([&parsed, own] {
    for (const CLI::Option* option : own) {
      if (option->count() > 0) parsed.bench_losses.own.push_back(option->get_name());
    }
    parsed.command = [&parsed] { return command_bench_losses(parsed.bench_losses); };
  });
}

void add_bench_transport(CLI::App& bench, Parsed& parsed) {
  BenchTransportOptions& o = parsed.bench_transport;
  CLI::App& transport = *bench.add_subcommand(
      "transport", "messages, averages and all-reduces beside the same without hopbench, and the machine's limit");
  const auto sizes = CLI::AsSizeValue(false);
  transport.add_option("operations", o.operations, "pingpong, average, allreduce (default: all)")
      ->check(CLI::IsMember({"pingpong", "average", "allreduce"}));
  transport.add_option("--transport", o.transports, "only these (default: all that are here)");
  transport.add_option("-b,--begin", o.begin, "smallest size, bytes: 8, 64K, 1M")
      ->transform(sizes)
      ->check(CLI::Range(std::int64_t{4}, std::int64_t{1} << 30));
  transport.add_option("-e,--end", o.end, "largest size")
      ->transform(sizes)
      ->check(CLI::Range(std::int64_t{4}, std::int64_t{1} << 30));
  transport.add_option("-f,--factor", o.factor, "from a size to the next; 1: only the smallest")
      ->check(CLI::Range(1, 1 << 20));
  transport
      .add_option("-n,--iterations", o.iterations,
                  "operations a round (default: as many as make 64 MiB, from 20 to 1000)")
      ->check(CLI::Range(1, 1000000));
  transport.add_option("-w,--warmup", o.warmup, "operations before each round that do not count")
      ->check(CLI::Range(0, 1000000));
  transport.add_option("-r,--rounds", o.rounds, "how often each way has its turn")->check(CLI::Range(1, 1000));
  transport.add_option("--ranks", o.ranks, "processes")->check(CLI::Range(2, 64));
  transport
      .add_option("--neighbours", o.neighbours, "of an average: ranks that each one hears (default: 2, or all others)")
      ->check(CLI::Range(1, 63));
  transport.add_option("--interface", o.interface, "network interface (default: loopback)");
  transport.add_option("--backend", o.backend, "cuda: vectors lie on the GPU, and so does the limit")
      ->check(CLI::IsMember({"cuda"}));
  transport.add_option("--mpi-peer", o.mpi_peer, "the same over MPI: ci/studies/transport makes this program")
      ->check(CLI::ExistingFile);
  transport.add_flag("--json", o.json, "as JSON");
  transport.callback([&] { parsed.command = [&] { return command_bench_transport(parsed.bench_transport); }; });
}

}  // namespace

void add_bench_commands(CLI::App& app, Parsed& parsed) {
  CLI::App& bench = *app.add_subcommand("bench", "benchmarks of hopbench itself");
  bench.require_subcommand(1);
  CLI::App& sim = *bench.add_subcommand("sim", "virtual time: messages a second, memory a rank");
  sim.add_option("--ranks", parsed.bench_sim.ranks, "ranks that exchange small messages")->check(CLI::Range(2, 4096));
  sim.add_option("--incast", parsed.bench_sim.incast, "workers that push to one server")->check(CLI::Range(1, 100000));
  sim.add_option("-n,--messages", parsed.bench_sim.messages, "messages of the exchange, and pushes of the incast")
      ->check(CLI::Range(1, 100'000'000));
  sim.add_option("--workers", parsed.bench_sim.workers, "workers of the Hop run")->check(CLI::Range(8, 100000));
  sim.add_option("--iterations", parsed.bench_sim.iterations, "iterations of the Hop run")
      ->check(CLI::Range(1, 1000000));
  sim.add_option("-r,--runs", parsed.bench_sim.repeats, "repeats")->check(CLI::Range(1, 1000));
  sim.add_flag("--json", parsed.bench_sim.json, "as JSON");
  sim.callback([&] { parsed.command = [&] { return command_bench_sim(parsed.bench_sim); }; });

  BenchComputeOptions& o = parsed.bench_compute;
  CLI::App& compute =
      *bench.add_subcommand("compute", "gradients and vector operations beside what this machine could do");
  compute.add_option("-m,--model", o.models, "models to measure (default: all); none, alone: no model");
  compute.add_option("-b,--batch", o.batch, "samples in a gradient")->check(CLI::Range(1, 65536));
  compute.add_option("--backend", o.backend, "onednn, or cuda: on the GPU")->check(CLI::IsMember({"onednn", "cuda"}));
  compute.add_option("--precision", o.precision, "of products on a GPU: fp32, tf32 or bf16")
      ->check(CLI::IsMember({"fp32", "tf32", "bf16"}));
  compute.add_option("-t,--threads", o.threads, "threads of a gradient, at most one a core")
      ->check(CLI::Range(1, 1024));
  compute.add_option("-r,--repeats", o.repeats, "steps that are timed")->check(CLI::Range(1, 10000));
  compute.add_flag("--layers", o.layers, "where the time of a step goes, by layer and direction");
  compute.add_flag("!--no-vectors", o.vectors, "leave out memory bandwidth and vector operations");
  compute.add_option("--isa", o.isa, "avx2: as on a machine without AVX-512")->check(CLI::IsMember({"avx2"}));
  compute.add_flag("--json", o.json, "as JSON");
  compute.callback([&] { parsed.command = [&] { return command_bench_compute(parsed.bench_compute); }; });
  add_bench_losses(bench, parsed);
  add_bench_transport(bench, parsed);
}

}  // namespace hopbench
