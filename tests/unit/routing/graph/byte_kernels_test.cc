// SPDX-License-Identifier: Apache-2.0
// Every variant of the byte kernels against plain arithmetic on random bytes, and whole plans that
// must have the same bytes whichever variant made them.
#include "routing/graph/byte_kernels.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "common/rng.h"
#include "routing/graph/hop_costs.h"
#include "tests/unit/routing/run.h"

namespace fabricd::routing {
namespace {

using testing::ByGuid;
using testing::FabricMaker;
using testing::MakeTree;
using testing::Route;
using testing::TestFabric;
using Bytes = std::vector<uint8_t>;

std::vector<VectorUnit> Units() {
  std::vector<VectorUnit> units{VectorUnit::kNone};
  for (VectorUnit unit : {VectorUnit::kAvx2, VectorUnit::kAvx512Vbmi})
    if (HasVectorUnit(unit)) units.push_back(unit);
  return units;
}

class EveryUnit : public ::testing::TestWithParam<VectorUnit> {
 protected:
  Bytes Random(size_t n, const Bytes& values = {}) {
    Bytes bytes(n);
    for (uint8_t& byte : bytes)
      byte = values.empty() ? static_cast<uint8_t>(rng_.Below(256))
                            : values[rng_.Below(values.size())];
    return bytes;
  }
  const ByteKernels& kernels_ = KernelsFor(GetParam());
  Rng rng_{7};
};
INSTANTIATE_TEST_SUITE_P(Kernels, EveryUnit, ::testing::ValuesIn(Units()),
                         [](const auto& unit) { return std::string(KernelsFor(unit.param).name); });

TEST_P(EveryUnit, AddHop) {
  for (size_t rows : {0u, 1u, 2u, 7u}) {
    std::vector<Bytes> bytes;
    std::vector<const uint8_t*> pointers;
    for (size_t r = 0; r < rows; ++r) bytes.push_back(Random(192, {0, 1, 2, 252, 253, 254, 255}));
    for (const Bytes& row : bytes) pointers.push_back(row.data());
    Bytes out(192);
    kernels_.add_hop(pointers.data(), rows, 192, out.data());
    for (size_t i = 0; i < out.size(); ++i) {
      int lowest = 255;
      for (const Bytes& row : bytes) lowest = std::min<int>(lowest, row[i]);
      EXPECT_EQ(out[i], lowest < HopCosts::kMostHops ? lowest + 1 : HopCosts::kNoWay) << lowest;
    }
  }
}

TEST_P(EveryUnit, PreferDown) {
  const Bytes down = Random(128, {0, 3, 255}), before = Random(128);
  Bytes total = before;
  kernels_.prefer_down(down.data(), 128, total.data());
  for (size_t i = 0; i < 128; ++i) EXPECT_EQ(total[i], down[i] == 255 ? before[i] : down[i]);
}

TEST_P(EveryUnit, SplitWants) {
  const Bytes total = Random(128, {0, 1, 2, 253, 255}), down = Random(128, {0, 2, 255});
  for (const uint8_t* way_down : {down.data(), static_cast<const uint8_t*>(nullptr)}) {
    Bytes want_down(128), want_up(128);
    kernels_.split_wants(total.data(), way_down, 128, want_down.data(), want_up.data());
    for (size_t i = 0; i < 128; ++i) {
      const bool goes_up = !way_down || down[i] == 255;
      const int want = total[i] == 0 || total[i] == 255 ? kMatchesNothing : total[i] - 1;
      EXPECT_EQ(want_up[i], goes_up ? want : kMatchesNothing);
      EXPECT_EQ(want_down[i], goes_up ? kMatchesNothing : want);
    }
  }
}

TEST_P(EveryUnit, Match) {
  std::vector<Bytes> costs, wants;
  std::vector<CostMatch> arcs;
  for (size_t a = 0; a < 9; ++a) {
    costs.push_back(Random(128, {1, 2, 254}));
    wants.push_back(Random(128, {1, 2, 254}));
  }
  for (size_t a = 0; a < 9; ++a) arcs.push_back({costs[a].data(), wants[a].data()});
  std::vector<uint64_t> masks(9);
  Bytes last(64, 77);
  kernels_.match(arcs.data(), 9, 64, masks.data(), last.data());
  for (size_t c = 0; c < 64; ++c) {
    int highest = 77;
    for (size_t a = 0; a < 9; ++a) {
      const bool equal = costs[a][64 + c] == wants[a][64 + c];
      EXPECT_EQ(masks[a] >> c & 1, equal);
      if (equal) highest = static_cast<int>(a);
    }
    EXPECT_EQ(last[c], highest);
  }
}

TEST_P(EveryUnit, LookUp) {
  for (size_t used : {1u, 16u, 17u, 63u, 64u, 65u, 128u, 200u, 254u, 255u}) {
    const Bytes table = Random(256);
    for (size_t n : {0u, 1u, 31u, 64u, 100u, 257u}) {
      Bytes codes = Random(n);
      for (uint8_t& code : codes) code = code < 200 ? code % used : 255;
      Bytes out(n + 1, 99);
      kernels_.look_up(table.data(), used, codes.data(), n, out.data());
      for (size_t i = 0; i < n; ++i) EXPECT_EQ(out[i], codes[i] == 255 ? 255 : table[codes[i]]);
      EXPECT_EQ(out[n], 99);
    }
    Bytes codes = Random(64);
    for (uint8_t& code : codes) code = static_cast<uint8_t>(code % used);
    const uint64_t wanted = 0x8000'1234'5678'9ab1;
    Bytes out(64, 99);
    kernels_.look_up_some(table.data(), used, codes.data(), wanted, out.data());
    for (size_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], wanted >> i & 1 ? table[codes[i]] : 99);
  }
}

class ForcedUnit {
 public:
  explicit ForcedUnit(VectorUnit unit) { UseVectorUnit(unit); }
  ~ForcedUnit() { UseVectorUnit(BestVectorUnit()); }
};

TEST_P(EveryUnit, PlansHaveTheSameBytes) {
  FabricMaker maker = MakeTree({{9, 1}, {5, 3, 3}, {8, 5, 2}});
  Rng rng(11);
  for (size_t cable = maker.cable_count(); cable-- > 0;)
    if (maker.IsSwitchCable(cable) && rng.Chance(0.05)) maker.RemoveCable(cable);
  for (uint8_t lmc : {0, 2}) {
    const TestFabric fabric = maker.Build(lmc, 5);
    for (const char* engine : {"up_down", "min_hop"}) {
      const ForcedUnit plain(VectorUnit::kNone);
      const auto expected = ByGuid(fabric, Route(fabric, engine));
      const ForcedUnit forced(GetParam());
      EXPECT_EQ(ByGuid(fabric, Route(fabric, engine)), expected) << engine;
    }
  }
}

}  // namespace
}  // namespace fabricd::routing
