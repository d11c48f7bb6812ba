// SPDX-License-Identifier: Apache-2.0
#include "sweep/desired/desired_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/partitions_text.h"
#include "tests/unit/sweep/small_fabric.h"

namespace fabricd::sweep {
namespace {

class DeriveTest : public testing::Test {
 protected:
  DesiredInputs Inputs() {
    return {small_.builder.Build(), lids_, intent_, index_, generation_, {}, aliases_, {}, {}, 0};
  }
  void Partition(std::string_view text) {
    const policy::ParsedPartitions parsed = policy::ParsePartitions(text);
    ASSERT_TRUE(parsed.ok()) << policy::FaultsText(parsed.faults);
    index_ =
        std::make_shared<policy::PartitionIndex>(parsed.partitions, policy::PartitionSet(), true);
    ++generation_;
  }

  SmallFabric small_{2};
  fabric::Intent intent_;
  uint64_t generation_ = 1;
  std::shared_ptr<const fabric::LidTable> lids_ = std::make_shared<fabric::LidTable>();
  std::shared_ptr<const policy::PartitionIndex> index_ = std::make_shared<policy::PartitionIndex>(
      policy::Partitions::BuiltIn(), policy::PartitionSet(), true);
  std::shared_ptr<const fabric::AliasGuids> aliases_ = std::make_shared<const fabric::AliasGuids>();
};

TEST_F(DeriveTest, TakesPortsToDisableAndKeysFromTheIntent) {
  intent_.disabled = {{small_.switches[0], PortNum(1)}};
  intent_.reenabled = {{small_.switches[0], PortNum(2)}};
  intent_.unpartitioned = {small_.Host(0)};
  const DesiredState desired = Derive(Inputs(), nullptr);
  EXPECT_EQ(desired.ports.disabled, intent_.disabled);
  EXPECT_EQ(desired.ports.reenabled, intent_.reenabled);
  EXPECT_EQ(desired.keys.isolated, intent_.unpartitioned);
  EXPECT_EQ(desired.keys.generation, 1u);
  EXPECT_EQ(desired.plan, nullptr);
}

TEST_F(DeriveTest, ReadsAllGuidsWhilePartitionsNameOneThatNoPortHas) {
  Partition("A=1: 0xA1=full;");
  EXPECT_TRUE(Derive(Inputs(), nullptr).guids.read_all);
  Partition("A=1: 0x1000=full;");
  EXPECT_FALSE(Derive(Inputs(), nullptr).guids.read_all);
}

TEST_F(DeriveTest, LooksForNamedGuidsAgainWhenPartitionsChangeOrNodesCome) {
  Partition("A=1: 0x1000=full;");
  DesiredState before = Derive(Inputs(), nullptr);
  before.guids.read_all = true;  // Unlike the truth, to see whether it is kept.
  EXPECT_TRUE(Derive(Inputs(), &before).guids.read_all);
  ++generation_;
  EXPECT_FALSE(Derive(Inputs(), &before).guids.read_all);
  --generation_;
  small_.builder.RemoveNode(small_.hosts[1]);
  EXPECT_FALSE(Derive(Inputs(), &before).guids.read_all);
}

TEST_F(DeriveTest, DoesNotLookForTheGuidOfAPortThatHasGone) {
  Partition("A=1: 0x1000=full;");
  const DesiredState before = Derive(Inputs(), nullptr);
  small_.builder.RemoveNode(small_.hosts[0]);
  EXPECT_FALSE(Derive(Inputs(), &before).guids.read_all);
}

TEST_F(DeriveTest, KeysOfOnePartitioningAndIsolationAreTheSame) {
  const DesiredKeys keys = Derive(Inputs(), nullptr).keys;
  DesiredKeys other = keys;
  EXPECT_TRUE(keys.IsSameAs(other));
  other.isolated = {small_.Host(0)};
  EXPECT_FALSE(keys.IsSameAs(other));
  other = keys;
  ++other.generation;
  EXPECT_FALSE(keys.IsSameAs(other));
}

}  // namespace
}  // namespace fabricd::sweep
