// `hopbench reproduce hopbench`.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "backends/base/process/cores.h"
#include "backends/base/text.h"
#include "cli/commands/run.h"
#include "cli/install_paths.h"
#include "cli/output_files.h"
#include "cli/papers/published.h"
#include "cli/tell.h"
#include "results/files/context.h"
#include "results/files/files.h"
#include "results/files/machine.h"
#include "results/files/record_json.h"
#include "results/tables/table.h"
#include "suites/claims/published.h"
#include "suites/language/document.h"

namespace hopbench {
namespace {

namespace fs = std::filesystem;
using FigureJson = nlohmann::ordered_json;

constexpr const char* kFigures = "results/published/hopbench/figures.toml";
constexpr const char* kMeasured = "results/published/hopbench/measured.json";

/// The entries, the last values and the pages. They are read and checked.
struct Book {
  std::string root;
  Published published;
  LastValues values;

  std::vector<Page> pages() const {
    std::vector<Page> all;
    for (const std::string& path : published.pages) {
      const std::optional<std::string> text = read_file(root + "/" + path);
      if (!text) throw usage_error(fmt::format("{}: the page {} cannot be read", kFigures, path));
      all.push_back({path, *text});
    }
    return all;
  }

  void write_pages() const {
    for (const Page& page : pages()) {
      const std::string text = filled(page, published, values);
      if (text == page.text) continue;
      write_file(root + "/" + page.path, text);
      tell(page.path + " is written\n");
    }
  }
};

Book open_book() {
  Book book;
  book.root = published_root();
  if (book.root.empty()) {
    throw usage_error(
        fmt::format("there is no {} here: published figures are measured in a checkout of hopbench. Go to its folder, "
                    "or name it in HOPBENCH_ROOT",
                    kFigures));
  }
  book.published = parse_published(read_suite_file(book.root + "/" + kFigures), kFigures);
  if (const auto text = read_file(book.root + "/" + kMeasured)) book.values = last_values_from_json(*text, kMeasured);
  std::vector<std::string> messages = check_ranges(book.published, book.values);
  for (const std::string& message : check_blocks(book.published, book.pages())) messages.push_back(message);
  if (!messages.empty()) throw usage_error(join(messages, "\n"));
  return book;
}

void check_options(const ReproduceCommand& options, const Published& published) {
  if (!options.profile.empty() || !options.output.empty() || !options.from.empty() || options.kick_the_tires)
    throw usage_error("--profile, --output, --from and --kick-the-tires belong to papers: leave them out");
  if (options.pages && (options.list || options.judged || options.minutes || !options.claims.empty()))
    throw usage_error("--pages runs nothing: leave out --list, --claim, --judged and --minutes");
  std::vector<std::string> ids;
  for (const PublishedClaim& claim : published.claims) ids.push_back(claim.id);
  for (const PublishedTable& table : published.tables) ids.push_back(table.id);
  for (const std::string& id : options.claims) {
    if (std::find(ids.begin(), ids.end(), id) == ids.end())
      throw usage_error(fmt::format("there is no figure '{}'.{} hopbench reproduce hopbench --list shows all of them",
                                    id, did_you_mean(id, ids)));
  }
  const OutputFile outputs[] = {
      {"--json", options.json},
      {"--markdown", options.markdown.empty() ? std::nullopt : std::optional(options.markdown)}};
  std::vector<std::string> inputs = published.pages;
  inputs.insert(inputs.end(), {kFigures, kMeasured});
  for (std::string& file : inputs) file = published_root() + "/" + file;
  check_output_files(outputs, inputs);
}

/// Throws Error(kUsage) if the pages would lose what they show, because its last value is gone or does not fit.
void check_last_values(const Book& book) {
  if (book.values.empty())
    throw usage_error(fmt::format("{} is missing or has no values: restore it from git", kMeasured));
  const std::vector<std::string> messages = check_heads(book.published, book.values);
  if (!messages.empty()) throw usage_error(join(messages, "\n"));
}

/// Lists these figures, or all of them if no ids are given.
std::string list_text(const Book& book, const std::vector<std::string>& ids) {
  const auto listed = [&](const std::string& id) {
    return ids.empty() || std::find(ids.begin(), ids.end(), id) != ids.end();
  };
  Grid grid{"", {}, {{"figure", "kind", "accepted", "last value", "measured", "command"}}};
  const auto last = [&](const std::string& id) {
    const auto found = book.values.find(id);
    return found == book.values.end() ? LastValue{} : found->second;
  };
  for (const PublishedClaim& claim : book.published.claims) {
    if (!listed(claim.id)) continue;
    grid.rows.push_back({claim.id, to_string(claim.kind), Published::range_text(claim), last(claim.id).text,
                         last(claim.id).measured, book.published.run(claim.run).text()});
  }
  for (const PublishedTable& table : book.published.tables) {
    if (!listed(table.id)) continue;
    for (const std::string& run : table.runs) {
      const LastValue value = last(table.part(run));
      grid.rows.push_back({table.part(run), "table", "", fmt::format("{} rows", value.rows.size()), value.measured,
                           book.published.run(run).text()});
    }
  }
  return to_text(grid, false);
}

std::string machine_text() {
  return fmt::format("{} cores, {}, {:.0f} GiB, {}", usable_cores(), cpu_model(""),
                     double(memory_bytes("")) / (1 << 30), kernel());
}

std::string commit_text() {
  const auto context = nlohmann::json::parse(context_json({"reproduce", kHopbench}));
  const auto& build = context.at("hopbench");
  return build.at("commit").get<std::string>().substr(0, 12) + (build.at("changed").get<bool>() ? "+" : "");
}

Grid grid_of(const std::vector<JudgedFigure>& figures) {
  Grid grid{"", {}, {{"figure", "verdict", "value", "accepted", "before"}}};
  for (const JudgedFigure& figure : figures)
    grid.rows.push_back({figure.id, to_string(figure.verdict), figure.shown, figure.range, figure.last});
  return grid;
}

/// Returns a line for each figure that needs one: why it was not run, failed or is undecided.
std::string reasons_text(const std::vector<JudgedFigure>& figures) {
  std::string text;
  for (const JudgedFigure& figure : figures) {
    if (!figure.reason.empty())
      text += fmt::format("{}: {}: {}\n", figure.id, to_string(figure.verdict), figure.reason);
  }
  return text;
}

std::string counts_text(const std::vector<JudgedFigure>& figures) {
  std::vector<std::string> parts;
  for (const PublishedVerdict verdict :
       {PublishedVerdict::kHolds, PublishedVerdict::kRecorded, PublishedVerdict::kFalse, PublishedVerdict::kBusy,
        PublishedVerdict::kNotRun, PublishedVerdict::kFailed}) {
    const auto n = std::count_if(figures.begin(), figures.end(),
                                 [&](const JudgedFigure& figure) { return figure.verdict == verdict; });
    parts.push_back(fmt::format("{} {}", n, to_string(verdict)));
  }
  return fmt::format("{} figures: {}\n", figures.size(), join(parts, ", "));
}

/// Returns "written: 2 of 3 figures; not written: never".
std::string written_text(const std::vector<JudgedFigure>& figures, bool judged) {
  if (judged) return "written: nothing, since --judged only judges\n";
  std::vector<std::string> kept;
  for (const JudgedFigure& figure : figures) {
    if (!figure.written) kept.push_back(figure.id);
  }
  return fmt::format("written: {} of {} figures{}{}\n", figures.size() - kept.size(), figures.size(),
                     kept.empty() ? "" : "; not written: ", join(kept, ", "));
}

std::string figures_json(const std::vector<JudgedFigure>& figures) {
  FigureJson list = FigureJson::array();
  for (const JudgedFigure& figure : figures) {
    FigureJson j{{"figure", figure.id},      {"verdict", to_string(figure.verdict)},
                 {"shown", figure.shown},    {"range", figure.range},
                 {"reason", figure.reason},  {"command", figure.command},
                 {"written", figure.written}};
    if (figure.value) j["value"] = *figure.value;
    if (figure.others) j["others"] = *figure.others;
    list.push_back(std::move(j));
  }
  return FigureJson{{"schema_version", kSchemaVersion}, {"figures", std::move(list)}}.dump(1) + "\n";
}

std::vector<JudgedFigure> measure(const ReproduceCommand& options, Book& book) {
  PublishedWorld world;
  world.run = [&](const PublishedRun& run) { return run_published(run, book.root); };
  world.missing = missing_need;
  world.save = [&](const LastValues& values) {
    write_file(book.root + "/" + kMeasured, to_json(values));
    book.write_pages();
  };
  const std::time_t now = std::time(nullptr);
  world.date = fmt::format("{:%Y-%m-%d}", fmt::gmtime(now));
  world.commit = commit_text();
  world.machine = machine_text();
  const PublishedPlan plan{.ids = options.claims, .judged = options.judged, .minutes = options.minutes};
  return judge_published(book.published, plan, world, book.values);
}

}  // namespace

std::string published_root() {
  std::vector<std::string> roots = data_roots();
  roots.insert(roots.begin(), ".");
  for (const std::string& root : roots) {
    if (fs::exists(root + "/" + kFigures)) return root;
  }
  return "";
}

int command_reproduce_hopbench(const ReproduceCommand& options) {
  Book book = open_book();
  check_options(options, book.published);
  if (options.list) {
    put("-", list_text(book, options.claims));
    return 0;
  }
  if (options.pages) {
    check_last_values(book);
    book.write_pages();
    return 0;
  }
  const std::vector<JudgedFigure> figures = measure(options, book);
  const bool alone = options.json && *options.json == "-";
  const Grid grid = grid_of(figures);
  const std::string written = written_text(figures, options.judged);
  if (!alone) put("-", to_text(grid, false) + "\n" + reasons_text(figures) + counts_text(figures) + written);
  if (alone) tell(written);
  put(options.json, figures_json(figures));
  if (!options.markdown.empty()) put(options.markdown, to_markdown(grid));
  return exit_code_of(figures);
}

}  // namespace hopbench
