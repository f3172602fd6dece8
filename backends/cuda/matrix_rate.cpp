#include <chrono>
#include <map>

#include "backends/cuda/backend.h"
#include "backends/cuda/device.h"
#include "backends/cuda/gemm.h"

namespace hopbench::cuda {
namespace {

constexpr int kSize = 8192;
constexpr std::size_t kNumbers = std::size_t(kSize) * kSize;

struct Products {
  StreamOwner stream;
  Buffer a{kNumbers * 4}, b{kNumbers * 4}, c{kNumbers * 4};

  // Uses random-looking numbers: products of zeros draw less power, and run faster than any network does.
  Products() {
    Pinned numbers(kNumbers * 4);
    std::uint32_t state = 1;
    for (std::size_t i = 0; i < kNumbers; ++i) {  // halves of a word are bf16 of the same kind: 0.5 to 1, either sign
      state = state * 1664525 + 1013904223;
      numbers.as<std::uint32_t>()[i] = (state & 0x807F807F) | 0x3F003F00;
    }
    for (const Buffer* operand : {&a, &b}) copy(stream, operand->data(), numbers.as<char>(), kNumbers * 4);
    wait_for(stream);
  }
};

}  // namespace

double matrix_rate(const std::string& precision) {
  const Precision wanted = precision_of(precision);
  Device::mine();
  // Never destroyed: at the process's end cuBLAS may be destroyed first.
  static auto& products = *new Products;
  static auto& gemms = *new std::map<Precision, Gemm>;
  Gemm& gemm = gemms.try_emplace(wanted, products.stream, wanted).first->second;
  const auto multiply = [&](int size) {
    const auto begin = std::chrono::steady_clock::now();
    gemm.run(false, true, size, kSize, kSize, products.a.data(), products.b.data(), products.c.data(),
             number_of(wanted));
    wait_for(products.stream);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  multiply(kSize / 8);  // the clock rises under load
  return 2.0 * kSize * kSize * kSize / multiply(kSize);
}

}  // namespace hopbench::cuda
