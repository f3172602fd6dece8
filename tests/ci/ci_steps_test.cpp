// ci/steps.sh: what CI does where the disk is nearly full.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "tests/folder.h"
#include "tests/paths.h"

namespace hopbench {
namespace {

namespace fs = std::filesystem;

class CiSteps : public testing::Test {
 protected:
  CiSteps() {
    for (const char* preset : {"asan", "tsan", "tidy", "release"})
      folder_.write(std::string("build/") + preset + "/made", "");
  }
  /// Calls make_room after that step, on a disk with so many MiB left. Returns its words.
  std::string make_room(const std::string& step, int free_mib) {
    folder_.write("bin/df", "#!/bin/sh\necho header\necho /dev/x 9 9 " + std::to_string(free_mib * 1024) + " 9% /\n");
    fs::permissions(folder_ / "bin/df", fs::perms::owner_all);
    return call("make_room " + step);
  }
  /// Returns what these words print.
  std::string call(const std::string& words) {
    folder_.write("call", "set -e; . '" + source_dir() + "/ci/steps.sh'; root='" + folder_.path() + "'; " + words);
    FILE* const pipe = popen(("PATH='" + (folder_ / "bin") + "':$PATH bash '" + (folder_ / "call") + "'").c_str(), "r");
    std::string text;
    for (int c; (c = std::fgetc(pipe)) != EOF;) text.push_back(static_cast<char>(c));
    EXPECT_EQ(pclose(pipe), 0);
    return text;
  }
  bool has(const std::string& preset) { return fs::exists(folder_ / ("build/" + preset)); }

  Folder folder_;
};

TEST_F(CiSteps, KeepAllBuildsWhereThereIsRoom) {
  for (const char* step : {"tidy", "asan", "fuzz", "tsan"}) EXPECT_EQ(make_room(step, 3072), "");
  EXPECT_TRUE(has("asan") && has("tsan") && has("tidy") && has("release"));
}

TEST_F(CiSteps, TakeAwayWhatNoLaterStepWantsWhereThereIsLittle) {
  EXPECT_EQ(make_room("asan", 3071), "");  // ci/fuzz runs programs of that build
  EXPECT_TRUE(has("asan"));
  EXPECT_NE(make_room("fuzz", 3071).find("only 3071 MiB are left"), std::string::npos);
  EXPECT_FALSE(has("asan"));
  EXPECT_NE(make_room("tsan", 0), "");
  EXPECT_FALSE(has("tsan"));
  EXPECT_EQ(make_room("sweep", 0), "");
  EXPECT_TRUE(has("release") && has("tidy"));
}

TEST_F(CiSteps, WhatCouldNotRunHasNotPassed) {
  const std::string cache = "export XDG_CACHE_HOME='" + folder_.path() + "'; ";
  EXPECT_EQ(call(cache + "step ci/check cuda sh -c 'exit 77'"), "ci/check: cuda skipped (see above)\n");
  EXPECT_EQ(call(cache + "step ci/check cuda true 2>/dev/null").find("ci/check: cuda passed in "), 0u);
}

}  // namespace
}  // namespace hopbench
