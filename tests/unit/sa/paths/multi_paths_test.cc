// SPDX-License-Identifier: Apache-2.0
// MultiPathRecord and TraceRecord (IBA vol 1 §15.2.5.19-20).
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <vector>

#include "tests/unit/sa/paths/walked_paths.h"

namespace fabricd::sa {
namespace {

using testing::Make;
using testing::Reply;
using testing::Send;

Query MultiPath(const SaFabric& made, const std::vector<size_t>& from,
                const std::vector<size_t>& to, uint8_t independence, uint8_t numb_path) {
  wire::MultiPathRecord record;
  record.sgid_count = static_cast<uint8_t>(from.size());
  record.dgid_count = static_cast<uint8_t>(to.size());
  record.independence = independence;
  record.numb_path = numb_path;
  Query query = Ask(record, 1u << 6 | 1u << 17 | 1u << 19 | 1u << 20, Method::kGetMulti);
  for (const auto* side : {&from, &to}) {
    for (size_t host : *side) {
      std::array<uint8_t, 16> gid;
      wire::EncodeGid(made.GidOf(host), gid);
      query.data.insert(query.data.end(), gid.begin(), gid.end());
    }
  }
  return query;
}

TEST(MultiPaths, OfAllPairsTogether) {
  const SaFabric made = Make(fabricd::testing::MakeFatTree(4, 2));
  const SaView view = made.View();
  const Reply reply = Send(view, MultiPath(made, {6, 7}, {12, 13}, 0, 3), made.LidOf(6));
  ASSERT_EQ(reply.status(), wire::kStatusOk);
  EXPECT_EQ(reply.header.mad.method, Method::kGetMultiResp);
  EXPECT_EQ(reply.header.attribute(), wire::SaAttribute::kPathRecord);
  const auto paths = reply.Records<PathRecord>();
  ASSERT_EQ(paths.size(), 3u);
  EXPECT_EQ(paths[0].sgid, made.GidOf(6));
  EXPECT_EQ(paths[0].dgid, made.GidOf(12));
  EXPECT_EQ(paths[1].dgid, made.GidOf(13));
  EXPECT_EQ(paths[2].sgid, made.GidOf(7));
  Query bad = MultiPath(made, {6}, {12}, 0, 1);
  bad.data[24] ^= 1;
  EXPECT_EQ(Send(view, bad, made.LidOf(6)).status(), wire::kSaStatusRequestInvalidGid);
  bad = MultiPath(made, {6}, {12}, 0, 1);
  bad.mask &= ~(uint64_t{1} << 20);
  EXPECT_EQ(Send(view, bad, made.LidOf(6)).status(), wire::kSaStatusInsufficientComponents);
  bad = MultiPath(made, {6}, {12}, 0, 1);
  bad.data[15] = 200;  // More sources than the request holds.
  EXPECT_EQ(Send(view, bad, made.LidOf(6)).status(), wire::kSaStatusRequestInvalid);
}

// Four LIDs per port over two spines: two paths without a common link exist, and are found.
TEST(MultiPaths, IndependentOnesFirst) {
  const SaFabric made = Make(fabricd::testing::MakeFatTree(4, 2), 2);
  const SaView view = made.View();
  const Reply reply = Send(view, MultiPath(made, {6}, {13}, 1, 2), made.LidOf(6));
  const auto paths = reply.Records<PathRecord>();
  ASSERT_EQ(paths.size(), 2u);
  const auto exits = [&](const PathRecord& path) {
    auto all = WalkByHand(made, made.Ref(6, 1), path.dlid).exits;
    return std::set<PortRef>(all.begin() + 1, all.end() - 1);
  };
  const auto first = exits(paths[0]);
  for (PortRef exit : exits(paths[1])) EXPECT_FALSE(first.contains(exit));
}

TEST(Traces, NameEachNodeOfThePath) {
  const SaFabric made = Make(fabricd::testing::MakeFatTree(4, 2));
  const SaView view = made.View();
  Query query = GetPath(made, 6, 13);
  query.attribute = wire::SaAttribute::kTraceRecord;
  query.method = Method::kGetTraceTable;
  const Reply reply = Send(view, query, made.LidOf(6));
  ASSERT_EQ(reply.status(), wire::kStatusOk);
  const auto trace = reply.Records<wire::TraceRecord>();
  const Walked walked = WalkByHand(made, made.Ref(6, 1), made.LidOf(13));
  ASSERT_EQ(trace.size(), walked.exits.size() + 1);
  for (size_t i = 0; i < trace.size(); ++i) {
    const bool last = i + 1 == trace.size();
    const PortRef entry = i == 0 ? PortRef{} : made.input.snapshot->port(walked.exits[i - 1])->peer;
    const NodeIndex at = last ? entry.node : walked.exits[i].node;
    EXPECT_EQ(trace[i].node_id, made.input.snapshot->node(at)->guid().value());
    EXPECT_EQ(trace[i].exit_port, last ? PortNum() : walked.exits[i].port);
    EXPECT_EQ(trace[i].entry_port, i == 0 ? PortNum() : entry.port);
  }
}

}  // namespace
}  // namespace fabricd::sa
