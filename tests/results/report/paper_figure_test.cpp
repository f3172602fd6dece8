// Figures, tables and costs for papers: their numbers are the run's, and no name breaks out of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <limits>
#include <optional>
#include <regex>

#include "backends/base/error.h"
#include "results/files/files.h"
#include "results/report/paper_figure.h"
#include "results/tables/cost.h"
#include "results/tables/drawing.h"
#include "results/tables/latex.h"
#include "tests/folder.h"
#include "tests/results/results_samples.h"

namespace hopbench {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

constexpr const char* kHostile = "it's {^_x} @ \\n";

TrialRow rated(const std::string& variant, double samples_per_s, const std::string& scenario = "one slow") {
  TrialRow row = full_row(variant);
  row.labels.scenario = scenario;
  row.record.status = TrialStatus::kOk;
  row.record.samples_per_s = samples_per_s;
  row.record.iters_per_s = samples_per_s / 32;
  return row;
}

std::string error_of(const std::vector<TrialRow>& rows, const std::string& id) {
  try {
    paper_figure(rows, "hop", id);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    return error.what();
  }
  return "none";
}

TEST(PaperFigure, DrawsTheNumbersAndEscapesTheNames) {
  const PaperFigure figure = paper_figure(std::vector{rated("hop", 100), rated(kHostile, 250)}, "hop", "rate");
  // The axis goes to 300: bars are a third and five sixths of it.
  EXPECT_THAT(figure.svg, AllOf(HasSubstr("width=\"3.33in\""), HasSubstr(">300</text>"), Not(HasSubstr("var("))));
  const auto bar = [&](const std::string& name) {
    std::smatch found;
    EXPECT_TRUE(std::regex_search(figure.svg, found, std::regex("width=\"([0-9.]+)\"[^>]*><title>" + name)));
    return std::stod(found[1]);
  };
  EXPECT_NEAR(bar("it&#39;s ") / bar("hop"), 2.5, 0.01);
  EXPECT_THAT(figure.svg, HasSubstr("it&#39;s {^_x} @ \\n: 250"));
  EXPECT_THAT(figure.caption, HasSubstr("n = 1, seeds 18446744073709551615; virtual time over sim; lenet on "));
  EXPECT_THAT(figure.caption, HasSubstr("Readings: hop/H1-H14."));
}

TrialRow converging(std::uint32_t repeat, double loss, const std::string& scenario = "one slow") {
  TrialRow row = rated("hop", 100, scenario);
  row.labels.what = "convergence";
  row.labels.repeat = repeat;
  row.labels.target_loss = 0;
  row.record.curve.clear();
  for (int i = 0; i < 3; ++i)
    row.record.curve.push_back({"mean", Time(std::chrono::seconds(i)), double(i), 10 * i, loss - i, 0, 0});
  return row;
}

TEST(PaperFigure, HasNoPathOfTheSuiteInItsTitle) {
  const std::vector<TrialRow> one{rated("hop", 100)}, two{rated("hop", 100, "a"), rated("hop", 100, "b")};
  const auto titles = [](const std::vector<TrialRow>& rows, const std::optional<std::string>& title) {
    const std::string svg = paper_figure(rows, "hop", "rate", title).svg;
    const std::regex pattern("class=\"title mid\">([^<]*)<");
    std::vector<std::string> found;
    for (std::sregex_iterator i(svg.begin(), svg.end(), pattern), end; i != end; ++i) found.push_back(i->str(1));
    return found;
  };
  EXPECT_THAT(titles(one, {}), IsEmpty());
  EXPECT_THAT(paper_figure(one, "hop", "rate").svg, Not(HasSubstr("one slow")));
  EXPECT_THAT(paper_figure(one, "hop", "rate").caption, HasSubstr("Scenario: one slow."));
  EXPECT_THAT(titles(one, "It's mine"), ElementsAre("It&#39;s mine"));
  EXPECT_THAT(titles(two, {}), ElementsAre("a", "b"));
  EXPECT_THAT(titles(two, "Both"), ElementsAre("Both", "a", "b"));
  EXPECT_THAT(titles(two, ""), IsEmpty());
  EXPECT_THAT(paper_figure(two, "hop", "rate").caption, HasSubstr("Scenarios, from above: a, b."));
}

TEST(PaperFigure, PanelsOfOneScenarioAreToldApartByTheirMeasures) {
  std::vector<TrialRow> rows{rated("hop", 100), rated("hop", 100)};
  rows[1].labels.measure = "other";
  EXPECT_THAT(paper_figure(rows, "hop", "rate").svg, AllOf(HasSubstr(">m, one slow<"), HasSubstr(">other, one slow<")));
}

TEST(PaperFigure, LossesAreMediansWithABandAndTheCaptionSaysIt) {
  const PaperFigure three =
      paper_figure(std::vector{converging(0, 5), converging(1, 4), converging(2, 9)}, "hop", "loss-time");
  EXPECT_THAT(three.svg, AllOf(HasSubstr("class=\"band b0\""), HasSubstr("class=\"line l0 d0\""), HasSubstr(">hop<")));
  EXPECT_THAT(three.caption,
              HasSubstr("lines are medians over the repeats, bands reach from the smallest to the largest"));
  const PaperFigure one = paper_figure(std::vector{converging(0, 5)}, "hop", "loss-time");
  EXPECT_THAT(one.svg, Not(HasSubstr("class=\"band")));
  EXPECT_THAT(one.caption, AllOf(HasSubstr("one repeat of each variant"), Not(HasSubstr("bands"))));
}

TEST(PaperFigure, SaysWhatItCannotDraw) {
  EXPECT_THAT(error_of({rated("hop", 1)}, "rates"), HasSubstr("Did you mean 'rate'?"));
  EXPECT_THAT(error_of({rated("hop", 1)}, "loss-time"), HasSubstr("no trial here has what it shows"));
  std::vector<TrialRow> many;
  for (const char* scenario : {"a", "b", "c", "d", "e"}) many.push_back(rated("hop", 1, scenario));
  EXPECT_THAT(error_of(many, "rate"), HasSubstr("5 panels"));
}

TEST(PaperFigure, IsAnSvgWithoutAnotherProgram) {
  const Folder folder;
  const PaperFigure figure = paper_figure(std::vector{rated("hop", 100), rated(kHostile, 250)}, "hop", "speed-up");
  const char* const path = std::getenv("PATH");
  const std::string usual = path == nullptr ? "" : path;
  setenv("PATH", "/nowhere", 1);
  draw(figure, folder / "it's.svg");
  EXPECT_THROW(draw(figure, folder / "a.pdf"), Error);  // and says what makes it
  setenv("PATH", usual.c_str(), 1);
  EXPECT_EQ(read_file(folder / "it's.svg"), figure.svg);
  EXPECT_THROW(draw(figure, folder / "a.jpg"), Error);
  try {
    draw(figure, folder / "nowhere/a.svg");
    ADD_FAILURE() << "it was drawn into a folder that is not there";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("cannot write " + folder.path() + "/nowhere/a.svg: No such file"));
  }
}

TEST(PaperFigure, IsAPictureByRsvgConvert) {
  if (std::system("rsvg-convert --version >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "rsvg-convert (Debian: librsvg2-bin) is not there";
  const Folder folder;
  const PaperFigure figure = paper_figure(std::vector{converging(0, 5), converging(1, 4)}, "hop", "loss-time");
  draw(figure, folder / "it's.png");
  draw(figure, folder / "it's.pdf");
  EXPECT_THAT(read_file(folder / "it's.png").value_or(""), StartsWith("\x89PNG"));
  EXPECT_THAT(read_file(folder / "it's.pdf").value_or(""), AllOf(StartsWith("%PDF"), HasSubstr("/FontFile")));
}

TEST(Latex, IsBooktabsAndEscapes) {
  const Table table{
      .title = "50 % of #1 & more", .columns = {"variant", "n"}, .rows = {{"x^2 ~ \\y", "<3"}}, .notes = {{"a_b"}}};
  EXPECT_EQ(to_latex(std::vector{table}, {}),
            "% \\usepackage{booktabs}\n\\begin{table}\n  \\centering\n  \\caption{50 \\% of \\#1 \\& more}\n"
            "  \\footnotesize\n  \\setlength{\\tabcolsep}{3pt}\n"
            "  \\begin{tabular}{@{}lr@{}}\n    \\toprule\n    variant & n \\\\\n    \\midrule\n"
            "    x\\^{}2 \\~{} \\textbackslash{}y & $<$3 \\\\\n    \\bottomrule\n  \\end{tabular}\n"
            "\\end{table}\n\\par\\noindent{\\footnotesize\n  a\\_b.\n\\par}\n");
}

TEST(Latex, HasNoControlCharacters) {
  const Table table{
      .title = "a\x1b", .columns = {"variant", "n"}, .rows = {{"two\nlines \x1b[2J", "3"}}, .notes = {{"note\x9b"}}};
  const std::string text = to_latex(std::vector{table}, {});
  EXPECT_THAT(text, AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\x9b"))));
  EXPECT_THAT(text, HasSubstr("    two lines \\textbackslash{}u001b[2J & 3 \\\\\n"));
}

const std::vector<Table> kTwoTables{{.title = "one",
                                     .columns = {"variant",
                                                 "n",
                                                 {"time to target", "time to target, s"},
                                                 {"time held", "time held, s"},
                                                 {"loss", "loss: mean / median / worst rank"},
                                                 "marks"},
                                     .rows = {{"hop", "3", "1", "2", "0.1 / 0.2 / 0.3", "diverged (1 of 3)"},
                                              {"ps", "2 of 3", "4", "5", "0.4 / 0.5 / 0.6"}},
                                     .notes = {{"a note"}, {.text = "a fact", .kind = Note::Kind::kFact}, {"of one"}},
                                     .narrow = {"variant", "time to target"}},
                                    {.title = "two",
                                     .columns = {"variant", "n", "samples/s"},
                                     .rows = {{"hop", "3", "7"}, {"ideal", "3", "9"}},
                                     .notes = {{"a note"}}}};

TEST(Latex, ShowsTheColumnsThatFitAndLosesNeitherRepeatsNorMarks) {
  const std::string text = to_latex(kTwoTables, {});
  EXPECT_THAT(text,
              HasSubstr("    variant & time to target, s \\\\\n    \\midrule\n    hop & 1 \\\\\n    ps & 4 \\\\\n"));
  EXPECT_THAT(text,
              HasSubstr("\\end{tabular}\n  \\par n of hop: 3; ps: 2 of 3\n  \\par marks of hop: diverged (1 of 3)\n"
                        "  \\par a fact\n\\end{table}\n"));
  EXPECT_THAT(text, HasSubstr("    variant & n & samples/s \\\\\n"));
  // Notes stand once, below the last table.
  EXPECT_THAT(text, EndsWith("\\end{table}\n\\par\\noindent{\\footnotesize\n  a note.\n  of one.\n\\par}\n"));
  EXPECT_EQ(text.find("a note"), text.rfind("a note"));
}

TEST(Latex, ShowsTheColumnsThatAreAskedForInTheirOrder) {
  const std::string text = to_latex(kTwoTables, {"loss", "n", "time held"});
  EXPECT_THAT(text, HasSubstr("    hop & 0.1 / 0.2 / 0.3 & 3 & 2 \\\\\n"));
  EXPECT_THAT(text, AllOf(HasSubstr("{@{}lrrr@{}}"), HasSubstr("    variant & n \\\\\n"), Not(HasSubstr("n of"))));
  EXPECT_THAT(to_latex(kTwoTables, {"variant"}), HasSubstr("    hop \\\\\n"));
  EXPECT_THAT(to_latex(kTwoTables, {"samples/s"}), AllOf(Not(HasSubstr("caption{one}")), HasSubstr("\\par n = 3\n")));
}

TEST(Latex, NamesTheColumnsThatThereAre) {
  try {
    to_latex(kTwoTables, {"los"});
    ADD_FAILURE() << "there is no such column";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("a column 'los': known are variant, n, time to target, time held, loss, "
                                              "marks, samples/s."),
                                    HasSubstr("Did you mean 'loss'?")));
  }
}

/// Two workers on two hosts; the second computed half as many samples.
TrialRow placed() {
  TrialRow row = rated("hop", 500);
  RankRecord first = full_rank(), second = full_rank();
  first.server = second.server = false;
  first.rank = 0;
  second.rank = 1;
  first.host = 0;
  second.host = 1;
  first.samples = 200;
  second.samples = 100;
  for (RankRecord* rank : {&first, &second}) {
    rank->gradients = 10;
    rank->gradients_lost = 0;
    rank->bytes_sent = 3000;
    rank->staleness_mean = 0.5;
  }
  first.bytes_to = {1000, 2000};
  second.bytes_to = {3000, 0};
  row.record.ranks = {first, second};
  return row;
}

TEST(Cost, IsOfHostsAndOfTheLinksBetweenThem) {
  const std::vector<Table> tables = cost_tables(std::vector{placed()});
  ASSERT_EQ(tables.size(), 1u);
  // 2 hosts for 2000 s; 6000 bytes for 300 samples, 5000 of them between the hosts.
  EXPECT_THAT(texts_of(tables[0]).at(1), ElementsAre("hop", "1", "2", "4000", "20.00", "0-1: 16.67"));
}

TEST(Cost, WhoPaysIsARowForEachVariant) {
  TrialRow row = placed();
  row.record.ranks.push_back(row.record.ranks[1]);
  row.record.ranks[2].rank = 2;
  row.record.ranks[2].staleness_mean = 2;
  const std::vector<Table> tables = who_pays_tables(std::vector{row}, PayersShown::kSpread);
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_THAT(tables[0].rows, SizeIs(1));
  EXPECT_EQ(tables[0].columns.at(3).title, "mean age, iterations");
  EXPECT_THAT(texts_of(tables[0]).at(1), ElementsAre("hop", "25 % / 25 % / 50 %", "0", "0.5000 / 0.5000 / 2.000", "-"));
  EXPECT_THAT(texts_of(for_a_screen(tables[0])).at(1),
              ElementsAre("hop", "25 % / 25 % / 50 %", "0.5000 / 0.5000 / 2.000"));
}

TEST(Cost, WhoPaysIsToldWhereWorkersCountUnlike) {
  const std::vector<Table> tables = who_pays_tables(std::vector{placed()}, PayersShown::kEachWorker);
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_THAT(texts_of(tables[0]).at(1), ElementsAre("hop, worker 0", "67 %", "0", "0.5000", "-"));
  EXPECT_THAT(texts_of(tables[0]).at(2), ElementsAre("hop, worker 1", "33 %", "0", "0.5000", "-"));
  TrialRow cut = placed();
  cut.record.ranks[1].figures["gradients cut"] = 7;
  EXPECT_EQ(who_pays_tables(std::vector{cut}, PayersShown::kEachWorker)[0].rows.at(1).at(2), "7.000");
  TrialRow even = placed();
  even.record.ranks[1].samples = 200;
  EXPECT_THAT(who_pays_tables(std::vector{even}, PayersShown::kEachWorker), IsEmpty());
  even.labels.split = "dirichlet 0.1";
  even.record.ranks[1].figures["loss on its own samples"] = 1.25;
  EXPECT_EQ(skewed_who_pays(std::vector{even}).at(0).rows.at(0).back(), "1.250");
  even.record.ranks[0].figures["loss on its own samples"] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(skewed_who_pays(std::vector{even}).at(0).rows.at(0).back(), "1.250 / diverged / diverged");
  EXPECT_THAT(skewed_who_pays(std::vector{placed()}), IsEmpty());
}

TEST(Cost, WhatACrashedWorkerHadDoneIsNotKnown) {
  TrialRow row = placed();
  RankRecord crashed;
  crashed.rank = 1;
  crashed.lost = "crash";
  row.record.ranks[1] = crashed;
  const Table table = who_pays_tables(std::vector{row}, PayersShown::kEachWorker).at(0);
  EXPECT_THAT(texts_of(table).at(1), ElementsAre("hop, worker 0", "100 %", "0", "0.5000", "-"));
  EXPECT_THAT(texts_of(table).at(2), ElementsAre("hop, worker 1", "-", "-", "-", "-"));
  EXPECT_THAT(texts_of(who_pays_tables(std::vector{row}, PayersShown::kSpread).at(0)).at(1),
              ElementsAre("hop", "100 %", "0", "0.5000", "-"));
  EXPECT_EQ(table.notes.back().text, "what rank 1 had done died with it: shares are of what the others did");
  EXPECT_THAT(who_pays_tables(std::vector{placed()}, PayersShown::kSpread).at(0).notes.back().text,
              testing::HasSubstr("share: of the samples"));
}

}  // namespace
}  // namespace hopbench
