// SPDX-License-Identifier: Apache-2.0
// From partitions to tables: who holds which key, at which index, and what stays where it is.
#include "policy/p_key_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "common/rng.h"
#include "policy/partitions_text.h"

namespace fabricd::policy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<PKey> Keys(std::initializer_list<int> values) {
  std::vector<PKey> keys;
  for (int value : values) keys.emplace_back(static_cast<uint16_t>(value));
  return keys;
}

PartitionIndex IndexOf(std::string_view text, bool isolated_in_default = true,
                       std::initializer_list<uint16_t> retired = {}) {
  const ParsedPartitions parsed = ParsePartitions(text);
  EXPECT_TRUE(parsed.ok()) << FaultsText(parsed.faults);
  PartitionSet gone;
  for (uint16_t number : retired) gone.Insert(number);
  return PartitionIndex(parsed.partitions, gone, isolated_in_default);
}

PortFacts Adapter(uint64_t guid) {
  return {Guid(guid), wire::NodeType::kChannelAdapter, false, false, {}};
}

TEST(PartitionIndex, GivesEachPortTheKeysOfItsPartitions) {
  const PartitionIndex index = IndexOf(
      "A=1: 0x10=full, ALL_SWITCHES=limited; B=2: ALL_CAS=limited, 0x10=both; C=3: SELF=full;"
      "D=4,indx0: 0x11=full; E=5: ALL_ROUTERS=full;");
  EXPECT_EQ(index.KeysOf(Adapter(0x10)).keys, Keys({0x8001, 0x8002, 0x0002, 0x7FFF}));
  EXPECT_EQ(index.KeysOf(Adapter(0x10)).first, PKey(0x7FFF));
  EXPECT_EQ(index.KeysOf(Adapter(0x11)).keys, Keys({0x0002, 0x8004, 0x7FFF}));
  EXPECT_EQ(index.KeysOf(Adapter(0x11)).first, PKey(0x8004));
  PortFacts self = Adapter(0x12);
  self.is_self = true;
  EXPECT_EQ(index.KeysOf(self).keys, Keys({0x0002, 0x8003, 0xFFFF}));
  PortFacts other = Adapter(0x13);
  other.type = wire::NodeType::kSwitch;
  EXPECT_EQ(index.KeysOf(other).keys, Keys({0x0001, 0x7FFF}));
  other.type = wire::NodeType::kRouter;
  EXPECT_EQ(index.KeysOf(other).keys, Keys({0x8005, 0x7FFF}));
  EXPECT_FALSE(index.is_trivial());
  EXPECT_TRUE(PartitionIndex(Partitions::BuiltIn(), {}, true).is_trivial());
}

TEST(PartitionIndex, TheLastRuleForAPortApplies) {
  const PartitionIndex index =
      IndexOf("A=1: 0x10=full, ALL_CAS=limited, 0x11=full; B=2: SELF=full, ALL=limited;");
  EXPECT_EQ(index.KeysOf(Adapter(0x10)).keys, Keys({0x0001, 0x0002, 0x7FFF}));
  EXPECT_EQ(index.KeysOf(Adapter(0x11)).keys, Keys({0x8001, 0x0002, 0x7FFF}));
  PortFacts self = Adapter(0x12);
  self.is_self = true;
  EXPECT_EQ(index.KeysOf(self).keys, Keys({0x0001, 0x0002, 0xFFFF}));
}

TEST(PartitionIndex, TheSmStaysAFullMemberOfTheDefaultPartition) {
  const PartitionIndex index = IndexOf("Default=0x7fff: ALL=limited;");
  PortFacts self = Adapter(0x12);
  self.is_self = true;
  EXPECT_EQ(index.KeysOf(self).keys, Keys({0xFFFF, 0x7FFF}));
  EXPECT_EQ(index.KeysOf(self).first, PKey(0xFFFF));
  self.isolated = true;
  EXPECT_EQ(index.KeysOf(self).first, PKey(0xFFFF));
}

TEST(PartitionIndex, VirtualFunctionsAddKeysToThoseOfTheirPort) {
  const PartitionIndex index =
      IndexOf("A=1: 0xA1=full, ALL_CAS=limited; B=2: 0xA2=full, 0xA1; C=3: ALL_VCAS=full;");
  PortFacts port = Adapter(0x10);
  EXPECT_EQ(index.KeysOf(port).keys, Keys({0x0001, 0x7FFF}));
  port.aliases = {Guid(0xA1), Guid(0xA2)};
  EXPECT_EQ(index.KeysOf(port).keys, Keys({0x8001, 0x0001, 0x8002, 0x0002, 0x8003, 0x7FFF}));
}

TEST(PartitionIndex, AnIsolatedPortIsInNoPartition) {
  PortFacts port = Adapter(0x10);
  port.isolated = true;
  const char* text = "Default=0x7fff: ALL=full; A=1,indx0: ALL=full;";
  EXPECT_EQ(IndexOf(text, true).KeysOf(port).keys, Keys({0x7FFF}));
  EXPECT_THAT(IndexOf(text, false).KeysOf(port).keys, IsEmpty());
}

std::vector<PKey> Lay(const std::vector<PKey>& held, const WantedKeys& wanted, size_t capacity,
                      const PartitionIndex& index) {
  const KeyLayout layout = LayOutKeys(held, wanted, capacity, index, true);
  EXPECT_THAT(layout.left_out, IsEmpty());
  return layout.table;
}

TEST(LayOutKeys, RemainingKeysKeepTheirIndex) {
  const PartitionIndex index = IndexOf("A=1: 0x1; B=2: 0x1; C=3: 0x1; D=4: 0x1;", true, {9});
  const auto held = Keys({0xFFFF, 0x8001, 0x8009, 0x8002, 0, 0x8700});
  const WantedKeys wanted{Keys({0x0001, 0x8002, 0x8003, 0x8004, 0xFFFF}), PKey(0xFFFF)};
  // 1 is limited now, 9 is gone, 0x8700 is somebody else's; 3 and 4 take free entries.
  const auto table = Lay(held, wanted, 8, index);
  EXPECT_EQ(table, Keys({0xFFFF, 0x0001, 0x8003, 0x8002, 0x8004, 0x8700, 0, 0}));
  EXPECT_EQ(Lay(table, wanted, 8, index), table);
  EXPECT_EQ(LayOutKeys(held, wanted, 8, index, false).table,
            Keys({0xFFFF, 0x0001, 0x8003, 0x8002, 0x8004, 0, 0, 0}));
}

TEST(LayOutKeys, TheFirstKeyIsAtIndexZero) {
  const PartitionIndex index = IndexOf("A=1: 0x1; B=2: 0x1;");
  const WantedKeys wanted{Keys({0x8001, 0xFFFF}), PKey(0xFFFF)};
  EXPECT_EQ(Lay(Keys({0, 0x8001, 0, 0xFFFF}), wanted, 4, index), Keys({0xFFFF, 0x8001, 0, 0}));
  EXPECT_EQ(Lay(Keys({0x8001, 0xFFFF}), wanted, 4, index), Keys({0xFFFF, 0x8001, 0, 0}));
  EXPECT_EQ(Lay(Keys({0x8001}), wanted, 4, index), Keys({0xFFFF, 0x8001, 0, 0}));
  EXPECT_EQ(Lay(Keys({0x8001, 0x7FFF}), wanted, 4, index), Keys({0xFFFF, 0x8001, 0, 0}));
  // Who uses a foreign key by its index goes on.
  EXPECT_EQ(Lay(Keys({0x8700, 0x8001}), wanted, 4, index), Keys({0x8700, 0x8001, 0xFFFF, 0}));
}

TEST(LayOutKeys, KeysThatDoNotFitAreNamedAndTheDefaultKeyTakesPrecedence) {
  const PartitionIndex index = IndexOf("A=1: 0x1; B=2: 0x1; C=3: 0x1;");
  const WantedKeys wanted{Keys({0x8001, 0x8002, 0x8003, 0xFFFF}), PKey(0xFFFF)};
  KeyLayout layout = LayOutKeys({}, wanted, 2, index, true);
  EXPECT_EQ(layout.table, Keys({0xFFFF, 0x8001}));
  EXPECT_EQ(layout.left_out, Keys({0x8002, 0x8003}));
  layout = LayOutKeys(Keys({0x8002, 0x8003}), wanted, 2, index, true);
  EXPECT_EQ(layout.table, Keys({0xFFFF, 0x8003}));
  EXPECT_EQ(layout.left_out, Keys({0x8001, 0x8002}));
  layout = LayOutKeys(Keys({0x8700, 0x8701}), wanted, 2, index, true);
  EXPECT_EQ(layout.table, Keys({0x8700, 0x8701}));
  EXPECT_EQ(layout.left_out.size(), 4u);
  // A table that is full of other partitions when the default one comes, and another key is first.
  const WantedKeys later{Keys({0x8001, 0x8002, 0xFFFF}), PKey(0x8001)};
  layout = LayOutKeys(Keys({0x8001, 0x8002}), later, 2, index, true);
  EXPECT_EQ(layout.table, Keys({0x8001, 0xFFFF}));
  EXPECT_EQ(layout.left_out, Keys({0x8002}));
}

bool IsOfDefault(PKey key) { return PartitionOf(key) == kDefaultPartition; }

// For any table and any desired keys: the managed keys are exactly those desired, none appears
// twice, no unmanaged P_Key moves, and a second run changes nothing.
TEST(LayOutKeys, AnyTableGetsExactlyTheDesiredKeys) {
  const PartitionIndex index = IndexOf("A=1: 0x1; B=2: 0x1; C=3: 0x1;", true, {4, 5});
  Rng rng(7);
  const auto draw = [&](uint64_t most) {
    const uint16_t number = static_cast<uint16_t>(rng.Below(most));
    return PKey(static_cast<uint16_t>(number == 0 ? (rng.Chance(0.5) ? 0xFFFF : 0x7FFF)
                                                  : number | (rng.Chance(0.5) ? 0x8000 : 0)));
  };
  for (int round = 0; round < 3000; ++round) {
    const size_t capacity = rng.Below(9);
    std::vector<PKey> held;
    for (size_t i = 0; i < rng.Below(10); ++i) held.push_back(rng.Chance(0.3) ? PKey() : draw(9));
    WantedKeys wanted;
    for (size_t i = 0; i < rng.Below(6); ++i) wanted.keys.push_back(draw(4));
    std::sort(wanted.keys.begin(), wanted.keys.end());
    wanted.keys.erase(std::unique(wanted.keys.begin(), wanted.keys.end()), wanted.keys.end());
    if (!wanted.keys.empty()) wanted.first = wanted.keys[rng.Below(wanted.keys.size())];
    const bool keep = rng.Chance(0.7);
    const KeyLayout layout = LayOutKeys(held, wanted, capacity, index, keep);
    ASSERT_EQ(layout.table.size(), capacity);
    std::vector<PKey> own = layout.left_out;
    for (size_t at = 0; at < capacity; ++at) {
      const PKey was = at < held.size() ? held[at] : PKey();
      const bool foreign = was && !index.IsOwn(was);
      if (foreign && keep) {
        EXPECT_EQ(layout.table[at], was);
      } else if (layout.table[at]) {
        EXPECT_TRUE(index.IsOwn(layout.table[at]));
        own.push_back(layout.table[at]);
      }
    }
    std::sort(own.begin(), own.end());
    EXPECT_EQ(own, wanted.keys);
    if (std::any_of(layout.left_out.begin(), layout.left_out.end(), IsOfDefault)) {
      for (PKey key : layout.table)
        EXPECT_TRUE(IsOfDefault(key) || !index.IsOwn(key)) << "takes the place of the default one";
    }
    EXPECT_TRUE(layout.left_out.empty() ||
                std::count(layout.table.begin(), layout.table.end(), PKey()) == 0);
    EXPECT_EQ(LayOutKeys(layout.table, wanted, capacity, index, keep).table, layout.table);
  }
}

}  // namespace
}  // namespace fabricd::policy
