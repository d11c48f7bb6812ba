// SPDX-License-Identifier: Apache-2.0
// Alias GUIDs (GUIDInfoRecord Set and Delete, IBA vol 1 §15.2.5.18): who may have which, over
// restarts, and by them found are ports, paths, services and members.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mad/wire/sa_records.h"
#include "tests/unit/sa/state_fixture.h"

namespace fabricd::sa {
namespace {

using testing::Bit;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::kSmKey;
using ::testing::SizeIs;
using testing::StateShell;
using wire::GuidInfoRecord;

// Handles 6-13 are hosts.
constexpr size_t kVirtual = 6, kBeside = 7, kFar = 13;
constexpr uint64_t kWhere = 0b11;  // LID and BlockNum.
constexpr uint64_t Entry(int number) { return uint64_t{1} << (4 + number); }
constexpr Gid kGroup{0xFF15A01C00000000, 0x99};

class AliasTest : public ::testing::Test {
 protected:
  AliasTest() {
    wire::PortInfo info = testing::RunningPort();
    info.guid_cap = 11;
    shell.made.SetPort(kVirtual, 1, info);
    shell.made.SetPort(kBeside, 1, info);
    shell.ShowFabric();
  }
  Lid LidOf(size_t host) const { return shell.made.LidOf(host); }
  Guid OwnGuid(size_t host) const { return shell.made.GidOf(host).guid(); }
  static Gid GidOf(Guid guid) { return {testing::kPrefix, guid.value()}; }
  GuidInfoRecord Record(size_t host, uint8_t block, std::vector<uint64_t> guids = {}) const {
    GuidInfoRecord record{LidOf(host), block, {}};
    for (size_t i = 0; i < guids.size(); ++i) record.info.guids[i] = Guid(guids[i]);
    return record;
  }
  // What the answer holds, and its status; by the port itself.
  std::pair<uint16_t, wire::GuidInfo> Set(const GuidInfoRecord& record, uint64_t entries,
                                          SmKey key = {}) {
    const Lid from = key ? LidOf(kFar) : record.lid;
    const auto reply = shell.Set(record, kWhere | entries, from, key);
    const auto records = reply.Records<GuidInfoRecord>();
    return {reply.status(), records.empty() ? wire::GuidInfo() : records[0].info};
  }
  uint16_t Delete(const GuidInfoRecord& record, uint64_t entries) {
    return shell.Delete(record, kWhere | entries, record.lid).status();
  }
  wire::GuidInfo Shown(size_t host, uint8_t block) {
    const auto records = shell.Table(Record(host, block), kWhere, LidOf(kFar));
    return records.size() == 1 ? records[0].info : wire::GuidInfo();
  }

  StateShell shell{testing::Make(fabricd::testing::MakeFatTree(4, 2))};
};

TEST_F(AliasTest, GuidsAreAllocatedAsRequestedOrGenerated) {
  const auto [status, info] =
      Set(Record(kVirtual, 0, {0x77, 0xA1, 0, 0xA3}), Entry(0) | Entry(1) | Entry(2));
  EXPECT_EQ(status, wire::kStatusOk);
  EXPECT_EQ(info.guids[0], OwnGuid(kVirtual)) << "the port's own is read-only";
  EXPECT_EQ(info.guids[1], Guid(0xA1));
  const Guid made = info.guids[2];
  EXPECT_EQ(made.value() >> 56, 0x02u) << "locally administered";
  EXPECT_EQ(info.guids[3], Guid()) << "not in the mask";
  EXPECT_EQ(Shown(kVirtual, 0), info);
  EXPECT_EQ(shell.aliases->PortOf(made), OwnGuid(kVirtual));
  // Asked for again, by a client that has forgotten.
  const int writes = shell.writes;
  EXPECT_EQ(Set(Record(kVirtual, 0, {0, 0xA1}), Entry(1) | Entry(2)).second, info);
  EXPECT_EQ(shell.writes, writes);
  shell.Restart();
  EXPECT_EQ(Shown(kVirtual, 0), info);
  EXPECT_EQ(shell.state->Aliases()->PortOf(made), OwnGuid(kVirtual));
  // Another SM that knows nothing makes up the same one.
  shell.rows.clear();
  shell.Restart();
  EXPECT_EQ(Set(Record(kVirtual, 0), Entry(2)).second.guids[2], made);
}

TEST_F(AliasTest, RefusedEntriesAreReturnedAsZeroAndDoNotChange) {
  Set(Record(kVirtual, 0, {0, 0xA1, 0xA2}), Entry(1) | Entry(2));
  const auto theirs = Set(Record(kBeside, 0, {0, 0xA1, OwnGuid(kFar).value(), ~uint64_t{0}, 0xB4}),
                          Entry(1) | Entry(2) | Entry(3) | Entry(4));
  EXPECT_EQ(theirs.first, wire::kStatusOk);
  EXPECT_THAT(theirs.second.guids, ElementsAre(OwnGuid(kBeside), Guid(), Guid(), Guid(), Guid(0xB4),
                                               Guid(), Guid(), Guid()));
  // GUIDCap is 11: three entries of the second block.
  const auto second = Set(Record(kVirtual, 1, {0xC0, 0xC1, 0xC2, 0xC3}), 0xFF0);
  EXPECT_EQ(second.second.guids[2], Guid(0xC2));
  EXPECT_EQ(second.second.guids[3], Guid());
  EXPECT_EQ(Set(Record(kVirtual, 2), Entry(0)).first, wire::kSaStatusRequestInvalid);
  // One of its own that is another entry's.
  EXPECT_EQ(Set(Record(kVirtual, 0, {0, 0xA2}), Entry(1)).second.guids[1], Guid());
  EXPECT_EQ(Shown(kVirtual, 0).guids[1], Guid(0xA1));
}

TEST_F(AliasTest, OnlyThePortItselfOrATrustedClientSetsAliases) {
  const GuidInfoRecord record = Record(kVirtual, 0, {0, 0xA1});
  EXPECT_EQ(shell.Set(record, kWhere | Entry(1), LidOf(kBeside)).status(),
            wire::kSaStatusRequestDenied);
  EXPECT_EQ(Set(record, Entry(1), kSmKey).second.guids[1], Guid(0xA1));
  EXPECT_EQ(shell.Delete(record, kWhere | Entry(1), LidOf(kBeside)).status(),
            wire::kSaStatusRequestDenied);
  EXPECT_EQ(shell.Set(record, 0b01 | Entry(1), LidOf(kVirtual)).status(),
            wire::kSaStatusInsufficientComponents);
  EXPECT_EQ(shell.Set(record, kWhere, LidOf(kVirtual)).status(),
            wire::kSaStatusInsufficientComponents);
  GuidInfoRecord nobody = record;
  nobody.lid = Lid(0xB000);
  EXPECT_EQ(shell.Set(nobody, kWhere | Entry(1), LidOf(kVirtual)).status(),
            wire::kSaStatusRequestInvalid);
}

TEST_F(AliasTest, DeletedAliasesAreFreeForOtherPorts) {
  Set(Record(kVirtual, 0, {0, 0xA1, 0xA2}), Entry(1) | Entry(2));
  EXPECT_EQ(Delete(Record(kVirtual, 0), Entry(0) | Entry(1) | Entry(7)), wire::kStatusOk);
  EXPECT_THAT(Shown(kVirtual, 0).guids, ElementsAre(OwnGuid(kVirtual), Guid(), Guid(0xA2), Guid(),
                                                    Guid(), Guid(), Guid(), Guid()));
  ASSERT_THAT(shell.aliases->Of(OwnGuid(kVirtual)), SizeIs(1));
  EXPECT_EQ(shell.aliases->Of(OwnGuid(kVirtual))[0].said, 0b10000110) << "they are to be 0";
  EXPECT_EQ(Set(Record(kBeside, 0, {0, 0xA1}), Entry(1)).second.guids[1], Guid(0xA1));
}

TEST_F(AliasTest, NothingIsAnsweredOrWrittenBeforeItIsDurable) {
  shell.disk_fails = true;
  shell.Set(Record(kVirtual, 0, {0, 0xA1}), Entry(1) | 0b11, LidOf(kVirtual));
  EXPECT_THAT(shell.arrived, IsEmpty());
  EXPECT_EQ(shell.aliases, nullptr);
  EXPECT_EQ(Shown(kVirtual, 0).guids[1], Guid());
  shell.disk_fails = false;
  shell.Pass(std::chrono::seconds(2));
  EXPECT_EQ(Shown(kVirtual, 0).guids[1], Guid(0xA1));
}

TEST_F(AliasTest, PathsAndServicesAreFoundByAliases) {
  Set(Record(kVirtual, 0, {0, 0xA1}), Entry(1));
  wire::PathRecord wanted;
  wanted.sgid = GidOf(Guid(0xA1));
  wanted.dgid = shell.made.GidOf(kFar);
  const uint64_t ends = Bit(PathComponent::kSgid) | Bit(PathComponent::kDgid);
  auto paths = shell.Table(wanted, ends, LidOf(kFar));
  ASSERT_THAT(paths, SizeIs(1));
  EXPECT_EQ(paths[0].slid, LidOf(kVirtual));
  EXPECT_EQ(paths[0].sgid, wanted.sgid);
  std::swap(wanted.sgid, wanted.dgid);
  paths = shell.Table(wanted, ends, LidOf(kFar));
  ASSERT_THAT(paths, SizeIs(1));
  EXPECT_EQ(paths[0].dlid, LidOf(kVirtual));
  EXPECT_EQ(paths[0].dgid, wanted.dgid);
  wire::ServiceRecord service;
  service.service_id = 5;
  service.service_gid = wanted.dgid;
  EXPECT_EQ(shell.Set(service, 0b11, LidOf(kVirtual)).status(), wire::kStatusOk);
  EXPECT_THAT(shell.Table(service, 0b11, LidOf(kFar)), SizeIs(1));
  wanted.service_id = 5;
  paths = shell.Table(wanted, 0b11 | Bit(PathComponent::kSgid), LidOf(kFar));
  ASSERT_THAT(paths, SizeIs(1));
  EXPECT_EQ(paths[0].dgid, wanted.dgid);
  EXPECT_EQ(Delete(Record(kVirtual, 0), Entry(1)), wire::kStatusOk);
  EXPECT_THAT(shell.Table(wanted, ends, LidOf(kFar)), IsEmpty());
}

TEST_F(AliasTest, AnAliasIsAMemberByItselfAndItsPortIsServed) {
  Set(Record(kVirtual, 0, {0, 0xA1}), Entry(1));
  wire::McMemberRecord record;
  record.mgid = kGroup;
  record.port_gid = GidOf(Guid(0xA1));
  record.p_key = PKey(0xFFFF);
  record.join_state = kJoinFull;
  // MGID, PortGID, Q_Key, TClass, P_Key, SL, FlowLabel, JoinState.
  constexpr uint64_t kCreate = 0b1'0011'0000'1100'0111;
  constexpr uint64_t kLeave = 0b1'0000'0000'0000'0011;
  auto reply = shell.Set(record, kCreate, LidOf(kVirtual));
  ASSERT_EQ(reply.status(), wire::kStatusOk);
  EXPECT_FALSE(reply.Records<wire::McMemberRecord>()[0].proxy_join);
  record.port_gid = shell.made.GidOf(kVirtual);
  record.join_state = kJoinSendOnly;
  ASSERT_EQ(shell.Set(record, kLeave, LidOf(kVirtual)).status(), wire::kStatusOk);
  const auto& members = shell.groups->groups.back().members;
  EXPECT_THAT(members, ElementsAre(fabric::MulticastMember{OwnGuid(kVirtual), true}));
  // Neither may the alias go while it is a member, nor another take its place.
  EXPECT_EQ(Delete(Record(kVirtual, 0), Entry(1)), wire::kSaStatusRequestDenied);
  EXPECT_EQ(Set(Record(kVirtual, 0, {0, 0xA5}), Entry(1)).second.guids[1], Guid());
  EXPECT_EQ(Shown(kVirtual, 0).guids[1], Guid(0xA1));
  shell.Restart();
  EXPECT_THAT(shell.state->Trees()->groups.back().members, SizeIs(1));
  record.port_gid = GidOf(Guid(0xA1));
  record.join_state = kJoinFull;
  EXPECT_THAT(shell.Table(record, kLeave, LidOf(kVirtual)), SizeIs(1));
  EXPECT_EQ(shell.Delete(record, kLeave, LidOf(kVirtual)).status(), wire::kStatusOk);
  EXPECT_EQ(Delete(Record(kVirtual, 0), Entry(1)), wire::kStatusOk);
}

TEST_F(AliasTest, SubscribersReceiveReportsOfAliases) {
  wire::InformInfo info;
  info.is_generic = info.subscribe = 1;
  info.lid_range_begin = Lid(0xFFFF);
  info.type = info.trap_number = 0xFFFF;
  info.producer_type = 0xFFFFFF;
  ASSERT_EQ(shell.Set(info, 0, LidOf(kFar)).status(), wire::kStatusOk);
  const auto traps = [&] {
    std::vector<uint16_t> numbers;
    for (const auto& report : shell.TakeReports(true))
      numbers.push_back(wire::Notice::Decode(std::span<const uint8_t>(report.payload)
                                                 .subspan(wire::kSaDataAt)
                                                 .first<wire::kSmpDataBytes>())
                            .trap);
    return numbers;
  };
  Set(Record(kVirtual, 0, {0, 0xA1}), Entry(1));
  EXPECT_THAT(traps(), ElementsAre(64));
  Set(Record(kVirtual, 0, {0, 0xA2}), Entry(1));
  EXPECT_THAT(traps(), ElementsAre(65));
  EXPECT_THAT(traps(), ElementsAre(64)) << "one Report at a time";
}

TEST_F(AliasTest, DamagedRowsAreNotLoaded) {
  Set(Record(kVirtual, 0, {0, 0xA1}), Entry(1));
  ASSERT_EQ(
      shell.rows.count({AliasTable::kTable, fmt::format("{:016x} 00", OwnGuid(kVirtual).value())}),
      1u);
  for (const auto& [key, value] : shell.rows) {
    StoredRows damaged = shell.rows;
    damaged[key].pop_back();
    EXPECT_EQ(SaState::Make(damaged, 0).status().code(), absl::StatusCode::kDataLoss) << key.table;
  }
}

}  // namespace
}  // namespace fabricd::sa
