// SPDX-License-Identifier: Apache-2.0
// Which tables are to be read and written, where switches enforce, and what they cannot.
#include "sweep/write/port_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/partitions_text.h"
#include "sweep/device/device_table.h"
#include "sweep/write/port_guids.h"
#include "tests/unit/sweep/small_fabric.h"

namespace fabricd::sweep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class PortKeysTest : public testing::Test {
 protected:
  PortKeysTest() : devices_(options_) {
    for (NodeIndex node : small_.switches) {
      devices_.SetPath(node, wire::DirectedPath());
      SetCap(node, 32);
      Know({node, PortNum(0)}, {0xFFFF});
    }
    for (size_t i = 0; i < small_.hosts.size(); ++i) {
      wire::NodeInfo info = small_.builder.node(small_.hosts[i])->info;
      info.partition_cap = 32;
      small_.builder.PutNode(info);
      Know(small_.Host(i), {0xFFFF});
    }
  }
  void SetCap(NodeIndex node, uint16_t cap) {
    wire::SwitchInfo info;
    info.partition_enforcement_cap = cap;
    info.inbound_enforcement_cap = info.outbound_enforcement_cap = true;
    small_.builder.SetSwitchInfo(node, info);
  }
  static wire::PKeyTable Table(std::initializer_list<int> keys) {
    wire::PKeyTable table;
    std::transform(keys.begin(), keys.end(), table.keys.begin(),
                   [](int key) { return PKey(static_cast<uint16_t>(key)); });
    return table;
  }
  static void Read(AppliedState::PKeyBlocks& blocks, std::initializer_list<int> keys) {
    blocks.GrowTo(1);
    blocks.Confirm(0, Table(keys));
  }
  void Know(PortRef port, std::initializer_list<int> keys) {
    Read(devices_.applied().PKeys(port), keys);
  }
  void Partition(std::string_view text) {
    const policy::ParsedPartitions parsed = policy::ParsePartitions(text);
    ASSERT_TRUE(parsed.ok()) << policy::FaultsText(parsed.faults);
    input_.index =
        std::make_shared<policy::PartitionIndex>(parsed.partitions, policy::PartitionSet(), true);
  }
  PortKeys Make() {
    snapshot_ = small_.builder.Build();
    return PortKeys(input_, local_, *snapshot_, devices_.applied());
  }
  // "0x1000: 0xffff 0x8001", by the GUID of the node.
  std::vector<std::string> Writes(NodeIndex node) {
    const PortKeys keys = Make();
    std::vector<std::string> texts;
    problems_.clear();
    const auto problem = [&](PortRef, ProblemKind kind, const std::string& text) {
      problems_.push_back(fmt::format("{}: {}", ProblemKindName(kind), text));
    };
    for (const PortKeys::Write& write : keys.Writes(*snapshot_->node(node), problem)) {
      std::string text =
          fmt::format("{}/{}:", snapshot_->node(write.port.node)->guid().value(), write.port.port);
      for (PKey key : write.table.keys)
        if (key) text += fmt::format(" {}", key);
      texts.push_back(text);
    }
    return texts;
  }
  size_t ReadCount(NodeIndex node) {
    const PortKeys keys = Make();
    return keys.Reads(*snapshot_->node(node)).size();
  }
  PortGuids MakeGuids() {
    snapshot_ = small_.builder.Build();
    return PortGuids(guids_, *snapshot_, devices_.applied());
  }
  size_t GuidReadCount(size_t host) {
    const PortGuids guids = MakeGuids();
    return guids.Reads(*snapshot_->node(small_.hosts[host])).size();
  }
  void AddAliases(std::vector<fabric::AliasBlock> blocks) {
    guids_.aliases = std::make_shared<const fabric::AliasGuids>(std::move(blocks));
  }

  SmOptions options_;
  SmallFabric small_{2};
  DeviceTable devices_;
  DesiredKeys input_{std::make_shared<policy::PartitionIndex>(policy::Partitions::BuiltIn(),
                                                              policy::PartitionSet(), true)};
  PortRef local_;
  DesiredGuids guids_{std::make_shared<const fabric::AliasGuids>()};
  std::shared_ptr<const fabric::FabricSnapshot> snapshot_;
  std::vector<std::string> problems_;
  sweep::Enforcement Enforcement(PortRef port, bool shows = false) {
    wire::PortInfo now;
    now.partition_enforcement_inbound = now.partition_enforcement_outbound = shows;
    return Make().EnforcementOf(port, now);
  }

  const PortRef leaf_port_{small_.switches[0], PortNum(1)};  // Faces host 0.
};

TEST_F(PortKeysTest, WithoutPartitionsNothingIsReadOrWritten) {
  EXPECT_THAT(Writes(small_.hosts[0]), IsEmpty());
  EXPECT_THAT(Writes(small_.switches[0]), IsEmpty());
  EXPECT_EQ(ReadCount(small_.hosts[0]), 0u);
  EXPECT_EQ(ReadCount(small_.switches[0]), 0u);
  EXPECT_FALSE(Enforcement(leaf_port_).inbound);
}

TEST_F(PortKeysTest, TablesOfARebootedSwitchAreReadAgain) {
  devices_.applied().NoteRequestedEnforcement(leaf_port_, {true, true});
  devices_.applied().ForgetWritten(small_.switches[0]);
  EXPECT_FALSE(devices_.applied().RequestedEnforcement(leaf_port_));
  EXPECT_EQ(ReadCount(small_.switches[0]), 1u);
  EXPECT_EQ(ReadCount(small_.switches[1]), 0u);
}

TEST_F(PortKeysTest, ALeafPortGetsTheKeysOfItsHost) {
  Partition("A=1: 0x1000=full;");
  EXPECT_EQ(ReadCount(small_.hosts[0]), 1u);     // The table of the leaf's port.
  EXPECT_EQ(ReadCount(small_.switches[0]), 1u);  // The same; not that between switches.
  EXPECT_THAT(Writes(small_.hosts[0]), ElementsAre("256/1: 0x7fff 0x8001"));
  Read(devices_.applied().SwitchKeys(leaf_port_), {0x8999});
  EXPECT_THAT(Writes(small_.hosts[0]), ElementsAre("256/1: 0x7fff 0x8001", "16/1: 0x7fff 0x8001"));
  EXPECT_FALSE(Enforcement(leaf_port_).inbound);  // Its table is not confirmed.
  EXPECT_TRUE(Enforcement(leaf_port_, true).inbound);
  devices_.applied().NoteRequestedEnforcement(leaf_port_, {true, false});
  EXPECT_TRUE(Enforcement(leaf_port_).inbound) << "it may only be slow to show it";
  EXPECT_FALSE(Enforcement(leaf_port_, true).outbound);
  devices_.applied().ForgetEnforcement(leaf_port_);  // The Set was not answered.
  EXPECT_FALSE(Enforcement(leaf_port_).inbound);
  Read(devices_.applied().SwitchKeys(leaf_port_), {0x8001, 0x7FFF});
  EXPECT_TRUE(Enforcement(leaf_port_).inbound);
  EXPECT_TRUE(Enforcement(leaf_port_).outbound);
  EXPECT_FALSE(Enforcement({small_.switches[0], PortNum(36)}).inbound);
  input_.options.enforce_inbound = false;
  EXPECT_FALSE(Enforcement(leaf_port_).inbound);
}

TEST_F(PortKeysTest, UnmanagedPKeysOfTheHostPassTheLeaf) {
  Partition("A=1: 0x1000=full;");
  Know(small_.Host(0), {0xFFFF, 0x8777});
  Read(devices_.applied().SwitchKeys(leaf_port_), {});
  EXPECT_THAT(Writes(small_.hosts[0]),
              ElementsAre("256/1: 0x7fff 0x8777 0x8001", "16/1: 0x7fff 0x8777 0x8001"));
  input_.isolated = {small_.Host(0)};
  EXPECT_THAT(Writes(small_.hosts[0]), ElementsAre("256/1: 0x7fff 0x8777", "16/1: 0x7fff"));
}

TEST_F(PortKeysTest, ATableThatIsTooSmallIsNamed) {
  Partition("A=1: 0x1000=full; B=2: 0x1000=full;");
  SetCap(small_.switches[0], 2);
  Read(devices_.applied().SwitchKeys(leaf_port_), {});
  Know(small_.Host(0), {0x7FFF, 0x8001, 0x8002});
  EXPECT_THAT(Writes(small_.hosts[0]), IsEmpty());
  EXPECT_THAT(problems_, ElementsAre(HasSubstr("NotEnforced: its table of 2 P_Keys does not hold "
                                               "the 3 of the port behind it")));
  EXPECT_FALSE(Enforcement(leaf_port_).inbound);
}

TEST_F(PortKeysTest, AliasGuidsBindTheirPort) {
  Partition("A=1: 0xA1=full;");
  EXPECT_THAT(Writes(small_.hosts[1]), ElementsAre("257/1: 0x7fff"));
  wire::PortInfo info = SmallFabric::Up();
  info.guid_cap = 16;
  small_.builder.SetPortInfo(small_.Host(1), info);
  guids_.read_all = true;
  EXPECT_EQ(GuidReadCount(1), 1u);
  EXPECT_EQ(GuidReadCount(0), 0u);  // It says that it can have no other.
  wire::GuidInfo first;
  first.guids = {Guid(0x1001), Guid(0xA1)};
  EXPECT_TRUE(MakeGuids().GoesOn(small_.Host(1), 0, first));
  EXPECT_FALSE(MakeGuids().GoesOn(small_.Host(1), 1, first));
  EXPECT_FALSE(MakeGuids().GoesOn(small_.Host(1), 0, wire::GuidInfo()));
  devices_.applied().GuidsTo(small_.Host(1), 0).Confirm(0, first);
  EXPECT_THAT(Writes(small_.hosts[1]), ElementsAre("257/1: 0x7fff 0x8001"));
  EXPECT_EQ(GuidReadCount(1), 0u);
  // A block whose answer did not come, or too late: who runs by an alias there keeps his keys.
  devices_.applied().GuidsTo(small_.Host(1), 1);
  EXPECT_THAT(Writes(small_.hosts[1]), IsEmpty());
  EXPECT_EQ(GuidReadCount(1), 1u);
  devices_.applied().GuidsTo(small_.Host(1), 1).Confirm(1, wire::GuidInfo());
  EXPECT_THAT(Writes(small_.hosts[1]), ElementsAre("257/1: 0x7fff 0x8001"));
  Partition("A=1: 0x1000=full;");
}

TEST_F(PortKeysTest, AllocatedAliasesAreWrittenBesideExistingGuids) {
  const PortRef port = small_.Host(1);
  const fabric::Node& node = *small_.builder.Build()->node(port.node);
  const Guid own = node.port(port.port).guid;
  wire::PortInfo info = SmallFabric::Up();
  info.guid_cap = 11;
  small_.builder.SetPortInfo(port, info);
  fabric::AliasBlock first{own, 0, 0b0111, {}}, second{own, 1, 0b1110, {}};
  first.info.guids = {Guid(), Guid(0xA1), Guid()};
  second.info.guids = {Guid(), Guid(0xA9), Guid(0xAA), Guid(0xAB)};
  AddAliases({first, second, {own, 2, 0xFF, {}}});
  EXPECT_EQ(GuidReadCount(1), 2u);  // GUIDCap has no third block.
  const auto writes = [&] { return MakeGuids().Writes(*snapshot_->node(port.node)); };
  EXPECT_THAT(writes(), IsEmpty());
  wire::GuidInfo held;
  held.guids = {own, Guid(), Guid(0xB2), Guid(0xB3)};
  devices_.applied().GuidsTo(port, 0).Confirm(0, held);
  devices_.applied().GuidsTo(port, 1).Confirm(1, wire::GuidInfo());
  ASSERT_EQ(writes().size(), 2u);
  EXPECT_THAT(writes()[0].info.guids,
              ElementsAre(own, Guid(0xA1), Guid(), Guid(0xB3), Guid(), Guid(), Guid(), Guid()));
  EXPECT_EQ(writes()[1].info.guids[2], Guid(0xAA));
  EXPECT_EQ(writes()[1].info.guids[3], Guid()) << "beyond GUIDCap";
  for (const auto& write : writes())
    devices_.applied().GuidsTo(port, write.block).Confirm(write.block, write.info);
  EXPECT_THAT(writes(), IsEmpty());
  EXPECT_EQ(GuidReadCount(1), 0u);
  const wire::GuidInfo there = *devices_.applied().FindGuids(port)->Find(0);
  devices_.applied().GuidsTo(port, 0).MarkSent(0, there);
  devices_.applied().GuidsTo(port, 0).Answer(0, held);
  EXPECT_EQ(GuidReadCount(1), 0u) << "what it shows proves nothing";
  EXPECT_EQ(writes().size(), 1u);
}

TEST_F(PortKeysTest, ATableThatIsContradictedIsWrittenUntilItAgrees) {
  Partition("A=1: 0x1000=full; B=2: 0x1000=full;");
  Read(devices_.applied().SwitchKeys(leaf_port_), {0x7FFF, 0x8001, 0x8002});
  AppliedState::PKeyBlocks& blocks = devices_.applied().PKeys(small_.Host(0));
  blocks.MarkSent(0, Table({0x7FFF, 0x8001, 0x8002}));
  EXPECT_FALSE(blocks.Answer(0, Table({0xFFFF})));
  EXPECT_EQ(ReadCount(small_.hosts[0]), 0u) << "what it shows proves nothing";
  EXPECT_THAT(Writes(small_.hosts[0]), ElementsAre("256/1: 0x7fff 0x8001 0x8002"));
  Partition("B=2: 0x1000=full;");
  EXPECT_THAT(Writes(small_.hosts[0]), testing::Contains("256/1: 0x7fff 0x8001 0x8002"))
      << "what it was told keeps its index, and foreign keys stay";
  Read(devices_.applied().SwitchKeys(leaf_port_), {0x7FFF, 0x8001, 0x8002});
  blocks.Confirm(0, Table({0x7FFF, 0x8001, 0x8002}));
  EXPECT_THAT(Writes(small_.hosts[0]), IsEmpty());
  AppliedState::PKeyBlocks& leaf = devices_.applied().SwitchKeys(leaf_port_);
  leaf.MarkSent(0, Table({0x7FFF, 0x8001, 0x8002}));
  EXPECT_FALSE(leaf.Answer(0, Table({0x8002})));
  EXPECT_FALSE(Enforcement(leaf_port_).inbound) << "its table is not confirmed";
}

TEST_F(PortKeysTest, ABlockThatIsNotKnownIsReadAndNothingBesideItWritten) {
  Partition("A=1: 0x1000=full;");
  devices_.applied().PKeys(small_.Host(0)).Resize(2);
  Read(devices_.applied().SwitchKeys(leaf_port_), {});
  EXPECT_EQ(ReadCount(small_.hosts[0]), 1u);
  EXPECT_THAT(Writes(small_.hosts[0]), IsEmpty());
  EXPECT_THAT(problems_, ElementsAre(HasSubstr("Unreadable: ")));
}

}  // namespace
}  // namespace fabricd::sweep
