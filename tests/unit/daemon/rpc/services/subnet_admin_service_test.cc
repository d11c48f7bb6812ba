// SPDX-License-Identifier: Apache-2.0
#include "fabric/v1/subnet_admin_service.grpc.pb.h"
#include "routing/multicast/multicast_rows.h"
#include "tests/unit/daemon/rpc/running_server.h"
#include "tests/unit/daemon/rpc/sample_sa.h"

namespace fabricd::rpc::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using SubnetAdminStub = pb::SubnetAdminService::Stub;

class SubnetAdminTest : public ::testing::Test {
 protected:
  SubnetAdminTest() : backend_(fabric_.View()), server_(backend_) {
    stub_ = pb::SubnetAdminService::NewStub(server_.channel);
    backend_.sa_reads = SampleSa(*backend_.view());
  }

  // All that a stream gives, as one.
  template <typename Request, typename Response>
  grpc::Status Collect(std::unique_ptr<grpc::ClientReader<Response>> (SubnetAdminStub::*method)(
                           grpc::ClientContext*, const Request&),
                       const Request& request, Response* all) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    auto reader = (stub_.get()->*method)(&context, request);
    for (Response piece; reader->Read(&piece);) all->MergeFrom(piece);
    return reader->Finish();
  }
  static std::string Value(const pb::Record& record, const std::string& name) {
    for (const pb::RecordField& field : record.fields())
      if (field.name() == name) return field.value();
    return "no " + name;
  }

  SmallFabric fabric_;
  FakeBackend backend_;
  RunningServer server_;
  std::unique_ptr<SubnetAdminStub> stub_;
};

TEST_F(SubnetAdminTest, ListsRecordsOfAType) {
  pb::ListRecordsRequest request;
  request.set_type("node");
  pb::ListRecordsResponse response;
  ASSERT_TRUE(Collect(&SubnetAdminStub::ListRecords, request, &response).ok());
  ASSERT_EQ(response.records_size(), 6);
  EXPECT_EQ(Value(response.records(0), "LID"), "1");
  EXPECT_EQ(Value(response.records(0), "NodeDescription"), "leaf1");
  EXPECT_EQ(Value(response.records(0), "NodeGUID"), "0x0000000000200000");
}

TEST_F(SubnetAdminTest, ListsPathsBetweenNamedPorts) {
  pb::ListRecordsRequest request;
  request.set_type("PathRecord");
  request.set_source("node1 mlx5_0");
  request.set_destination("node2 mlx5_0");
  pb::ListRecordsResponse response;
  ASSERT_TRUE(Collect(&SubnetAdminStub::ListRecords, request, &response).ok());
  ASSERT_EQ(response.records_size(), 1);
  EXPECT_EQ(Value(response.records(0), "SLID"), "4");
  EXPECT_EQ(Value(response.records(0), "DLID"), "6");
  EXPECT_EQ(Value(response.records(0), "DGID"), "fe80::10:201");
}

TEST_F(SubnetAdminTest, ListsOnlyRecordsThatMatchAllFields) {
  pb::ListRecordsRequest request;
  request.set_type("NodeRecord");
  const auto add = [&](const char* name, const char* value) {
    pb::RecordField* filter = request.add_filters();
    filter->set_name(name);
    filter->set_value(value);
  };
  add("nodetype", "0x2");
  pb::ListRecordsResponse response;
  ASSERT_TRUE(Collect(&SubnetAdminStub::ListRecords, request, &response).ok());
  ASSERT_EQ(response.records_size(), 3);
  add("NodeDescription", "LEAF2");
  response.Clear();
  ASSERT_TRUE(Collect(&SubnetAdminStub::ListRecords, request, &response).ok());
  ASSERT_EQ(response.records_size(), 1);
  EXPECT_EQ(Value(response.records(0), "LID"), "2");
  add("Colour", "red");
  const grpc::Status status = Collect(&SubnetAdminStub::ListRecords, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("SystemImageGUID"));
}

TEST_F(SubnetAdminTest, RefusesUnknownTypesAndFields) {
  pb::ListRecordsRequest request;
  pb::ListRecordsResponse response;
  request.set_type("flowers");
  grpc::Status status = Collect(&SubnetAdminStub::ListRecords, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("MCMemberRecord"));
  request.set_type("path");
  status = Collect(&SubnetAdminStub::ListRecords, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  request.set_type("node");
  request.set_source("leaf1");
  status = Collect(&SubnetAdminStub::ListRecords, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(SubnetAdminTest, ListsServicesAndSubscriptionsOfClients) {
  pb::ListServicesResponse services;
  ASSERT_TRUE(Collect(&SubnetAdminStub::ListServices, pb::ListServicesRequest(), &services).ok());
  ASSERT_EQ(services.services_size(), 1);
  EXPECT_EQ(services.services(0).name(), "osm");
  EXPECT_EQ(services.services(0).node_name(), "node2 mlx5_0");
  // The steady time that is left, by the wall clock as it is now.
  EXPECT_NEAR(services.services(0).expires_ms(), 1.7e12, 1000);
  EXPECT_TRUE(services.services(0).has_key());

  pb::ListSubscriptionsResponse subscriptions;
  ASSERT_TRUE(
      Collect(&SubnetAdminStub::ListSubscriptions, pb::ListSubscriptionsRequest(), &subscriptions)
          .ok());
  ASSERT_EQ(subscriptions.subscriptions_size(), 1);
  EXPECT_EQ(subscriptions.subscriptions(0).trap_number(), 66u);

  pb::ListMulticastGroupsRequest request;
  pb::ListMulticastGroupsResponse groups;
  ASSERT_TRUE(Collect(&SubnetAdminStub::ListMulticastGroups, request, &groups).ok());
  ASSERT_EQ(groups.groups_size(), 1);
  EXPECT_EQ(groups.groups(0).mtu(), 2048u);
  EXPECT_EQ(groups.groups(0).rate_gbps(), 10);
  ASSERT_EQ(groups.groups(0).members_size(), 2);
  EXPECT_THAT(groups.groups(0).members(0).join_states(), ElementsAre("Full", "SendOnlyNon"));
  EXPECT_TRUE(groups.groups(0).members(0).proxy());
  EXPECT_EQ(groups.groups(0).members(0).node_name(), "node1 mlx5_0");
  EXPECT_EQ(groups.groups(0).members(1).node_name(), "");
  for (const auto& [name, found] :
       {std::pair("0xc000", 1), std::pair("49152", 1), std::pair("ff12:401b:ffff::ffff:ffff", 1),
        std::pair("0xc001", 0), std::pair("c000", 0)}) {
    request.clear_names();
    request.add_names(name);
    groups.Clear();
    ASSERT_TRUE(Collect(&SubnetAdminStub::ListMulticastGroups, request, &groups).ok());
    EXPECT_EQ(groups.groups_size(), found) << name;
  }
}

// It has no view of its own to answer clients from.
TEST_F(SubnetAdminTest, ANodeThatWaitsListsTheStateOfTheMaster) {
  backend_.sa_reads.view = nullptr;
  pb::ListServicesResponse services;
  const auto list = [&] {
    services.Clear();
    return Collect(&SubnetAdminStub::ListServices, pb::ListServicesRequest(), &services);
  };
  EXPECT_EQ(ReasonOf(list()), "NOT_READY");
  backend_.other = daemon::OtherMaster{"head1 pid 7", "head1:7471"};
  ASSERT_TRUE(list().ok());
  ASSERT_EQ(services.services_size(), 1);
  EXPECT_EQ(services.services(0).node_name(), "node2 mlx5_0");
  pb::ListSubscriptionsResponse subscriptions;
  ASSERT_TRUE(
      Collect(&SubnetAdminStub::ListSubscriptions, pb::ListSubscriptionsRequest(), &subscriptions)
          .ok());
  EXPECT_EQ(subscriptions.subscriptions_size(), 1);
  pb::ListMulticastGroupsRequest request;
  request.set_trees(true);
  pb::ListMulticastGroupsResponse groups;
  ASSERT_TRUE(Collect(&SubnetAdminStub::ListMulticastGroups, request, &groups).ok());
  ASSERT_EQ(groups.groups_size(), 1);
  EXPECT_EQ(groups.groups(0).members(0).node_name(), "node1 mlx5_0");
  EXPECT_THAT(groups.groups(0).tree(), IsEmpty()) << "the master has made it";
  pb::ListRecordsRequest records;
  records.set_type("node");
  pb::ListRecordsResponse answered;
  EXPECT_EQ(ReasonOf(Collect(&SubnetAdminStub::ListRecords, records, &answered)), "NOT_READY");
}

TEST_F(SubnetAdminTest, ShowsTheTreeOfAGroup) {
  auto tree = std::make_shared<routing::MulticastTree>();
  tree->mlid = Lid(0xC000);
  tree->ports = {{fabric_.leaf1, PortNum(1)}, {fabric_.leaf1, PortNum(3)},
                 {fabric_.leaf2, PortNum(0)}, {fabric_.leaf2, PortNum(1)},
                 {fabric_.leaf2, PortNum(3)}, {fabric_.spine, PortNum(1)},
                 {fabric_.spine, PortNum(2)}};
  tree->unserved = {{Guid(GidOf(Guid(0x999)).guid()), routing::Unserved::kAbsent}};
  auto view = fabric_.View();
  view->multicast =
      std::make_shared<const routing::MulticastPlan>(routing::PlanOfTrees({tree}, nullptr));
  backend_.sa_reads = SampleSa(*view);
  pb::ListMulticastGroupsRequest request;
  pb::ListMulticastGroupsResponse groups;
  ASSERT_TRUE(Collect(&SubnetAdminStub::ListMulticastGroups, request, &groups).ok());
  ASSERT_EQ(groups.groups_size(), 1);
  EXPECT_THAT(groups.groups(0).tree(), IsEmpty()) << "not asked for";
  request.set_trees(true);
  groups.Clear();
  ASSERT_TRUE(Collect(&SubnetAdminStub::ListMulticastGroups, request, &groups).ok());
  const pb::MulticastGroup& group = groups.groups(0);
  EXPECT_EQ(group.members(0).unserved(), "");
  EXPECT_EQ(group.members(1).unserved(), routing::UnservedName(routing::Unserved::kAbsent));
  ASSERT_EQ(group.tree_size(), 3);
  EXPECT_EQ(group.tree(0).guid(), "0x0000000000200200");
  EXPECT_EQ(group.tree(0).depth(), 0u);
  EXPECT_EQ(group.tree(0).up_port(), 0u);
  ASSERT_EQ(group.tree(0).branches_size(), 2);
  EXPECT_EQ(group.tree(0).branches(1).peer().node_name(), "leaf2");
  EXPECT_FALSE(group.tree(0).branches(1).member());
  EXPECT_EQ(group.tree(1).name(), "leaf1");
  EXPECT_EQ(group.tree(1).up_port(), 3u);
  ASSERT_EQ(group.tree(1).branches_size(), 1);
  EXPECT_TRUE(group.tree(1).branches(0).member());
  EXPECT_EQ(group.tree(1).branches(0).peer().node_name(), "node1 mlx5_0");
  EXPECT_EQ(group.tree(2).name(), "leaf2");
  EXPECT_EQ(group.tree(2).depth(), 1u);
  ASSERT_EQ(group.tree(2).branches_size(), 2);
  EXPECT_FALSE(group.tree(2).branches(0).has_peer()) << "port 0";
}

TEST_F(SubnetAdminTest, IsUnavailableWithoutState) {
  backend_.sa_reads = {};
  pb::ListServicesResponse services;
  const grpc::Status status =
      Collect(&SubnetAdminStub::ListServices, pb::ListServicesRequest(), &services);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(ReasonOf(status), "NOT_READY");
}

}  // namespace
}  // namespace fabricd::rpc::testing
