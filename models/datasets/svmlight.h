// Sparse data in the text form of SVMlight and LIBSVM.
//
//   LABEL COLUMN:VALUE COLUMN:VALUE ...      # what follows a '#' is a comment
//
// A line is a row. LABEL and VALUE are decimal numbers, COLUMN is 1 to 2^32 - 1, ascending within a line. Blank lines
// and lines of a comment alone are none. Every line ends with a newline, the last one too: without, nobody could tell a
// whole file from one that was cut within its last number. Values of 0 are dropped. Not read: qid:N, several labels.
#pragma once

#include <filesystem>

#include "models/datasets/content.h"
#include "models/sparse_dataset.h"

namespace hopbench {

struct SvmlightOptions {
  int threads = 0;                          // 0: as many as the machine has cores
  std::size_t unit = std::size_t{4} << 20;  // bytes of text that a thread takes at a time; the result is the same
  bool cache = true;                        // see below
  std::size_t largest_compressed = kLargestCompressed;
};

/// Reads FILE or FILE.gz (a name that ends in .gz). Error(kUsage) for what is no such file: the line, what is there and
/// what was expected, always the first one in the file. The file must not change while it is read.
///
/// What was read is kept in binary beside the file, as FILE.csr, or where nothing can be written there, in
/// $XDG_CACHE_HOME/hopbench (~/.cache/hopbench). The next one to read the file maps that, if it was made of the same
/// text (a checksum of all of it) by the same version of the format and is whole; processes then share its memory.
/// A cache that cannot be written or used is never an error.
SparseDataset read_svmlight(const std::filesystem::path& file, const SvmlightOptions& options = {});

struct SparsePair {
  SparseDataset train, test;  // the test set in the columns of the training set
};
SparsePair read_svmlight(const std::filesystem::path& train, const std::filesystem::path& test,
                         const SvmlightOptions& options = {});

}  // namespace hopbench
