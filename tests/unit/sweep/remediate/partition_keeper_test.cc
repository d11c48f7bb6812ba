// SPDX-License-Identifier: Apache-2.0
#include "sweep/remediate/partition_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status.h"

namespace fabricd::sweep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using Verb = policy::PartitionRequest::Verb;

class PartitionKeeperTest : public testing::Test {
 protected:
  static constexpr Instant kNow{std::chrono::seconds(100)};

  static ChangePartitions Creating(uint16_t number, uint64_t command, std::string request_id = "") {
    ChangePartitions change;
    change.command = command;
    change.by = "alice";
    change.request.verb = Verb::kCreate;
    change.request.partition.name = fmt::format("p{}", number);
    change.request.partition.number = number;
    change.request.request_id = std::move(request_id);
    return change;
  }
  bool IsAsked() const { return questions_.IsOpen<PersistPartitions>(); }
  void Give(absl::Status status = absl::OkStatus()) {
    ASSERT_FALSE(effects_.questions.empty());
    const QuestionId id = effects_.questions.back().id;
    effects_.questions.clear();
    ASSERT_TRUE(questions_.Close({id, Persisted{status}}));
    keeper_.On(Persisted{std::move(status)}, kNow);
  }
  std::vector<uint64_t> Finished() {
    std::vector<uint64_t> commands;
    for (const FinishedCommand& each : effects_.finished) commands.push_back(each.command);
    return commands;
  }
  bool HasPartition(uint16_t number) const { return keeper_.state()->ever.Contains(number); }

  CoreOptions options_;
  Effects effects_;
  OpenQuestions questions_{effects_.questions};
  PartitionKeeper keeper_{options_, effects_, questions_, policy::PartitionState()};
};

TEST_F(PartitionKeeperTest, AChangeIsInForceOnceItIsDurable) {
  const uint64_t before = keeper_.generation();
  keeper_.On(Creating(5, 1));
  EXPECT_TRUE(IsAsked());
  EXPECT_FALSE(HasPartition(5));
  EXPECT_THAT(effects_.finished, IsEmpty());
  EXPECT_EQ(keeper_.TakeChange(), "");
  Give();
  EXPECT_TRUE(HasPartition(5));
  EXPECT_TRUE(keeper_.index()->IsOwn(PKey(0x8005)));
  EXPECT_EQ(keeper_.generation(), before + 1);
  EXPECT_FALSE(keeper_.in_effect());
  EXPECT_EQ(keeper_.TakeChange(), "partitions");
  EXPECT_EQ(keeper_.TakeChange(), "");
  ASSERT_THAT(effects_.finished, SizeIs(1));
  EXPECT_TRUE(effects_.finished[0].status.ok());
  EXPECT_EQ(effects_.finished[0].partitions->number, 5);
  ASSERT_THAT(effects_.events, SizeIs(1));
  EXPECT_EQ(effects_.events[0].type, "PartitionsChanged");
  EXPECT_EQ(effects_.events[0].subject, "partition 0x0005");
  EXPECT_THAT(effects_.events[0].facts, testing::Contains(Pair("by", "alice")));
  keeper_.OnApplied(keeper_.generation());
  EXPECT_TRUE(keeper_.in_effect());
}

TEST_F(PartitionKeeperTest, AChangeThatCannotBeStoredHasNoEffectAndTheNextIsTried) {
  keeper_.On(Creating(5, 1));
  keeper_.On(Creating(6, 2));
  Give(Unavailable("disk full"));
  EXPECT_FALSE(HasPartition(5));
  EXPECT_THAT(Finished(), ElementsAre(1u));
  EXPECT_EQ(effects_.finished[0].status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(effects_.finished[0].partitions, nullptr);
  ASSERT_THAT(effects_.log, SizeIs(1));
  EXPECT_THAT(effects_.log[0].text, HasSubstr("disk full"));
  EXPECT_TRUE(IsAsked());
  Give();
  EXPECT_TRUE(HasPartition(6));
  EXPECT_THAT(Finished(), ElementsAre(1u, 2u));
}

TEST_F(PartitionKeeperTest, RequestsAreCarriedOutOneAfterTheOther) {
  keeper_.On(Creating(5, 1));
  ChangePartitions other = Creating(5, 2);
  other.request.partition.name = "other";
  keeper_.On(other);
  keeper_.On(Creating(6, 3));
  EXPECT_THAT(effects_.questions, SizeIs(1));
  Give();
  EXPECT_THAT(Finished(), ElementsAre(1u, 2u));
  EXPECT_EQ(effects_.finished[1].status.code(), absl::StatusCode::kAlreadyExists)
      << "of the state that the first one has left";
  Give();
  EXPECT_THAT(Finished(), ElementsAre(1u, 2u, 3u));
}

TEST_F(PartitionKeeperTest, ADryRunAndARequestWithoutAChangeAreNotStored) {
  ChangePartitions dry = Creating(5, 1);
  dry.validate_only = true;
  keeper_.On(dry);
  EXPECT_FALSE(IsAsked());
  EXPECT_FALSE(HasPartition(5));
  ASSERT_THAT(effects_.finished, SizeIs(1));
  EXPECT_EQ(effects_.finished[0].partitions->number, 5);
  ChangePartitions same;
  same.command = 2;
  same.request.all = keeper_.state()->partitions;
  keeper_.On(same);
  EXPECT_FALSE(IsAsked());
  EXPECT_THAT(Finished(), ElementsAre(1u, 2u));
}

TEST_F(PartitionKeeperTest, ARefusedRequestNamesItsFault) {
  ChangePartitions change = Creating(5, 1);
  change.request.verb = Verb::kDelete;
  keeper_.On(change);
  ASSERT_THAT(effects_.finished, SizeIs(1));
  EXPECT_EQ(effects_.finished[0].status.code(), absl::StatusCode::kNotFound);
}

TEST_F(PartitionKeeperTest, TheQueueIsBounded) {
  for (uint64_t command = 1; command <= PartitionKeeper::kMaxWaiting + 1; ++command)
    keeper_.On(Creating(5, command));
  EXPECT_THAT(Finished(), ElementsAre(PartitionKeeper::kMaxWaiting + 1));
  EXPECT_EQ(effects_.finished[0].status.code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(PartitionKeeperTest, OtherOptionsMakeAnotherIndexThatIsNotInEffectYet) {
  keeper_.OnApplied(keeper_.generation());
  const auto before = keeper_.index();
  keeper_.OnOptions();
  EXPECT_NE(keeper_.index(), before);
  EXPECT_FALSE(keeper_.in_effect());
  keeper_.OnApplied(keeper_.generation() - 1);
  EXPECT_FALSE(keeper_.in_effect());
}

TEST_F(PartitionKeeperTest, AnEventNamesThreeChangesAndCountsTheOthers) {
  ChangePartitions change;
  change.command = 1;
  change.request.all = keeper_.state()->partitions;
  auto& list = change.request.all.list;
  for (uint16_t number = 11; number > 4; --number)
    list.insert(list.begin(), Creating(number, 0).request.partition);
  keeper_.On(change);
  ASSERT_TRUE(effects_.finished.empty()) << effects_.finished[0].status;
  Give();
  ASSERT_THAT(effects_.events, SizeIs(1));
  EXPECT_EQ(effects_.events[0].subject, "partitions");
  EXPECT_THAT(effects_.events[0].message, HasSubstr("and 4 more"));
}

}  // namespace
}  // namespace fabricd::sweep
