// CIFAR's binary form, plain or gzip: two label bytes and a record in each file.
#include "models/datasets/cifar.h"

#include "tests/fuzz/fuzz.h"

using namespace hopbench;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Folder folder;
  static const CifarLayout kLayout{.name = "fuzz",
                                   .get = "run it again",
                                   .train = {"a.bin", "a.bin"},
                                   .test = {"a.bin"},
                                   .train_records = 1,
                                   .test_records = 1,
                                   .classes = {20, 100},
                                   .mean = {0.5f, 0.5f, 0.5f},
                                   .deviation = {0.25f, 0.25f, 0.25f}};
  folder.put("a.bin", fuzz::text_of(data, size));
  fuzz::accepts(
      [&] {
        DatasetRequest request;
        request.path = folder.path();
        const DatasetPair pair = load_cifar(request, kLayout);
        std::vector<float> sample(pair.train->shape().size());
        pair.train->copy_sample(1, sample.data());
        HB_ASSERT(pair.train->label(1) < 100);
      },
      folder.path());
  return 0;
}
