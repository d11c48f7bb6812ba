// SPDX-License-Identifier: Apache-2.0
// Requests about partitions: what they change, what they refuse, what is done twice; and rows.
#include "policy/partition_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status.h"
#include "policy/partitions_text.h"

namespace fabricd::policy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Verb = PartitionRequest::Verb;

class PartitionStateTest : public testing::Test {
 protected:
  absl::StatusOr<PartitionOutcome> Do(const PartitionRequest& request) {
    auto outcome = Apply(request, state_);
    if (!outcome.ok()) return outcome;
    // As the store would have it.
    for (const auto& [key, value] : PartitionRows(*state_, *outcome->after)) {
      if (value)
        rows_[key] = *value;
      else
        rows_.erase(key);
    }
    state_ = outcome->after;
    return outcome;
  }
  static PartitionRequest About(Verb verb, uint16_t number, std::vector<uint64_t> guids = {}) {
    PartitionRequest request;
    request.verb = verb;
    request.partition.number = number;
    for (uint64_t guid : guids)
      request.partition.members.push_back({Guid(guid), PortClass::kNone, Membership::kFull});
    return request;
  }
  std::vector<std::string> MembersOf(uint16_t number) {
    std::vector<std::string> texts;
    for (const Member& member : state_->partitions.Find(number)->members)
      texts.push_back(MemberText(member));
    return texts;
  }

  std::shared_ptr<const PartitionState> state_ = std::make_shared<PartitionState>();
  StoredRows rows_;
};

TEST_F(PartitionStateTest, AddsAndRemovesMembers) {
  ASSERT_TRUE(Do(About(Verb::kCreate, 0, {1, 2})).ok());
  EXPECT_THAT(MembersOf(1), ElementsAre("0x0000000000000001=full", "0x0000000000000002=full"));
  ASSERT_TRUE(Do(About(Verb::kAddMembers, 1, {3, 1})).ok());
  ASSERT_TRUE(Do(About(Verb::kRemoveMembers, 1, {2, 7})).ok());
  EXPECT_THAT(MembersOf(1), ElementsAre("0x0000000000000001=full", "0x0000000000000003=full"));
  // What is so already is no change.
  const uint64_t revision = state_->revision;
  ASSERT_TRUE(Do(About(Verb::kAddMembers, 1, {1})).ok());
  ASSERT_TRUE(Do(About(Verb::kRemoveMembers, 1, {9})).ok());
  EXPECT_EQ(state_->revision, revision);
  EXPECT_EQ(*LoadPartitions(rows_), *state_);
}

TEST_F(PartitionStateTest, AMemberThatALaterRuleOverridesIsPutBehindIt) {
  PartitionRequest all = About(Verb::kCreate, 5, {1});
  all.partition.members.push_back({Guid(), PortClass::kChannelAdapters, Membership::kLimited});
  ASSERT_TRUE(Do(all).ok());
  ASSERT_TRUE(Do(About(Verb::kAddMembers, 5, {1})).ok());
  EXPECT_THAT(MembersOf(5), ElementsAre("ALL_CAS=limited", "0x0000000000000001=full"));
  // Within one request too.
  PartitionRequest more = About(Verb::kAddMembers, 5);
  more.partition.members = {{Guid(2), PortClass::kNone, Membership::kFull},
                            {Guid(), PortClass::kSelf, Membership::kFull},
                            {Guid(2), PortClass::kNone, Membership::kFull}};
  ASSERT_TRUE(Do(more).ok());
  EXPECT_THAT(MembersOf(5), ElementsAre("ALL_CAS=limited", "0x0000000000000001=full", "SELF=full",
                                        "0x0000000000000002=full"));
}

TEST_F(PartitionStateTest, ARequestMayBeMeantForOneRevision) {
  ASSERT_TRUE(Do(About(Verb::kCreate, 5, {1})).ok());
  PartitionRequest add = About(Verb::kAddMembers, 5, {2});
  add.revision = state_->revision;
  add.request_id = "once";
  ASSERT_TRUE(Do(add).ok());
  EXPECT_TRUE(Do(add)->existing);  // Done before, whatever the revision is now.
  add.request_id = "twice";
  EXPECT_TRUE(absl::IsAborted(Do(add).status()));
}

TEST_F(PartitionStateTest, RefusesInvalidRequests) {
  EXPECT_TRUE(absl::IsNotFound(Do(About(Verb::kAddMembers, 5, {1})).status()));
  EXPECT_TRUE(absl::IsNotFound(Do(About(Verb::kDelete, 5)).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Do(About(Verb::kDelete, kDefaultPartition)).status()));
  PartitionRequest alone = About(Verb::kRemoveMembers, kDefaultPartition);
  alone.partition.members = {{Guid(), PortClass::kAll, Membership::kFull}};
  EXPECT_THAT(Message(Do(alone).status()), HasSubstr("ALL must be a member"));
  ASSERT_TRUE(Do(About(Verb::kCreate, 5, {1})).ok());
  EXPECT_TRUE(Do(About(Verb::kCreate, 5, {1})).ok());  // The same.
  EXPECT_TRUE(absl::IsAlreadyExists(Do(About(Verb::kCreate, 5, {2})).status()));
  EXPECT_EQ(state_->revision, 1u);
}

TEST_F(PartitionStateTest, OnlyTheNamedFieldsAreUpdated) {
  ASSERT_TRUE(Do(About(Verb::kCreate, 5, {1})).ok());
  PartitionRequest update = About(Verb::kUpdate, 5, {2});
  update.partition.name = "tenant";
  update.partition.index0 = true;
  update.fields = PartitionRequest::kName;
  ASSERT_TRUE(Do(update).ok());
  EXPECT_EQ(state_->partitions.Find(5)->name, "tenant");
  EXPECT_FALSE(state_->partitions.Find(5)->index0);
  EXPECT_THAT(MembersOf(5), ElementsAre("0x0000000000000001=full"));
}

TEST_F(PartitionStateTest, ARepeatedRequestIsExecutedOnce) {
  ASSERT_TRUE(Do(About(Verb::kCreate, 5)).ok());
  PartitionRequest add = About(Verb::kAddMembers, 5, {1});
  add.request_id = "a";
  EXPECT_FALSE(Do(add)->existing);
  ASSERT_TRUE(Do(About(Verb::kRemoveMembers, 5, {1})).ok());
  EXPECT_TRUE(Do(add)->existing);
  EXPECT_THAT(MembersOf(5), IsEmpty());
  PartitionRequest other = About(Verb::kAddMembers, 5, {2});
  other.request_id = "a";
  const auto reused = Do(other);
  EXPECT_TRUE(absl::IsInvalidArgument(reused.status()));
  EXPECT_TRUE(Message(reused.status()).starts_with(kRequestIdReused));
  // The oldest ids are forgotten, and the rows of those that stay are left alone.
  for (size_t i = 0; i < PartitionState::kMaxDone; ++i) {
    PartitionRequest next = About(Verb::kAddMembers, 5, {1});
    next.request_id = std::to_string(i);
    const auto before = state_;
    ASSERT_TRUE(Do(next).ok());
    EXPECT_LE(PartitionRows(*before, *state_).size(), 4u);
  }
  EXPECT_EQ(state_->done.size(), PartitionState::kMaxDone);
  EXPECT_TRUE(Do(other).ok());
  EXPECT_EQ(*LoadPartitions(rows_), *state_);
}

TEST_F(PartitionStateTest, ARepeatedRequestReturnsTheSamePartition) {
  PartitionRequest create = About(Verb::kCreate, 0);  // The lowest number that is free.
  create.request_id = "a";
  create.fingerprint = 7;
  EXPECT_EQ(Do(create)->number, 1);
  state_ = std::make_shared<const PartitionState>(*LoadPartitions(rows_));
  EXPECT_EQ(Do(create)->number, 1);
  EXPECT_TRUE(Do(create)->existing);
  // Also where it cannot be read any more, because what it names is gone.
  ASSERT_TRUE(Do(About(Verb::kDelete, 1)).ok());
  PartitionRequest again;
  again.request_id = "a";
  again.fingerprint = 7;
  again.unread = absl::NotFoundError("no such partition");
  EXPECT_EQ(Do(again)->number, 1);
  again.request_id = "b";
  EXPECT_EQ(Do(again).status(), again.unread);
  // Earlier versions stored no number.
  rows_[{"partition_request", "0000000000000001"}] = "0000000000000007 a";
  EXPECT_EQ(LoadPartitions(rows_)->done.front().request_id, "a");
  EXPECT_EQ(LoadPartitions(rows_)->done.front().partition, 0);
}

TEST_F(PartitionStateTest, NumbersOnceAssignedStayManaged) {
  ASSERT_TRUE(Do(About(Verb::kCreate, 5, {1})).ok());
  PartitionRequest replace;
  replace.all = ParsePartitions("A=6,ipoib: ALL=full, mgid=ff12::3,sl=1\n;").partitions;
  replace.file_digest = "abc";
  ASSERT_TRUE(Do(replace).ok());
  EXPECT_THAT(state_->ever.List(), ElementsAre(5, 6, kDefaultPartition));
  EXPECT_EQ(*LoadPartitions(rows_), *state_);
  EXPECT_EQ(state_->file_digest, "abc");
  EXPECT_TRUE(PartitionRows(*state_, *state_).empty());
}

TEST_F(PartitionStateTest, RefusesDamagedRows) {
  EXPECT_EQ(*LoadPartitions({{{"service", "x"}, "y"}}), PartitionState());
  for (const auto& [table, key, value] :
       {std::tuple("partition", "0x0005", "A=5: what;"), std::tuple("partition_was", "zz", ""),
        std::tuple("partitions", "revision", "-1"), std::tuple("partitions", "else", "1"),
        std::tuple("partition_request", "0000000000000001", "short")})
    EXPECT_EQ(LoadPartitions({{{table, key}, value}}).status().code(), absl::StatusCode::kDataLoss)
        << table << " " << key;
}

}  // namespace
}  // namespace fabricd::policy
