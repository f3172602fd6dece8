// Numbers to a GPU and back, in what a precision keeps them in, for the tests of the CUDA backend.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "backends/cuda/convolution.h"
#include "backends/cuda/device.h"
#include "backends/cuda/gemm.h"
#include "tests/backends/compute/compute_cases.h"

namespace hopbench {

inline std::uint16_t bf16_of(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
inline float of_bf16(std::uint16_t x) { return std::bit_cast<float>(std::uint32_t(x) << 16); }

/// Returns the values as `number` keeps them.
inline Floats kept(Floats values, cuda::Number number) {
  if (number == cuda::Number::kFloat) return values;
  for (float& value : values) value = of_bf16(bf16_of(value));
  return values;
}

/// On the stream of the vectors, done when it returns.
inline cuda::Buffer to_device(const Floats& values, cuda::Number number = cuda::Number::kFloat) {
  cuda::Buffer buffer(values.size() * bytes_of(number));
  std::vector<std::uint16_t> narrow;
  for (float value : values) narrow.push_back(bf16_of(value));
  const Floats& wide = values;
  const void* from = number == cuda::Number::kFloat ? static_cast<const void*>(wide.data()) : narrow.data();
  cuda::copy(cuda::Device::mine().vectors(), buffer.data(), from, buffer.bytes());
  cuda::wait_for(cuda::Device::mine().vectors());
  return buffer;
}

inline cuda::Buffer poisoned(std::size_t n, cuda::Number number = cuda::Number::kFloat) {
  cuda::Buffer buffer(n * bytes_of(number));
  const std::vector<unsigned char> ones(buffer.bytes(), 0xff);  // NaN in both
  cuda::copy(cuda::Device::mine().vectors(), buffer.data(), ones.data(), ones.size());
  cuda::wait_for(cuda::Device::mine().vectors());
  return buffer;
}

/// Returns the values that `stream` has left there.
inline Floats from_device(cuda::Stream stream, const cuda::Buffer& buffer, cuda::Number number = cuda::Number::kFloat) {
  std::vector<unsigned char> bytes(buffer.bytes());
  cuda::copy(stream, bytes.data(), buffer.data(), bytes.size());
  cuda::wait_for(stream);
  Floats values(bytes.size() / bytes_of(number));
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint16_t narrow = 0;
    if (number == cuda::Number::kFloat) {
      std::memcpy(&values[i], &bytes[i * 4], 4);
    } else {
      std::memcpy(&narrow, &bytes[i * 2], 2);
      values[i] = of_bf16(narrow);
    }
  }
  return values;
}

/// Returns a forward pass of drawn numbers, which are floats.
inline Floats convolved(const cuda::Convolution::Shape& shape, cuda::Precision precision) {
  const cuda::StreamOwner stream;
  cuda::ConvolutionLibrary library(stream);
  cuda::Convolution convolution(library, shape, precision, true, false);
  const std::size_t weights = std::size_t(shape.out.channels) * std::size_t(shape.in.channels) *
                              std::size_t(shape.kernel) * std::size_t(shape.kernel);
  const cuda::Buffer x = to_device(normals(shape.in.size(), 1)), w = to_device(normals(weights, 2));
  const cuda::Buffer y = poisoned(shape.out.size()), work(convolution.work_bytes());
  convolution.forward(x.data(), w.data(), y.data(), work.data());
  return from_device(stream, y);
}

}  // namespace hopbench
