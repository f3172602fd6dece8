#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "backends/base/error.h"
#include "backends/base/process/cores.h"
#include "backends/base/process/tell.h"
#include "backends/compute/peak.h"
#include "cli/bench/bench.h"
#include "cli/bench/bench_compute.h"
#include "cli/bench/bench_sparse.h"
#include "results/arithmetic/statistics.h"
#include "results/files/context.h"
#include "results/files/machine.h"
#include "results/tables/table.h"

namespace hopbench {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Timings, seconds, peaks, disturbed)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LayerBench, name, direction, flops, timings)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ModelBench, model, skipped, parameters, batch, threads, flops, setup_s, first_s,
                                   peak_mib, idle_mib, step, layers, device)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(VectorBench, operation, against, bytes, rates, shares)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(BandwidthBench, mib, read, copy, triad, sum, operations)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SparseBench, data, skipped, numbered, columns, row, batch, reading, gradient, step,
                                   lazy_step)

namespace {

using nlohmann::json;

/// Calls f() in a process of its own. Its memory and the set-up of its libraries are then its own too, and a process
/// that has not yet used OpenMP may be forked.
json in_child(const std::function<json()>& f) {
  int ends[2];
  if (pipe(ends) != 0) throw environment_error("cannot measure: no pipe can be made");
  const pid_t child = fork();
  if (child < 0) throw environment_error("cannot measure: no process can be made");
  if (child == 0) {
    json result;
    try {
      result = f();
    } catch (const std::exception& error) {
      result = {{"error", error.what()}};
    }
    const std::string text = result.dump();
    for (std::size_t at = 0; at < text.size();) {
      const ssize_t n = write(ends[1], text.data() + at, text.size() - at);
      if (n <= 0) _exit(1);
      at += std::size_t(n);
    }
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, std::size_t(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (text.empty()) throw environment_error(fmt::format("a measuring process ended with status {}", status));
  json result = json::parse(text);
  if (result.contains("error")) throw environment_error(result["error"].get<std::string>());
  return result;
}

struct FmaBench {
  int width = 0;
  std::vector<double> one, all, clock;
};
void to_json(json& j, const FmaBench& b) {
  j = {{"width", b.width}, {"one", b.one}, {"all", b.all}, {"clock", b.clock}};
}

FmaBench bench_fma(const BenchComputeOptions& options, int width) {
  FmaBench bench{.width = width, .one = {}, .all = {}, .clock = {}};
  for (int i = 0; i < options.repeats; ++i) {
    bench.one.push_back(fma_peak(1, width, 0.02));
    bench.clock.push_back(clock_rate(0.005));
    bench.all.push_back(options.threads == 1 ? bench.one.back() : fma_peak(options.threads, width, 0.02));
  }
  return bench;
}

/// Returns "12.3 (12.1 .. 12.8)": median and quartiles.
std::string spread(const std::vector<double>& values, double unit, const char* format) {
  const auto text = [&](double v) { return fmt::format(fmt::runtime(format), v / unit); };
  return text(median(values)) + " (" + text(quantile(values, 0.25)) + " .. " + text(quantile(values, 0.75)) + ")";
}

std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

void print_fma(const FmaBench& fma, int threads) {
  const double cycles = median(fma.clock);
  std::string line =
      fmt::format("FMA peak   {}: {} GFLOP/s, one thread", fma_name(fma.width), spread(fma.one, 1e9, "{:.1f}"));
  if (threads > 1) line += fmt::format("; {} GFLOP/s, {} threads", spread(fma.all, 1e9, "{:.1f}"), threads);
  if (cycles > 0) {
    line += fmt::format("; at {:.2f} GHz {:.0f} floating-point operations a cycle ({} a unit)", cycles / 1e9,
                        median(fma.one) / cycles, 2 * fma.width);
  }
  fmt::print("{}\n", line);
}

void print_vectors(const BandwidthBench& bench, const std::string& where) {
  const auto rate = [](const std::vector<double>& rates) { return spread(rates, 1e9, "{:.1f}"); };
  fmt::print("bandwidth  {:.0f} MiB vectors, {}: ", bench.mib, where);
  if (!bench.read.empty())
    fmt::print("read {}, triad {}, sum of 4 {}, ", rate(bench.read), rate(bench.triad), rate(bench.sum));
  fmt::print("copy {} GB/s\n\n", rate(bench.copy));
  Table table{.title = "vector operations", .columns = {"operation", "GB/s", "share", "of"}};
  for (const VectorBench& row : bench.operations) {
    table.rows.push_back({row.operation, spread(row.rates, 1e9, "{:.1f}"), percent(median(row.shares)), row.against});
  }
  fmt::print("{}\n", to_text(table, false));
}

void print_models(const std::vector<ModelBench>& models, const BenchComputeOptions& options) {
  const std::string with = options.backend == "cuda"
                               ? "cuda, " + options.precision
                               : fmt::format("{} thread{}", options.threads, options.threads == 1 ? "" : "s");
  Table table{.title = fmt::format("a step (gradient): batch {}, {}", options.batch, with),
              .columns = {"model", "parameters", "MFLOP", "ms", "GFLOP/s", "share of peak", "samples/s", "set-up ms",
                          "first ms", "peak MiB", "idle MiB"}};
  for (const ModelBench& m : models) {
    if (!m.skipped.empty()) {
      table.note(fmt::format("{} was left out: {}", m.model, m.skipped));
      continue;
    }
    const double seconds = m.step.median_s();
    table.rows.push_back({m.model, fmt::format("{}", m.parameters), fmt::format("{:.1f}", m.flops / 1e6),
                          spread(m.step.seconds, 1e-3, "{:.3g}"), fmt::format("{:.3g}", m.flops / seconds / 1e9),
                          percent(m.step.share(m.flops)), fmt::format("{:.0f}", m.batch / seconds),
                          fmt::format("{:.0f}", 1e3 * m.setup_s), fmt::format("{:.3g}", 1e3 * m.first_s),
                          fmt::format("{:.0f}", m.peak_mib), fmt::format("{:.0f}", m.idle_mib)});
    if (!m.device.empty()) table.note(m.model + ": " + m.device);
    if (m.step.disturbed > 0) {
      table.note(fmt::format("{}: {} of {} repeats waited for a core", m.model, m.step.disturbed, options.repeats));
    }
  }
  fmt::print("{}\n", to_text(table, false));
}

void print_layers(const ModelBench& m) {
  if (m.layers.empty()) return;
  double whole = 0;
  for (const LayerBench& row : m.layers) whole += row.timings.median_s();
  Table table{.title = fmt::format("{}, by layer: a ReLU behind a layer is in it where both are one", m.model),
              .columns = {"layer", "direction", "ms", "GFLOP/s", "share of peak", "share of the step"}};
  table.note(fmt::format("all of it: {:.3g} ms", 1e3 * whole));
  for (const LayerBench& row : m.layers) {
    const double seconds = row.timings.median_s();
    const bool counts = row.flops > 0;
    table.rows.push_back({row.name, row.direction, spread(row.timings.seconds, 1e-3, "{:.3g}"),
                          counts ? fmt::format("{:.3g}", row.flops / seconds / 1e9) : "",
                          counts ? percent(row.timings.share(row.flops)) : "",
                          fmt::format("{:.1f} %", 100 * seconds / whole)});
  }
  fmt::print("{}\n", to_text(table, false));
}

void print_sparse(const std::vector<SparseBench>& benches, int batch) {
  Table table{.title = fmt::format(
                  "linear models on sparse rows, by the hinge loss: batch {}, one thread, ns a non-zero", batch),
              .columns = {"data", "columns", "used", "non-zeros a row", "reading", "gradient", "step", "lazy step",
                          "plain", "lazy"}};
  table.note("reading: each weight of a batch once; gradient and step touch it twice and write it");
  table.note("plain: gradient and step of SGD; lazy: with momentum 0.9 and weight decay");
  const auto both = [](const std::vector<double>& a, std::vector<double> b) {
    for (std::size_t i = 0; i < b.size(); ++i) b[i] += a[i];
    return spread(b, 1e-9, "{:.1f}");
  };
  for (const SparseBench& b : benches) {
    if (!b.skipped.empty()) {
      table.note(fmt::format("{} was left out: {}", b.data, b.skipped));
      continue;
    }
    table.rows.push_back(
        {b.data, fmt::format("{}", b.numbered), fmt::format("{}", b.columns), fmt::format("{:.0f}", b.row),
         spread(b.reading, 1e-9, "{:.1f}"), spread(b.gradient, 1e-9, "{:.1f}"), spread(b.step, 1e-9, "{:.1f}"),
         spread(b.lazy_step, 1e-9, "{:.1f}"), both(b.gradient, b.step), both(b.gradient, b.lazy_step)});
  }
  fmt::print("{}\n", to_text(table, false));
}

std::vector<std::string> models_asked(const BenchComputeOptions& options) {
  std::vector<std::string> names;
  if (options.models.empty()) {
    for (const ModelEntry& entry : models()) {
      if (entry.create != nullptr) names.emplace_back(entry.name);
    }
  }
  const bool none = std::find(options.models.begin(), options.models.end(), "none") != options.models.end();
  if (none && options.models.size() > 1) throw usage_error("--model none means no model: leave the others out");
  for (const std::string& name : options.models)
    if (!none) names.emplace_back(find_model(name).name);
  return names;
}

/// Refuses more threads than cores: threads that take turns on a core measure the scheduler.
void check_threads(int threads) {
  const int cores = usable_cores();
  if (threads > cores)
    throw usage_error(
        fmt::format("--threads {} are more than the cores that this process may use: at most {} here", threads, cores));
}

/// Adds what the tables show and the measurements do not hold: the share of the peak and the rate of each repeat.
/// Returns the result.
json with_shares(json models) {
  const auto add = [](json& of, const json& timings, double flops) {
    if (flops == 0) return;  // a pool, say
    json shares = json::array();
    for (std::size_t i = 0; i < timings["seconds"].size(); ++i) {
      const double seconds = timings["seconds"][i], peak = timings["peaks"][i];
      shares.push_back(flops / seconds / peak);
    }
    of["shares"] = std::move(shares);
  };
  for (json& model : models) {
    add(model, model["step"], model["flops"]);
    model["samples_per_s"] = json::array();
    for (const double seconds : model["step"]["seconds"])
      model["samples_per_s"].push_back(model["batch"].get<double>() / seconds);
    for (json& layer : model["layers"]) add(layer, layer["timings"], layer["flops"]);
  }
  return models;
}

/// Adds the sums that the table shows, of gradient and step. Returns the result.
json with_sums(json benches) {
  for (json& bench : benches) {
    for (const auto& [sum, step] : {std::pair{"plain", "step"}, std::pair{"lazy", "lazy_step"}}) {
      bench[sum] = json::array();
      for (std::size_t i = 0; i < bench[step].size(); ++i)
        bench[sum].push_back(bench["gradient"][i].get<double>() + bench[step][i].get<double>());
    }
  }
  return benches;
}

/// Returns true if nothing of what was asked for was measured, which is not a success.
bool all_left_out(const std::vector<ModelBench>& models, const std::vector<SparseBench>& sparse) {
  const auto left_out = [](const auto& bench) { return !bench.skipped.empty(); };
  return models.size() + sparse.size() > 0 && std::all_of(models.begin(), models.end(), left_out) &&
         std::all_of(sparse.begin(), sparse.end(), left_out);
}

}  // namespace

int command_bench_compute(const BenchComputeOptions& options) {
  const std::vector<std::string> names = models_asked(options);
  check_threads(options.threads);
  // oneDNN reads this when it is first used, which is in a process of its own.
  if (options.isa == "avx2") setenv("DNNL_MAX_CPU_ISA", "AVX2", 1);
  const int width = fma_width(options.isa == "avx2" ? 8 : 16);
  const BenchWork work{.batch = options.batch,
                       .threads = options.threads,
                       .repeats = options.repeats,
                       .width = width,
                       .layers = options.layers,
                       .backend = options.backend,
                       .precision = options.precision};
  const bool device = work.device();
  const FmaBench fma = device ? FmaBench{} : bench_fma(options, width);
  BandwidthBench vectors;
  if (options.vectors)
    vectors = in_child([&] { return json(device ? bench_device_vectors(work) : bench_vectors(options.repeats)); });
  std::vector<ModelBench> benches;
  std::vector<SparseBench> sparse;
  for (const std::string& name : names) {
    if (find_model(name).sparse_rows) {
      if (device) continue;           // a step of these is one pass over all weights
      if (!sparse.empty()) continue;  // all of them are alike
      tell("measuring linear models on sparse rows\n");
      sparse = in_child([&] {
                 return json(bench_sparse(options.batch, 2 * options.repeats));
               }).get<std::vector<SparseBench>>();
      continue;
    }
    tell("measuring " + name + "\n");
    benches.push_back(in_child([&] { return json(bench_model(name, work)); }).get<ModelBench>());
  }
  const int exit_code = static_cast<int>(all_left_out(benches, sparse) ? ExitCode::kEnvironment : ExitCode::kOk);
  if (options.json) {
    json all{{"schema_version", "1.0"},
             {"context", json::parse(context_json({"bench", "compute"}))},
             {"fma", fma},
             {"models", with_shares(benches)},
             {"sparse", with_sums(sparse)}};
    if (options.vectors) all["bandwidth"] = vectors;
    fmt::print("{}\n", all.dump(1));
    return exit_code;
  }
  if (!device) print_fma(fma, options.threads);
  if (options.vectors) print_vectors(vectors, device ? options.backend : "one thread");
  if (!benches.empty()) print_models(benches, options);
  for (const ModelBench& bench : benches) print_layers(bench);
  if (!sparse.empty()) print_sparse(sparse, options.batch);
  return exit_code;
}

}  // namespace hopbench
