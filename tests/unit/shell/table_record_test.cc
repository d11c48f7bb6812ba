// SPDX-License-Identifier: Apache-2.0
#include "shell/table_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status.h"
#include "sim/generate/generate.h"
#include "store/memory_store.h"

namespace fabricd::shell {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::IsEmpty;
using testing::Optional;

routing::Row RowOf(size_t size, uint8_t port) {
  routing::Row row(size, routing::kNoRoute);
  for (size_t lid = 1; lid < size / 2; ++lid) row.Set(lid, port);
  return row;
}

TEST(DigestOfARow, IsOfItsRoutesHoweverLongItIs) {
  routing::Row longer = RowOf(4096, 3);
  longer.Resize(8192, routing::kNoRoute);
  EXPECT_EQ(DigestOf(longer), DigestOf(RowOf(4096, 3)));
  EXPECT_NE(DigestOf(RowOf(4096, 4)), DigestOf(RowOf(4096, 3)));
  routing::Row other = RowOf(4096, 3);
  other.Set(5, 9);
  EXPECT_NE(DigestOf(other), DigestOf(RowOf(4096, 3)));
  EXPECT_EQ(DigestOf(routing::Row()), DigestOf(routing::Row(64, routing::kNoRoute)));
}

TEST(LoadTables, DamagedRowsAreNamed) {
  const auto code = [](const std::string& key, const std::string& text) {
    return LoadTables({{{"tables", key}, text}}).status().code();
  };
  EXPECT_EQ(code("0", "0x01 02\n"), absl::StatusCode::kOk);
  EXPECT_EQ(code("0", "0x01\n"), absl::StatusCode::kDataLoss);
  EXPECT_EQ(code("0", "0x01 xyz\n"), absl::StatusCode::kDataLoss);
  EXPECT_EQ(code("window", "many"), absl::StatusCode::kDataLoss);
  EXPECT_THAT(LoadTables({{{"other", "0"}, "x"}})->digests, IsEmpty());
}

TEST(Vouched, AreThoseThatWereReadAsTheyWereConfirmed) {
  sweep::SwitchTables read;
  read.rows = {{Guid(1), RowOf(128, 1)}, {Guid(2), RowOf(128, 2)}, {Guid(3), RowOf(128, 3)}};
  RecordedTables record;
  EXPECT_EQ(Vouched(read, record), nullptr);
  record.digests = {{Guid(1), DigestOf(RowOf(128, 1))}, {Guid(2), DigestOf(RowOf(128, 9))}};
  const auto vouched = Vouched(read, record);
  ASSERT_NE(vouched, nullptr);
  ASSERT_EQ(vouched->rows.size(), 1u);
  EXPECT_EQ(vouched->rows.at(Guid(1)), RowOf(128, 1));
}

class TableRecordTest : public testing::Test {
 protected:
  TableRecordTest() {
    auto view = std::make_shared<sweep::FabricView>(*sweep::EmptyView());
    view->snapshot = *sim::Generate("superpod:sus=1,hosts=4,rails=2");
    auto plan = std::make_shared<routing::RoutingPlan>();
    plan->rows.resize(view->snapshot->node_index_end());
    view->snapshot->ForEachNode([&](const fabric::Node& node) {
      if (node.IsSwitch())
        plan->rows[node.index.value()] = std::make_shared<const routing::Row>(
            RowOf(4096, static_cast<uint8_t>(1 + node.index.value())));
    });
    view->plan = plan;
    view->plan_stands = view->subnet_up = true;
    view->sm.state = wire::SmState::kMaster;
    up_ = view;
  }
  RecordedTables Recorded() { return *LoadTables(*store_.LoadRows()); }
  void Look(const std::shared_ptr<const sweep::FabricView>& view, Instant now) {
    record_.Look(view, 64, now);
  }
  std::shared_ptr<const sweep::FabricView> Changed(sweep::Phase phase, wire::SmState state) {
    auto view = std::make_shared<sweep::FabricView>(*up_);
    view->phase = phase;
    view->sm.state = state;
    return view;
  }

  std::shared_ptr<const sweep::FabricView> up_;
  store::MemoryStore store_;
  int writes_ = 0;
  bool takes_ = true;
  TableRecord record_{[this](const auto& job) {
    if (takes_) job(store_);
    if (takes_) ++writes_;
    return takes_;
  }};
  const Instant start_ = Instant() + seconds(100);
};

TEST_F(TableRecordTest, StandsASecondAfterTheSubnetIsUpAndUntilSomethingIsWritten) {
  Look(up_, start_);
  EXPECT_THAT(Recorded().digests, IsEmpty());
  Look(up_, start_ + milliseconds(999));
  EXPECT_THAT(Recorded().digests, IsEmpty());
  Look(up_, start_ + seconds(1));
  const RecordedTables recorded = Recorded();
  EXPECT_THAT(recorded.window, Optional(64u));
  size_t switches = 0;
  up_->snapshot->ForEachNode([&](const fabric::Node& node) {
    if (!node.IsSwitch()) return;
    ++switches;
    EXPECT_EQ(recorded.digests.at(node.guid()), DigestOf(*up_->plan->rows[node.index.value()]));
  });
  EXPECT_EQ(recorded.digests.size(), switches);
  Look(up_, start_ + seconds(60));
  EXPECT_EQ(writes_, 1);
  Look(Changed(sweep::Phase::kProgramming, wire::SmState::kMaster), start_ + seconds(61));
  EXPECT_THAT(Recorded().digests, IsEmpty());
  EXPECT_THAT(Recorded().window, Optional(64u)) << "the fabric bears as many as before";
  Look(up_, start_ + seconds(62));
  Look(up_, start_ + seconds(63));
  EXPECT_EQ(Recorded().digests, recorded.digests);
}

TEST_F(TableRecordTest, OfAPredecessorIsTakenBackByTheFirstSweepAsMaster) {
  ASSERT_TRUE(store_.ChangeRows({{{"tables", "0"}, "0x01 02\n"}}).ok());
  Look(Changed(sweep::Phase::kDiscovering, wire::SmState::kDiscovering), start_);
  EXPECT_EQ(Recorded().digests.size(), 1u) << "it is not this SM's yet";
  Look(Changed(sweep::Phase::kRouting, wire::SmState::kMaster), start_);
  EXPECT_THAT(Recorded().digests, IsEmpty());
  EXPECT_EQ(writes_, 1);
}

TEST_F(TableRecordTest, IsWrittenAgainWhereTheStoreHasRefused) {
  Look(up_, start_);
  store_.FailWrites(Unavailable("etcd is away"));
  Look(up_, start_ + seconds(1));
  store_.FailWrites(absl::OkStatus());
  EXPECT_THAT(Recorded().digests, IsEmpty());
  Look(up_, start_ + seconds(2));
  EXPECT_FALSE(Recorded().digests.empty());
}

TEST_F(TableRecordTest, IsTriedAgainWhereTheQueueIsFull) {
  Look(up_, start_);
  takes_ = false;
  Look(up_, start_ + seconds(1));
  takes_ = true;
  Look(up_, start_ + seconds(2));
  EXPECT_FALSE(Recorded().digests.empty());
}

}  // namespace
}  // namespace fabricd::shell
