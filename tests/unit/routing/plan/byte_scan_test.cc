// SPDX-License-Identifier: Apache-2.0
// Every variant of the scans against plain arithmetic on random bytes.
#include "routing/plan/byte_scan.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "common/rng.h"

namespace fabricd::routing {
namespace {

using Bytes = std::vector<uint8_t>;

class ScanTest : public ::testing::TestWithParam<VectorUnit> {
 protected:
  void SetUp() override {
    if (!HasVectorUnit(GetParam())) GTEST_SKIP() << "not on this machine";
  }
  Bytes Random(size_t n, const Bytes& values = {}) {
    Bytes bytes(n);
    for (uint8_t& byte : bytes)
      byte = values.empty() ? static_cast<uint8_t>(rng_.Below(256))
                            : values[rng_.Below(values.size())];
    return bytes;
  }
  Rng rng_{7};
};
INSTANTIATE_TEST_SUITE_P(Units, ScanTest,
                         ::testing::Values(VectorUnit::kNone, VectorUnit::kAvx2,
                                           VectorUnit::kAvx512Vbmi));

TEST_P(ScanTest, FindAndCount) {
  const Bytes bytes = Random(300, {0, 5, 255});
  for (uint8_t value : {0, 5, 7, 255}) {
    const uint64_t found = ScanFor(GetParam()).find(bytes.data() + 3, value);
    for (size_t i = 0; i < 64; ++i) EXPECT_EQ(found >> i & 1, bytes[3 + i] == value);
    for (size_t n : {0u, 1u, 64u, 300u})
      EXPECT_EQ(ScanFor(GetParam()).count(bytes.data(), value, n),
                static_cast<size_t>(
                    std::count(bytes.begin(), bytes.begin() + static_cast<long>(n), value)));
  }
}

TEST_P(ScanTest, Classify) {
  const Bytes table = Random(256, {0x00, 0x40, 0x80, 0xc0, 0xff, 0x3f}), codes = Random(192);
  for (size_t used : {1u, 40u, 64u, 65u, 200u, 256u}) {
    std::vector<uint64_t> high(3), low(3);
    ScanFor(GetParam()).classify(table.data(), used, codes.data(), 192, high.data(), low.data());
    for (size_t i = 0; i < 192; ++i) {
      const uint8_t entry = codes[i] < used ? table[codes[i]] : 0;
      EXPECT_EQ(high[i / 64] >> i % 64 & 1, entry >> 7);
      EXPECT_EQ(low[i / 64] >> i % 64 & 1, entry >> 6 & 1);
    }
  }
}

}  // namespace
}  // namespace fabricd::routing
