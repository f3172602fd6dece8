#include "backends/cuda/remarks.h"

#include <map>
#include <mutex>

namespace hopbench::cuda {
namespace {

struct Remark {
  std::string text;
  int fallbacks = 0;
};
struct Remarks {
  std::mutex mutex;
  std::map<std::string, Remark> by_topic;
};

Remarks& all() {
  static auto* const remarks = new Remarks;  // as long-lived as the device
  return *remarks;
}

}  // namespace

void remark(const std::string& topic, const std::string& text, int fallbacks) {
  const std::lock_guard lock(all().mutex);
  all().by_topic[topic] = {text, fallbacks};
}

int fallbacks() {
  const std::lock_guard lock(all().mutex);
  int sum = 0;
  for (const auto& [topic, said] : all().by_topic) sum += said.fallbacks;
  return sum;
}

std::string remarks() {
  const std::lock_guard lock(all().mutex);
  std::string text;
  for (const auto& [topic, said] : all().by_topic) text += (text.empty() ? "" : "; ") + topic + ": " + said.text;
  return text;
}

}  // namespace hopbench::cuda
