// ci/gpu where there is no GPU, or not all that it needs: what it says, and with which exit code. Nothing is built.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/folder.h"
#include "tests/paths.h"

namespace hopbench {
namespace {

namespace fs = std::filesystem;

struct Said {
  int code;
  std::string text;  // stdout and stderr
};

class GpuScript : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists("/usr/bin/git")) GTEST_SKIP() << "there is no /usr/bin/git, which these tests put before ci/gpu";
  }
  /// A program that the script finds; of the machine's own it finds only the usual ones, so no nvidia-smi.
  void put(const std::string& name, const std::string& script) {
    fs::remove(folder_ / ("bin/" + name));  // never through a link into the machine's own
    folder_.write("bin/" + name, "#!/bin/bash\n" + script + "\n");
    fs::permissions(folder_ / ("bin/" + name), fs::perms::owner_all);
  }
  Said gpu(const std::string& arguments, const std::string& variables = "") {
    folder_.write("bin/none", "");
    for (const char* tool : {"awk", "bash", "cat", "dirname", "env", "find", "git", "grep", "ls", "mktemp", "realpath",
                             "rm", "sed", "sort", "stat", "tr", "wc", "xargs"}) {
      const fs::path link = folder_ / (std::string("bin/") + tool);
      if (!fs::exists(link)) fs::create_symlink(fs::path("/usr/bin") / tool, link);
    }
    // The script must not find this checkout's own .gpu/.
    FILE* const pipe = popen(("PATH='" + (folder_ / "bin") + "' GPU_PACK='" + (folder_ / "none") + "' " + variables +
                              " /usr/bin/env bash '" + source_dir() + "/ci/gpu' " + arguments + " 2>&1")
                                 .c_str(),
                             "r");
    std::string text;
    char piece[4096];
    for (std::size_t got; (got = fread(piece, 1, sizeof piece, pipe)) > 0;) text.append(piece, got);
    const int status = pclose(pipe);
    return {WEXITSTATUS(status), text};
  }
  /// Exit code 6 and one line with these words; nothing is written.
  void expect_lacking(const Said& said, const std::string& words) {
    EXPECT_EQ(said.code, 6) << said.text;
    EXPECT_EQ(said.text.find("ci/gpu: "), 0u) << said.text;
    EXPECT_EQ(said.text.find('\n'), said.text.size() - 1) << said.text;
    EXPECT_NE(said.text.find(words), std::string::npos) << said.text;
    EXPECT_FALSE(fs::exists(folder_ / "out"));
  }
  std::string measure() { return "-o '" + (folder_ / "out") + "'"; }

  Folder folder_;
};

constexpr const char* kGpu = "echo 'NVIDIA H100 80GB HBM3, 9.0'";

TEST_F(GpuScript, TellsWhatWouldTravel) {
  const Said said = gpu("--dry-run");
  EXPECT_EQ(said.code, 0) << said.text;
  EXPECT_NE(said.text.find("\nthis checkout "), std::string::npos) << said.text;
  EXPECT_NE(said.text.find(" of 64.0 MiB\n"), std::string::npos) << said.text;
}

TEST_F(GpuScript, NeedsADriver) { expect_lacking(gpu(measure()), "no NVIDIA GPU: there is no nvidia-smi"); }

TEST_F(GpuScript, NeedsADriverThatAnswers) {
  put("nvidia-smi", "echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18");
  expect_lacking(gpu(measure()), "nvidia-smi says 'Failed to initialize NVML: Driver/library version mismatch'");
}

TEST_F(GpuScript, NeedsACapability) {
  put("nvidia-smi", "echo 'Some GPU, [N/A]'");
  expect_lacking(gpu(measure()), "does not tell the GPU's compute capability");
}

TEST_F(GpuScript, NeedsANvccThatKnowsTheGpu) {
  put("nvidia-smi", kGpu);
  put("nvcc", "echo compute_75");
  expect_lacking(gpu(measure(), "CUDACXX='" + (folder_ / "bin/nvcc") + "'"), "knows no compute_90");
}

TEST_F(GpuScript, NeedsACompiler) {
  put("nvidia-smi", kGpu);
  put("nvcc", "echo compute_90");
  expect_lacking(gpu(measure(), "CUDACXX='" + (folder_ / "bin/nvcc") + "'"), "no cmake");
}

// --- What it does with programs that were carried: here scripts that do as little as they can

class GpuStages : public GpuScript {
 protected:
  GpuStages() {
    put("nvidia-smi", kGpu);
    for (const char* tool : {"cp", "date", "head", "mkdir", "ps", "mv", "nproc", "tail", "tar", "timeout", "touch",
                             "uname", "gzip", "printf", "sleep"})
      if (!fs::exists(folder_ / (std::string("bin/") + tool)))
        fs::create_symlink(fs::path("/usr/bin") / tool, folder_ / (std::string("bin/") + tool));
    put("ldconfig", "echo libcudnn.so.9; echo libcublas.so.13");
    carry("hopbench", "echo \"$@\" >> '" + (folder_ / "calls") + "'");
    carry("gpu_probe", "echo 'gpu  Some GPU'");
    carry("cuda_gpu_test",
          "case \"$1\" in *list*) echo Running; echo CudaSpace.; echo '  A'; echo CudaGemm.; echo '  B';; *Gemm*) echo "
          "wrong; exit 1;; esac");
    folder_.write("pack/bin/capability", "90\n");
    folder_.write("pack/bin/commit", "abc\n");
  }
  void carry(const std::string& name, const std::string& script) {
    folder_.write("pack/bin/" + name, "#!/bin/bash\n" + script + "\n");
    fs::permissions(folder_ / ("pack/bin/" + name), fs::perms::owner_all);
  }
  Said stages(const std::string& arguments) {
    return gpu(measure() + " " + arguments, "GPU_PACK='" + (folder_ / "pack") + "' PYTHON=/none");
  }
  std::string outcomes() { return text_of(folder_ / "out/stages.tsv"); }
};

TEST_F(GpuStages, RunEachSuiteOfTestsAlone) {
  const Said said = stages("--stages build,probe,tests");
  EXPECT_EQ(said.code, 1) << said.text;
  EXPECT_NE(outcomes().find("\tcarried, built at abc\n"), std::string::npos) << outcomes();
  EXPECT_NE(outcomes().find("probe\tpassed\t"), std::string::npos) << outcomes();
  EXPECT_NE(outcomes().find("2 suites; see tests/: CudaGemm\n"), std::string::npos) << outcomes();
  EXPECT_EQ(text_of(folder_ / "out/tests/CudaGemm.txt"), "wrong\n--- again, with CUDA_LAUNCH_BLOCKING=1\nwrong\n");
  EXPECT_EQ(text_of(folder_ / "out/tests/CudaSpace.txt"), "");
  EXPECT_NE(text_of(folder_ / "out/README.md").find("| tests | failed |"), std::string::npos);
}

TEST_F(GpuStages, ThatPassedAreNotRepeated) {
  EXPECT_EQ(stages("--flat --stages probe,tests").code, 1);
  EXPECT_TRUE(fs::exists(folder_ / "out/rest.tar.gz"));
  EXPECT_EQ(stages("--flat --stages probe,tests").code, 2) << "the folder is not empty";
  carry("gpu_probe", "exit 1");
  carry("cuda_gpu_test", "case \"$1\" in *list*) echo CudaGemm.;; esac");
  const Said said = stages("--flat --continue --stages probe,tests");
  EXPECT_EQ(said.code, 0) << said.text;
  EXPECT_NE(outcomes().find("probe\tpassed\t"), std::string::npos) << outcomes();
  EXPECT_NE(outcomes().find("tests\tpassed\t"), std::string::npos) << outcomes();
}

TEST_F(GpuStages, AreInterruptedWithWhatThereIs) {
  carry("gpu_probe", "echo begun; kill -TERM $(ps -o ppid= -p $PPID); sleep 60");
  const Said said = stages("--stages build,probe --flat");
  EXPECT_EQ(said.code, 143) << said.text;
  EXPECT_NE(outcomes().find("probe\tfailed\t"), std::string::npos) << outcomes();
  EXPECT_NE(outcomes().find("\tinterrupted\n"), std::string::npos) << outcomes();
  EXPECT_EQ(text_of(folder_ / "out/probe.txt"), "begun\n");
}

TEST_F(GpuStages, OfAnotherKindOfRunAreNotGoneOnWith) {
  EXPECT_EQ(stages("--stages probe").code, 0);
  EXPECT_EQ(stages("--stages probe --continue").code, 0);
  const Said said = stages("--stages probe --continue --quick");
  EXPECT_EQ(said.code, 2) << said.text;
  EXPECT_NE(said.text.find("carried, abc, and this would be of"), std::string::npos) << said.text;
}

TEST_F(GpuStages, OfTestsThatCannotBeListedFail) {
  carry("cuda_gpu_test", "exit 127");
  EXPECT_EQ(stages("--stages tests").code, 1);
  EXPECT_NE(outcomes().find("tests\tfailed\t"), std::string::npos) << outcomes();
  EXPECT_NE(outcomes().find("the tests cannot be listed"), std::string::npos) << outcomes();
}

// hopbench takes the suite and the settings with which ci/gpu calls it.
TEST_F(GpuStages, RunASuiteThatThereIs) {
  carry("hopbench", "printf '%q ' \"$@\" > '" + (folder_ / "calls") + "'");
  for (const char* options : {"--quick", ""}) {
    fs::remove_all(folder_ / "out");
    EXPECT_EQ(stages(std::string("--stages run ") + options).code, 0);
    const std::string call = "cd '" + source_dir() + "' && '" + program() + "' " + text_of(folder_ / "calls");
    EXPECT_EQ(std::system((call + " --dry-run >/dev/null").c_str()), 0) << call;
  }
}

TEST_F(GpuStages, GoOnWithARunThatHasBegun) {
  carry("hopbench",
        "[ $1 = --version ] && exit; [ $2 = --resume ] && { echo \"$@\"; exit; }; echo \"$@\"; while [ $1 != -o ]; do "
        "shift; done; "
        "mkdir -p $2; touch $2/suite.toml; exit 1");
  EXPECT_EQ(stages("--stages run").code, 1);
  const Said said = stages("--stages run --continue");
  EXPECT_EQ(said.code, 0) << said.text;
  const std::string words = text_of(folder_ / "out/run.txt");
  EXPECT_EQ(words.find("run --resume /"), 0u) << words;
  EXPECT_EQ(words.find("cnn_hetero"), std::string::npos) << words;
  EXPECT_EQ(words.find("--set"), std::string::npos) << words;
}

TEST_F(GpuStages, FailWhereAModelWasLeftOut) {
  carry("hopbench", "echo 'vgg11 was left out: cuDNN'");
  EXPECT_EQ(stages("--stages layers").code, 1);
  EXPECT_NE(outcomes().find("layers\tfailed\t"), std::string::npos) << outcomes();
}

// A test that skips is none.
TEST_F(GpuStages, LetNoTestSkipUnderTheSanitizer) {
  put("compute-sanitizer",
      "while [ \"$1\" != '" + (folder_ / "pack/bin/cuda_gpu_test") + "' ]; do shift; done; \"$@\"");
  carry("cuda_gpu_test", "[ \"$HB_GPU_REQUIRED\" = 1 ]");
  EXPECT_EQ(stages("--stages sanitizer").code, 0);
  EXPECT_NE(outcomes().find("sanitizer\tpassed\t"), std::string::npos) << outcomes();
}

TEST_F(GpuStages, EndWithinTheSecondsThatTheyWereGiven) {
  carry("gpu_probe", "sleep 60");  // 30: on a busy machine the script may take seconds to begin
  const Said said = stages("--stages probe,exchange --within 30");
  EXPECT_EQ(said.code, 1) << said.text;
  EXPECT_NE(outcomes().find("probe\tfailed\t"), std::string::npos) << outcomes();
  EXPECT_NE(outcomes().find("exchange\tnot run\t"), std::string::npos) << outcomes();
}

TEST_F(GpuStages, ThatHaveEndedStayAsTheyAreWhenInterrupted) {
  put("cp", "/usr/bin/cp \"$@\"; kill -TERM $PPID; sleep 0.2");  // while the results are published
  const Said said = stages("--stages probe");
  EXPECT_EQ(said.code, 143) << said.text;
  EXPECT_NE(outcomes().find("probe\tpassed\t"), std::string::npos) << outcomes();
}

TEST_F(GpuStages, TellThatTheDriverFails) {
  put("nvidia-smi", "case \"$*\" in *compute_cap*) echo 'NVIDIA H100 80GB HBM3, 9.0';; *) exit 9;; esac");
  EXPECT_EQ(stages("--stages versions").code, 1);
  EXPECT_NE(outcomes().find("nvidia-smi failed"), std::string::npos) << outcomes();
}

TEST_F(GpuStages, AreOnlyThoseThatThereAre) {
  const Said said = stages("--stages build,benchmark");
  EXPECT_EQ(said.code, 2) << said.text;
  EXPECT_NE(said.text.find("unknown stage benchmark: known are versions, build, probe"), std::string::npos)
      << said.text;
}

TEST_F(GpuStages, BuildWhereWhatWasCarriedDoesNotStart) {
  carry("hopbench", "exit 127");
  put("nvcc", "echo compute_90");
  const Said said = gpu(measure(), "GPU_PACK='" + (folder_ / "pack") + "' CUDACXX='" + (folder_ / "bin/nvcc") + "'");
  EXPECT_EQ(said.code, 6) << said.text;
  EXPECT_NE(said.text.find("pack/bin/hopbench does not start here: building it\nci/gpu: no cmake"), std::string::npos)
      << said.text;
}

// With the machine's own tools: what is in the lists of Debian's packages, and all that this checkout holds.
TEST(GpuPack, FitsIntoWhatMayTravel) {
  for (const char* tool : {"dpkg-query", "g++"}) {
    if (std::system((std::string("command -v ") + tool + " >/dev/null").c_str()) != 0) GTEST_SKIP() << "no " << tool;
  }
  EXPECT_EQ(std::system(("'" + source_dir() + "/ci/gpu' --dry-run >/dev/null 2>&1").c_str()), 0);
}

TEST_F(GpuScript, RefusesWhatItDoesNotKnow) {
  for (const char* words : {"--within", "--within 5m", "--within 5", "--within 010", "--stages", "--stages ''",
                            "--stages ,", "-o", "pack --help", "build --help"}) {
    const Said said = gpu(words);
    EXPECT_EQ(said.code, 2) << words << ": " << said.text;
    EXPECT_EQ(said.text.find("ci/gpu: "), 0u) << said.text;
  }
  EXPECT_EQ(gpu("--qick").code, 2);
  EXPECT_NE(gpu("--qick").text.find("unknown option --qick"), std::string::npos);
  EXPECT_EQ(gpu("pack a b").code, 2);
}

TEST_F(GpuScript, NeverPacksOverAFolderOfOthers) {
  put("dpkg-query", "exit 1");
  folder_.write("mine/thesis.tex", "");
  const Said said = gpu("pack '" + (folder_ / "mine") + "'");
  EXPECT_EQ(said.code, 2) << said.text;
  EXPECT_TRUE(fs::exists(folder_ / "mine/thesis.tex"));
}

TEST_F(GpuScript, PacksOnlyWhatIsThere) {
  put("dpkg-query", "exit 1");
  const Said said = gpu("pack '" + (folder_ / "out") + "'");
  expect_lacking(said, "these packages are not installed, so they cannot be packed:");
}

// --- ci/stages/gpu_tables.py
// ---------------------------------------------------------------------------------------------------

TEST(GpuTables, AreMediansOfRoundsAndRatiosWithinRounds) {
  if (std::system("python3 -c '' 2>/dev/null") != 0) GTEST_SKIP() << "there is no python3";
  const Folder folder;
  std::string lines;
  for (int round = 0; round < 3; ++round) {
    const std::string end = R"("model": "vgg11", "batch": 128, "precision": "fp32", "work": "gradient", "round": )" +
                            std::to_string(round) + "}\n";
    const std::string ours = std::to_string(1 + round), theirs = std::to_string(2 + 2 * round);
    lines += R"({"what": "hopbench", "wall_ms": [100, )" + ours + ", " + ours + "], " + end;
    lines +=
        R"({"what": "PyTorch", "layout": "NCHW", "graph": false, "event_ms": [1], "wall_ms": [)" + theirs + "], " + end;
  }
  folder.write("bench.jsonl", lines + R"({"what": "memory", "oper)");  // ended by its time limit
  ASSERT_EQ(std::system(("python3 '" + source_dir() + "/ci/stages/gpu_tables.py' '" + folder.path() + "'").c_str()), 0);
  const std::string table = text_of(folder / "bench.md");
  EXPECT_NE(table.find("| vgg11 | 128 | fp32 | 2 (1.5 .. 2.5) | 4 (3 .. 5) | 2 (2 .. 2) |"), std::string::npos)
      << table;
  EXPECT_NE(text_of(folder / "steps.csv").find("vgg11,128,fp32,hopbench,gradient,,,wall,3,2,1.5,2.5"),
            std::string::npos);
}

}  // namespace
}  // namespace hopbench
