// `hopbench list`: every registry of the program, as people read it and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "backends/base/printable.h"
#include "backends/base/process/tell.h"
#include "backends/base/text.h"
#include "backends/compute/backend.h"
#include "backends/transport/wire.h"
#include "cli/commands.h"
#include "models/dataset.h"
#include "models/datasets/dataset_path.h"
#include "models/workload.h"
#include "protocols/node/protocol.h"
#include "protocols/node/topology.h"
#include "results/files/columns.h"
#include "results/files/record_json.h"
#include "results/tables/terms.h"
#include "suites/campaign/install_paths.h"
#include "suites/language/keys.h"
#include "suites/language/network_presets.h"

namespace hopbench {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// An entry of a list. `details` are the lines of -v; `json` holds what is not in the other fields.
struct Item {
  std::string name, summary, unavailable;
  std::vector<std::string> details;
  Json json = Json::object();
  std::string beneath = {};  // a second line
  std::string group = {};    // items of one group stand together, under its name
};
using Items = std::vector<Item>;

std::string range_text(const Knob& knob) {
  if (std::holds_alternative<bool>(knob.fallback)) return "true | false";
  if (std::holds_alternative<std::string>(knob.fallback)) return join(knob.choices, " | ");
  return fmt::format("{} .. {}", knob.low, knob.high);
}

Json knob_json(const Knob& knob) {
  Json j{{"name", knob.name}, {"default", std::visit([](const auto& v) { return Json(v); }, knob.fallback)}};
  if (std::holds_alternative<std::string>(knob.fallback)) {
    j["choices"] = knob.choices;
  } else if (!std::holds_alternative<bool>(knob.fallback)) {
    j["low"] = knob.low;
    j["high"] = knob.high;
  }
  j["meaning"] = knob.meaning;
  j["source"] = knob.source;
  return j;
}

Item protocol_item(const Protocol& protocol) {
  const std::string source = to_string(protocol.source), reading(protocol.reading);
  const bool experimental = is_experimental(protocol, KnobValues(protocol.knobs));
  const std::string family = to_string(protocol.family);
  Item item{std::string(protocol.name), "", "", {}, Json::object(), std::string(protocol.paper), family};
  item.summary = fmt::format("{} [{}{}]", protocol.summary, provenance(source), experimental ? ", experimental" : "");
  item.details.push_back("rests on: " + (protocol.source == Source::kOwn ? "own, proposed here" : provenance(source)) +
                         (reading.empty() ? "" : ", reading " + reading) + (experimental ? ", experimental" : ""));
  const bool same = same_everywhere(protocol, KnobValues(protocol.knobs));
  item.details.push_back(same ? "the same parameters on every transport, whoever is slow"
                              : "its parameters depend on who is faster");
  item.json["family"] = family;
  item.json["paper"] = protocol.paper;
  item.json["same_everywhere"] = same;
  item.json["source"] = source;
  item.json["reading"] = reading;
  item.json["experimental"] = experimental;
  item.json["knobs"] = Json::array();
  for (const Knob& knob : protocol.knobs) {
    item.details.push_back(fmt::format("{} = {}  ({}; {})  {}", knob.name, to_string(knob.fallback), range_text(knob),
                                       provenance(knob.source), knob.meaning));
    item.json["knobs"].push_back(knob_json(knob));
  }
  return item;
}

Items protocol_items() {
  Items items;
  std::vector<const Protocol*> all(protocols().begin(), protocols().end());
  std::stable_sort(all.begin(), all.end(), [](auto* a, auto* b) { return a->family < b->family; });
  for (const Protocol* protocol : all) items.push_back(protocol_item(*protocol));
  return items;
}

Items model_items() {
  Items items;
  for (const ModelEntry& entry : models()) {
    const std::string data = entry.default_dataset;
    items.push_back({entry.name, entry.summary, "", {"data set: " + (data.empty() ? "none" : data)}});
    items.back().json["default_dataset"] = data;
  }
  return items;
}

Items dataset_items() {
  Items items;
  for (const DatasetEntry& entry : datasets()) {
    const std::string& path = entry.default_path;
    std::string missing;
    if (!path.empty() && !fs::exists(path)) missing = path + " is not there: " + callable(entry.get);
    const std::string from = entry.get.empty() ? "nothing is read"
                             : path.empty()    ? "read from model.dataset.path"
                                               : "read from " + path;
    items.push_back({entry.name, entry.summary, missing, {from}});
    items.back().json["default_path"] = path;
  }
  return items;
}

Items backend_items() {
  Items items;
  for (const BackendEntry& entry : backends()) items.push_back({entry.name, entry.summary, entry.unavailable(), {}});
  return items;
}

Items transport_items() {
  Items items;
  for (const Transport& entry : transports()) items.push_back({entry.name, entry.summary, entry.unavailable(), {}});
  items.push_back({"sim", "virtual time: all ranks in one process, deterministic", "", {}});
  return items;
}

Items topology_items() {
  Items items;
  for (const auto& [name, summary] : topologies()) items.push_back({name, summary, "", {}});
  items.push_back({"edges", "the directed edges that the suite lists", "", {}});
  return items;
}

Items network_items() {
  Items items;
  for (const NetworkPreset& preset : network_presets()) {
    Item item{preset.name, preset.summary, "", {}};
    std::string keys;
    for (const PresetValue& is : preset.values) {
      item.details.push_back(fmt::format("{} = {}: {}", is.path, is.text, is.source));
      keys += fmt::format("{}`{} = {}` ({})", keys.empty() ? "" : "; ", is.path, is.text, is.source);
      item.json["keys"][is.path] = is.text;
    }
    item.json["row"] = fmt::format("| `{}` | {} | {} |", preset.name, preset.summary, keys);
    items.push_back(std::move(item));
  }
  return items;
}

Items suite_items() {
  Items items;
  for (const std::string& file : suite_files()) {
    Item item{file, "", "", {}};
    try {
      const Suite suite = load_suite(file, {});
      item.summary = suite.summary;
      item.json["suite"] = suite.name;
      item.json["trials"] = suite.trials.size();
      item.details.push_back(fmt::format("{} trials; speed-ups refer to {}", suite.trials.size(), suite.reference));
    } catch (const Error& error) {
      const std::string what = error.what();
      item.unavailable = what.substr(0, what.find('\n'));
    }
    items.push_back(std::move(item));
  }
  return items;
}

Items key_items() {
  Items items;
  for (const SuiteKey& key : suite_keys()) {
    Item item{key.path, key.meaning, "", {}};
    const std::string fallback = key.fallback == nullptr ? "required"
                                 : *key.fallback == '\0' ? "not set"
                                                         : key.fallback;
    item.details.push_back(fmt::format("{}; default: {}", type_text(key), fallback));
    item.json["type"] = type_text(key);
    item.json["default"] = key.fallback == nullptr ? Json(nullptr) : Json(key.fallback);
    item.json["required"] = key.fallback == nullptr;
    item.json["row"] = markdown_row(key);
    items.push_back(std::move(item));
  }
  return items;
}

Items column_items() {
  Items items;
  for (const Column& column : columns()) {
    const std::string table = *column.table == '\0' ? "every table" : column.table;
    Item item{
        column.name, fmt::format("{}{}{}", column.meaning, *column.unit == '\0' ? "" : ", in ", column.unit), "", {}};
    item.details.push_back(table);
    item.json["table"] = table;
    item.json["unit"] = column.unit;
    item.json["row"] = fmt::format("| `{}` | {} | {} |", column.name, column.unit, column.meaning);
    items.push_back(std::move(item));
  }
  return items;
}

struct Listing {
  const char* name;
  Items (*items)();
};

constexpr Listing kListings[] = {
    {"protocols", protocol_items}, {"models", model_items},         {"datasets", dataset_items},
    {"backends", backend_items},   {"transports", transport_items}, {"topologies", topology_items},
    {"networks", network_items},   {"suites", suite_items},         {"keys", key_items},
    {"columns", column_items}};

/// Returns false for files, which would have to be read, and for columns, which no suite names.
bool has_names_of_suites(const Listing& listing) {
  const std::string_view list = listing.name;
  return list != "suites" && list != "columns";
}

void print_json(const std::string& what, const Items& items) {
  Json list = Json::array();
  for (const Item& item : items) {
    Json j{{"name", item.name}, {"summary", item.summary}, {"available", item.unavailable.empty()}};
    if (!item.unavailable.empty()) j["unavailable"] = item.unavailable;
    j.update(item.json);
    list.push_back(std::move(j));
  }
  const Json all{{"schema_version", kSchemaVersion}, {what, std::move(list)}};
  fmt::print("{}\n", all.dump(1, ' ', false, Json::error_handler_t::replace));
}

void print_item(const Item& item, std::size_t width, bool verbose) {
  const std::string why = item.unavailable.empty() ? "" : fmt::format(" [unavailable: {}]", item.unavailable);
  fmt::print("{:<{}}  {}{}\n", item.name, width, item.summary, why);
  if (!item.beneath.empty()) fmt::print("{:<{}}  {}\n", "", width, item.beneath);
  if (!verbose) return;
  for (const std::string& line : item.details) fmt::print("    {}\n", line);
}

void print_text(const Items& items, bool verbose) {
  std::size_t width = 0;
  for (const Item& item : items) width = std::max(width, item.name.size());
  std::string group;
  for (const Item& item : items) {
    if (item.group != group) fmt::print("{}{}:\n\n", group.empty() ? "" : "\n", item.group);
    group = item.group;
    print_item(item, width, verbose);
  }
  if (items.empty()) tell("there are none here\n");
}

}  // namespace

const std::vector<std::string>& listable() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Listing& listing : kListings) all.emplace_back(listing.name);
    return all;
  }();
  return names;
}

std::vector<std::string> suite_files() {
  std::vector<std::string> folders{"suites"};
  std::error_code none;
  for (const std::string& root : data_roots()) {
    if (!fs::equivalent(root + "/suites", "suites", none)) folders.push_back(root + "/suites");
  }
  std::vector<std::string> files;
  for (const std::string& folder : folders) {
    for (fs::recursive_directory_iterator at(folder, none), end; at != end; at.increment(none)) {
      // expected.toml holds the claims of a paper, candidates.toml the protocols that hopbench advise compares.
      const fs::path& path = at->path();
      if (path.extension() == ".toml" && path.filename() != "expected.toml" && path.filename() != "candidates.toml")
        files.push_back(path.string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> names_in_lists() {
  std::set<std::string> names;
  for (const Listing& listing : kListings) {
    if (!has_names_of_suites(listing)) continue;
    for (const Item& item : listing.items()) names.insert(last_part(item.name));
  }
  return {names.begin(), names.end()};
}

std::vector<ListEntry> find_in_lists(const std::string& name) {
  std::vector<ListEntry> found;
  for (const Listing& listing : kListings) {
    if (!has_names_of_suites(listing)) continue;
    const std::string list = listing.name;
    for (Item& item : listing.items()) {
      const bool is_key = list == "keys" && item.name.ends_with("." + name);
      if (item.name == name || is_key) found.push_back({list, std::move(item.name), std::move(item.summary)});
    }
  }
  if (!found.empty()) return found;
  for (const SuiteKey& key : suite_keys()) {
    const std::vector<std::string> choices = key.choices == nullptr ? std::vector<std::string>() : key.choices();
    if (std::find(choices.begin(), choices.end(), name) != choices.end())
      found.push_back({"keys", fmt::format("{} = \"{}\"", key.path, name), key.meaning});
  }
  return found;
}

int command_list(const ListOptions& options) {
  for (const Listing& listing : kListings) {
    if (options.what != listing.name) continue;
    const Items items = listing.items();
    options.json ? print_json(options.what, items) : print_text(items, options.verbose);
    return static_cast<int>(ExitCode::kOk);
  }
  if (options.what.empty()) throw usage_error("list needs to know what to list: " + join(listable(), ", "));
  throw usage_error("nothing to list under '" + quotable(options.what) + "': known are " + join(listable(), ", ") +
                    "." + did_you_mean(options.what, listable()));
}

}  // namespace hopbench
