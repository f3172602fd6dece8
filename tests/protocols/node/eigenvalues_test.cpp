#include "protocols/node/eigenvalues.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace hopbench {
namespace {

// The Laplacian of a ring: 2 - 2 cos(2 pi k / n), where a power iteration from an unlucky start misses some.
TEST(Eigenvalues, OfRingsAreTheirClosedForm) {
  for (const std::size_t n : {3U, 4U, 8U, 16U, 25U}) {
    std::vector<std::vector<double>> laplacian(n, std::vector<double>(n, 0.0));
    std::vector<double> expected;
    for (std::size_t i = 0; i < n; ++i) {
      laplacian[i][i] = 2;
      laplacian[i][(i + 1) % n] = laplacian[(i + 1) % n][i] = -1;
      expected.push_back(2 - 2 * std::cos(2 * std::acos(-1.0) * double(i) / double(n)));
    }
    std::sort(expected.begin(), expected.end());
    const Eigensystem system = eigensystem(laplacian);
    const std::vector<double> values = eigenvalues(laplacian);
    ASSERT_EQ(values.size(), n);
    for (std::size_t i = 0; i < n; ++i) {
      EXPECT_NEAR(values[i], expected[i], 1e-12) << n;
      EXPECT_NEAR(system.values[i], expected[i], 1e-12) << n;
      const std::vector<double>& v = system.vectors[i];
      EXPECT_NEAR(std::inner_product(v.begin(), v.end(), v.begin(), 0.0), 1, 1e-12);
      for (std::size_t row = 0; row < n; ++row) {
        const double image = std::inner_product(v.begin(), v.end(), laplacian[row].begin(), 0.0);
        EXPECT_NEAR(image, expected[i] * v[row], 1e-12) << n;
      }
    }
  }
}

}  // namespace
}  // namespace hopbench
