// What a text of sparse rows was read to, in binary. A file of this machine's byte order:
//
//   Header, then offsets, columns, values, labels, original of SparseArrays, each from a multiple of 8 bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "models/sparse_dataset.h"

namespace hopbench {

/// Of the text: what a cached form is found by. Not cryptographic (XXH3).
std::uint64_t checksum(std::span<const char> text);

/// Beside the text or, second, in the user's cache folder.
std::filesystem::path cache_beside(const std::filesystem::path& text);
std::filesystem::path cache_elsewhere(std::uint64_t text_checksum);

/// Nothing if the file is not there, not of this format and text, or not whole.
std::optional<SparseDataset> open_cached(const std::filesystem::path& file, std::uint64_t text_checksum);
/// Writes the file at once and whole, or not at all, and returns whether it did. Keeps a file of that name which is no
/// cache of hopbench.
bool write_cached(const std::filesystem::path& file, std::uint64_t text_checksum, const SparseDataset& data);

}  // namespace hopbench
