// Asks a GPU for each thing that the backend wants of it, in ten seconds and thirty lines. ci/gpu runs this first, to
// show what is worth trying next. A question that fails does not end the rest.
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <vector>

#include "backends/base/error.h"
#include "backends/cuda/backend.h"
#include "backends/cuda/convolution.h"
#include "backends/cuda/device.h"
#include "backends/cuda/gemm.h"
#include "backends/transport/shm.h"

extern char** environ;

namespace hopbench::cuda {
namespace {

bool all_well = true;

void ask(const std::string& what, const std::function<std::string()>& question) {
  std::string answer;
  try {
    answer = question();
  } catch (const Error& error) {
    answer = std::string("no: ") + error.what();
  }
  if (answer.starts_with("no: ")) all_well = false;
  fmt::print("{:<32} {}\n", what, answer);
  std::fflush(stdout);
}

/// Milliseconds of one of several in a row.
double time_of(Stream stream, const std::function<void()>& work) {
  constexpr int kTimes = 10;
  work();
  wait_for(stream);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kTimes; ++i) work();
  wait_for(stream);
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count() / kTimes;
}

struct Layer {
  int batch, channels, outputs, size;
};

std::string convolve(const Layer& layer, Precision precision, bool data) {
  const Cells in{layer.batch, layer.channels, layer.size, layer.size},
      out{layer.batch, layer.outputs, layer.size, layer.size};
  const StreamOwner stream;
  ConvolutionLibrary library(stream);
  Convolution convolution(library, {in, out, 3, 1, 1}, precision, true, data);
  const std::size_t each = bytes_of(number_of(precision));
  const Buffer x(in.size() * each), y(out.size() * each), w(std::size_t(9 * layer.channels * layer.outputs) * each),
      work(convolution.work_bytes());
  std::string times =
      fmt::format("forward {:.3f} ms, weights {:.3f} ms",
                  time_of(stream, [&] { convolution.forward(x.data(), w.data(), y.data(), work.data()); }),
                  time_of(stream, [&] { convolution.backward_weights(x.data(), y.data(), w.data(), work.data()); }));
  if (data)
    times +=
        fmt::format(", data {:.3f} ms",
                    time_of(stream, [&] { convolution.backward_data(y.data(), w.data(), x.data(), work.data()); }));
  return times + fmt::format(" ({}; {:.1f} MiB to work in)", convolution.algorithms(),
                             double(convolution.work_bytes()) / (1 << 20));
}

std::string multiply(Precision precision) {
  constexpr int kSize = 256;
  const StreamOwner stream;
  Gemm gemm(stream, precision);
  const std::size_t bytes = std::size_t(kSize) * kSize * 4;
  const Buffer a(bytes), b(bytes), c(bytes);
  return fmt::format("{:.3f} ms", time_of(stream, [&] {
                       gemm.run(false, true, kSize, kSize, kSize, a.data(), b.data(), c.data(), number_of(precision));
                     }));
}

/// A graph with an event in it that the host waits for.
std::string record_and_launch() {
  const StreamOwner stream;
  constexpr std::size_t kBytes = std::size_t(1) << 20;
  const Buffer there(kBytes);
  const Pinned in(kBytes), out(kBytes);
  EventOwner passed;
  Graph graph(stream);
  copy(stream, there.data(), in.as<float>(), kBytes);
  copy(stream, out.as<float>(), there.data(), kBytes);
  passed.record(stream, true);
  graph.finish();
  for (int round = 1; round <= 3; ++round) {
    std::memset(in.as<char>(), round, kBytes);
    graph.launch();
    passed.wait();
    if (std::memcmp(in.as<char>(), out.as<char>(), kBytes) != 0) return "no: the event came before the copies";
    wait_for(stream);
  }
  return fmt::format("{} nodes, and the host waits for an event inside", graph.nodes());
}

std::string copy_rate() {
  constexpr std::size_t kBytes = std::size_t(64) << 20;
  const StreamOwner stream;
  const Buffer from(kBytes), to(kBytes);
  const double ms = time_of(stream, [&] { copy(stream, to.data(), from.data(), kBytes); });
  return fmt::format("{:.0f} GB/s read and written, {} MiB", 2 * double(kBytes) / ms / 1e6, kBytes >> 20);
}

std::string to_hex(const DeviceSpace::Loan& loan) {
  std::string text;
  const auto* const bytes = reinterpret_cast<const unsigned char*>(&loan);
  for (std::size_t i = 0; i < sizeof loan; ++i) text += fmt::format("{:02x}", bytes[i]);
  return text;
}

/// Another process, which is this program again, reads what this one lends.
std::string lend(const char* program) {
  prepare_shm();
  space().allow_loans();
  const auto sample = space().lend_sample();
  if (!sample) return "no: memory cannot be exported";
  std::string words[] = {program, "--borrow", to_hex(*sample)};
  char* argv[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  pid_t pid = 0;
  if (posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, argv, environ) != 0) return "no: no second process starts";
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? "another process reads what this one lends"
                                                       : "no: another process does not read what this one lends";
}

int borrow(const std::string& hex) {
  DeviceSpace::Loan loan;
  auto* const bytes = reinterpret_cast<unsigned char*>(&loan);
  if (hex.size() != 2 * sizeof loan) return 2;
  for (std::size_t i = 0; i < sizeof loan; ++i)
    bytes[i] = static_cast<unsigned char>(std::stoi(hex.substr(2 * i, 2), nullptr, 16));
  std::string trouble;
  try {
    trouble = space().trouble_with(loan, false);
  } catch (const Error& error) {
    trouble = error.what();
  }
  if (!trouble.empty()) fmt::print("  {}\n", trouble);
  return trouble.empty() ? 0 : 1;
}

int probe(const char* program) {
  ask("gpu", [] {
    const Device& device = Device::mine();
    return fmt::format("{} at {}, {:.1f} GiB, {} multiprocessors, {}", device.name(), device.address(),
                       double(device.memory()) / (1 << 30), device.multiprocessors(), device.versions());
  });
  if (!all_well) return 1;
  ask("libraries", [] { return library_versions() + library_paths(); });
  ask("MPS", [] { return std::string(Device::has_mps() ? "is there" : "is not there"); });
  const std::pair<const char*, Precision> precisions[] = {
      {"fp32", Precision::kFp32}, {"tf32", Precision::kTf32}, {"bf16", Precision::kBf16}};
  for (const auto& [name, precision] : precisions) {
    const Precision wanted = precision;
    ask(fmt::format("product, {}", name), [&] { return multiply(wanted); });
    const bool small = Device::mine().name() == "Emulated GPU";
    const Layer first = small ? Layer{1, 3, 16, 4} : Layer{128, 3, 64, 32};
    const Layer inner = small ? Layer{1, 16, 16, 4} : Layer{128, 16, 16, 32};
    ask(fmt::format("convolution 3 -> {}, {}", first.outputs, name), [&] { return convolve(first, wanted, false); });
    ask(fmt::format("convolution 16 -> 16, {}", name), [&] { return convolve(inner, wanted, true); });
  }
  const bool well = all_well;
  ask("gradient of a 3-channel input", [] { return convolve({1, 3, 16, 8}, Precision::kBf16, true); });
  all_well = well;  // training does without
  ask("graph", record_and_launch);
  ask("CUDA IPC", [&] { return lend(program); });
  ask("copy", copy_rate);
  return all_well ? 0 : 1;
}

}  // namespace
}  // namespace hopbench::cuda

int main(int argc, char** argv) {
  using namespace hopbench;
  if (argc == 3 && std::strcmp(argv[1], "--borrow") == 0) return cuda::borrow(argv[2]);
  if (const std::string why = cuda::no_gpu(); !why.empty()) {
    fmt::print(stderr, "gpu_probe: {}\n", why);
    return int(ExitCode::kEnvironment);
  }
  return cuda::probe(argv[0]);
}
