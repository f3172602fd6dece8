// idx files (MNIST, Fashion-MNIST), plain or gzip: what the first two bytes give the length of is the images, the rest
// the labels, of the training set and of the test set.
#include <algorithm>

#include "models/dataset.h"
#include "tests/fuzz/fuzz.h"

using namespace hopbench;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  static const fuzz::Folder folder;
  const std::string text = fuzz::text_of(data + 2, size - 2);
  const std::size_t cut = std::min<std::size_t>(data[0] * 256u + data[1], text.size());
  for (const char* set : {"train", "t10k"}) {
    folder.put(std::string(set) + "-images-idx3-ubyte", text.substr(0, cut));
    folder.put(std::string(set) + "-labels-idx1-ubyte", text.substr(cut));
  }
  fuzz::accepts(
      [&] {
        DatasetRequest request;
        request.path = folder.path();
        const DatasetPair pair = find_dataset("mnist").load(request);
        const std::size_t last = pair.train->size() - 1;
        std::vector<float> sample(pair.train->shape().size());
        pair.train->copy_sample(last, sample.data());
        HB_ASSERT(pair.train->label(last) >= 0 && pair.train->label(last) < pair.train->classes());
      },
      folder.path());
  return 0;
}
