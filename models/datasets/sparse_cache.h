// A binary cache of the rows that were read from a text. The file has this machine's byte order:
//
//   Header, then offsets, columns, values, labels, original of SparseArrays, each from a multiple of 8 bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "models/sparse_dataset.h"

namespace hopbench {

/// Maps a file into memory for as long as the result lives. Returns nullptr, with errno set, if the file cannot be
/// opened, is not a regular file, or is empty (errno 0).
std::shared_ptr<const std::span<const char>> map_file(const std::filesystem::path& path);

/// Returns the checksum of a text, by which its cache is found. It is not cryptographic (XXH3).
std::uint64_t checksum(std::span<const char> text);

/// Return the place of a text's cache: the first choice is beside the text, the second in the user's cache folder.
std::filesystem::path cache_beside(const std::filesystem::path& text);
std::filesystem::path cache_elsewhere(std::uint64_t text_checksum);

/// Returns nothing if the file does not exist, is not a cache of this text in this format, or is not whole.
std::optional<SparseDataset> open_cached(const std::filesystem::path& file, std::uint64_t text_checksum);
/// Writes the file atomically and returns true, or writes nothing and returns false. Never overwrites a file of that
/// name that is not a cache of hopbench.
bool write_cached(const std::filesystem::path& file, std::uint64_t text_checksum, const SparseDataset& data);

}  // namespace hopbench
