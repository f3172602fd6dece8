// Tests how tables look as text and as Markdown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "results/tables/table.h"

namespace hopbench {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const Table kTable{.title = "A title",
                   .columns = {"variant", "n"},
                   .rows = {{"höp", "10"}, {"a|b_c\n\033[31m", "2"}},
                   .notes = {{"a note"}}};

TEST(TextTable, AlignsByCodePointsAndLeavesNoEscapeOfItsContents) {
  EXPECT_EQ(to_text(kTable, false),
            "A title\n"
            "variant            n\n"
            "--------------------\n"
            "höp               10\n"
            "a|b_c \\u001b[31m   2\n"
            "  a note\n");
}

TEST(TextTable, HasColourOnlyWhenAsked) {
  EXPECT_EQ(to_text(kTable, false).find('\033'), std::string::npos);
  EXPECT_THAT(to_text(kTable, true), StartsWith("\033[1mA title\033[0m\n"));
}

TEST(TextTable, WrapsLongNotesAtWords) {
  std::string note;
  for (int i = 0; i < 30; ++i) note += "word" + std::string(i % 2 == 0 ? "s " : " ");
  const std::string text = to_text(Table{.columns = {"a"}, .notes = {{note}}}, false);
  EXPECT_THAT(text, HasSubstr("\n    word"));
  for (std::size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    EXPECT_LE(end - begin, 120u);
  }
}

TEST(TextTable, CopesWithNothingAndWithShortRows) {
  EXPECT_EQ(to_text(Table{}, false), "");
  EXPECT_EQ(to_text(Table{.columns = {"a", "b"}, .rows = {{"x"}}}, false), "a  b\n----\nx\n");
}

TEST(TextTable, OneFormHasTheIntervalsOfAllNumbers) {
  EXPECT_EQ(text_of({.value = 1.43, .n = 3, .interval = Interval{1.38, 1.49}}, kRatioNumber), "1.43x [1.38, 1.49]");
  EXPECT_EQ(text_of({.value = 0.25, .n = 2, .range = Interval{0.2, 0.3}}, kShareNumber), "25 % (20 % .. 30 %)");
  EXPECT_EQ(text_of({.value = 1, .n = 2, .range = Interval{1, 1.0001}}, kRatioNumber), "1.00x");
  EXPECT_EQ(text_of({.value = 40, .n = 1, .beyond = true}), "> 40.00");
  EXPECT_EQ(text_of({}), "-");
}

TEST(JsonTable, HasNumbersTextsAndNothing) {
  const Number rate{.value = 12.5, .n = 3, .range = Interval{10, 13}};
  Cell lost("2 (10 %)", Number{2, 3});
  lost.numbers.push_back({"share", Number{0.1, 3}});
  const Table table{
      .title = "t",
      .columns = {"variant", {"samples/s", "samples/s", "samples/s"}, "gradients lost", "gain", "gain"},
      .rows = {{"hop", Cell(rate, kPlainNumber), lost, "", Cell(Number{}, kRatioNumber, "ratio")}, {"ideal"}},
      .notes = {{"a note"}, {.text = "a fact", .kind = Note::Kind::kFact}}};
  const auto json = nlohmann::json::parse(to_json({&table, 1})).at(0);
  const nlohmann::json& row = json["rows"][0];
  EXPECT_EQ(row["variant"], "hop");
  const nlohmann::json numbers = {{"median", 12.5},
                                  {"low", 10.0},
                                  {"high", 13.0},
                                  {"spread", "least and most"},
                                  {"n", 3},
                                  {"unit", "samples/s"},
                                  {"text", "12.50 (10.00 .. 13.00)"}};
  EXPECT_EQ(row["samples_per_s"], numbers);
  EXPECT_EQ(row["gradients_lost"]["share"]["value"], 0.1);
  EXPECT_TRUE(row["gain"].is_null());
  EXPECT_TRUE(row["gain_2"]["ratio"].is_null());
  EXPECT_TRUE(json["rows"][1]["samples_per_s"].is_null()) << "rows may be shorter than the heads";
  EXPECT_EQ(json["columns"][1]["key"], "samples_per_s");
  EXPECT_EQ(json["notes"][1]["kind"], "fact");
}

TEST(MarkdownTable, EscapesWhatWouldBeMarkup) {
  EXPECT_EQ(to_markdown(kTable),
            "### A title\n\n"
            "| variant | n |\n"
            "| :-- | --: |\n"
            "| höp | 10 |\n"
            "| a\\|b_c \\\\u001b[31m | 2 |\n"
            "\n* a note\n");
}

}  // namespace
}  // namespace hopbench
