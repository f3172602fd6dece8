#include "suites/claims/claim.h"

namespace hopbench {

bool Selection::finds(const Selection& whole) const {
  const auto fits = [](const std::string& part, const std::string& other) { return part.empty() || part == other; };
  return fits(measure, whole.measure) && fits(scenario, whole.scenario) && fits(variant, whole.variant);
}

std::string Selection::text() const {
  std::string all;
  for (const std::string& part : {measure, scenario, variant}) {
    if (!part.empty()) all += (all.empty() ? "" : " / ") + part;
  }
  return all;
}

const char* to_string(ClaimVerdict verdict) {
  return verdict == ClaimVerdict::kHolds ? "holds" : verdict == ClaimVerdict::kDiffers ? "differs" : "undecided";
}

}  // namespace hopbench
