// The pages that show published figures: blocks of Markdown whose content is written by `hopbench reproduce hopbench`.
#pragma once

#include <string>
#include <vector>

#include "results/judge/published.h"

namespace hopbench {

struct Page {
  std::string path;  // from the repository's root
  std::string text;
};

/// The text between <!-- measured: ID --> and <!-- /measured -->.
struct MeasuredBlock {
  std::string id;
  std::size_t begin = 0, end = 0;  // of the content, in bytes
  int line = 0;                    // of the first marker, from 1
  bool inside_line = false;        // both markers are in one line
};

/// The ID of the block that lists a page's runs.
inline constexpr const char* kRunsBlock = "runs";

/// Returns the blocks in the order of the page. Error(kUsage), "PATH:LINE: ...", for a marker without its other half, a
/// block in a block, a block within a line that begins the line, and a marker of a longer block that shares its line.
std::vector<MeasuredBlock> blocks_of(const Page& page);

/// Returns the page with the content of every block replaced by the last value of its entry. A block whose entry has no
/// value stays as it is. A second call changes nothing.
std::string filled(const Page& page, const Published& published, const LastValues& values);

/// Returns a message for each block without an entry, each entry without a block, a table in a line, a claim on lines
/// of its own, and a page that has figures within lines and no block `runs`, or two.
std::vector<std::string> check_blocks(const Published& published, const std::vector<Page>& pages);

/// Returns a message for each table whose last rows do not fit its columns.
std::vector<std::string> check_heads(const Published& published, const LastValues& values);

/// Returns a message for each entry without a last value, value without an entry, and page that shows something else.
std::vector<std::string> check_values(const Published& published, const LastValues& values,
                                      const std::vector<Page>& pages);

}  // namespace hopbench
