// Headers of safetensors files: which tensors of a model have gradients, and how large they are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hopbench {

/// Returns the paths of all files of the model that `path` is of: a file alone; all shards, if its name is that of one
/// (model-00001-of-00003.safetensors); or those that an index (model.safetensors.index.json) lists.
std::vector<std::string> safetensors_files(const std::string& path);

/// Returns the bytes of each tensor with a gradient, in the likely order of the model. Only tensors of floating-point
/// numbers have one, and running means and variances do not. The library that writes such files sorts tensors by type
/// and name. If all files are sorted so, tensors are put into the order that their names suggest: embeddings and stems
/// first, final normalizations and heads last, numbers by value. Else the order of the file is kept.
/// Error(kUsage) with the file if it is not a safetensors file, ends within its data, or if its tensors overlap, leave
/// holes, have types that are not known or shapes of other sizes, or are not those that the index lists.
std::vector<std::uint64_t> read_safetensors(const std::string& path);

}  // namespace hopbench
