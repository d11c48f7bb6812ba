// SPDX-License-Identifier: Apache-2.0
// What operators see of partitions, word for word (tests/golden/cli).
#include "cli/render/describe.h"
#include "cli/render/partition_tables.h"
#include "tests/unit/cli/golden.h"
#include "tests/unit/cli/sample.h"

namespace fabricd::cli::testing {
namespace {

TEST(PartitionRenderTest, Listing) {
  const auto partitions = FromText<pb::ListPartitionsResponse>(R"(
    partitions { p_key: 32769 name: "tenant-a" member_count: 4 ports_full: 3 }
    partitions { p_key: 32770 index0: true ipoib { mtu: 4096 rate_gbps: 10 } member_count: 1
                 ports_limited: 128 groups { mgid: "ff12::1" traits { mtu: 2048 rate_gbps: 10 } } }
    partitions { p_key: 65535 name: "Default" member_count: 2 ports_full: 1 ports_limited: 127 })");
  ExpectGolden("partitions", PartitionTable(partitions, false).Render({}) + "\n" +
                                 PartitionTable(partitions, true).Render({}));
}

TEST(PartitionRenderTest, Description) {
  const auto partition = FromText<pb::GetPartitionResponse>(R"(
    partition {
      p_key: 32770 name: "storage" index0: true member_count: 4 ports_full: 2 ports_limited: 1
      ipoib { mtu: 4096 rate_gbps: 100 sl: 3 q_key: 2843 scopes: 36 }
      groups { mgid: "ff12:401b:8002::7"
               traits { mtu: 2048 rate_gbps: 10 traffic_class: 4 flow_label: 9 } }
      members { subject: "0x0002c90300000001" membership: MEMBERSHIP_FULL port_name: "node1/1"
                confirmed: true }
      members { subject: "0x0002c90300000002" membership: MEMBERSHIP_BOTH port_name: "node2/1" }
      members { subject: "0x0002c90300000003" membership: MEMBERSHIP_LIMITED }
      members { subject: "ALL_SWITCHES" membership: MEMBERSHIP_LIMITED } })");
  auto in_effect = partition;
  in_effect.set_in_effect(true);
  in_effect.mutable_partition()->clear_members();
  ExpectGolden("describe_partition",
               DescribePartition(partition, {}) + "\n" + DescribePartition(in_effect, {}));
}

}  // namespace
}  // namespace fabricd::cli::testing
