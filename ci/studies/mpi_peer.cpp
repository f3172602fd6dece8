// The operations of `hopbench bench transport` over MPI, for mpirun: ci/studies/transport compiles and measures it.
//
//   mpi_peer OPERATION FLOATS NEIGHBOURS ITERATIONS WARMUP      OPERATION: 0 pingpong, 1 average, 2 allreduce
//
// Rank 0 prints {"single": [every rank's seconds, one list each], "wrong": numbers that came out wrong}.
#include <malloc.h>
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "backends/transport/exchange.h"

namespace {

using hopbench::ExchangeSpec;
using hopbench::Operation;

struct Peer {
  ExchangeSpec spec;
  std::vector<int> heard;
  std::vector<float> x, mean;
  std::vector<std::vector<float>> ys;
  std::vector<const float*> places;

  explicit Peer(const ExchangeSpec& what)
      : spec(what), heard(hopbench::heard_by(what)), x(what.floats), mean(what.floats), ys(heard.size(), x) {
    for (const auto& y : ys) places.push_back(y.data());
  }

  void once() {
    const int n = int(spec.floats);
    if (spec.operation == Operation::kAllReduce) {
      MPI_Allreduce(x.data(), mean.data(), n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    } else if (spec.operation == Operation::kAverage) {
      std::vector<MPI_Request> all(heard.size() + std::size_t(spec.neighbours));
      for (std::size_t i = 0; i < heard.size(); ++i)
        MPI_Irecv(ys[i].data(), n, MPI_FLOAT, heard[i], 0, MPI_COMM_WORLD, &all[i]);
      for (int step = 1; step <= spec.neighbours; ++step)
        MPI_Isend(x.data(), n, MPI_FLOAT, (spec.rank + step) % spec.size, 0, MPI_COMM_WORLD,
                  &all[heard.size() + std::size_t(step) - 1]);
      MPI_Waitall(int(all.size()), all.data(), MPI_STATUSES_IGNORE);
      hopbench::average_in_place(x, places);
    } else if (spec.rank == 0) {
      MPI_Send(x.data(), n, MPI_FLOAT, 1, 0, MPI_COMM_WORLD);
      MPI_Recv(mean.data(), n, MPI_FLOAT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(mean.data(), n, MPI_FLOAT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(mean.data(), n, MPI_FLOAT, 0, 0, MPI_COMM_WORLD);
    }
  }

  long wrong() {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = hopbench::pattern(spec.rank, i);
    once();
    if (spec.operation == Operation::kAllReduce)
      for (float& v : mean) v /= float(spec.size);
    if (spec.operation == Operation::kPingPong && spec.rank == 1) return 0;
    return long(hopbench::count_wrong(spec, spec.operation == Operation::kAverage ? x : mean));
  }
};

void print(const std::vector<double>& all, int ranks, std::size_t iterations, long wrong) {
  std::printf("{\"single\": [");
  for (std::size_t r = 0; r < std::size_t(ranks); ++r) {
    for (std::size_t i = 0; i < iterations; ++i)
      std::printf("%s%.9g", i == 0 ? (r == 0 ? "[" : ", [") : ", ", all[r * iterations + i]);
    std::printf("]");
  }
  std::printf("], \"wrong\": %ld}\n", wrong);
}

}  // namespace

int main(int argc, char** argv) {
  // An all-reduce of Open MPI allocates a vector. It keeps the memory for the next one, as hopbench's own vectors do;
  // otherwise each would touch new pages, which on some machines takes longer than the all-reduce itself.
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  MPI_Init(&argc, &argv);
  if (argc != 6) {
    std::fprintf(stderr, "mpi_peer: OPERATION FLOATS NEIGHBOURS ITERATIONS WARMUP\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  ExchangeSpec spec{.operation = static_cast<Operation>(std::atoi(argv[1])),
                    .floats = std::strtoul(argv[2], nullptr, 10)};
  spec.neighbours = std::atoi(argv[3]);
  MPI_Comm_rank(MPI_COMM_WORLD, &spec.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &spec.size);
  const auto iterations = std::strtoul(argv[4], nullptr, 10);
  Peer peer(spec);
  { std::vector<float> pages(4 * spec.floats); }  // touched here, free for Open MPI's vectors
  for (int i = std::atoi(argv[5]); i > 0; --i) peer.once();
  MPI_Barrier(MPI_COMM_WORLD);
  std::vector<double> single;
  for (double before = MPI_Wtime(); single.size() < iterations;) {
    peer.once();
    const double now = MPI_Wtime();
    single.push_back(now - before);
    before = now;
  }
  long wrong = peer.wrong(), all_wrong = 0;
  std::vector<double> all(iterations * std::size_t(spec.size));
  MPI_Reduce(&wrong, &all_wrong, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Gather(single.data(), int(iterations), MPI_DOUBLE, all.data(), int(iterations), MPI_DOUBLE, 0, MPI_COMM_WORLD);
  if (spec.rank == 0) print(all, spec.size, iterations, all_wrong);
  MPI_Finalize();
  return 0;
}
