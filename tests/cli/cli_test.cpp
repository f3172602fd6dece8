// Mistakes are reported in one line with the right exit code, before anything is written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <zlib.h>

#include <nlohmann/json.hpp>

#include "tests/cli/cli.h"

namespace hopbench {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A command that must fail, and what its message must say.
struct Wrong {
  Args words;
  Args says;
  int code = 2;
  std::size_t lines = 1;  // one a mistake
  Args variables = {};
};

void expect_refused(const Folder& folder, const Wrong& wrong) {
  std::string typed = "hopbench";
  for (const std::string& word : wrong.words) typed += " '" + word + "'";
  SCOPED_TRACE(typed);
  const std::string before = contents(folder.path());
  const Ended ended = hopbench(folder.path(), wrong.words, wrong.variables);
  EXPECT_EQ(ended.code, wrong.code) << ended.err;
  EXPECT_EQ(ended.out, "");
  EXPECT_EQ(count_lines(ended.err), wrong.lines) << ended.err;
  EXPECT_TRUE(ended.err.ends_with("\n") && !ended.err.starts_with("\n")) << ended.err;
  for (const std::string& text : wrong.says) EXPECT_THAT(ended.err, HasSubstr(text));
  for (const char* text : {"terminate called", "what()", "std::", "basic_", "internal error", "Segmentation"}) {
    EXPECT_THAT(ended.err, Not(HasSubstr(text)));
  }
  EXPECT_EQ(contents(folder.path()), before);
}

class Mistakes : public testing::Test {
 protected:
  Mistakes() { folder_.write("a.toml", small_suite()); }

  void refused(const Wrong& wrong) const { expect_refused(folder_, wrong); }
  /// A suite with one thing replaced.
  void refused_suite(const std::string& from, const std::string& to, const Args& says, std::size_t lines = 1) {
    folder_.write("bad.toml", with(small_suite(), from, to));
    refused({.words = {"run", "bad.toml"}, .says = says, .lines = lines});
    refused({.words = {"validate", "bad.toml"}, .says = says, .lines = lines});
  }

  Folder folder_;
};

TEST_F(Mistakes, OfCommandsAreNamedWithWhatWasMeant) {
  refused({.words = {}, .says = {"hopbench --help"}});
  refused({.words = {"rnu"}, .says = {"unknown command 'rnu'", "Did you mean 'run'?"}});
  refused({.words = {"rnu", "--help"}, .says = {"unknown command 'rnu'", "Did you mean 'run'?"}});
  refused({.words = {"--verison"}, .says = {"unknown flag '--verison'", "'--version'"}});
  refused({.words = {"run"}, .says = {"needs a suite", "hopbench list suites"}});
  refused({.words = {"list"}, .says = {"what to list: protocols, models,", "suites, keys, columns"}});
  refused({.words = {"list", "protocol"}, .says = {"'protocol'", "Did you mean 'protocols'?"}});
  refused({.words = {"validate"}, .says = {"suite is required"}});
  refused({.words = {"version", "x"}, .says = {"unknown argument 'x'"}});
  refused({.words = {"completion", "tcsh"}, .says = {"tcsh", "bash"}});
  refused({.words = {"bench", "simm"}, .says = {"'simm'", "Did you mean 'sim'?"}});
  refused({.words = {"bench", "losses", "timing_only", "-o", "x"}, .says = {"timing_only computes no losses"}});
  refused({.words = {"bench", "losses", "sofmax", "-o", "x"}, .says = {"Did you mean 'softmax'?"}});
  refused({.words = {"new", "protocol", "Bad Name"}, .says = {"Bad Name"}});
  refused({.words = {"new", "protocol", "class"}, .says = {"'class' means something in C++"}});
  refused({.words = {"bench", "losses", "lenet", "-o", "x", "--lr", "nan"}, .says = {"--lr", "not a finite number"}});
  refused({.words = {"bench", "losses", "lenet", "-o", "x", "--momentum", "2"}, .says = {"--momentum", "range"}});
}

Args bench_losses(const std::string& lr, const std::string& output) {
  return {"bench", "losses",  "softmax", "--dataset", "synthetic", "--backend", "reference", "--batch",
          "4",     "--steps", "3",       "--lr",      lr,          "-o",        output};
}

TEST(BenchLosses, LeavesAllThatAnotherProgramNeedsToRepeatThem) {
  const Folder folder;
  const auto losses = [&](const std::string& lr) {
    const Ended ended = hopbench(folder.path(), bench_losses(lr, "out/" + lr));
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(count_lines(ended.out), 3u) << ended.out;
    EXPECT_EQ(ended.out, text_of(folder / ("out/" + lr + "/losses.txt")));
    return ended.out;
  };
  const std::string still = losses("0"), moving = losses("0.1");
  EXPECT_EQ(still.substr(0, still.find('\n')), moving.substr(0, moving.find('\n')));
  EXPECT_NE(still, moving);
  const std::string at = folder / "out/0.1";
  EXPECT_EQ(std::filesystem::file_size(at + "/initial.f32"), 7850u * 4);
  EXPECT_EQ(std::filesystem::file_size(at + "/inputs.f32"), 3u * 4 * 784 * 4);
  EXPECT_EQ(std::filesystem::file_size(at + "/labels.i32"), 3u * 4 * 4);
  const nlohmann::json settings = nlohmann::json::parse(text_of(at + "/settings.json"));
  EXPECT_TRUE(settings.at("context").contains("hopbench"));
  EXPECT_EQ(settings.at("shape"), nlohmann::json({1, 28, 28}));
  const nlohmann::json expected{{"model", "softmax"},     {"dataset", "synthetic"}, {"path", ""}, {"batch", 4},
                                {"backend", "reference"}, {"parameters", 7850},     {"steps", 3}, {"seed", 1},
                                {"threads", 1},           {"weight_decay", 0.0005}, {"lr", 0.1},  {"momentum", 0.9}};
  for (const auto& [key, value] : expected.items()) EXPECT_EQ(settings.at(key), value) << key;
}

TEST(BenchLosses, WritesIntoNoFolderThatHoldsAnything) {
  const Folder folder;
  folder.write("out/notes.txt", "mine");
  const Wrong refused{.words = bench_losses("0.1", "out"), .says = {"out is not empty", "-o"}};
  expect_refused(folder, refused);
  std::filesystem::remove(folder / "out/notes.txt");
  EXPECT_EQ(hopbench(folder.path(), bench_losses("0.1", "out")).code, 0);
  expect_refused(folder, refused);
}

TEST(BenchLosses, TakesNoFilesForDrawnData) {
  const Folder folder;
  Args words = bench_losses("0.1", "out");
  words.insert(words.end(), {"--path", folder.path()});
  expect_refused(folder, {.words = words, .says = {"--path", "'synthetic' is drawn", "leave --path out"}});
}

TEST(BenchLosses, WithoutEnoughMemorySaysWhatNeedsLess) {
  const Folder folder;
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  const rlimit two_gigabytes{2u << 30, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &two_gigabytes), 0);  // of what is started now
  for (const char* backend : {"reference", "onednn"}) {
    expect_refused(folder, {.words = {"bench", "losses", "softmax", "--dataset", "synthetic", "--backend", backend,
                                      "--batch", "1000000", "-o", "out"},
                            .says = {"out of memory", "use a smaller model or batch"},
                            .code = 6});
  }
  EXPECT_EQ(setrlimit(RLIMIT_AS, &before), 0);
}

TEST_F(Mistakes, OfFlagsAreNamedWithWhatWasMeant) {
  refused({.words = {"run", "a.toml", "--filtr", "x"}, .says = {"unknown flag '--filtr'", "Did you mean '--filter'?"}});
  refused({.words = {"run", "a.toml", "--filter"}, .says = {"--filter", "missing"}});
  refused({.words = {"run", "a.toml", "--colour=blue"}, .says = {"blue", "always"}});
  refused({.words = {"run", "a.toml", "--strands", "x"}, .says = {"--strands", "fibers"}});
  refused({.words = {"run", "a.toml", "-r", "0"}, .says = {"--runs", "not in range", "1000"}});
  refused({.words = {"run", "a.toml", "-r", "many"}, .says = {"--runs", "many"}});
  refused({.words = {"run", "a.toml", "--seed", "-1"}, .says = {"--seed", "-1"}});
  refused({.words = {"run", "a.toml", "--seed", "99999999999999999999"}, .says = {"--seed"}});
  refused({.words = {"run", "a.toml", "--shuffle", "-1"}, .says = {"--shuffle", "-1"}});
  refused({.words = {"run", "a.toml", "--threads", "-1"}, .says = {"--threads", "-1"}});
  refused({.words = {"run", "a.toml", "--trial-timeout", "soon"}, .says = {"--trial-timeout", "30s", "soon"}});
  refused({.words = {"run", "a.toml", "--stall-timeout", "-3s"}, .says = {"--stall-timeout", "-3s"}});
  refused({.words = {"run", "a.toml", "--rendezvous-timeout", "3"}, .says = {"--rendezvous-timeout"}});
  refused({.words = {"run", "a.toml", "-f", "["}, .says = {"--filter", "'['", "regular expression"}});
  refused({.words = {"run", "a.toml", "--exclude", "("}, .says = {"--exclude", "'('"}});
  refused({.words = {"run", "a.toml", "-f", "nothing like it"}, .says = {"no trial matches", "--list"}});
  refused(
      {.words = {"run", "a.toml", "--shuffle", "3", "--set", "transport.name=gloo"}, .says = {"--shuffle", "virtual"}});
  refused({.words = {"run", "a.toml", "--csv=a.toml"}, .says = {"--csv=a.toml", "itself reads or writes"}});
  refused({.words = {"run", "a.toml", "--csv=x", "--json=./x"}, .says = {"=x", "are the same file"}});
  refused({.words = {"run", "a.toml", "--json", "--csv"}, .says = {"cannot both go to", "--csv=FILE"}});
  refused({.words = {"run", "a.toml", "--seed", "9223372036854775806"}, .says = {"seed", "at most 9.2e+18"}});
  refused({.words = {"run", "a.toml"}, .says = {"--threads", "many"}, .variables = {"HOPBENCH_THREADS=many"}});
  refused({.words = {"run", "a.toml"},
           .says = {"HOPBENCH_PROFIL,", "Did you mean 'HOPBENCH_PROFILE'?"},
           .variables = {"HOPBENCH_PROFIL=quick"}});
}

TEST_F(Mistakes, OfOverridesAreNamed) {
  refused({.words = {"run", "a.toml", "--set"}, .says = {"--set", "missing"}});
  refused({.words = {"run", "a.toml", "--set", "batch"}, .says = {"--set batch", "'='"}});
  refused({.words = {"run", "a.toml", "--set", "bacth=8"}, .says = {"'bacth'", "did you mean 'batch'?"}});
  refused({.words = {"run", "a.toml", "--set", "batch="}, .says = {"batch=", "TOML"}});
  refused({.words = {"run", "a.toml", "--set", "batch=[1"}, .says = {"[1", "TOML"}});
  refused({.words = {"run", "a.toml", "--set", "world_size=4611686018427387904"},
           .says = {"is 4611686018427387904,", "65536"}});
  refused({.words = {"run", "a.toml", "--profile", "fast"}, .says = {"'fast'"}});
  refused(
      {.words = {"run", "a.toml", "--set", "batch=0", "--set", "bacth=8"}, .says = {"batch=0", "bacth"}, .lines = 2});
}

TEST_F(Mistakes, OfPlacesAreFoundBeforeTheRun) {
  folder_.write("file", "");
  folder_.write("empty/nothing", "");
  folder_.write("old/trials.jsonl", "");
  refused({.words = {"run", "--resume", "nowhere"}, .says = {"nowhere", "no run"}});
  refused({.words = {"run", "--resume", "empty"}, .says = {"empty", "no run"}});
  refused({.words = {"run", "--resume", "old"}, .says = {"old/suite.toml"}});
  refused({.words = {"run", "--resume", "old", "a.toml"}, .says = {"--resume"}});
  refused({.words = {"run", "--resume", "old", "-o", "new"}, .says = {"--resume", "--output"}});
  refused({.words = {"run", "a.toml", "--retry-failed"}, .says = {"--retry-failed", "--resume"}});
  refused({.words = {"run", "a.toml", "--force"}, .says = {"--force", "--resume"}});
  refused({.words = {"run", "a.toml", "-o", "old"}, .says = {"old holds a run already", "--resume old", "-o"}});
  refused({.words = {"run", "a.toml", "-o", "file"}, .says = {"cannot make file", "-o"}, .code = 6});
  refused({.words = {"run", "a.toml", "-o", "/proc/no/such"}, .says = {"/proc/no/such"}, .code = 6});
  refused({.words = {"run", "a.toml", "--json=no/such.json"}, .says = {"--json=no/such.json", "no folder no"}});
  refused({.words = {"run", "a.toml", "--csv=empty"}, .says = {"--csv=empty", "cannot be written"}});
  refused({.words = {"run", "a.toml", "--markdown=file/x.md"}, .says = {"--markdown=file/x.md"}});
  refused({.words = {"run", "a.toml", "a.toml"}, .says = {"two suites are called 'small'"}});
}

TEST_F(Mistakes, OfSuiteFilesAreNamed) {
  folder_.write("torn.toml", "a = [\n");
  folder_.write("noise.toml", std::string("\x7f"
                                          "ELF\x01\xff\xfe\0\0",
                                          9));
  folder_.write("empty.toml", "");
  for (const std::string command : {"run", "validate", "calibrate"}) {
    refused({.words = {command, "none.toml"}, .says = {"none.toml", "cannot be read"}});
    refused({.words = {command, "."}, .says = {"is a folder"}});
    refused({.words = {command, "torn.toml"}, .says = {"torn.toml:1:", "not TOML"}});
    refused({.words = {command, "noise.toml"}, .says = {"noise.toml:1:", "not TOML"}});
  }
  refused({.words = {"run", "empty.toml"}, .says = {"schema = 1", "[[protocol]]", "[run]"}, .lines = 3});
  refused({.words = {"run", "-"}, .says = {"(standard input)"}, .lines = 3});
  refused({.words = {"run", "a.toml", "none.toml"}, .says = {"none.toml"}});
  refused({.words = {"calibrate", "a.toml"}, .says = {"a.toml", "virtual time"}});
  refused({.words = {"calibrate", "a.toml", "-f", "hpo"}, .says = {"--filter hpo: no trial has such an id"}});
}

TEST_F(Mistakes, InSuitesHaveFileLineAndColumn) {
  refused_suite("schema = 1", "schema = 7", {"bad.toml:1:10", "'schema' is 7", "must be 1"});
  refused_suite("iterations = 8", "iteratons = 8", {"bad.toml:5:1", "'iteratons'", "did you mean 'iterations'?"});
  refused_suite("\"hop\"", "\"hopp\"", {"bad.toml:19:8", "'hopp'", "did you mean 'hop'?"});
  refused_suite("backup = 1", "backup = -1", {"bad.toml:20:10", "'backup' = -1", "out of range"});
  refused_suite("backup = 1", "backup = \"one\"", {"bad.toml:20:10", "backup"});
  refused_suite("backup = 1", "backup = 1\nstaleness = 3", {"bad.toml:18:1", "impossible", "backup and staleness"});
  refused_suite("\"bernoulli\"", "\"bernouli\"", {"bad.toml:25:", "bernouli", "bernoulli"});
  refused_suite("pace = \"10ms\"", "pace = \"auto\"", {"virtual time", "pace"});
  refused_suite("name = \"sim\"", "name = \"tcp\"", {"bad.toml:15:8", "unknown transport 'tcp'"});
  refused_suite("iterations = 8", "seconds = 8", {"bad.toml:5:", "seconds"});
}

TEST_F(Mistakes, AreAllToldAtOnce) {
  folder_.write("bad.toml", with(with(small_suite(), "iterations", "iteratons"), "\"hop\"", "\"hopp\""));
  refused({.words = {"run", "bad.toml"}, .says = {"bad.toml:5:1", "bad.toml:19:8"}, .lines = 2});
}

TEST_F(Mistakes, OfPathsNameThem) {
  refused({.words = {"validate", "/dev/zero"}, .says = {"/dev/zero", "no suite is"}});
  const std::string longest(300, 'x');
  refused({.words = {"run", "a.toml", "-o", longest}, .says = {longest, "too long"}, .code = 6});
}

TEST_F(Mistakes, MissingBackendsAreTheEnvironmentsFault) {
  const std::string backends = hopbench(folder_.path(), {"list", "backends"}).out;
  if (backends.find("[unavailable", backends.find("\ncuda")) == std::string::npos) GTEST_SKIP() << "a GPU is there";
  refused({.words = {"run", "a.toml", "--set", "backend=cuda"}, .says = {"'cuda'", "not available"}, .code = 6});
}

TEST_F(Mistakes, MissingNetworkInterfacesAreTheEnvironmentsFault) {
  refused({.words = {"run", "a.toml", "--set", "transport=gloo", "--set", "transport.interface=no0"},
           .says = {"no network interface 'no0'", "ip link"},
           .code = 6});
}

// --- Data files

std::string word(std::uint32_t value) {  // big-endian
  return {char(value >> 24), char(value >> 16), char(value >> 8), char(value)};
}
std::string images(std::uint32_t n) { return word(0x803) + word(n) + word(28) + word(28) + std::string(n * 784, 'x'); }
std::string labels(std::uint32_t n) { return word(0x801) + word(n) + std::string(n, '\1'); }

class DataMistakes : public Mistakes {
 protected:
  DataMistakes() {
    std::filesystem::create_directory(data_);
    zip("train-images-idx3-ubyte", images(40));
    zip("train-labels-idx1-ubyte", labels(40));
    zip("t10k-images-idx3-ubyte", images(10));
    zip("t10k-labels-idx1-ubyte", labels(10));
    folder_.write("a.toml", with(small_suite(), "name = \"quadratic\"\nsize = 64", "name = \"mlp\"\nbatch = 2"));
  }

  std::string file(const std::string& name) const { return data_ + "/" + name + ".gz"; }
  void zip(const std::string& name, const std::string& content) const {
    const gzFile to = gzopen(file(name).c_str(), "wb");
    gzwrite(to, content.data(), unsigned(content.size()));
    gzclose(to);
  }
  Args run(const std::string& path) const {
    return {"run", "a.toml", "--set", "dataset.name=fashion_mnist", "--set", "dataset.path=\"" + path + "\""};
  }
  void refused_data(const Args& says) const { refused({.words = run(data_), .says = says}); }

  const std::string data_ = folder_ / "data";
};

TEST_F(DataMistakes, AreNoneInASoundFolder) {
  const Ended ended = hopbench(folder_.path(), run(data_));
  EXPECT_EQ(ended.code, 0) << ended.err;
}

std::string params_hash(const std::string& folder) {
  const std::string rows = text_of(folder + "/trials.jsonl"), key = "\"params_hash\":\"";
  const std::size_t at = rows.find(key);
  return at == std::string::npos ? "" : rows.substr(at + key.size(), 16);
}

using AugmentedData = DataMistakes;

TEST_F(AugmentedData, AreTheSameInVirtualTimeAndInRealProcesses) {
  const auto hash = [&](const std::string& name, const std::string& transport, const std::string& augment) {
    Args words = run(data_);
    for (const std::string& set : {"transport=\"" + transport + "\"", "augment=\"" + augment + "\""})
      words.insert(words.end(), {"--set", set});
    words.insert(words.end(), {"--filter", "homogeneous/allreduce", "-o", name});
    const Ended ended = hopbench(folder_.path(), words);
    EXPECT_EQ(ended.code, 0) << ended.err;
    return params_hash(folder_ / name);
  };
  const std::string virtual_time = hash("a", "sim", "pad_crop_flip");
  EXPECT_EQ(virtual_time.size(), 16u);
  EXPECT_EQ(virtual_time, hash("b", "gloo", "pad_crop_flip"));
  EXPECT_EQ(virtual_time, hash("d", "shm", "pad_crop_flip"));
  EXPECT_NE(virtual_time, hash("c", "sim", "none"));
}

TEST_F(DataMistakes, NoFolder) { refused({.words = run("nowhere"), .says = {"nowhere"}}); }

TEST_F(DataMistakes, AreNotWhatWasNotFetchedYet) {
  for (const char* more : {"run.seed=2", "epochs=1"}) {
    refused({.words = {"run", "a.toml", "--set", "dataset=\"cifar10\"", "--set", more},
             .says = {"no folder /nowhere/hopbench/cifar10", "`" + source_dir() + "/ci/fetch-data cifar10`"},
             .code = 6,
             .variables = {"XDG_DATA_HOME=/nowhere"}});
  }
}

TEST_F(DataMistakes, OfShippedSuitesOnFetchedDataSayWhatFetchesThem) {
  for (const auto& [suite, data] : {std::pair{"cifar_hetero", "cifar10"}, {"svm_hetero", "spamassassin"}}) {
    for (const char* profile : {"", "quick"}) {
      refused({.words = {"run", source_dir() + "/suites/" + suite + ".toml", "--profile", profile, "--filter",
                         "convergence/one 4x slower/all"},
               .says = {std::string("no folder /nowhere/hopbench/") + data, std::string("ci/fetch-data ") + data + "`"},
               .code = 6,
               .variables = {"XDG_DATA_HOME=/nowhere"}});
    }
  }
}

TEST_F(DataMistakes, OfOwnRowsWithoutAFolder) {
  folder_.write("b.toml", small_suite());
  refused({.words = {"run", "b.toml", "--set", "model.name=\"linear_svm\"", "--set", "model.dataset.name=\"svmlight\"",
                     "--set", "model.size=0"},
           .says = {"svmlight", "train.svm", "model.dataset.path"}});
}

TEST_F(DataMistakes, NoPicturesToCrop) {
  folder_.write("b.toml", small_suite());
  refused({.words = {"run", "b.toml", "--set", "augment=\"pad_crop_flip\""}, .says = {"model.augment", "64x1x1"}});
}

TEST_F(DataMistakes, NoFile) {
  std::filesystem::remove(file("t10k-labels-idx1-ubyte"));
  refused_data({"t10k-labels-idx1-ubyte", data_});
}

TEST_F(DataMistakes, TruncatedFile) {
  const std::string path = file("train-images-idx3-ubyte");
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  refused_data({path});
}

TEST_F(DataMistakes, FileThatIsNoGzip) {
  folder_.write("data/train-images-idx3-ubyte.gz", "<html>404 Not Found</html>");
  refused_data({file("train-images-idx3-ubyte")});
}

TEST_F(DataMistakes, EmptyFile) {
  folder_.write("data/train-labels-idx1-ubyte.gz", "");
  refused_data({file("train-labels-idx1-ubyte")});
}

TEST_F(DataMistakes, ShortContent) {
  zip("train-images-idx3-ubyte", images(40).substr(0, 1000));
  refused_data({file("train-images-idx3-ubyte")});
}

TEST_F(DataMistakes, AnotherCountOfLabelsThanOfImages) {
  zip("train-labels-idx1-ubyte", labels(39));
  refused_data({"39", "40"});
}

TEST_F(DataMistakes, FilesMixedUp) {
  zip("train-labels-idx1-ubyte", images(40));
  refused_data({file("train-labels-idx1-ubyte")});
}

TEST_F(DataMistakes, FewerSamplesThanWorkers) {
  zip("train-images-idx3-ubyte", images(3));
  zip("train-labels-idx1-ubyte", labels(3));
  refused_data({"3"});
}

}  // namespace
}  // namespace hopbench
