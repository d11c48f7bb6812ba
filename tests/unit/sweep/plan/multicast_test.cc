// SPDX-License-Identifier: Apache-2.0
#include "sweep/plan/multicast.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/sweep/small_fabric.h"

namespace fabricd::sweep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class MulticastTest : public testing::Test {
 protected:
  static std::shared_ptr<const fabric::MulticastGroups> Groups(std::vector<uint16_t> numbers) {
    auto groups = std::make_shared<fabric::MulticastGroups>();
    for (uint16_t number : numbers) {
      fabric::MulticastGroup group;
      group.mlid = Lid(static_cast<uint16_t>(fabric::kFirstMulticastLid.value() + number));
      groups->groups.push_back(group);
    }
    return groups;
  }
  // One tree, with these that it does not reach.
  static TreesReady Trees(std::vector<routing::UnservedMember> unserved = {}) {
    auto tree = std::make_shared<routing::MulticastTree>();
    tree->mlid = fabric::kFirstMulticastLid;
    tree->unserved = std::move(unserved);
    auto plan = std::make_shared<routing::MulticastPlan>();
    plan->trees = {tree};
    return {plan, ""};
  }
  void Ask() { multicast_.Ask(plan_, devices_); }
  const ComputeTrees& Asked() const { return std::get<ComputeTrees>(asked_.back().what); }
  Multicast::SharedTrees Give(TreesReady ready) {
    return multicast_.OnTrees(std::move(ready), *fabric_.builder.Build(), problems_);
  }
  std::vector<std::string> Messages() const {
    std::vector<std::string> texts;
    for (const Problem& each : problems_.List())
      texts.push_back(fmt::format("{} {}: {}", each.kind, each.subject, each.message));
    return texts;
  }

  std::vector<Question> asked_;
  OpenQuestions questions_{asked_};
  Multicast multicast_{nullptr, questions_};
  const SmOptions options_;
  DeviceTable devices_{options_};
  ProblemList problems_;
  SmallFabric fabric_{2};
  std::shared_ptr<const routing::RoutingPlan> plan_ = std::make_shared<routing::RoutingPlan>();
};

TEST_F(MulticastTest, WithoutGroupsAndEntriesThereIsNothingToDo) {
  EXPECT_NE(multicast_.groups(), nullptr);
  EXPECT_NE(multicast_.plan(), nullptr);
  EXPECT_EQ(multicast_.blocks(), 0);
  EXPECT_FALSE(multicast_.HasWork(devices_));
  EXPECT_FALSE(multicast_.HasChanges());
  routing::MulticastBlock block{};
  block[0] = 0b10;
  devices_.applied().Mft(NodeIndex(0)).Confirm({0, 0}, block);
  EXPECT_TRUE(multicast_.HasWork(devices_)) << "entries of somebody else are to go";
}

TEST_F(MulticastTest, OtherGroupsAreAChangeUntilTreesAreAskedFor) {
  multicast_.SetGroups(Groups({}));
  EXPECT_FALSE(multicast_.HasChanges()) << "they are the same";
  multicast_.SetGroups(Groups({0, 40}));
  EXPECT_TRUE(multicast_.HasChanges());
  EXPECT_TRUE(multicast_.HasWork(devices_));
  EXPECT_EQ(multicast_.blocks(), 2);
  Ask();
  EXPECT_FALSE(multicast_.HasChanges());
  EXPECT_TRUE(multicast_.IsAwaited());
}

TEST_F(MulticastTest, TreesAreAskedForTheFabricOfTheUnicastPlan) {
  ComputePlan question;
  question.snapshot = fabric_.builder.Build();
  question.lids = std::make_shared<fabric::LidTable>();
  multicast_.SetGroups(Groups({0}));
  Ask();
  multicast_.NoteQuestion(question);
  EXPECT_FALSE(multicast_.IsAwaited()) << "those were for another plan";
  Ask();
  EXPECT_EQ(Asked().snapshot, question.snapshot);
  EXPECT_EQ(Asked().lids, question.lids);
  EXPECT_EQ(Asked().plan, plan_);
  EXPECT_EQ(Asked().groups, multicast_.groups());
  multicast_.Cancel();
  EXPECT_FALSE(multicast_.IsAwaited());
}

TEST_F(MulticastTest, TheFirstTreesStartFromTheTablesAndLaterOnesFromTheOnesBefore) {
  routing::MulticastBlock block{};
  block[5] = 0b110;
  devices_.applied().Mft(fabric_.switches[0]).Confirm({0, 0}, block);
  Ask();
  ASSERT_THAT(Asked().before->trees, SizeIs(1));
  EXPECT_EQ(Asked().before->trees[0]->mlid, Lid(0xC005));
  const auto trees = Give(Trees());
  Ask();
  EXPECT_EQ(Asked().before, trees);
  multicast_.Forget();
  EXPECT_TRUE(multicast_.plan()->empty());
  Ask();
  ASSERT_THAT(Asked().before->trees, SizeIs(1)) << "another SM may have written: from the tables";
}

TEST_F(MulticastTest, TreesThatCannotBeProvedAreAProblemAndNoneAreWanted) {
  Give(Trees());
  EXPECT_TRUE(Give({nullptr, "a loop"})->empty());
  EXPECT_THAT(Messages(),
              ElementsAre("NoTrees subnet: no multicast trees that can be proved: a loop"));
  Give(Trees());
  EXPECT_THAT(Messages(), IsEmpty());
}

TEST_F(MulticastTest, MembersThatAreThereButNotServedAreAProblem) {
  using routing::Unserved;
  fabric_.builder.SetDescription(fabric_.hosts[0], "host0");
  Give(Trees({{Guid(0x1000), Unserved::kTooSlow},
              {Guid(0x1001), Unserved::kCutOff},
              {Guid(0x9999), Unserved::kAbsent}}));
  ASSERT_THAT(Messages(), SizeIs(1));
  EXPECT_THAT(Messages()[0], testing::StartsWith("MulticastUnserved MLID 0xc000: 2 members are not "
                                                 "served, \"host0\" (0x0000000000001000) for one"));
  Give(Trees({{Guid(0x9999), Unserved::kAbsent}}));
  EXPECT_THAT(Messages(), IsEmpty()) << "who is absent will come, or leave";
}

TEST_F(MulticastTest, TheSwitchesHoldTheTreesOnceTheyAreWritten) {
  EXPECT_EQ(multicast_.held(), nullptr);
  const auto trees = Give(Trees());
  EXPECT_EQ(multicast_.held(), nullptr);
  multicast_.OnTreesDone();
  EXPECT_EQ(multicast_.held(), trees);
  Give(Trees());
  EXPECT_EQ(multicast_.held(), nullptr);
  multicast_.OnTreesDone();
  multicast_.Forget();
  EXPECT_EQ(multicast_.held(), nullptr);
}

}  // namespace
}  // namespace fabricd::sweep
