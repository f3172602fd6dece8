// Tests how tables look as text and as Markdown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "results/tables/table.h"

namespace hopbench {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const Grid kGrid{"A title", {"a note"}, {{"variant", "n"}, {"höp", "10"}, {"a|b_c\n\033[31m", "2"}}};

TEST(TextTable, AlignsByCodePointsAndLeavesNoEscapeOfItsContents) {
  EXPECT_EQ(to_text(kGrid, false),
            "A title\n"
            "variant            n\n"
            "--------------------\n"
            "höp               10\n"
            "a|b_c \\u001b[31m   2\n"
            "  a note\n");
}

TEST(TextTable, HasColourOnlyWhenAsked) {
  EXPECT_EQ(to_text(kGrid, false).find('\033'), std::string::npos);
  EXPECT_THAT(to_text(kGrid, true), StartsWith("\033[1mA title\033[0m\n"));
}

TEST(TextTable, WrapsLongNotesAtWords) {
  std::string note;
  for (int i = 0; i < 30; ++i) note += "word" + std::string(i % 2 == 0 ? "s " : " ");
  const std::string text = to_text(Grid{"", {note}, {{"a"}}}, false);
  EXPECT_THAT(text, HasSubstr("\n    word"));
  for (std::size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    EXPECT_LE(end - begin, 120u);
  }
}

TEST(TextTable, CopesWithNothingAndWithShortRows) {
  EXPECT_EQ(to_text(Grid{}, false), "");
  EXPECT_EQ(to_text(Grid{"", {}, {{"a", "b"}, {"x"}}}, false), "a  b\n----\nx\n");
}

TEST(TextTable, TitlesHaveWordsForPapers) {
  EXPECT_EQ(title_in_words("small / rate / one 4x slower: who pays"),
            "suite small, measure rate, scenario one 4x slower: who pays");
  for (const char* other : {"", "rate / random", "small / tune / rate / random", "a title"})
    EXPECT_EQ(title_in_words(other), other);
}

TEST(MarkdownTable, EscapesWhatWouldBeMarkup) {
  EXPECT_EQ(to_markdown(kGrid),
            "### A title\n\n"
            "| variant | n |\n"
            "| :-- | --: |\n"
            "| höp | 10 |\n"
            "| a\\|b_c \\\\u001b[31m | 2 |\n"
            "\n* a note\n");
}

}  // namespace
}  // namespace hopbench
