// SPDX-License-Identifier: Apache-2.0
// What operators see of Subnet Administration, word for word (tests/golden/cli).
#include "cli/render/describe.h"
#include "cli/verbs/sa_listing.h"
#include "tests/unit/cli/golden.h"
#include "tests/unit/cli/sample.h"

namespace fabricd::cli::testing {
namespace {

template <typename Make>
std::string Both(Make make) {
  return make(false).Render({}) + "\n" + make(true).Render({});
}

TEST(SaRenderTest, Records) {
  const auto records = FromText<pb::ListRecordsResponse>(R"(
    records { fields { name: "FromLID" value: "1" } fields { name: "FromPort" value: "1" }
              fields { name: "M_Key" value: "0x0000000000000000" }
              fields { name: "ToLID" value: "2" } }
    records { fields { name: "FromLID" value: "2" } fields { name: "FromPort" value: "12" }
              fields { name: "M_Key" value: "0x0000000000000000" }
              fields { name: "ToLID" value: "1" } })");
  ExpectGolden("records", Both([&](bool wide) { return RecordTable(records, wide); }));
  EXPECT_EQ(RecordTable({}, true).size(), 0u);
}

TEST(SaRenderTest, Services) {
  const auto services = FromText<pb::ListServicesResponse>(R"(
    services { id: "0x0000000000000077" gid: "fe80::10:201" p_key: 65535 name: "osm"
               expires_ms: 1700000600000 has_key: true node_name: "node2 mlx5_0" }
    services { id: "0x0000000000000078" gid: "fe80::999" p_key: 32769 name: "storage" })");
  ExpectGolden("services",
               Both([&](bool wide) { return ServiceTable(services, wide, 1'700'000'000'000); }));
}

TEST(SaRenderTest, Subscriptions) {
  const auto subscriptions = FromText<pb::ListSubscriptionsResponse>(R"(
    subscriptions { gid: "fe80::10:201" node_name: "node2 mlx5_0" qpn: 1 trap_number: 66
                    type: 65535 producer_type: 16777215 lid_begin: 65535 }
    subscriptions { gid: "fe80::10:1" node_name: "node1 mlx5_0" number: 1 qpn: 1
                    trap_number: 65535 type: 3 producer_type: 4 lid_begin: 4 lid_end: 9
                    trusted: true })");
  ExpectGolden("subscriptions",
               Both([&](bool wide) { return SubscriptionTable(subscriptions, wide); }));
}

TEST(SaRenderTest, Multicast) {
  const auto groups = FromText<pb::ListMulticastGroupsResponse>(R"(
    groups { mgid: "ff12:401b:ffff::ffff:ffff" mlid: 49152 p_key: 65535 q_key: 2843 mtu: 2048
             rate_gbps: 10 permanent: true
             members { gid: "fe80::10:1" node_name: "node1 mlx5_0" join_states: "Full" }
             members { gid: "fe80::999" join_states: "Non" } })");
  ExpectGolden("multicast", Both([&](bool wide) { return MulticastTable(groups, wide); }));
}

TEST(SaRenderTest, DescribesAMulticastGroup) {
  const auto group = FromText<pb::MulticastGroup>(R"(
    mgid: "ff12:401b:ffff::ffff:ffff" mlid: 49152 p_key: 65535 q_key: 2843 mtu: 2048 rate_gbps: 10
    permanent: true
    members { gid: "fe80::10:1" node_name: "node1 mlx5_0" join_states: "Full" }
    members { gid: "fe80::10:101" node_name: "node2 mlx5_0" join_states: "Full"
              join_states: "SendOnlyNon" proxy: true }
    members { gid: "fe80::10:201" node_name: "node3 mlx5_0" join_states: "Full"
              unserved: "its link is too slow" }
    members { gid: "fe80::999" join_states: "Non" unserved: "no such port" }
    tree { guid: "0x0000000000200200" name: "spine" branches { port: 1 } branches { port: 2 }
           branches { port: 4 } }
    tree { guid: "0x0000000000200000" name: "leaf1" depth: 1 up_port: 9
           branches { port: 1 member: true } branches { port: 2 member: true }
           branches { port: 5 member: true } }
    tree { guid: "0x0000000000200100" name: "leaf2" depth: 1 up_port: 9
           branches { port: 0 member: true } })");
  auto lonely = group;
  lonely.clear_tree();
  lonely.mutable_members()->DeleteSubrange(1, 3);
  ExpectGolden("describe_multicast",
               DescribeMulticast(group, {}) + "\n" + DescribeMulticast(lonely, {}));
}

}  // namespace
}  // namespace fabricd::cli::testing
