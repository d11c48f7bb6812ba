// SPDX-License-Identifier: Apache-2.0
// Partitions on a whole core: what the simulated devices hold in the end, and what gets through.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/partitions_text.h"
#include "policy/target.h"
#include "sim/checkers/checkers.h"
#include "sim/checkers/key_checker.h"
#include "sim/generate/generate.h"
#include "sim/simulation/simulation.h"
#include "tests/support/logs.h"

namespace fabricd::test {
namespace {

using policy::Member;
using policy::Membership;
using policy::PartitionRequest;
using std::chrono::seconds;
using testing::IsEmpty;
using Verb = PartitionRequest::Verb;

class CorePartitions : public testing::Test {
 protected:
  CorePartitions() : harness_(**sim::Generate("superpod:sus=1,hosts=4,rails=2")) {
    sm_ = harness_.Add({});
    harness_.Start(sm_);
    EXPECT_TRUE(harness_.RunUntilUp(sm_)) << LogOf(harness_.manager(sm_));
    for (const policy::Member& member : Guids()) guids_.push_back(member.guid);
  }
  const sweep::FabricView& View() { return *harness_.manager(sm_).view; }
  sim::SimFabric& Fabric() { return harness_.fabric(); }
  // All host ports but the SM's, by index.
  std::vector<Member> Guids() {
    std::vector<Member> members;
    View().snapshot->ForEachNode([&](const fabric::Node& node) {
      if (!node.IsSwitch() && node.port(PortNum(1)).guid != View().sm.guid)
        members.push_back({node.port(PortNum(1)).guid, policy::PortClass::kNone, {}});
    });
    return members;
  }
  PortRef PortOf(Guid guid) {
    for (uint32_t i = 0; i < Fabric().node_index_end(); ++i) {
      const sim::SimDevice* device = Fabric().device(NodeIndex(i));
      if (device != nullptr && !device->IsSwitch() && device->port(PortNum(1)).guid == guid)
        return {NodeIndex(i), PortNum(1)};
    }
    return {};
  }
  sweep::FinishedCommand Ask(PartitionRequest request, bool validate_only = false) {
    const size_t before = harness_.manager(sm_).finished.size();
    harness_.Post(sm_, sweep::ChangePartitions{5, std::move(request), validate_only, false});
    EXPECT_TRUE(harness_.RunUntil([&] { return harness_.manager(sm_).finished.size() > before; }));
    return harness_.manager(sm_).finished.back();
  }
  void Replace(std::string_view text) {
    PartitionRequest request;
    policy::ParsedPartitions parsed = policy::ParsePartitions(text);
    ASSERT_TRUE(parsed.ok()) << policy::FaultsText(parsed.faults);
    request.all = std::move(parsed.partitions);
    const auto finished = Ask(std::move(request));
    EXPECT_TRUE(finished.status.ok()) << finished.status;
    UntilInEffect();
  }
  void UntilInEffect() {
    EXPECT_TRUE(harness_.RunUntil([&] {
      return View().partitions_in_effect && View().phase == sweep::Phase::kIdle;
    })) << LogOf(harness_.manager(sm_));
  }
  std::vector<std::string> Faults() {
    expected_.partitions = View().partitions->partitions;
    expected_.self = View().sm.guid;
    return PKeyFaults(Fabric(), expected_);
  }
  void RefusePKeys(NodeIndex host) {
    Fabric().SetQuirks(
        host,
        {.refused_sets = {{wire::AttributeId::kPKeyTable, wire::kStatusInvalidAttributeValue}}});
  }
  static PartitionRequest LimitedForAll() {
    PartitionRequest request;
    request.all = policy::ParsePartitions("Default=0x7fff: ALL=limited, SELF=full;").partitions;
    return request;
  }
  // Whether data with this key gets from one host to the other.
  bool Passes(size_t from, size_t to, uint16_t key) {
    const PortRef source = PortOf(guids_[from]), sink = PortOf(guids_[to]);
    const Lid lid = Fabric().device(sink.node)->port(sink.port).info.lid;
    return Fabric().TraceData(source, lid, PKey(key)) == sink;
  }
  uint64_t SetsOfASweep() {
    const uint64_t before = Fabric().stats().sets();
    const size_t finished = harness_.manager(sm_).finished.size();
    harness_.Post(sm_, sweep::SweepCommand{1, true});
    EXPECT_TRUE(
        harness_.RunUntil([&] { return harness_.manager(sm_).finished.size() > finished; }));
    return Fabric().stats().sets() - before;
  }

  sim::Simulation harness_;
  size_t sm_ = 0;
  std::vector<Guid> guids_;
  sim::KeyExpectations expected_;
};

TEST_F(CorePartitions, AFileIsProgrammedAndEnforcedAtTheLeaves) {
  EXPECT_THAT(Faults(), IsEmpty());
  Replace(
      fmt::format("Default=0x7fff,ipoib: ALL=limited, SELF=full; A=1: {}=full, {};"
                  "B=2,indx0: {}=both, ALL_SWITCHES;",
                  guids_[0], guids_[1], guids_[2]));
  EXPECT_THAT(Faults(), IsEmpty());
  EXPECT_TRUE(Passes(0, 1, 0x8001));
  EXPECT_FALSE(Passes(0, 2, 0x8001));
  // What a host sends in a partition that is not its own does not get past the first switch.
  EXPECT_FALSE(Passes(2, 0, 0x8001));
  EXPECT_FALSE(Passes(1, 0, 0x0003));
  EXPECT_EQ(SetsOfASweep(), 0u);
  EXPECT_THAT(sim::BrokenPairs(Fabric()), IsEmpty());
  // All of it is taken back.
  PartitionRequest reset;
  reset.all = policy::Partitions::BuiltIn();
  EXPECT_TRUE(Ask(reset).status.ok());
  UntilInEffect();
  EXPECT_THAT(Faults(), IsEmpty());
  EXPECT_EQ(SetsOfASweep(), 0u);
}

TEST_F(CorePartitions, AddedAndRemovedMembersChangeOnlyTheirTables) {
  PartitionRequest create;
  create.verb = Verb::kCreate;
  create.partition.name = "tenant";
  create.partition.members = {{guids_[0], {}, Membership::kFull}};
  const auto made = Ask(create);
  ASSERT_TRUE(made.status.ok()) << made.status;
  EXPECT_EQ(made.partitions->number, 1);
  UntilInEffect();
  EXPECT_THAT(Faults(), IsEmpty());
  PartitionRequest add;
  add.verb = Verb::kAddMembers;
  add.partition.number = 1;
  add.partition.members = {{guids_[1], {}, Membership::kFull}};
  add.request_id = "job 7";
  const uint64_t before = Fabric().stats().sets();
  EXPECT_TRUE(Ask(add).status.ok());
  UntilInEffect();
  EXPECT_THAT(Faults(), IsEmpty());
  EXPECT_EQ(Fabric().stats().sets() - before, 2u);  // The host's and its leaf port's.
  add.verb = Verb::kRemoveMembers;
  add.request_id = "job 7 ends";
  EXPECT_TRUE(Ask(add).status.ok());
  // Asked again late: it was done before, and is not done a second time.
  add.verb = Verb::kAddMembers;
  add.request_id = "job 7";
  const auto again = Ask(add);
  EXPECT_TRUE(again.status.ok() && again.partitions->existing);
  UntilInEffect();
  EXPECT_EQ(View().partitions->partitions.Find(1)->members.size(), 1u);
  EXPECT_THAT(Faults(), IsEmpty());
}

// Alias GUIDs that Subnet Administration allocates are written to the devices, are members of the
// partitions that name them, and are written again after a reboot of their host.
TEST_F(CorePartitions, AliasGuidsAreWrittenBoundAndPutBack) {
  const PortRef port = PortOf(guids_[0]);
  const auto held = [&](size_t block, size_t entry) {
    const auto& blocks = Fabric().device(port.node)->port(port.port).guids;
    return block < blocks.size() ? blocks[block].guids[entry] : Guid();
  };
  const auto tell = [&](std::vector<fabric::AliasBlock> blocks) {
    auto aliases = std::make_shared<const fabric::AliasGuids>(std::move(blocks));
    harness_.manager(sm_).aliases = aliases;
    harness_.Post(sm_, sweep::AliasesChanged{aliases});
    EXPECT_TRUE(harness_.RunUntil([&] { return View().phase == sweep::Phase::kIdle; }));
  };
  fabric::AliasBlock first{guids_[0], 0, 0b10, {}}, second{guids_[0], 1, 0b1, {}};
  first.info.guids[1] = Guid(0xA1);
  second.info.guids[0] = Guid(0xA8);
  const uint64_t before = Fabric().stats().sets();
  tell({first, second});
  EXPECT_EQ(held(0, 1), Guid(0xA1));
  EXPECT_EQ(held(1, 0), Guid(0xA8));
  EXPECT_EQ(Fabric().stats().sets() - before, 2u);
  EXPECT_EQ(SetsOfASweep(), 0u);
  Replace("A=1: 0xA8=full;");
  EXPECT_EQ(Fabric().device(port.node)->PKeyAt(port.port, 1), PKey(0x8001));
  ASSERT_TRUE(Fabric().Reboot(harness_.now(), port.node).ok());
  harness_.RunFor(seconds(1));
  ASSERT_EQ(held(0, 1), Guid());
  EXPECT_TRUE(harness_.RunUntil([&] { return held(0, 1) && held(1, 0); }))
      << LogOf(harness_.manager(sm_));
  UntilInEffect();
  EXPECT_EQ(Fabric().device(port.node)->PKeyAt(port.port, 1), PKey(0x8001));
  // A restart finds all of it right.
  harness_.Kill(sm_);
  const uint64_t sets = Fabric().stats().smps.at(wire::AttributeId::kGuidInfo).sets;
  harness_.Start(sm_);
  ASSERT_TRUE(harness_.RunUntilUp(sm_)) << LogOf(harness_.manager(sm_));
  EXPECT_EQ(Fabric().stats().smps.at(wire::AttributeId::kGuidInfo).sets, sets);
  EXPECT_EQ(Fabric().device(port.node)->PKeyAt(port.port, 1), PKey(0x8001));
  second.info.guids[0] = Guid();
  tell({first, second});
  EXPECT_EQ(held(0, 1), Guid(0xA1));
  EXPECT_EQ(held(1, 0), Guid());
  EXPECT_EQ(Fabric().device(port.node)->PKeyAt(port.port, 1), PKey());
  EXPECT_EQ(SetsOfASweep(), 0u);
}

TEST_F(CorePartitions, ADryRunAndAFaultyRequestChangeNothing) {
  const uint64_t sets = Fabric().stats().sets();
  PartitionRequest create;
  create.verb = Verb::kCreate;
  create.partition.members = {{guids_[0], {}, Membership::kFull}};
  const auto tried = Ask(create, /*validate_only=*/true);
  EXPECT_TRUE(tried.status.ok());
  EXPECT_EQ(tried.partitions->after->partitions.list.size(), 2u);
  create.verb = Verb::kDelete;
  create.partition.number = 9;
  EXPECT_TRUE(absl::IsNotFound(Ask(create).status));
  create.partition.number = policy::kDefaultPartition;
  EXPECT_TRUE(absl::IsInvalidArgument(Ask(create).status));
  harness_.RunFor(seconds(1));
  EXPECT_EQ(View().partitions->partitions, policy::Partitions::BuiltIn());
  EXPECT_EQ(Fabric().stats().sets(), sets);
}

TEST_F(CorePartitions, PartitionsSurviveKillAndRestart) {
  Replace(fmt::format("A=1: {}=full; B=2: ALL_CAS=full;", guids_[0]));
  const auto state = *View().partitions;
  harness_.Kill(sm_);
  const uint64_t keys = Fabric().stats().smps.at(wire::AttributeId::kPKeyTable).sets;
  harness_.Start(sm_);
  ASSERT_TRUE(harness_.RunUntilUp(sm_)) << LogOf(harness_.manager(sm_));
  EXPECT_EQ(View().partitions->partitions, state.partitions);
  EXPECT_EQ(Fabric().stats().smps.at(wire::AttributeId::kPKeyTable).sets, keys);
  EXPECT_THAT(Faults(), IsEmpty());
  // What is gone now was given by a life before.
  PartitionRequest gone;
  gone.verb = Verb::kDelete;
  gone.partition.number = 2;
  EXPECT_TRUE(Ask(gone).status.ok());
  UntilInEffect();
  EXPECT_THAT(Faults(), IsEmpty());
}

TEST_F(CorePartitions, PartitionsThatCannotBeStoredHaveNoEffect) {
  harness_.manager(sm_).store.FailWrites(absl::InternalError("disk full"));
  PartitionRequest create;
  create.verb = Verb::kCreate;
  create.partition.members = {{guids_[0], {}, Membership::kFull}};
  EXPECT_FALSE(Ask(create).status.ok());
  harness_.RunFor(seconds(1));
  EXPECT_EQ(View().partitions->partitions, policy::Partitions::BuiltIn());
  EXPECT_THAT(Faults(), IsEmpty());
}

TEST_F(CorePartitions, AnIsolatedPortIsInNoPartition) {
  Replace("A=1: ALL=full;");
  policy::Hold hold;
  hold.kind = policy::HoldKind::kIsolate;
  hold.owner = hold.reason = "test";
  const PortRef port{
      View().snapshot->FindNode(Fabric().device(PortOf(guids_[0]).node)->guid())->index,
      PortNum(1)};
  hold.target = policy::TargetOfPort(port, *View().snapshot, nullptr, View().sm.port);
  const size_t before = harness_.manager(sm_).finished.size();
  harness_.Post(sm_, sweep::CreateHold{7, hold});
  ASSERT_TRUE(harness_.RunUntil([&] { return harness_.manager(sm_).finished.size() > before; }));
  ASSERT_TRUE(harness_.manager(sm_).finished.back().status.ok());
  const uint64_t id = harness_.manager(sm_).finished.back().hold->hold.id;
  harness_.RunFor(seconds(5));
  expected_.isolated = {PortOf(guids_[0])};
  EXPECT_THAT(Faults(), IsEmpty());
  EXPECT_FALSE(Passes(1, 0, 0x8001));
  harness_.Post(sm_, sweep::DeleteHold{8, {id, "test"}});
  harness_.RunFor(seconds(30));
  expected_.isolated.clear();
  EXPECT_THAT(Faults(), IsEmpty());
}

TEST_F(CorePartitions, ASwitchThatIgnoresEnforcementIsReported) {
  const PortRef facing = Fabric().LinkedPeer(PortOf(guids_[0]));
  Fabric().SetQuirks(facing.node, {.ignored = sim::IgnoredPortInfoFields::OfIbsim()});
  Replace(fmt::format("Default=0x7fff: ALL=limited, SELF=full; A=1: {}=full;", guids_[0]));
  const auto faults = Faults();
  ASSERT_FALSE(faults.empty());
  EXPECT_THAT(faults[0], testing::HasSubstr("ignores enforcement, and operators are not told"));
  for (const sweep::Problem& problem : View().problems)
    if (problem.kind == sweep::ProblemKind::kNotEnforced)
      expected_.not_enforced.emplace_back(problem.subject.node, problem.subject.port);
  EXPECT_THAT(Faults(), IsEmpty());
  EXPECT_EQ(SetsOfASweep(), 0u);
}

// While a slow leaf is still being written a cable fails elsewhere.
TEST_F(CorePartitions, WritesOfASupersededRunAreDoneByTheNext) {
  const NodeIndex refusing = PortOf(guids_[0]).node;
  RefusePKeys(refusing);
  const PortRef facing = Fabric().LinkedPeer(PortOf(guids_[1]));
  Fabric().SetQuirks(facing.node, {.answer_delay = std::chrono::milliseconds(150)});
  ASSERT_TRUE(Ask(LimitedForAll()).status.ok());
  const sweep::Core& core = *harness_.manager(sm_).core;
  ASSERT_TRUE(harness_.RunUntil([&] { return core.progress().step == "ports"; }));
  PortRef cable{*Fabric().FindNode("spine1"), PortNum(1)};
  while (Fabric().LinkedPeer(cable).node == facing.node)
    cable.port = PortNum(static_cast<uint8_t>(cable.port.value() + 1));
  ASSERT_TRUE(Fabric().Unlink(harness_.now(), cable).ok());
  ASSERT_TRUE(harness_.RunUntil([&] { return core.progress().step != "ports"; }));
  ASSERT_EQ(core.progress().step, "reading tables") << "the run was not superseded";
  Fabric().SetQuirks(refusing, {});
  UntilInEffect();
  EXPECT_THAT(Faults(), IsEmpty()) << LogOf(harness_.manager(sm_));
}

TEST_F(CorePartitions, ReoptimisationKeepsPendingWrites) {
  const NodeIndex refusing = PortOf(guids_[0]).node;
  RefusePKeys(refusing);
  ASSERT_TRUE(Ask(LimitedForAll()).status.ok());
  const PortRef cable{*Fabric().FindNode("spine1"), PortNum(1)};
  ASSERT_TRUE(Fabric().Unlink(harness_.now(), cable).ok());
  ASSERT_TRUE(harness_.RunUntil(
      [&] { return LogOf(harness_.manager(sm_)).find("settling ended") != std::string::npos; }));
  EXPECT_FALSE(View().subnet_up);
  EXPECT_FALSE(View().partitions_in_effect);
  Fabric().SetQuirks(refusing, {});
  UntilInEffect();
  EXPECT_THAT(Faults(), IsEmpty()) << LogOf(harness_.manager(sm_));
}

// The host returns the previous table for a while, and meanwhile the partitions change back to it.
TEST_F(CorePartitions, AHostThatReturnsOldTablesIsWrittenUntilTheyMatch) {
  const std::string_view before = "Default=0x7fff: ALL=full;";
  Replace(before);
  const NodeIndex stale = PortOf(guids_[0]).node;
  Fabric().SetQuirks(stale, {.stale_reads = seconds(3)});
  ASSERT_TRUE(Ask(LimitedForAll()).status.ok());
  harness_.RunFor(std::chrono::milliseconds(1500));
  PartitionRequest request;
  request.all = policy::ParsePartitions(before).partitions;
  ASSERT_TRUE(Ask(std::move(request)).status.ok());
  UntilInEffect();
  EXPECT_THAT(Faults(), IsEmpty()) << LogOf(harness_.manager(sm_));
  Fabric().SetQuirks(stale, {});
  EXPECT_THAT(Faults(), IsEmpty());
  EXPECT_EQ(SetsOfASweep(), 0u);
}

// The switch returns old values for a while. The PortInfo that fabricd sets as the link comes up
// repeats them, and must not clear enforcement.
TEST_F(CorePartitions, ASwitchThatReturnsOldValuesEnforcesAfterALinkUp) {
  Replace(fmt::format("Default=0x7fff: ALL=limited, SELF=full; A=1: {}=full;", guids_[0]));
  const PortRef facing = Fabric().LinkedPeer(PortOf(guids_[0]));
  Fabric().SetQuirks(facing.node, {.stale_reads = std::chrono::milliseconds(900)});
  ASSERT_TRUE(Fabric().Reboot(harness_.now(), facing.node).ok());
  harness_.RunFor(seconds(60));
  Fabric().SetQuirks(facing.node, {});
  SetsOfASweep();
  EXPECT_THAT(Faults(), IsEmpty());
  EXPECT_EQ(SetsOfASweep(), 0u);
}

}  // namespace
}  // namespace fabricd::test
