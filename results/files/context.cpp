#include "results/files/context.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

#include "backends/base/process/cores.h"
#include "backends/base/text.h"
#include "build.h"
#include "commit.h"
#include "results/files/machine.h"
#include "results/files/record_json.h"
#if HB_HAVE_ONEDNN && __has_include(<dnnl_version.h>)
#include <dnnl_version.h>
#endif
#if HB_HAVE_GLOO && __has_include(<gloo/config.h>)
#include <gloo/config.h>
#endif
#if HB_HAVE_FIBERS && __has_include(<boost/version.hpp>)
#include <boost/version.hpp>
#endif

namespace hopbench {
namespace {

using Json = nlohmann::ordered_json;

/// Returns the names and versions of the libraries whose headers this was built with; "no" for one that was left out.
std::vector<std::pair<std::string, std::string>> libraries() {
  const auto optional = [](bool there, std::string version) { return there ? std::move(version) : std::string("no"); };
  std::string dnnl = "unknown", gloo = "unknown", boost = "unknown";
#ifdef DNNL_VERSION_MAJOR
  dnnl = fmt::format("{}.{}.{}", DNNL_VERSION_MAJOR, DNNL_VERSION_MINOR, DNNL_VERSION_PATCH);
#endif
#ifdef GLOO_VERSION_MAJOR
  gloo = fmt::format("{}.{}.{}", GLOO_VERSION_MAJOR, GLOO_VERSION_MINOR, GLOO_VERSION_PATCH);
#endif
#ifdef BOOST_VERSION
  boost = fmt::format("{}.{}.{}", BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000, BOOST_VERSION % 100);
#endif
  return {
      {"onednn", optional(HB_HAVE_ONEDNN, dnnl)},
      {"gloo", optional(HB_HAVE_GLOO, gloo)},
      {"boost", optional(HB_HAVE_FIBERS, boost)},
      {"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
      {"nlohmann_json",
       fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH)},
      {"tomlplusplus", HB_TOMLPLUSPLUS_VERSION},
      {"cli11", HB_CLI11_VERSION},
  };
}

std::string utc_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "unavailable";
}

std::string quota_text() {
  const auto quota = cpu_quota("");
  return quota ? fmt::format("{:.2f} cores", *quota) : "none";
}

Json build_json() {
  Json libraries_json = Json::object();
  for (const auto& [name, version] : libraries()) libraries_json[name] = version;
  return Json{{"version", HB_VERSION},
              {"commit", HB_COMMIT},
              {"changed", bool(HB_COMMIT_CHANGED)},
              {"compiler", HB_COMPILER},
              {"build_type", HB_BUILD_TYPE},
              {"flags", HB_COMPILE_FLAGS},
              {"sanitize", HB_SANITIZE},
              {"libraries", std::move(libraries_json)}};
}

Json machine_json(const std::vector<std::string>& gpus) {
  const auto quota = cpu_quota("");
  return Json{{"host", host_name()},
              {"kernel", kernel()},
              {"tcp_congestion_control", tcp_congestion_control("")},
              {"queue_discipline", queue_discipline("")},
              {"largest_packets", largest_packets("")},
              {"cpu", cpu_model("")},
              {"isa", instruction_sets("")},
              {"cores", cores()},
              {"usable_cores", usable_cores()},
              {"governor", governor("")},
              {"load", load_average("")},
              {"cpu_quota_cores", quota ? Json(*quota) : Json(nullptr)},
              {"memory_bytes", memory_bytes("")},
              {"gpu_driver", gpu_driver("")},
              {"gpus", gpus.empty() ? Json(nullptr) : Json(gpus)}};
}

Json variables_json() {
  Json all = Json::object();
  for (const std::string& entry : recorded_variables(environ)) {
    const std::size_t equals = entry.find('=');
    all[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  return all;
}

}  // namespace

std::string maker_of(const std::string& context_json) {
  const nlohmann::json context = nlohmann::json::parse(context_json, nullptr, false);
  if (!context.is_object() || !context.contains("hopbench")) return "unknown";
  const nlohmann::json& hopbench = context.at("hopbench");
  const auto text = [&](const char* name) {
    return hopbench.is_object() && hopbench.contains(name) && hopbench[name].is_string()
               ? hopbench[name].get<std::string>()
               : std::string();
  };
  return text("version") + " " + text("commit").substr(0, 12);
}

std::string version_text() { return HB_VERSION; }

std::string version_with_commit() {
  return fmt::format("{} ({}{})", HB_VERSION, std::string_view(HB_COMMIT).substr(0, 12),
                     HB_COMMIT_CHANGED ? ", with changes" : "");
}

std::string code_flags(const std::string& flags) {
  static constexpr const char* kOthers[] = {
      "-W", "-w", "-pedantic", "-g", "-pipe", "-fdiagnostics-", "-fmessage-length"};
  std::istringstream words(flags);
  std::vector<std::string> kept;
  for (std::string word; words >> word;) {
    const auto begins = [&](const char* start) { return word.starts_with(start); };
    const bool passed_on = begins("-Wl,") || begins("-Wa,") || begins("-Wp,");
    if (passed_on || std::none_of(std::begin(kOthers), std::end(kOthers), begins)) kept.push_back(word);
  }
  return join(kept, " ");
}

std::string context_json(const std::vector<std::string>& command_line, const std::vector<std::string>& gpus,
                         const std::string& processes, const std::vector<std::string>& notes, const std::string& more) {
  Json context{{"schema_version", kSchemaVersion}, {"started", utc_now()},          {"command", command_line},
               {"hopbench", build_json()},         {"machine", machine_json(gpus)}, {"environment", variables_json()}};
  for (Json& word : context["command"]) word = without_password(word.get<std::string>());
  if (!notes.empty()) context["notes"] = notes;
  if (!processes.empty()) context["processes"] = Json::parse(processes, nullptr, false);
  if (!more.empty()) context.update(Json::parse(more));
  return context.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string context_text() {
  std::string text;
  const auto line = [&](const char* name, const std::string& value) {
    text += fmt::format("{:<12} {}\n", name, value);
  };
  std::vector<std::string> parts;
  for (const auto& [name, version] : libraries()) parts.push_back(name + " " + version);
  line("hopbench", version_with_commit());
  line("build", fmt::format("{}, {}{}{}", HB_COMPILER, HB_BUILD_TYPE, *HB_SANITIZE ? ", sanitize " : "", HB_SANITIZE));
  line("libraries", join(parts, ", "));
  line("cpu", fmt::format("{}, {} of {} cores usable, quota {}", cpu_model(""), usable_cores(), cores(), quota_text()));
  line("isa", instruction_sets(""));
  line("governor", governor(""));
  line("load", load_average(""));
  line("memory", fmt::format("{:.1f} GiB", static_cast<double>(memory_bytes("")) / (1 << 30)));
  line("kernel", kernel());
  line("network", fmt::format("TCP {}, queues {}, packets of {} bytes", tcp_congestion_control(""),
                              queue_discipline(""), largest_packets("")));
  line("gpu driver", gpu_driver(""));
  const auto variables = recorded_variables(environ);
  line("environment", variables.empty() ? "-" : join(variables, " "));
  return text;
}

std::vector<std::string> recorded_variables(const char* const* environment) {
  std::vector<std::string> found;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    const std::string_view name = entry.substr(0, entry.find('='));
    const auto begins = [&](std::string_view prefix) { return name.substr(0, prefix.size()) == prefix; };
    const bool named_so = name == "LC_ALL" || name == "CI";
    if (name == "HOPBENCH_TOKEN") continue;                               // a secret
    if (name == "HOPBENCH_COMMAND" || name == "HOPBENCH_ROOT") continue;  // set by ci/hopbench, not by the user
    if (named_so || begins("OMP_") || begins("HOPBENCH_") || begins("DNNL_") || begins("GLOO_") || begins("CUDA_") ||
        begins("NVIDIA_TF32")) {
      found.push_back(without_password(std::string(entry)));
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace hopbench
