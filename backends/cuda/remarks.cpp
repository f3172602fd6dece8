#include "backends/cuda/remarks.h"

#include <map>
#include <mutex>

namespace hopbench::cuda {
namespace {

struct Remarks {
  std::mutex mutex;
  std::map<std::string, std::string> by_topic;
};

Remarks& all() {
  static auto* const remarks = new Remarks;  // as long-lived as the device
  return *remarks;
}

}  // namespace

void remark(const std::string& topic, const std::string& text) {
  const std::lock_guard lock(all().mutex);
  all().by_topic[topic] = text;
}

std::string remarks() {
  const std::lock_guard lock(all().mutex);
  std::string text;
  for (const auto& [topic, words] : all().by_topic) text += (text.empty() ? "" : "; ") + topic + ": " + words;
  return text;
}

}  // namespace hopbench::cuda
