#include "suites/trial/dump.h"

#include <fmt/format.h>
#include <minizip/zip.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <filesystem>
#include <memory>

#include "backends/base/error.h"
#include "backends/base/printable.h"
#include "models/fit.h"

namespace hopbench {
namespace {

// NumPy's archives of arrays, which np.load() reads.

/// An array of one dimension, with numbers in this machine's byte order.
struct NpzArray {
  std::string name;
  std::string type;  // as NumPy writes it: "<f4", "<u4", "<i8", "<f8"
  const void* data = nullptr;
  std::size_t count = 0;
};

static_assert(std::endian::native == std::endian::little, "the types of npz say '<'");

std::size_t size_of(const std::string& type) { return static_cast<std::size_t>(type.back() - '0'); }

/// Returns the head of a .npy file (NumPy Enhancement Proposal 1): a dictionary as text, padded so that the numbers
/// begin at a multiple of 64 bytes.
std::string head_of(const NpzArray& array) {
  std::string words =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({},), }}", array.type, array.count);
  constexpr std::size_t kBefore = 10, kStep = 64;
  words.append(kStep - 1 - (kBefore + words.size()) % kStep, ' ');
  words += '\n';
  std::string head = "\x93NUMPY";
  head += '\x01';
  head += '\0';
  head += static_cast<char>(words.size() & 0xff);
  head += static_cast<char>(words.size() >> 8);
  return head + words;
}

/// Writes an uncompressed archive. Throws Error(kEnvironment) if that is not possible.
void write_npz(const std::string& path, const std::vector<NpzArray>& arrays) {
  std::unique_ptr<void, int (*)(zipFile)> file(zipOpen64(path.c_str(), APPEND_STATUS_CREATE),
                                               [](zipFile open) { return zipClose(open, nullptr); });
  const auto check = [&](bool done) {
    if (!done)
      throw environment_error(
          fmt::format("cannot write {}: is its folder there and the disk not full?", printable(path)));
  };
  check(file != nullptr);
  const auto write = [&](const char* data, std::size_t bytes) {
    constexpr std::size_t kMost = 1U << 30;  // the sizes of minizip have 32 bits
    for (; bytes > 0; data += std::min(bytes, kMost), bytes -= std::min(bytes, kMost))
      check(zipWriteInFileInZip(file.get(), data, unsigned(std::min(bytes, kMost))) == ZIP_OK);
  };
  for (const NpzArray& array : arrays) {
    const zip_fileinfo info{};
    const std::string name = array.name + ".npy", head = head_of(array);
    constexpr int kStored = 0, kAsLargeAsNeeded = 1;
    check(zipOpenNewFileInZip64(file.get(), name.c_str(), &info, nullptr, 0, nullptr, 0, nullptr, kStored, 0,
                                kAsLargeAsNeeded) == ZIP_OK);
    write(head.data(), head.size());
    write(static_cast<const char*>(array.data), array.count * size_of(array.type));
    check(zipCloseFileInZip(file.get()) == ZIP_OK);
  }
  check(zipClose(file.release(), nullptr) == ZIP_OK);
}

std::vector<float> floats_of(const Payload& x) {
  if (x.empty() || x.data() == nullptr) return {};
  return Vec::copy_of(x).to_host();
}

}  // namespace

bool Dump::holds(const std::string& name) const { return std::find(what.begin(), what.end(), name) != what.end(); }

void write_dump(const Dump& dump, std::span<const CurveRecorder::Point> points, Workload* workload) {
  std::error_code ignored;  // if there is no folder, writing into it says so
  std::filesystem::create_directories(dump.folder, ignored);
  for (std::size_t p = 0; p < points.size(); ++p) {
    for (const CurveRecorder::Snapshot& at : points[p].ranks) {
      const double time_s = to_seconds(points[p].time);
      const std::int64_t iteration = at.iter, gradient_iteration = at.computed.iter;
      std::vector<float> params, gradient;
      std::vector<std::uint32_t> samples;
      std::vector<NpzArray> arrays = {{"time_s", "<f8", &time_s, 1}};
      if (dump.holds("params")) {
        params = floats_of(at.x);
        arrays.push_back({"iteration", "<i8", &iteration, 1});
        arrays.push_back({"params", "<f4", params.data(), params.size()});
      }
      if (dump.holds("gradients") || dump.holds("samples"))
        arrays.push_back({"gradient_iteration", "<i8", &gradient_iteration, 1});
      if (dump.holds("gradients")) {
        gradient = floats_of(at.computed.gradient);
        arrays.push_back({"gradient", "<f4", gradient.data(), gradient.size()});
      }
      if (dump.holds("samples")) {
        if (gradient_iteration >= 0) samples = workload->samples_of(at.rank, at.computed.samples);
        arrays.push_back({"samples", "<u4", samples.data(), samples.size()});
      }
      write_npz(fmt::format("{}/rank{}_point{}.npz", dump.folder, at.rank, p), arrays);
    }
  }
}

std::int64_t dump_size(const Dump& dump, const TrialSpec& spec) {
  const ModelEntry& model = find_model(spec.workload.model);
  WorkloadSpec work = spec.workload;
  if (work.dataset.empty()) work.dataset = model.default_dataset;
  const auto inputs = inputs_of(work.dataset, {.path = work.dataset_path, .size = work.size, .seed = work.seed});
  if (model.create == nullptr || !inputs) return 0;
  const auto vector = std::int64_t(sketch(work, *inputs)->size() * sizeof(float));
  const std::int64_t points = spec.transport == "sim" ? spec.evaluations + 2 : 1;
  const std::int64_t vectors = (dump.holds("params") ? 1 : 0) + (dump.holds("gradients") ? 1 : 0);
  return points * spec.workers() * (vectors * vector + std::int64_t(work.batch) * 4 + 1024);
}

std::string why_no_dump(const Dump& dump, const TrialSpec& spec) {
  const ModelEntry& model = find_model(spec.workload.model);
  if (model.create == nullptr) return "model " + spec.workload.model + " has no numbers";
  if (dump.holds("gradients") && model.sparse_rows) return "gradients of " + spec.workload.model + " are sparse";
  if (spec.transport != "sim" && (dump.holds("gradients") || dump.holds("samples")))
    return "real processes keep their final parameters only: take transport sim, or params alone";
  return "";
}

}  // namespace hopbench
