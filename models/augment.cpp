#include <algorithm>

#include <fmt/format.h>

#include "backends/base/error.h"
#include "models/dataset.h"

namespace hopbench {
namespace {

constexpr int kFrame = 4;

}  // namespace

void check_augment(Augment augment, const Dataset& data) {
  const Shape shape = data.shape();
  if (augment == Augment::kNone || (shape.height > 1 && shape.width > 1)) return;
  throw usage_error(
      fmt::format("model.augment = \"pad_crop_flip\" needs pictures: the samples of this data set are {}x{}x{}: use "
                  "\"none\"",
                  shape.channels, shape.height, shape.width));
}

Crop draw_crop(std::uint64_t seed, std::uint32_t repeat, int rank, std::uint64_t position) {
  Random random({.seed = seed,
                 .repeat = repeat,
                 .purpose = Purpose::kAugment,
                 .rank = rank,
                 .iteration = static_cast<std::int64_t>(position)});
  Crop crop;
  crop.down = static_cast<int>(random.below(2 * kFrame + 1));
  crop.right = static_cast<int>(random.below(2 * kFrame + 1));
  crop.mirrored = random.below(2) == 1;
  return crop;
}

void crop_picture(const Crop& crop, const Shape& shape, const float* from, float* to) {
  const int height = shape.height, width = shape.width, shift = crop.right - kFrame;
  const int first = std::clamp(-shift, 0, width), last = std::clamp(width - shift, first, width);  // not in the frame
  for (int channel = 0; channel < shape.channels; ++channel) {
    for (int row = 0; row < height; ++row, to += width) {
      const int source = row + crop.down - kFrame;
      std::fill_n(to, width, 0.0f);
      if (source < 0 || source >= height) continue;
      const float* line = from + (static_cast<std::ptrdiff_t>(channel) * height + source) * width;
      std::copy(line + first + shift, line + last + shift, to + first);
      if (crop.mirrored) std::reverse(to, to + width);
    }
  }
}

}  // namespace hopbench
