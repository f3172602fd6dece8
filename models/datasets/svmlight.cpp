#include "models/datasets/svmlight.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "backends/base/error.h"
#include "backends/base/process/cores.h"
#include "models/datasets/column_set.h"
#include "models/datasets/content.h"
#include "models/datasets/sparse_cache.h"

namespace hopbench {
namespace {

namespace fs = std::filesystem;

/// A place where the text is malformed, and the reason.
struct Mistake {
  const char* at;
  std::string why;
  std::string remedy = "mend the line or get the file again";
};

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
bool ends_token(char c) { return is_blank(c) || c == '\n' || c == '#'; }

/// Returns the token at `at` in quotes, shortened if it is long, for a message.
std::string token(const char* at) {
  std::string text;
  for (; !ends_token(*at) && text.size() < 24; ++at) text += *at >= 32 && *at < 127 ? *at : '?';
  return "'" + text + (ends_token(*at) ? "'" : "...'");
}

/// The rows of some whole lines of the text. `offsets` holds the lengths of rows; columns are numbered as in the file.
struct Piece {
  SparseVectors rows;
  std::optional<Mistake> mistake;
};

/// A reader of whole lines. The newline at the end of the last line stops every search.
class Lines {
 public:
  Lines(std::span<const char> text, ColumnSet& used, SparseVectors& to)
      : at_(text.data()), end_(text.data() + text.size()), used_(used), to_(to) {
    to_.columns.reserve(text.size() / 8);
    to_.values.reserve(text.size() / 8);
  }
  void read() {
    while (at_ < end_) read_line();
  }

 private:
  void skip_blanks() {
    while (is_blank(*at_)) ++at_;
  }
  bool at_end_of_row() const { return *at_ == '\n' || *at_ == '#'; }

  void read_line() {
    skip_blanks();
    if (!at_end_of_row()) {
      to_.labels.push_back(read_number("label"));
      const std::size_t first = to_.columns.size();
      std::uint32_t last = 0;
      for (skip_blanks(); !at_end_of_row(); skip_blanks()) last = read_entry(last);
      to_.offsets.push_back(to_.columns.size() - first);
    }
    if (*at_ == '#') at_ = static_cast<const char*>(std::memchr(at_, '\n', static_cast<std::size_t>(end_ - at_)));
    ++at_;
  }

  std::uint32_t read_entry(std::uint32_t last) {
    std::uint32_t column = 0;
    const char* const begin = at_;
    const auto [stop, error] = std::from_chars(at_, end_, column);
    if (error == std::errc::result_out_of_range)
      throw Mistake{begin, fmt::format("column {} is out of range: 1 to {}", token(begin), ~std::uint32_t{0})};
    if (error != std::errc() || *stop != ':')
      throw Mistake{begin, fmt::format("{} where COLUMN:VALUE was expected", token(begin))};
    if (column == 0)
      throw Mistake{begin, "column 0",
                    "columns count from 1, and this file counts from 0: add 1 to each (scikit-learn: "
                    "dump_svmlight_file(..., zero_based=False))"};
    if (column <= last)
      throw Mistake{begin, fmt::format("column {} after column {}: they must ascend within a line", column, last)};
    at_ = stop + 1;
    const float value = read_number("value");
    if (value != 0) {
      used_.add(column);
      to_.columns.push_back(column);
      to_.values.push_back(value);
    }
    return column;
  }

  float read_number(const char* what) {
    const char* const begin = at_;
    if (*at_ == '+' && at_[1] != '-') ++at_;  // from_chars does not accept a plus
    float value = 0;
    auto [stop, error] = std::from_chars(at_, end_, value);
    if (error == std::errc::result_out_of_range) value = rounded(begin, what);
    if (*stop == ':' && stop != at_) throw Mistake{begin, fmt::format("{}: the {} is missing", token(begin), what)};
    if (error == std::errc::invalid_argument || !ends_token(*stop))
      throw Mistake{begin, fmt::format("{} is not a number: the {} must be one", token(begin), what)};
    if (!std::isfinite(value)) throw Mistake{begin, fmt::format("the {} is {}: it must be finite", what, token(begin))};
    at_ = stop;
    return value;
  }

  /// Rounds a number that no float can hold. Returns 0 if it is too small; throws Mistake otherwise.
  float rounded(const char* begin, const char* what) const {
    double value = 0;
    const auto error = std::from_chars(at_, end_, value).ec;
    if (error == std::errc::result_out_of_range || std::abs(value) > 1)
      throw Mistake{begin, fmt::format("the {} {} is out of a float's range", what, token(begin))};
    return static_cast<float>(value);
  }

  const char *at_, *end_;
  ColumnSet& used_;
  SparseVectors& to_;
};

/// Calls work(thread, i) for each i < count, on `threads` threads. If calls throw, rethrows one of their exceptions.
template <class Work>
void on_threads(std::size_t threads, std::size_t count, const Work& work) {
  std::atomic<std::size_t> next{0};
  std::vector<std::exception_ptr> failures(threads);
  const auto turn = [&](std::size_t thread) {
    try {
      for (std::size_t i; (i = next++) < count;) work(thread, i);
    } catch (...) {
      failures[thread] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t t = 1; t < threads; ++t) others.emplace_back(turn, t);
    turn(0);
  }
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

/// Returns the text cut after newlines into units of about `unit` bytes. The text must end with a newline.
std::vector<std::span<const char>> cut(std::span<const char> text, std::size_t unit) {
  std::vector<std::span<const char>> units;
  while (!text.empty()) {
    const std::size_t begin = std::min(std::max<std::size_t>(unit, 1), text.size()) - 1;
    const auto* end = static_cast<const char*>(std::memchr(text.data() + begin, '\n', text.size() - begin));
    units.push_back(text.first(static_cast<std::size_t>(end + 1 - text.data())));
    text = text.subspan(units.back().size());
  }
  return units;
}

[[noreturn]] void refuse(const fs::path& file, std::span<const char> text, const Mistake& mistake) {
  const auto line = 1 + std::count(text.data(), mistake.at, '\n');
  throw usage_error(
      fmt::format("cannot use data file {}: at line {}: {}: {}", file.string(), line, mistake.why, mistake.remedy));
}

/// Returns the pieces as one data set, with columns renumbered. Frees each piece once it is copied.
SparseDataset joined(std::vector<Piece>& pieces, ColumnSet& used, std::size_t threads) {
  SparseVectors all;
  all.original = used.number();
  std::vector<std::size_t> first_row{0}, first_value{0};
  for (const Piece& piece : pieces) {
    first_row.push_back(first_row.back() + piece.rows.labels.size());
    first_value.push_back(first_value.back() + piece.rows.values.size());
  }
  all.offsets.resize(first_row.back() + 1);
  all.labels.resize(first_row.back());
  all.columns.resize(first_value.back());
  all.values.resize(first_value.back());
  on_threads(threads, pieces.size(), [&](std::size_t, std::size_t p) {
    const SparseVectors rows = std::exchange(pieces[p].rows, {});
    std::uint64_t end = first_value[p];
    for (std::size_t r = 0; r < rows.labels.size(); ++r) {
      all.labels[first_row[p] + r] = rows.labels[r];
      all.offsets[first_row[p] + r + 1] = end += rows.offsets[r];
    }
    std::copy(rows.values.begin(), rows.values.end(), all.values.data() + first_value[p]);
    for (std::size_t i = 0; i < rows.columns.size(); ++i) all.columns[first_value[p] + i] = used.place(rows.columns[i]);
  });
  return make_sparse(std::move(all));
}

/// A text that becomes rows while more and more of it is there.
class Parser {
 public:
  Parser(const fs::path& file, const SvmlightOptions& options)
      : file_(file),
        unit_(options.unit),
        threads_(std::size_t(options.threads > 0 ? options.threads : usable_cores())) {}

  /// Reads the lines that `text` has and the last call's had not. Throws if a line is wrong.
  void read(std::span<const char> text, std::size_t unit) {
    const std::size_t whole = std::size_t(text.rend() - std::find(text.rbegin(), text.rend(), '\n'));
    if (whole <= read_) return;
    const auto units = cut(text.subspan(read_, whole - read_), unit);
    const std::size_t first = pieces_.size();
    pieces_.resize(first + units.size());
    on_threads(threads_, units.size(), [&](std::size_t thread, std::size_t u) {
      Piece& piece = pieces_[first + u];
      try {
        Lines(units[u], used_[thread], piece.rows).read();
      } catch (const Mistake& mistake) {
        piece.mistake = mistake;
      }
    });
    for (std::size_t p = first; p < pieces_.size(); ++p) {
      if (pieces_[p].mistake) refuse(file_, text, *pieces_[p].mistake);
      if (!pieces_[p].rows.labels.empty()) last_row_ = whole;
    }
    read_ = whole;
  }

  /// Reads what there is once kBatch of it is new. Refuses a text that goes on and on without a row.
  void watch(std::span<const char> text) {
    constexpr std::size_t kBatch = std::size_t{4} << 20, kLongest = 2 * kBatch;
    if (text.size() - read_ >= kBatch) read(text, kBatch / threads_);
    if (text.size() - last_row_ <= kLongest) return;
    refuse(file_, text,
           {text.data() + last_row_, "more than 8 MiB without the end of a row, which a compressed file may not have"});
  }

  SparseDataset finish(std::span<const char> text) {
    if (text.empty()) refuse(file_, text, {text.data(), "the file is empty"});
    if (text.back() != '\n')
      refuse(file_, text, {&text.back(), "the last line does not end: the file was cut, or lacks its last newline"});
    read(text, unit_);
    for (std::size_t t = 1; t < threads_; ++t) used_[0].add(used_[t]);
    SparseDataset data = joined(pieces_, used_[0], threads_);
    if (data.rows() == 0) refuse(file_, text, {&text.back(), "the file ends without a row"});
    return data;
  }

 private:
  const fs::path& file_;
  const std::size_t unit_, threads_;
  std::vector<Piece> pieces_;
  std::vector<ColumnSet> used_ = std::vector<ColumnSet>(threads_);
  std::size_t read_ = 0, last_row_ = 0;  // bytes of the text up to there
};

SparseDataset read_text(std::span<const char> text, Parser& parser, const fs::path& file, bool cache) {
  if (!cache) return parser.finish(text);
  const std::uint64_t sum = checksum(text);
  for (const fs::path& cached : {cache_beside(file), cache_elsewhere(sum)})
    if (auto data = open_cached(cached, sum)) return *std::move(data);
  SparseDataset data = parser.finish(text);
  for (const fs::path& cached : {cache_beside(file), cache_elsewhere(sum)})
    if (write_cached(cached, sum, data)) break;
  return data;
}

std::span<const char> as_text(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

SparseDataset read_svmlight(const fs::path& file, const SvmlightOptions& options) {
  Parser parser(file, options);
  if (file.extension() == ".gz") {
    const auto watch = [&](std::span<const std::uint8_t> so_far) { parser.watch(as_text(so_far)); };
    const Content content = read_content(file, {}, options.largest_compressed, watch);
    return read_text(as_text({content.data(), content.size()}), parser, file, options.cache);
  }
  const auto mapped = map_file(file);
  if (!mapped && errno != 0)
    throw usage_error(fmt::format("cannot open data file {}: {}", file.string(), std::strerror(errno)))
        .as(FailureKind::kEnvironment);
  return read_text(mapped ? *mapped : std::span<const char>(), parser, file, options.cache);
}

SparsePair read_svmlight(const fs::path& train, const fs::path& test, const SvmlightOptions& options) {
  const SparseDataset data = read_svmlight(train, options);
  return {data, in_columns_of(read_svmlight(test, options), data)};
}

}  // namespace hopbench
