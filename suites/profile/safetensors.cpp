#include "suites/profile/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <tuple>
#include <utility>

#include "backends/base/error.h"
#include "backends/base/json_value.h"
#include "backends/base/printable.h"

namespace hopbench {
namespace {

using Json = nlohmann::json;

struct StoredTensor {
  std::string name;
  std::uint64_t from = 0, to = 0;  // bytes of the data
  int bits = 0;                    // of a number
  bool real = false;               // of floating-point numbers
};

Error wrong(const std::string& path, const std::string& why) {
  return usage_error(printable(fmt::format("{} is not a safetensors file: {}", path, why)));
}

std::ifstream open_file(const std::string& path) {
  std::error_code none;
  const auto unreadable = [&](const char* why) {
    return usage_error(fmt::format("the profile {} cannot be read: {}", printable(path), why));
  };
  if (std::filesystem::exists(path, none) && !std::filesystem::is_regular_file(path, none))
    throw unreadable("it is not a file");
  std::ifstream file(path, std::ios::binary);
  if (!file) throw unreadable(std::strerror(errno));
  return file;
}

StoredTensor tensor_of(const std::string& name, const Json& entry) {
  static const std::regex kType("(F|BF|C|I|U)(4|6|8|16|32|64)(_E[0-9]M[0-9])?|BOOL");  // letters and bits
  const Json& offsets = entry.at("data_offsets");
  if (!offsets.is_array() || offsets.size() != 2) throw usage_error("'data_offsets' are not two numbers");
  const std::string type = entry.at("dtype").get<std::string>(), what = fmt::format("tensor '{}' ", quotable(name));
  std::smatch parts;
  if (!std::regex_match(type, parts, kType))
    throw usage_error(fmt::format("{}has a type that is not known, '{}'", what, quotable(type)));
  const bool real = type[0] == 'F' || type[0] == 'C' || type.starts_with("BF");
  StoredTensor tensor{name, integer_of<std::uint64_t>(offsets[0]), integer_of<std::uint64_t>(offsets[1]),
                      type == "BOOL" ? 8 : std::stoi(parts[2]), real};
  constexpr std::uint64_t kMostBytes = 4'000'000'000'000;
  if (tensor.to < tensor.from || tensor.to > kMostBytes) throw usage_error("'data_offsets' are no span of the file");
  double bits = tensor.bits;
  for (const Json& size : entry.at("shape")) bits *= double(integer_of<std::uint64_t>(size));
  if (bits != 8.0 * double(tensor.to - tensor.from))
    throw usage_error(
        fmt::format("{}has {} bytes, and by its shape and type {}", what, tensor.to - tensor.from, bits / 8));
  return tensor;
}

/// Returns the tensors of one file in the order of their data.
std::vector<StoredTensor> read_header(const std::string& path) {
  std::ifstream file = open_file(path);
  constexpr std::uint64_t kLongestHeader = 100'000'000;  // the format's own limit
  unsigned char length[8];
  if (!file.read(reinterpret_cast<char*>(length), sizeof length)) throw wrong(path, "it has no header");
  std::uint64_t bytes = 0;
  for (int i = 7; i >= 0; --i) bytes = bytes << 8 | length[i];
  if (bytes > kLongestHeader) throw wrong(path, fmt::format("its header would have {} bytes", bytes));
  std::string text(bytes, '\0');
  if (!file.read(text.data(), std::streamsize(bytes))) throw wrong(path, "its header is cut short");
  std::vector<StoredTensor> tensors;
  try {
    std::set<std::string> names;
    const Json header = Json::parse(text, [&](int depth, Json::parse_event_t event, Json& key) {
      if (depth == 1 && event == Json::parse_event_t::key && !names.insert(key.get<std::string>()).second)
        throw usage_error(fmt::format("tensor '{}' is there twice", quotable(key.get<std::string>())));
      return true;
    });
    for (const auto& [name, entry] : header.items())
      if (name != "__metadata__") tensors.push_back(tensor_of(name, entry));
  } catch (const Json::exception& error) {
    throw wrong(path, json_mistake(error));
  } catch (const Error& error) {
    throw wrong(path, error.what());
  }
  std::sort(tensors.begin(), tensors.end(), [](const StoredTensor& a, const StoredTensor& b) {
    return std::tie(a.from, a.to, a.name) < std::tie(b.from, b.to, b.name);
  });
  std::uint64_t end = 0;
  for (const StoredTensor& tensor : tensors) {
    if (tensor.from != end)
      throw wrong(path, fmt::format("tensor '{}' begins at byte {} of the data, not at {}: tensors follow each other",
                                    quotable(tensor.name), tensor.from, end));
    end = tensor.to;
  }
  file.seekg(0, std::ios::end);
  const std::uint64_t stored = std::uint64_t(file.tellg()) - sizeof length - bytes;
  if (stored > 0 && stored < end)  // a header alone is enough
    throw wrong(path, fmt::format("it was cut: it has {} of the {} bytes that its header promises", stored, end));
  return tensors;
}

/// Returns a key by which the names of a model are in its likely order: embeddings and stems first, final
/// normalizations and heads last, numbers by value, weights before biases, and otherwise by name.
std::string place_of(const std::string& name) {
  static const std::regex kFirst("embed|wte|wpe|token|stem|patch|shared|conv1|pos_"), kNorm("^(norm|ln_f|final)"),
      kLast("head|classifier|fc|cls|pooler|logits"), kNumber("[0-9]+");
  std::string key;
  std::istringstream parts(name);
  for (std::string part; std::getline(parts, part, '.');) {
    const auto is = [&](const std::regex& words) { return std::regex_search(part, words); };
    key += part == "weight" ? "1" : is(kFirst) ? "0" : is(kLast) ? "3" : is(kNorm) ? "2" : "1";
    if (std::smatch number; part != "weight" && std::regex_search(part, number, kNumber))
      part = fmt::format("{}{:0>20}{}", number.prefix().str(), number.str(), number.suffix().str());
    key += (part == "weight" ? "" : part) + '\0';
  }
  return key;
}

constexpr std::string_view kIndex = ".index.json";
const std::regex& shard_name() {
  static const std::regex kShard("(.*-)([0-9]+)(-of-([0-9]{1,5})\\.safetensors)");
  return kShard;
}

/// The tensors of a model that an index lists, by the path of their file.
struct Index {
  std::map<std::string, std::set<std::string>> tensors;
  std::optional<double> bytes;  // of all tensors
};

Index read_index(const std::string& path) {
  std::ifstream file = open_file(path);
  Index index;
  try {
    const Json json = Json::parse(file);
    for (const auto& [tensor, entry] : json.at("weight_map").items()) {
      const auto name = entry.get<std::string>();
      if (name.find('/') != std::string::npos)
        throw usage_error(
            fmt::format("{} lists the file '{}', which is not in its folder", printable(path), quotable(name)));
      index.tensors[(std::filesystem::path(path).parent_path() / name).string()].insert(tensor);
    }
    const Json::json_pointer kSize("/metadata/total_size");
    if (json.contains(kSize) && json[kSize].is_number()) index.bytes = json[kSize].get<double>();
  } catch (const Json::exception& error) {
    throw usage_error(fmt::format("{} is not an index of safetensors files: {}", printable(path), json_mistake(error)));
  }
  return index;
}

/// Throws if the tensors of a file are not those that the index lists.
void check_listed(const std::string& index, const std::string& file, std::set<std::string> listed,
                  const std::vector<StoredTensor>& tensors) {
  for (const StoredTensor& tensor : tensors)
    if (listed.erase(tensor.name) == 0)
      throw usage_error(fmt::format("{} does not list the tensor '{}' of {}: they are not of the same model",
                                    printable(index), quotable(tensor.name), printable(file)));
  if (!listed.empty())
    throw usage_error(fmt::format("{} lists the tensor '{}' in {}, which does not have it", printable(index),
                                  quotable(*listed.begin()), printable(file)));
}

/// Throws if the index lacks shards by their names (-of-00002), and its bytes do not say that it is whole.
void check_shards(const std::string& path, const Index& index, double data) {
  std::smatch parts;
  const std::string& first = index.tensors.begin()->first;
  if (index.bytes == data || !std::regex_match(first, parts, shard_name())) return;
  if (const std::size_t count = std::stoul(parts[4]); index.tensors.size() < count)
    throw usage_error(fmt::format("{} lists {} files, and by the name of {} the model has {}", printable(path),
                                  index.tensors.size(), printable(first), count));
}

}  // namespace

std::vector<std::string> safetensors_files(const std::string& path) {
  std::vector<std::string> files;
  if (path.ends_with(kIndex)) {
    for (const auto& [file, tensors] : read_index(path).tensors) files.push_back(file);
    return files;
  }
  std::smatch parts;
  if (!std::regex_match(path, parts, shard_name())) return {path};
  const int count = std::stoi(parts[4]);
  for (int shard = 1; shard <= count; ++shard) {
    files.push_back(fmt::format("{}{:0{}}{}", parts[1].str(), shard, parts[2].length(), parts[3].str()));
    std::error_code none;
    if (!std::filesystem::exists(files.back(), none))
      throw usage_error(fmt::format("the profile {} is one of {} shards, and {} is not there: the model is all of them",
                                    printable(path), count, printable(files.back())));
  }
  return files;
}

std::vector<std::uint64_t> read_safetensors(const std::string& path) {
  std::vector<StoredTensor> all;
  bool sorted = true;
  double data = 0;  // bytes of all tensors
  const Index index = path.ends_with(kIndex) ? read_index(path) : Index{};
  for (const std::string& file : safetensors_files(path)) {
    const std::vector<StoredTensor> tensors = read_header(file);
    if (!index.tensors.empty()) check_listed(path, file, index.tensors.at(file), tensors);
    data += tensors.empty() ? 0 : double(tensors.back().to);
    sorted = sorted && std::is_sorted(tensors.begin(), tensors.end(), [](const StoredTensor& a, const StoredTensor& b) {
               return std::tie(b.bits, a.name) < std::tie(a.bits, b.name);
             });
    all.insert(all.end(), tensors.begin(), tensors.end());
  }
  if (!index.tensors.empty()) check_shards(path, index, data);
  if (all.empty()) throw wrong(path, "it has no tensors");
  std::vector<std::pair<std::string, std::uint64_t>> placed;  // place and bytes
  for (const StoredTensor& tensor : all) {
    const bool measured = tensor.name.ends_with(".running_mean") || tensor.name.ends_with(".running_var");
    if (tensor.real && tensor.from < tensor.to && !measured)
      placed.emplace_back(sorted ? place_of(tensor.name) : "", tensor.to - tensor.from);
  }
  if (placed.empty()) throw wrong(path, "none of its tensors has a gradient: they are integers or empty");
  std::stable_sort(placed.begin(), placed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::uint64_t> bytes;
  for (const auto& [place, size] : placed) bytes.push_back(size);
  return bytes;
}

}  // namespace hopbench
