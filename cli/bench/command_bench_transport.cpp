#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "backends/base/error.h"
#include "backends/base/process/signals.h"
#include "backends/base/process/tell.h"
#include "backends/transport/wire.h"
#include "cli/bench/bench.h"
#include "cli/bench/transport_bench.h"
#include "results/arithmetic/statistics.h"
#include "results/files/context.h"
#include "results/tables/table.h"
#include "suites/campaign/preflight.h"

namespace hopbench {
namespace {

using nlohmann::json;

constexpr std::pair<const char*, Operation> kOperations[] = {
    {"pingpong", Operation::kPingPong}, {"average", Operation::kAverage}, {"allreduce", Operation::kAllReduce}};

/// The figures of one way at one size, with a value for each round.
struct Row {
  std::string operation, way;
  int ranks = 2, neighbours = 0;  // neighbours: of an average
  std::int64_t bytes = 0, wrong = 0;
  double bus_factor = 1;        // busbw / algbw
  std::vector<double> times;    // seconds, of the slowest rank's mean
  std::vector<double> singles;  // of all rounds
  std::string against;          // what it is compared with
  std::vector<double> shares;   // the time of that / this time, for each round
  std::string failure;          // why it has no figures

  bool ours() const { return way != "in place" && way != "open mpi" && !way.starts_with("bare "); }
  double algbw() const { return double(bytes) / median(times); }
};

// Returns the factor of nccl-tests: what crosses each link, so that it can be compared with the link's speed.
double bus_factor(const ExchangeSpec& exchange) {
  if (exchange.operation == Operation::kPingPong) return 2;
  if (exchange.operation == Operation::kAverage) return exchange.neighbours;
  return 2.0 * (exchange.size - 1) / exchange.size;
}

WayBench bench_of(const BenchTransportOptions& options, Operation operation, std::int64_t bytes) {
  WayBench bench{.way = "", .exchange = {}, .iterations = options.iterations, .warmup = options.warmup};
  bench.exchange.operation = operation;
  bench.exchange.size = options.ranks;
  bench.exchange.floats = std::size_t(bytes) / sizeof(float);
  bench.exchange.neighbours = options.neighbours > 0 ? options.neighbours : std::min(2, options.ranks - 1);
  bench.exchange.interface = options.interface;
  bench.exchange.device = options.backend == "cuda";
  bench.mpi_peer = options.mpi_peer;
  if (bench.iterations == 0) bench.iterations = int(std::clamp<std::int64_t>((64 << 20) / bytes, 20, 1000));
  return bench;
}

/// Returns the ways that were asked for. If a transport is left out, its bare peers are too.
std::vector<std::string> ways_asked(const BenchTransportOptions& options, Operation operation) {
  std::vector<std::string> ways = ways_of(operation, options.backend == "cuda");
  if (!options.mpi_peer.empty()) ways.emplace_back("open mpi");
  if (options.transports.empty()) return ways;
  std::erase_if(ways, [&](const std::string& way) {
    return std::none_of(transports().begin(), transports().end(),
                        [&](const Transport& transport) {
                          const auto asked =
                              std::find(options.transports.begin(), options.transports.end(), transport.name);
                          return asked != options.transports.end() &&
                                 (way == transport.name || way.starts_with(std::string("bare ") + transport.name));
                        }) &&
           way != "in place" && way != "open mpi";
  });
  return ways;
}

/// Measures a row's next round. Another's way may fail, which costs its row: ours are measured all the same.
void measure_round(Row& row, WayBench& bench) {
  if (!row.failure.empty()) return;
  bench.way = row.way;
  try {
    const WayTimes times = bench_way(bench, &count_interrupts());
    row.times.push_back(times.mean);
    row.singles.insert(row.singles.end(), times.single.begin(), times.single.end());
    row.wrong += times.wrong;
  } catch (const Error& error) {
    if (row.ours() || error.code() != ExitCode::kTrialsFailed) throw;
    row.failure = error.what();
    tell(fmt::format("hopbench bench transport: {} is left out: {}\n", row.way, row.failure));
  }
}

/// Measures one size round by round. In each round one way follows the other. Returns those that did not fail.
std::vector<Row> measure(const BenchTransportOptions& options, const std::string& name, Operation operation,
                         std::int64_t bytes) {
  WayBench bench = bench_of(options, operation, bytes);
  std::vector<Row> rows;
  for (const std::string& way : ways_asked(options, operation)) {
    rows.emplace_back();
    rows.back().operation = name;
    rows.back().way = way;
    rows.back().ranks = options.ranks;
    if (operation == Operation::kAverage) rows.back().neighbours = bench.exchange.neighbours;
    rows.back().bytes = bytes;
    rows.back().bus_factor = bus_factor(bench.exchange);
  }
  for (int round = 0; round < options.rounds; ++round) {
    for (Row& row : rows) measure_round(row, bench);
  }
  std::erase_if(rows, [](const Row& row) { return !row.failure.empty(); });
  return rows;
}

/// Returns true if a row is compared with `with`: the limit if there is one, else the same transport without us. If
/// several such rows are not ours, the fastest counts.
bool comparable(const Row& row, const Row& with) {
  if (row.operation == "average") return with.way == "in place" && &row != &with;
  if (row.operation == "pingpong") return row.ours() && with.way == "bare " + row.way;
  return row.way == "gloo" ? with.way.starts_with("bare gloo") : row.ours() && !with.ours();
}

void compare(std::vector<Row>& rows) {
  for (Row& row : rows) {
    const Row* fastest = nullptr;
    for (const Row& with : rows) {
      if (comparable(row, with) && (fastest == nullptr || median(with.times) < median(fastest->times))) fastest = &with;
    }
    if (fastest == nullptr) continue;
    row.against = fastest->way;
    for (std::size_t i = 0; i < row.times.size(); ++i) row.shares.push_back(fastest->times[i] / row.times[i]);
  }
}

std::string spread_text(const std::vector<double>& values, double unit, const char* format) {
  const auto text = [&](double v) { return fmt::format(fmt::runtime(format), v / unit); };
  return text(median(values)) + " (" + text(quantile(values, 0)) + " .. " + text(quantile(values, 1)) + ")";
}

Table table_of(const std::vector<Row>& rows, const BenchTransportOptions& options) {
  Table table{.title = fmt::format("{}, {} ranks{}", rows[0].operation, options.ranks,
                                   options.backend == "cuda" ? ", vectors on the GPU" : ""),
              .columns = {"bytes", "count", "type", "way", "time_us", "algbw", "busbw", "wrong", "p50_us", "p99_us",
                          "speed", "of"}};
  for (const Row& row : rows) {
    table.rows.push_back(
        {fmt::format("{}", row.bytes), fmt::format("{}", row.bytes / std::int64_t(sizeof(float))), "float", row.way,
         spread_text(row.times, 1e-6, "{:.1f}"), fmt::format("{:.3f}", row.algbw() / 1e9),
         fmt::format("{:.3f}", row.bus_factor * row.algbw() / 1e9), fmt::format("{}", row.wrong),
         fmt::format("{:.1f}", 1e6 * median(row.singles)), fmt::format("{:.1f}", 1e6 * quantile(row.singles, 0.99)),
         row.against.empty() ? "" : spread_text(row.shares, 0.01, "{:.0f}") + " %", row.against});
  }
  return table;
}

json to_json(const Row& row) {
  return {{"operation", row.operation},
          {"ranks", row.ranks},
          {"neighbours", row.neighbours},
          {"way", row.way},
          {"bytes", row.bytes},
          {"count", row.bytes / std::int64_t(sizeof(float))},
          {"type", "float"},
          {"time_us", 1e6 * median(row.times)},
          {"times_s", row.times},
          {"algbw", row.algbw() / 1e9},
          {"busbw", row.bus_factor * row.algbw() / 1e9},
          {"wrong", row.wrong},
          {"p50_us", 1e6 * median(row.singles)},
          {"p99_us", 1e6 * quantile(row.singles, 0.99)},
          {"against", row.against},
          {"speeds", row.shares}};
}

void check(const BenchTransportOptions& options) {
  for (const std::string& name : options.transports) {
    const Transport& transport = find_transport(name);
    if (transport.chooses)
      throw usage_error(fmt::format("--transport {}: name what it chooses from, gloo or shm", name));
    const std::string why = transport.unavailable();
    if (!why.empty()) throw environment_error("transport " + name + " is not there: " + why);
  }
  if (options.backend == "cuda" && !options.mpi_peer.empty())
    throw usage_error("--mpi-peer compares vectors in host memory: leave out --backend cuda");
  check_backend(options.backend);
  if (options.begin > options.end)
    throw usage_error(fmt::format("-b {} is more than -e {}: begin with the smaller size", options.begin, options.end));
  if (options.neighbours >= options.ranks)
    throw usage_error(
        fmt::format("--neighbours {}: {} ranks have at most {}", options.neighbours, options.ranks, options.ranks - 1));
}

std::vector<std::string> operations_asked(const BenchTransportOptions& options) {
  std::vector<std::string> names;
  for (const auto& [name, operation] : kOperations) {
    const bool asked =
        std::find(options.operations.begin(), options.operations.end(), name) != options.operations.end();
    if (asked && operation == Operation::kPingPong && options.ranks != 2)
      throw usage_error("a pingpong is between 2 ranks: leave out --ranks, or the pingpong");
    if (asked || (options.operations.empty() && (operation != Operation::kPingPong || options.ranks == 2)))
      names.emplace_back(name);
  }
  return names;
}

}  // namespace

int command_bench_transport(const BenchTransportOptions& options) {
  check(options);
  check_interface(options.interface);
  const std::vector<std::string> names = operations_asked(options);
  std::vector<Table> tables;
  json all = json::array();
  std::int64_t wrong = 0;
  for (const std::string& name : names) {
    const Operation operation = std::find_if(std::begin(kOperations), std::end(kOperations), [&](const auto& entry) {
                                  return name == entry.first;
                                })->second;
    std::vector<Row> rows;
    for (std::int64_t bytes = options.begin; bytes <= options.end; bytes *= options.factor) {
      tell(fmt::format("measuring {}, {} bytes\n", name, bytes));
      std::vector<Row> size = measure(options, name, operation, bytes);
      compare(size);
      rows.insert(rows.end(), size.begin(), size.end());
      if (options.factor == 1) break;
    }
    for (const Row& row : rows) {
      wrong += row.wrong;
      all.push_back(to_json(row));
    }
    tables.push_back(table_of(rows, options));
  }
  if (options.json) {
    fmt::print(
        "{}\n",
        json{{"schema_version", "1.0"}, {"context", json::parse(context_json({"bench", "transport"}))}, {"rows", all}}
            .dump(1));
  } else {
    tables.back().note(
        "time_us: of the slowest rank, median of the rounds (least .. most); algbw, busbw: GB/s of 10^9 bytes");
    tables.back().note("wrong: numbers that came out wrong; p50, p99: of single operations, all rounds");
    for (const Table& table : tables) fmt::print("{}\n", to_text(table, false));
  }
  if (wrong == 0) return static_cast<int>(ExitCode::kOk);
  tell(fmt::format("hopbench: {} numbers came out wrong: do not trust this transport on this machine\n", wrong));
  return static_cast<int>(ExitCode::kTrialsFailed);
}

}  // namespace hopbench
