// SPDX-License-Identifier: Apache-2.0
#include "mad/device_map.h"

#include <gtest/gtest.h>

namespace fabricd::mad {
namespace {

TEST(DeviceMap, KeepsTheValuesOfDevicesFarApart) {
  DeviceMap<int> map;
  EXPECT_FALSE(map.Has(0));
  for (const DeviceId device : {3u, 60'000u, 700u}) {
    map.Add(device);
    EXPECT_EQ(map[device], 0);
    map[device] = static_cast<int>(device);
  }
  map.Add(3);
  EXPECT_EQ(map[3], 3);
  EXPECT_EQ(map[700], 700);
  EXPECT_EQ(map[60'000], 60'000);
  EXPECT_FALSE(map.Has(30'000));
  EXPECT_FALSE(map.Has(1'000'000));
}

TEST(DeviceMap, DoesNotMoveValues) {
  DeviceMap<int> map;
  map.Add(1);
  const int* const value = &map[1];
  map.Add(60'000);
  EXPECT_EQ(&map[1], value);
}

}  // namespace
}  // namespace fabricd::mad
