// SPDX-License-Identifier: Apache-2.0
// Partitions as clients see and change them, what the core is asked in turn, and its refusals.
#include "common/status.h"
#include "daemon/record/event_log.h"
#include "policy/partitions_text.h"
#include "sa/view/view_input.h"
#include "tests/unit/daemon/rpc/partitions_backend.h"
#include "tests/unit/daemon/rpc/running_server.h"

namespace fabricd::rpc::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using PartitionStub = pb::PartitionService::Stub;

constexpr char kTwo[] =
    "Default=0x7fff: ALL=limited, SELF=full; storage=2,ipoib,mtu=5: ALL=full;\n";

class PartitionServiceTest : public ::testing::Test {
 protected:
  template <typename Base, typename Request, typename Response>
  grpc::Status Call(grpc::Status (Base::*method)(grpc::ClientContext*, const Request&, Response*),
                    const Request& request, Response* response) {
    response->Clear();
    return running_.Call(*running_.partitions, method, request, response);
  }
  grpc::Status Apply(const std::string& text, bool validate_only = false,
                     const std::string& etag = "") {
    pb::ApplyPartitionsRequest request;
    request.set_text(text);
    request.set_validate_only(validate_only);
    request.set_etag(etag);
    return Call(&PartitionStub::ApplyPartitions, request, &applied_);
  }
  grpc::Status Add(const std::string& partition, const std::vector<std::string>& subjects,
                   const std::string& request_id = "") {
    pb::AddMembersRequest request;
    request.set_partition(partition);
    request.set_request_id(request_id);
    for (const std::string& subject : subjects) {
      pb::PartitionMember* member = request.add_members();
      member->set_subject(subject);
      member->set_membership(pb::MEMBERSHIP_FULL);
    }
    return Call(&PartitionStub::AddMembers, request, &added_);
  }
  pb::Partition Get(const std::string& name) {
    pb::GetPartitionRequest request;
    request.set_partition(name);
    pb::GetPartitionResponse response;
    const auto status = Call(&PartitionStub::GetPartition, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.partition();
  }
  std::vector<std::string> Members(const std::string& name) {
    std::vector<std::string> members;
    const auto partition = Get(name);
    for (const auto& member : partition.members()) members.push_back(member.subject());
    return members;
  }

  PartitionsBackend core_;
  RunningServer running_{core_.backend};
  pb::ApplyPartitionsResponse applied_;
  pb::AddMembersResponse added_;
};

TEST_F(PartitionServiceTest, ListsPartitionsWithTheStateOfTheirPorts) {
  ASSERT_TRUE(Apply(kTwo).ok());
  auto tables = std::make_shared<fabric::TablesByPort>();
  wire::PKeyTable table;
  table.keys[0] = PKey(0x7FFF);
  table.keys[3] = PKey(0x8002);
  (*tables)[{core_.fabric.node2, PortNum(1)}].p_keys.push_back({PortNum(1), 0, table});
  // What a switch port holds to enforce it is no member's.
  (*tables)[{core_.fabric.leaf2, PortNum(0)}].p_keys.push_back({PortNum(1), 0, table});
  core_.tables = tables;
  core_.in_effect = false;
  core_.Publish();
  const std::string node2 = fmt::format("{}", Guid(kNode2.value() + 1));
  ASSERT_TRUE(Add("storage", {node2, "0x00000000000000ab"}).ok());

  const pb::Partition partition = Get("0x0002");
  EXPECT_EQ(partition.p_key(), 0x8002u);
  EXPECT_EQ(partition.name(), "storage");
  EXPECT_EQ(partition.ipoib().mtu(), 4096u);
  EXPECT_EQ(partition.ipoib().rate_gbps(), 10);
  EXPECT_EQ(partition.ports_full(), 1u);
  EXPECT_EQ(partition.ports_limited(), 0u);
  ASSERT_EQ(partition.members_size(), 3);
  EXPECT_EQ(partition.members(0).subject(), "ALL");
  EXPECT_EQ(partition.members(0).membership(), pb::MEMBERSHIP_FULL);
  EXPECT_EQ(partition.members(1).subject(), node2);
  EXPECT_EQ(partition.members(1).port_name(), "node2 mlx5_0/1");
  EXPECT_TRUE(partition.members(1).confirmed());
  EXPECT_EQ(partition.members(2).port_name(), "");
  EXPECT_FALSE(partition.members(2).confirmed());

  pb::ListPartitionsResponse list;
  ASSERT_TRUE(Call(&PartitionStub::ListPartitions, pb::ListPartitionsRequest(), &list).ok());
  ASSERT_EQ(list.partitions_size(), 2);
  EXPECT_EQ(list.partitions(0).member_count(), 3u);
  EXPECT_THAT(list.partitions(0).members(), IsEmpty());
  EXPECT_EQ(list.partitions(1).p_key(), 0xFFFFu);
  EXPECT_EQ(list.partitions(1).ports_limited(), 1u);
  EXPECT_FALSE(list.in_effect());
  EXPECT_EQ(list.etag(), "2");
}

TEST_F(PartitionServiceTest, MembersAreNamedAsOperatorsDo) {
  ASSERT_TRUE(Apply("a=1: SELF;").ok());
  ASSERT_TRUE(Add("a", {"node1", "leaf1", "ALL_ROUTERS", "node2 mlx5_0/1"}).ok());
  const auto port = [](Guid node) { return fmt::format("{}", Guid(node.value() + 1)); };
  EXPECT_THAT(Members("a"), ElementsAre("SELF", port(kNode1Rail0), port(kNode1Rail1),
                                        fmt::format("{}", kLeaf1), "ALL_ROUTERS", port(kNode2)));
  EXPECT_THAT(added_.changes(), ::testing::SizeIs(5));
  EXPECT_EQ(added_.changes(0), fmt::format("+ 0x0001 a: {}=full", port(kNode1Rail0)));
  EXPECT_EQ(added_.partition().member_count(), 6u);
  EXPECT_EQ(added_.etag(), "2");
  EXPECT_EQ(added_.resource_version(), core_.backend.log->version());
  ASSERT_TRUE(Add("a", {"node2"}).ok());  // No later rule speaks of it.
  EXPECT_THAT(added_.changes(), IsEmpty()) << "so already";

  pb::RemoveMembersRequest request;
  request.set_partition("0x8001");
  request.add_subjects("node1");
  request.add_subjects("SELF");
  request.add_subjects("node2");  // Twice is once.
  request.add_subjects("0x00000000000000ab");
  pb::RemoveMembersResponse removed;
  ASSERT_TRUE(Call(&PartitionStub::RemoveMembers, request, &removed).ok());
  EXPECT_THAT(Members("a"), ElementsAre(fmt::format("{}", kLeaf1), "ALL_ROUTERS"));

  for (const char* wrong : {"nobody", "", "leaf1/3"}) EXPECT_FALSE(Add("a", {wrong}).ok()) << wrong;
  EXPECT_EQ(ReasonOf(Add("b", {"node1"})), "PARTITION_NOT_FOUND");
  EXPECT_EQ(ReasonOf(Add("0x8007", {"node1"})), "PARTITION_NOT_FOUND");
}

TEST_F(PartitionServiceTest, AFaultyFileChangesNothingAndListsItsLines) {
  ASSERT_TRUE(Apply(kTwo).ok());
  std::string text = "a=1: ALL;\n";
  for (int i = 0; i < 400; ++i) text += "b=2: nobody\xE4=full;\n";
  const grpc::Status status = Apply(text);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(ReasonOf(status), "PARTITIONS_FAULTY");
  EXPECT_THAT(status.error_message(), HasSubstr("line 2: \"nobody?\""));
  EXPECT_EQ(DetailOf<google::rpc::ErrorInfo>(status).metadata().at("faults"), "400");
  const auto details = DetailOf<google::rpc::BadRequest>(status);
  ASSERT_EQ(details.field_violations_size(), 10);
  EXPECT_EQ(details.field_violations(1).field(), "text:3");
  EXPECT_EQ(core_.asked.size(), 1u);

  ASSERT_TRUE(Apply(text, /*validate_only=*/true).ok());
  EXPECT_EQ(applied_.faults_size(), 400);
  EXPECT_EQ(applied_.faults(399).line(), 401u);
  EXPECT_THAT(applied_.changes(), IsEmpty());
  EXPECT_EQ(Get("storage").p_key(), 0x8002u);
}

TEST_F(PartitionServiceTest, AFileIsComparedAndAppliedAsAWhole) {
  ASSERT_TRUE(Apply(kTwo).ok());
  const std::string etag = applied_.etag();
  ASSERT_TRUE(Apply("a=1,indx1: 0x77;", /*validate_only=*/true).ok());
  EXPECT_THAT(applied_.notes(), ::testing::SizeIs(1));
  EXPECT_THAT(applied_.changes(), ElementsAre("+ a=0x0001", HasSubstr("0x0000000000000077=limited"),
                                              HasSubstr("storage"), HasSubstr("ALL=full")));
  EXPECT_EQ(Get("storage").p_key(), 0x8002u);
  ASSERT_TRUE(Apply("a=1: 0x77;", false, etag).ok());
  EXPECT_EQ(ReasonOf(Apply(kTwo, false, etag)), "ETAG_MISMATCH");
  EXPECT_EQ(ReasonOf(Apply(kTwo, false, "x")), "INVALID_REQUEST");

  grpc::ClientContext context;
  auto reader = running_.partitions->ExportPartitions(&context, pb::ExportPartitionsRequest());
  pb::ExportPartitionsResponse piece;
  std::string text;
  while (reader->Read(&piece)) text += piece.text();
  ASSERT_TRUE(reader->Finish().ok());
  EXPECT_EQ(policy::ParsePartitions(text).partitions, core_.fabric.partitions->partitions);
}

TEST_F(PartitionServiceTest, CreatesChangesAndDeletesAPartition) {
  pb::CreatePartitionRequest create;
  create.set_request_id("r-1");
  create.mutable_partition()->set_name("tenant");
  create.mutable_partition()->mutable_ipoib()->set_rate_gbps(100);
  create.mutable_partition()->add_groups()->set_mgid("ff12:401b:8001::7");
  pb::CreatePartitionResponse created;
  ASSERT_TRUE(Call(&PartitionStub::CreatePartition, create, &created).ok());
  EXPECT_EQ(created.partition().p_key(), 0x8001u) << "the lowest that is free";
  EXPECT_FALSE(created.existing());
  EXPECT_FALSE(core_.asked.back().by.empty());
  ASSERT_TRUE(Call(&PartitionStub::CreatePartition, create, &created).ok());
  EXPECT_TRUE(created.existing());
  create.mutable_partition()->set_name("other");
  EXPECT_EQ(ReasonOf(Call(&PartitionStub::CreatePartition, create, &created)), "REQUEST_ID_REUSED");
  create.set_request_id("");
  create.mutable_partition()->set_p_key(1);
  EXPECT_EQ(ReasonOf(Call(&PartitionStub::CreatePartition, create, &created)), "PARTITION_EXISTS");
  create.mutable_partition()->set_name("a,b");
  create.mutable_partition()->set_p_key(3);
  EXPECT_EQ(ReasonOf(Call(&PartitionStub::CreatePartition, create, &created)), "INVALID_PARTITION");
  create.mutable_partition()->mutable_ipoib()->set_rate_gbps(7);
  EXPECT_EQ(ReasonOf(Call(&PartitionStub::CreatePartition, create, &created)), "INVALID_REQUEST");

  pb::UpdatePartitionRequest update;
  update.set_partition("tenant");
  update.mutable_values()->set_name("renamed");
  pb::UpdatePartitionResponse updated;
  EXPECT_EQ(ReasonOf(Call(&PartitionStub::UpdatePartition, update, &updated)), "INVALID_REQUEST");
  update.mutable_update_mask()->add_paths("name");
  update.mutable_update_mask()->add_paths("ipoib");
  ASSERT_TRUE(Call(&PartitionStub::UpdatePartition, update, &updated).ok());
  EXPECT_EQ(Get("renamed").groups_size(), 1);
  EXPECT_FALSE(Get("renamed").has_ipoib());

  pb::DeletePartitionRequest gone;
  gone.set_partition("0x8001");
  gone.set_request_id("r-2");
  pb::DeletePartitionResponse deleted;
  ASSERT_TRUE(Call(&PartitionStub::DeletePartition, gone, &deleted).ok());
  EXPECT_THAT(deleted.changes(), ::testing::Contains(HasSubstr("renamed")));
  ASSERT_TRUE(Call(&PartitionStub::DeletePartition, gone, &deleted).ok());
  EXPECT_TRUE(deleted.existing());
  gone.set_request_id("");
  EXPECT_EQ(ReasonOf(Call(&PartitionStub::DeletePartition, gone, &deleted)), "PARTITION_NOT_FOUND");
  gone.set_partition("Default");
  EXPECT_EQ(ReasonOf(Call(&PartitionStub::DeletePartition, gone, &deleted)), "INVALID_PARTITION");
}

TEST_F(PartitionServiceTest, AnAmbiguousNameIsRefused) {
  ASSERT_TRUE(Apply("a=1: ALL; a=2: ALL;").ok());
  EXPECT_THAT(Add("a", {"SELF"}).error_message(), HasSubstr("0x0001, 0x0002"));
  EXPECT_TRUE(Add("2", {"SELF"}).ok());
}

TEST_F(PartitionServiceTest, MapsRefusalsOfTheCoreToReasons) {
  for (const auto& [code, reason] : {std::pair(absl::StatusCode::kFailedPrecondition, "NOT_MASTER"),
                                     {absl::StatusCode::kResourceExhausted, "TOO_MANY_REQUESTS"},
                                     {absl::StatusCode::kUnavailable, "CORE_BUSY"},
                                     {absl::StatusCode::kInternal, "PARTITIONS_FAILED"}}) {
    core_.refusal = absl::Status(code, "no");
    EXPECT_EQ(ReasonOf(Apply(kTwo)), reason);
  }
}

TEST_F(PartitionServiceTest, SubnetAdministrationTrustsUnreadPortsOnlyIfAllAreFullMembers) {
  const auto unread = [&] {
    return sa::InputOf(*core_.backend.view(), SmKey(1), 0xFE80000000000000)->unread_key;
  };
  EXPECT_EQ(unread(), kDefaultFullPKey);
  ASSERT_TRUE(Apply("Default=0x7fff, ipoib: ALL=full;").ok());
  EXPECT_EQ(unread(), kDefaultFullPKey);
  ASSERT_TRUE(Apply(kTwo).ok());
  EXPECT_EQ(unread(), kDefaultLimitedPKey);
}

}  // namespace
}  // namespace fabricd::rpc::testing
