#include "suites/trial/dump.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "backends/base/error.h"
#include "models/fit.h"
#include "suites/trial/npz.h"

namespace hopbench {
namespace {

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
