// Suites that choose an optimizer: what each key means to which, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "backends/base/error.h"
#include "suites/language/suite.h"

namespace hopbench {
namespace {

using ::testing::HasSubstr;

std::string suite_optimized_by(const std::string& optimizer, const std::string& protocol = "allreduce",
                               const std::string& model = "quadratic") {
  return "schema = 1\nname = \"o\"\n[run]\nworld_size = 4\n[model]\nname = \"" + model +
         "\"\n[compute]\npace = \"5ms\"\n[optimizer]\n" + optimizer + "\n[[protocol]]\nname = \"" + protocol +
         "\"\n[[scenario]]\nname = \"s\"\n";
}

Suite parse_optimizer(const std::string& optimizer) { return parse_suite(suite_optimized_by(optimizer), "o.toml", {}); }

std::string why_refused(const std::string& text) {
  try {
    parse_suite(text, "o.toml", {});
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    return error.what();
  }
  return "accepted";
}

TEST(OptimizerSuite, ChoosesAdamW) {
  const OptimizerSpec o =
      parse_optimizer("name = \"adamw\"\nlr = 0.001\nbeta2 = 0.95\nweight_decay = 0.1").trials.at(0).optimizer;
  EXPECT_EQ(o.kind, OptimizerKind::kAdamW);
  EXPECT_EQ(o.beta1, 0.9f);
  EXPECT_EQ(o.beta2, 0.95f);
  EXPECT_EQ(o.weight_decay, 0.1f);
}

// Hashes of trials with SGD stay as they were, so that old results can still be resumed and compared.
TEST(OptimizerSuite, SgdLeavesNoTraceInTheTrial) {
  const std::string json = to_json(parse_optimizer("lr = 0.1").trials.at(0));
  EXPECT_EQ(json.find("beta"), std::string::npos);
  const TrialSpec sgd = parse_optimizer("name = \"sgd\"").trials.at(0), none = parse_optimizer("").trials.at(0);
  EXPECT_EQ(sgd.hash(), none.hash());
  EXPECT_NE(parse_optimizer("name = \"adamw\"").trials.at(0).hash(), none.hash());
}

TEST(OptimizerSuite, RefusesWhatMeansNothing) {
  const std::string adamw = "name = \"adamw\"\n";
  EXPECT_THAT(why_refused(suite_optimized_by(adamw + "momentum = 0.9")),
              HasSubstr("'momentum' is only allowed with optimizer sgd; for adamw use 'beta1'"));
  EXPECT_THAT(why_refused(suite_optimized_by(adamw + "nesterov = true")),
              HasSubstr("'nesterov' is only allowed with optimizer sgd"));
  EXPECT_THAT(why_refused(suite_optimized_by("beta1 = 0.8")),
              HasSubstr("'beta1' is only allowed with optimizer adamw"));
  EXPECT_THAT(why_refused(suite_optimized_by("epsilon = 1e-6")),
              HasSubstr("'epsilon' is only allowed with optimizer adamw"));
  EXPECT_THAT(why_refused(suite_optimized_by(adamw, "qg_dsgdm")), HasSubstr("puts its own momentum"));
  EXPECT_THAT(why_refused(suite_optimized_by(adamw, "allreduce", "linear_svm")), HasSubstr("are sparse"));
}

// Settings in [optimizer] are for all variants, so a variant with another optimizer does not make it a mistake.
TEST(OptimizerSuite, LetsAVariantHaveAnotherOptimizer) {
  const std::string both =
      suite_optimized_by("momentum = 0.9") + "[[protocol]]\nname = \"dpsgd\"\noptimizer.name = \"adamw\"\n";
  const Suite suite = parse_suite(both, "o.toml", {});
  for (const TrialSpec& spec : suite.trials)
    EXPECT_EQ(spec.optimizer.kind, spec.label == "dpsgd" ? OptimizerKind::kAdamW : OptimizerKind::kSgd);
  EXPECT_THAT(why_refused(both + "optimizer.momentum = 0.5\n"),
              HasSubstr("'momentum' is only allowed with optimizer sgd"));
}

TEST(OptimizerSuite, RefusesASharedValueOnce) {
  const std::string more = "[[protocol]]\nname = \"dpsgd\"\n";
  const std::string why = why_refused(suite_optimized_by("beta1 = 0.8") + more);
  EXPECT_EQ(why.find("is only allowed"), why.rfind("is only allowed")) << why;
}

TEST(LossSuite, IsOnlyForProtocolsThatMayLoseMessages) {
  SuiteOptions lossy;
  lossy.sets = {"network.loss=0.25"};
  EXPECT_EQ(parse_suite(suite_optimized_by("", "r_fast"), "o.toml", lossy).trials.at(0).loss, 0.25);
  EXPECT_THROW(parse_suite(suite_optimized_by("", "dpsgd"), "o.toml", lossy), Error);
  EXPECT_EQ(to_json(parse_optimizer("").trials.at(0)).find("message_loss"), std::string::npos);
}

}  // namespace
}  // namespace hopbench
