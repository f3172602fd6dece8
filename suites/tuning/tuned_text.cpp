// Writes the settings found into the suite's own text. Comments and layout stay. The result is read again, which checks
// that every edit means what it should.
#include <algorithm>

#include <fmt/format.h>

#include "suites/language/draft.h"
#include "suites/tuning/tune.h"

namespace hopbench {
namespace {

using T = Value::Type;

/// Changes of a text, each at a place of the original.
class Edits {
 public:
  explicit Edits(const std::string& text) : text_(text) {
    for (std::size_t at = 0; at != std::string::npos; at = next_line(at)) lines_.push_back(at);
  }

  /// Returns the offset of the character at a place. Columns count characters, not bytes.
  std::size_t offset(const SourceLocation& place) const {
    std::size_t at = lines_.at(std::size_t(place.line - 1));
    for (int column = 1; column < place.column && at < text_.size(); ++column) {
      do ++at;
      while (at < text_.size() && (static_cast<unsigned char>(text_[at]) & 0xC0) == 0x80);
    }
    return at;
  }
  char at(const SourceLocation& place) const {
    const std::size_t found = offset(place);
    return found < text_.size() ? text_[found] : '\0';
  }

  void replace_token(const SourceLocation& place, const std::string& with) {
    const std::size_t begin = offset(place);
    std::size_t end = begin;
    if (end < text_.size() && (text_[end] == '"' || text_[end] == '\'')) {
      end = std::min(text_.find(text_[begin], begin + 1), text_.size() - 1) + 1;
    } else {
      end = std::min(text_.find_first_of(",]} \t\r\n#", begin), text_.size());
    }
    edits_.push_back({begin, end - begin, with});
  }
  void insert_after(const SourceLocation& place, const std::string& words) {
    edits_.push_back({offset(place) + 1, 0, words});
  }
  void add_line_below(const SourceLocation& place, const std::string& line) {
    const std::size_t at = std::size_t(place.line) < lines_.size() ? lines_[std::size_t(place.line)] : text_.size();
    const bool torn = at == text_.size() && !text_.empty() && text_.back() != '\n';
    edits_.push_back({at, 0, (torn ? "\n" : "") + line + "\n"});
  }

  std::string apply() {
    std::string text = text_;
    std::stable_sort(edits_.begin(), edits_.end(), [](const Edit& a, const Edit& b) { return a.at < b.at; });
    for (auto edit = edits_.rbegin(); edit != edits_.rend(); ++edit) text.replace(edit->at, edit->length, edit->with);
    return text;
  }

 private:
  struct Edit {
    std::size_t at, length;
    std::string with;
  };
  std::size_t next_line(std::size_t at) const {
    const std::size_t end = text_.find('\n', at);
    return end == std::string::npos ? end : end + 1;
  }

  const std::string& text_;
  std::vector<std::size_t> lines_;  // where each begins
  std::vector<Edit> edits_;
};

// Adds `key = value` to a variant's table, which may stand below a [[protocol]] or between braces.
void add_key(Edits& edits, const Value& block, const std::string& key, const std::string& value) {
  if (edits.at(block.place) == '{') {
    edits.insert_after(block.place, fmt::format(" {} = {},", key, value));
  } else {
    edits.add_line_below(block.find("name")->place, fmt::format("{} = {}", key, value));
  }
}

void set_optimizer(Edits& edits, const Value& block, const std::string& key, const std::string& value) {
  const Entry* own = block.find("optimizer");
  if (own == nullptr) return add_key(edits, block, "optimizer." + key, value);
  if (const Entry* old = own->value.find(key)) return edits.replace_token(old->value.place, value);
  const char first = edits.at(own->value.place);
  if (first == '{') {
    edits.insert_after(own->value.place, fmt::format(" {} = {}{}", key, value, own->value.entries.empty() ? " " : ","));
  } else if (first == '[') {  // [protocol.optimizer]
    edits.add_line_below(own->value.place, fmt::format("{} = {}", key, value));
  } else {  // optimizer.nesterov = true
    add_key(edits, block, "optimizer." + key, value);
  }
}

void set_knob(Edits& edits, const Value& block, const std::string& knob, const std::string& value) {
  constexpr std::string_view kOptimizer = "optimizer.";
  if (knob.starts_with(kOptimizer)) return set_optimizer(edits, block, knob.substr(kOptimizer.size()), value);
  if (const Entry* old = block.find(knob)) return edits.replace_token(old->value.place, value);
  add_key(edits, block, toml_key(knob), value);
}

void set_tuned(Edits& edits, const Value& root) {
  if (const Entry* old = root.find("tuned")) return edits.replace_token(old->value.place, "true");
  edits.add_line_below(root.find("schema")->place, "tuned = true");
}

std::string variant_record(const Tuning& tuning, std::size_t v, const TuneChoice& choice) {
  const TuneSetting& setting = tuning.variants[v].settings[choice.setting];
  const auto trial = std::find_if(tuning.trials.begin(), tuning.trials.end(),
                                  [&](const TuneTrial& t) { return t.variant == v && t.setting == choice.setting; });
  std::string text = fmt::format("label = {}, lr = {}", toml_text(tuning.variants[v].label), toml_real(setting.lr));
  if (!setting.knobs.empty()) text += ", knobs = " + toml_text(setting.knobs_text());
  if (tuning.target_loss > 0 && choice.samples < 1e30) text += ", samples = " + toml_real(choice.samples);
  if (choice.loss < 1e30) text += ", loss = " + toml_real(choice.loss);
  if (choice.edge) text += ", edge = true";
  return fmt::format("  {{ {}, settings = \"{}\" }},\n", text, settings_mark(trial->spec));
}

std::string record(const Tuning& tuning, const std::vector<TuneChoice>& choices, const std::string& by) {
  std::string text = "\n[tuning]  # written by hopbench tune; a run checks it against the suite's settings\n";
  text += fmt::format("by = {}\nmeasure = {}\nscenario = {}\n", toml_text(by), toml_text(tuning.measure),
                      toml_text(tuning.scenario));
  text += fmt::format("trials = {}\nrepeats = {}\ndraws = \"seed {}\"\nlr = [{}, {}]\n",
                      tuning.variants.front().settings.size(), tuning.repeats, tuning.trials.front().spec.seed,
                      toml_real(tuning.low), toml_real(tuning.high));
  std::string with;
  const auto add = [&](const std::string& word) { with += (with.empty() ? "" : ", ") + toml_text(word); };
  if (!tuning.options.profile.empty()) add("--profile " + tuning.options.profile);
  for (const std::string& set : tuning.options.sets) add("--set " + set);
  if (!with.empty()) text += "with = [" + with + "]\n";
  text += "variants = [\n";
  for (std::size_t v = 0; v < choices.size(); ++v) text += variant_record(tuning, v, choices[v]);
  return text + "]\n";
}

std::string edited(const Tuning& tuning, const Value& root, const std::vector<TuneChoice>& choices) {
  Edits edits(tuning.text);
  set_tuned(edits, root);
  const std::vector<Value>& blocks = root.find("protocol")->value.items;
  for (std::size_t v = 0; v < choices.size(); ++v) {
    const TuneSetting& setting = tuning.variants[v].settings[choices[v].setting];
    set_optimizer(edits, blocks[v], "lr", toml_real(setting.lr));
    for (const auto& [knob, value] : setting.knobs) set_knob(edits, blocks[v], knob, value);
  }
  return edits.apply();
}

}  // namespace

std::string tuned_text(const Tuning& tuning, const std::vector<TuneChoice>& choices, const std::string& by) {
  Mistakes mistakes;
  const Value root = *parse_document(tuning.text, tuning.suite.file, mistakes);
  std::string text = edited(tuning, root, choices);
  if (!text.empty() && text.back() != '\n') text += '\n';
  text += record(tuning, choices, by);
  std::string why;
  try {
    const Suite suite = parse_suite(text, tuning.suite.file, tuning.options);
    if (suite.tuned) return text;
    why = suite.tuning_note;
  } catch (const SuiteError& error) {
    why = error.mistakes().front().text();
  }
  throw usage_error(
      fmt::format("{}: settings cannot be written into a suite of this form (write a [[protocol]] block "
                  "for each variant, with its name on a line of its own, and no learning rate in a "
                  "profile): {}",
                  tuning.suite.file, why));
}

}  // namespace hopbench
