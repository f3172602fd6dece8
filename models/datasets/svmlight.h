// Sparse data in the text form of SVMlight and LIBSVM.
//
//   LABEL COLUMN:VALUE COLUMN:VALUE ...      # what follows a '#' is a comment
//
// Each line is a row. LABEL and VALUE are decimal numbers, COLUMN is 1 to 2^32 - 1, ascending within a line. Blank
// lines and lines with only a comment are not rows. Every line ends with a newline, also the last: without it, a file
// that was cut within its last number would look whole. Values of 0 are dropped. Not supported: qid:N, several labels.
#pragma once

#include <filesystem>

#include "models/datasets/content.h"
#include "models/sparse_dataset.h"

namespace hopbench {

struct SvmlightOptions {
  int threads = 0;                          // 0: one per core of the machine
  std::size_t unit = std::size_t{4} << 20;  // bytes of text that a thread takes at a time; does not change the result
  bool cache = true;                        // see below
  std::size_t largest_compressed = kLargestCompressed;
};

/// Reads FILE or FILE.gz (a name that ends in .gz). Throws Error(kUsage) at the first mistake in the file, with its
/// line, what is there and what was expected. The file must not change while it is read.
///
/// Caches the result in binary beside the file, as FILE.csr, or if nothing can be written there, in
/// $XDG_CACHE_HOME/hopbench (~/.cache/hopbench). The next reader of the file maps the cache if it was made from the
/// same text (by a checksum of all of it) and by the same version of the format, and is whole. Processes then share its
/// memory. If a cache cannot be written or used, that is never an error.
SparseDataset read_svmlight(const std::filesystem::path& file, const SvmlightOptions& options = {});

struct SparsePair {
  SparseDataset train, test;  // the test set in the columns of the training set
};
SparsePair read_svmlight(const std::filesystem::path& train, const std::filesystem::path& test,
                         const SvmlightOptions& options = {});

}  // namespace hopbench
