#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/folder.h"

namespace hopbench {

/// Returns everything of a run that must not depend on where its trials were computed.
inline std::string results_of_run(const std::string& folder) {
  std::string all;
  for (const char* file : {"suite.toml", "trials.csv", "ranks.csv", "curve.csv"})
    all += text_of(folder + "/" + file) + "----\n";
  std::vector<std::string> logs;
  for (const auto& entry : std::filesystem::directory_iterator(folder + "/events"))
    logs.push_back(entry.path().filename().string());
  std::sort(logs.begin(), logs.end());
  EXPECT_GT(logs.size(), 0u) << folder;
  for (const std::string& log : logs) all += log + "\n" + text_of(folder + "/events/" + log) + "----\n";
  return all;
}

}  // namespace hopbench
