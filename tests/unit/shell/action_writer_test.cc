// SPDX-License-Identifier: Apache-2.0
#include "shell/action_writer.h"

#include <gtest/gtest.h>

#include "store/memory_store.h"

namespace fabricd::shell {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

policy::ActionRecord RecordOf(uint64_t node) {
  policy::ActionRecord record;
  record.suppressed = {{{Guid(node), PortNum(1)}, {Guid(9), PortNum(2)}, 3500, 1000, 4}};
  return record;
}

class RefusingStore final : public store::MemoryStore {
 public:
  absl::Status ChangeRows(const RowChanges& changes) override {
    ++writes;
    if (refuses) return absl::UnavailableError("no");
    return store::MemoryStore::ChangeRows(changes);
  }
  int writes = 0;
  bool refuses = false;
};

class ActionWriterTest : public testing::Test {
 protected:
  ActionWriterTest() { view_.sm.state = wire::SmState::kMaster; }
  void Turn(bool takes_writes = true) { writer_.OnTurn(view_, takes_writes, now_); }
  void Show(policy::ActionRecord record) {
    auto shown = std::make_shared<policy::PolicyView>();
    shown->actions = std::move(record);
    view_.policy = std::move(shown);
  }
  policy::ActionRecord Stored() { return *policy::LoadActions(*store_.LoadRows()); }

  RefusingStore store_;
  bool posts_ = true;
  ActionWriter writer_{[this](const auto& job) {
    if (posts_) job(store_);
    return posts_;
  }};
  sweep::FabricView view_;
  Instant now_{seconds(10)};
};

TEST_F(ActionWriterTest, WritesChangesOnceASecond) {
  writer_.Begin({});
  Show({});
  Turn();
  EXPECT_EQ(store_.writes, 0);
  Show(RecordOf(1));
  Turn();
  EXPECT_EQ(Stored(), RecordOf(1));
  Turn();
  EXPECT_EQ(store_.writes, 1);
  Show(RecordOf(2));
  now_ += milliseconds(900);
  Turn();
  EXPECT_EQ(Stored(), RecordOf(1));
  now_ += milliseconds(100);
  Turn();
  EXPECT_EQ(Stored(), RecordOf(2));
  now_ += seconds(5);
  Show({});
  Turn();
  EXPECT_EQ(Stored(), policy::ActionRecord());
  EXPECT_TRUE(store_.LoadRows()->empty());
}

TEST_F(ActionWriterTest, ARefusedWriteIsRepeated) {
  writer_.Begin({});
  Show(RecordOf(1));
  Turn(/*takes_writes=*/false);
  EXPECT_EQ(store_.writes, 0);
  posts_ = false;
  Turn();
  posts_ = true;
  store_.refuses = true;
  now_ += seconds(1);
  Turn();
  EXPECT_EQ(store_.writes, 1);
  store_.refuses = false;
  Turn();
  EXPECT_EQ(store_.writes, 1) << "within the second";
  now_ += seconds(1);
  Turn();
  EXPECT_EQ(Stored(), RecordOf(1));
}

TEST_F(ActionWriterTest, OnlyTheMasterWrites) {
  writer_.Begin(RecordOf(1));
  view_.sm.state = wire::SmState::kStandby;
  Show({});
  Turn();
  EXPECT_EQ(store_.writes, 0);
}

}  // namespace
}  // namespace fabricd::shell
