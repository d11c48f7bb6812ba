// SPDX-License-Identifier: Apache-2.0
// PathRecord between ports of the same partitions and of others.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "tests/unit/sa/paths/walked_paths.h"

namespace fabricd::sa {
namespace {

using testing::Make;
using testing::Reply;
using testing::Send;

void GiveKeys(SaFabric& made, const std::map<size_t, std::vector<uint16_t>>& keys) {
  auto tables = std::make_shared<fabric::TablesByPort>();
  for (const auto& [host, list] : keys) {
    wire::PKeyTable table;
    for (size_t i = 0; i < list.size(); ++i) table.keys[i] = PKey(list[i]);
    (*tables)[made.Ref(host, 1)].p_keys.push_back({PortNum(1), 0, table});
  }
  made.input.tables = tables;
}

// The key that the answer to a PathRecord Get names; 0: there is no path.
uint16_t KeyOfPath(const SaFabric& made, const SaView& view, size_t from, size_t to) {
  const Reply reply = Send(view, GetPath(made, from, to, 0, PathRecord()), made.LidOf(from));
  return reply.status() == wire::kStatusOk ? reply.Records<PathRecord>()[0].p_key.value() : 0;
}

TEST(Paths, APortThatWasNotReadIsNoFullMemberOncePartitionsAreInUse) {
  SaFabric made = Make(fabricd::testing::MakeFatTree(4, 2));
  GiveKeys(made, {{6, {0xFFFF}}, {7, {0x7FFF}}});
  EXPECT_EQ(KeyOfPath(made, made.View(), 8, 9), 0xFFFF);
  made.input.unread_key = kDefaultLimitedPKey;
  const SaView view = made.View();
  EXPECT_EQ(KeyOfPath(made, view, 8, 9), 0);
  EXPECT_EQ(KeyOfPath(made, view, 8, 7), 0);
  EXPECT_EQ(KeyOfPath(made, view, 8, 6), 0x7FFF);
  EXPECT_EQ(KeyOfPath(made, view, 6, 8), 0xFFFF);
}

TEST(Paths, OfSharedPartitionsOnly) {
  SaFabric made = Make(fabricd::testing::MakeFatTree(4, 2));
  // 6 and 7 full in 1 and 2, 8 limited in 2, 9 limited in 2, 10 only in the default partition.
  GiveKeys(made, {{6, {0xFFFF, 0x8002, 0x8001}},
                  {7, {0x8001, 0x8002}},
                  {8, {0x0002}},
                  {9, {0x0002}},
                  {10, {0x7FFF}}});
  const SaView view = made.View();
  const auto key = [&](size_t from, size_t to, uint16_t asked = 0) {
    PathRecord record;
    record.p_key = PKey(asked);
    const Reply reply =
        Send(view, GetPath(made, from, to, asked ? Bit(C::kPKey) : 0, record), made.LidOf(from));
    return reply.status() == wire::kStatusOk ? reply.Records<PathRecord>()[0].p_key.value() : 0;
  };
  EXPECT_EQ(key(6, 7), 0x8001) << "the lowest";
  EXPECT_EQ(key(6, 7, 0x8002), 0x8002);
  EXPECT_EQ(key(6, 7, 0x8003), 0);
  EXPECT_EQ(key(6, 7, 0xFFFF), 0) << "only one of them has it";
  EXPECT_EQ(key(6, 8), 0x8002);
  EXPECT_EQ(key(8, 6), 0x0002) << "the source's own key";
  EXPECT_EQ(key(8, 9), 0) << "two limited members";
  EXPECT_EQ(key(8, 9, 0x8002), 0);
  EXPECT_EQ(key(7, 10), 0);
  EXPECT_EQ(key(6, 10), 0xFFFF);
  // Whoever shares nothing with the ends does not learn of the path, unless trusted.
  Query query = GetPath(made, 6, 7);
  EXPECT_EQ(Send(view, query, made.LidOf(10)).status(), wire::kSaStatusNoRecords);
  query.key = testing::kSmKey;
  EXPECT_EQ(Send(view, query, made.LidOf(10)).status(), wire::kStatusOk);
}

}  // namespace
}  // namespace fabricd::sa
