// SPDX-License-Identifier: Apache-2.0
#include "policy/holds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status.h"
#include "tests/unit/policy/named_fabric.h"

namespace fabricd::policy {
namespace {

using ::testing::HasSubstr;

class HoldBookTest : public testing::Test {
 protected:
  // Made and applied.
  uint64_t Make(const Hold& wanted) {
    const HoldChange change = book_.Create(wanted, 1000, 100).value();
    book_.Apply(change);
    return change.put.front().id;
  }
  void Delete(uint64_t id) { book_.Apply(book_.Delete({id, "", true}, 1).value()); }

  NamedFabric fabric_;
  HoldBook book_;
  const Hold cordon_ = fabric_.Wanted(HoldKind::kCordon, TargetKind::kHost, "node1");
};

TEST_F(HoldBookTest, IdsAreNeverReused) {
  EXPECT_EQ(Make(cordon_), 1u);
  Delete(1);
  EXPECT_EQ(Make(cordon_), 2u);
  // Nor after a restart in which none stood.
  HoldBook restarted({}, 7);
  EXPECT_EQ(restarted.Create(cordon_, 1, 100)->put.front().id, 8u);
}

TEST_F(HoldBookTest, ACreatedChangeHasNoEffectBeforeItIsApplied) {
  const HoldChange change = book_.Create(cordon_, 1234, 100).value();
  EXPECT_TRUE(book_.standing().empty());
  book_.Apply(change);
  EXPECT_EQ(book_.Find(1)->created, 1234);
  const HoldChange gone = book_.Delete({1, "slurm"}, 1).value();
  EXPECT_NE(book_.Find(1), nullptr);
  book_.Apply(gone);
  EXPECT_EQ(book_.Find(1), nullptr);
}

TEST_F(HoldBookTest, OneRequestMakesOneHold) {
  Hold wanted = cordon_;
  wanted.request_id = "job-17";
  EXPECT_EQ(*book_.FindExisting(wanted), nullptr);
  const uint64_t id = Make(wanted);
  wanted.expires = 99'000;  // Counted from when the request is repeated.
  EXPECT_EQ((*book_.FindExisting(wanted))->id, id);
  Hold reason = wanted, kind = wanted, target = wanted;
  reason.reason = "another";
  kind.kind = HoldKind::kDrain;
  target.target = fabric_.Target(TargetKind::kHost, "node2");
  for (const Hold& other : {reason, kind, target}) {
    const auto found = book_.FindExisting(other);
    EXPECT_EQ(found.status().code(), absl::StatusCode::kAlreadyExists);
    EXPECT_THAT(Message(found.status()), HasSubstr("hold 1"));
  }
}

TEST_F(HoldBookTest, TheSameRequestReturnsTheActiveHold) {
  Hold drain = fabric_.Wanted(HoldKind::kDrain, TargetKind::kSwitch, "spine1");
  const uint64_t id = Make(drain);
  drain.reason = "in other words";
  EXPECT_EQ((*book_.FindExisting(drain))->id, id);
  drain.target.name = "renamed";
  EXPECT_EQ((*book_.FindExisting(drain))->id, id);
  Hold soft = drain;
  soft.mode = DrainMode::kSoft;
  EXPECT_EQ(*book_.FindExisting(soft), nullptr);
  Hold others = drain;
  others.owner = "alice";
  EXPECT_EQ(*book_.FindExisting(others), nullptr);
}

TEST_F(HoldBookTest, RefusesIncompleteHolds) {
  const auto code = [&](const Hold& hold) { return book_.Create(hold, 1000, 100).status().code(); };
  for (auto corrupt : std::vector<void (*)(Hold&)>{
           [](Hold& hold) { hold.owner.clear(); }, [](Hold& hold) { hold.reason.clear(); },
           [](Hold& hold) { hold.target = {}; },
           [](Hold& hold) { hold.reason.assign(kMaxReasonBytes + 1, 'x'); },
           [](Hold& hold) { hold.expires = 1000; }}) {
    Hold hold = cordon_;
    EXPECT_EQ(code(hold), absl::StatusCode::kOk);
    corrupt(hold);
    EXPECT_EQ(code(hold), absl::StatusCode::kInvalidArgument);
  }
  Hold nothing_faces = fabric_.Wanted(HoldKind::kDisable, TargetKind::kHost, "node1");
  nothing_faces.target.facing.clear();
  EXPECT_EQ(code(nothing_faces), absl::StatusCode::kInvalidArgument);
}

TEST_F(HoldBookTest, IsBounded) {
  Make(cordon_);
  Hold other = fabric_.Wanted(HoldKind::kCordon, TargetKind::kHost, "node2");
  EXPECT_TRUE(book_.Create(other, 1, 2).ok());
  EXPECT_EQ(book_.Create(other, 1, 1).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(HoldBookTest, OnlyItsOwnerDeletesAHold) {
  const uint64_t id = Make(cordon_);
  EXPECT_EQ(book_.Delete({id, "alice"}, 1).status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_TRUE(book_.Delete({id, "alice", true}, 1).ok());
  EXPECT_TRUE(book_.Delete({id, "slurm"}, 1).ok());
  EXPECT_EQ(book_.Delete({9, "slurm", true}, 1).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(HoldBookTest, ExpiresHoldsThatAreDue) {
  Hold until_5 = cordon_, until_9 = fabric_.Wanted(HoldKind::kDrain, TargetKind::kHost, "node2");
  until_5.expires = 5000;
  until_9.expires = 9000;
  Make(until_9);
  Make(until_5);
  EXPECT_EQ(book_.NextExpiry(), 5000);
  EXPECT_TRUE(book_.Expire(4999).empty());
  const HoldChange change = book_.Expire(5000);
  EXPECT_EQ(change.remove, std::vector<uint64_t>{2});
  book_.Apply(change);
  EXPECT_EQ(book_.NextExpiry(), 9000);
}

TEST_F(HoldBookTest, AReleasedDisableIsKeptUntilThePortIsEnabled) {
  const uint64_t id = Make(fabric_.Wanted(HoldKind::kDisable, TargetKind::kPort, "leaf1/1"));
  Delete(id);
  EXPECT_EQ(book_.Find(id), nullptr);
  ASSERT_EQ(book_.lifted().size(), 1u);
  EXPECT_TRUE(book_.lifted().at(id).lifted);
  // As after a restart.
  HoldBook again({book_.lifted().at(id)}, id);
  EXPECT_TRUE(again.standing().empty());
  EXPECT_EQ(again.Delete({id, "", true}, 1).status().code(), absl::StatusCode::kNotFound);
  again.Apply(again.Forget({id}, 1));
  EXPECT_TRUE(again.lifted().empty());
}

TEST_F(HoldBookTest, RetimedHoldsKeepTheTimeThatTheyHaveLeft) {
  Hold until_5 = cordon_;
  until_5.expires = 5000;
  const uint64_t id = Make(until_5);
  const WallMs made = book_.Find(id)->created;
  book_.Apply(book_.Acknowledge(id, "slurm", false, made + 10).value());
  EXPECT_TRUE(book_.Retime(0, made).empty());
  for (const WallMs shift : {7'200'000, -7'200'000 - 3'600'000}) {
    const WallMs before = book_.Find(id)->created;
    book_.Apply(book_.Retime(shift, made + 100 + (before - made) + shift));
    EXPECT_EQ(book_.Find(id)->created, before + shift);
  }
  EXPECT_EQ(book_.Find(id)->created, made - 3'600'000);
  EXPECT_EQ(book_.Find(id)->expires, 5000 - 3'600'000);
  EXPECT_EQ(book_.Find(id)->acknowledged, made + 10 - 3'600'000);
}

TEST_F(HoldBookTest, NoHoldLastsLongerThanAskedForByAClockThatWasSetBack) {
  Hold short_one = cordon_;
  short_one.expires = 5000;
  const uint64_t id = Make(short_one);
  const WallMs made = book_.Find(id)->created;
  book_.Apply(book_.Retime(0, made - 3000));
  EXPECT_EQ(book_.Find(id)->created, made - 3000);
  EXPECT_EQ(book_.Find(id)->expires, 5000 - 3000);
}

TEST_F(HoldBookTest, ARepeatedRequestIsAnsweredAfterItsHoldHasEnded) {
  Hold wanted = cordon_;
  wanted.request_id = "r-1";
  wanted.fingerprint = 7;
  wanted.expires = 5000;
  const uint64_t id = Make(wanted);
  book_.Apply(book_.Expire(5000));
  EXPECT_EQ(book_.Find(id), nullptr);
  wanted.target = fabric_.Target(TargetKind::kHost, "node2");  // The name leads elsewhere by now.
  const Hold* again = *book_.FindExisting(wanted);
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(again->id, id);
  EXPECT_EQ(again->ended, 5000);
  wanted.fingerprint = 8;
  EXPECT_EQ(book_.FindExisting(wanted).status().code(), absl::StatusCode::kAlreadyExists);
  // As after a restart.
  HoldBook restarted({*again}, id);
  wanted.fingerprint = 7;
  EXPECT_EQ((*restarted.FindExisting(wanted))->id, id);
  EXPECT_TRUE(restarted.standing().empty());
}

TEST_F(HoldBookTest, ARepeatedReleaseIsAnsweredAgain) {
  const uint64_t id = Make(cordon_);
  const uint64_t other = Make(fabric_.Wanted(HoldKind::kDrain, TargetKind::kHost, "node2"));
  book_.Apply(book_.Delete({id, "slurm", false, "d-1"}, 1000).value());
  EXPECT_EQ(book_.FindAny(id)->ended, 1000);
  const auto again = book_.Delete({id, "slurm", false, "d-1"}, 2000);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(again->empty());
  EXPECT_EQ(book_.Delete({id, "slurm", false, "d-2"}, 2000).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(book_.Delete({other, "slurm", false, "d-1"}, 2000).status().code(),
            absl::StatusCode::kAlreadyExists);
}

TEST_F(HoldBookTest, TheNumberOfEndedHoldsIsBounded) {
  std::vector<Hold> stored;
  for (uint64_t i = 1; i <= HoldBook::kMaxEnded + 5; ++i) {
    Hold hold = cordon_;
    hold.id = i;
    hold.request_id = "r-" + std::to_string(i);
    hold.expires = 5000;
    if (i <= HoldBook::kMaxEnded) hold.ended = 1;
    stored.push_back(hold);
  }
  HoldBook book(stored, stored.size());
  const HoldChange change = book.Expire(5000);
  EXPECT_EQ(change.put.size(), 5u);
  EXPECT_EQ(change.remove, (std::vector<uint64_t>{1, 2, 3, 4, 5}));
  book.Apply(change);
  EXPECT_EQ(book.ended().size(), HoldBook::kMaxEnded);
}

TEST_F(HoldBookTest, OnlyItsOwnerAcknowledgesAHoldOrFabricdsOwn) {
  Hold of_job = cordon_;
  Hold own = fabric_.Wanted(HoldKind::kDrain, TargetKind::kHost, "node2");
  of_job.owner = "slurm/job7";
  own.owner = kOwnHoldOwner;
  const uint64_t job = Make(of_job), fabricds = Make(own);
  const auto code = [&](uint64_t id, const char* asker, bool any_owner) {
    return book_.Acknowledge(id, asker, any_owner, 1).status().code();
  };
  EXPECT_EQ(code(job, "slurm", false), absl::StatusCode::kOk);
  EXPECT_EQ(code(job, "slu", false), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(code(job, "", false), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(code(job, "alice", true), absl::StatusCode::kOk);
  EXPECT_EQ(code(fabricds, "slurm", false), absl::StatusCode::kOk);
  own.owner = kTelemetryHoldOwner;
  EXPECT_EQ(code(Make(own), "slurm", false), absl::StatusCode::kOk);
}

TEST_F(HoldBookTest, AcknowledgedOnce) {
  const uint64_t id = Make(cordon_);
  book_.Apply(book_.Acknowledge(id, "slurm", false, 2000).value());
  EXPECT_EQ(book_.Find(id)->acknowledged, 2000);
  EXPECT_TRUE(book_.Acknowledge(id, "slurm", false, 3000)->empty());
  EXPECT_EQ(book_.Acknowledge(9, "slurm", false, 3000).status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace fabricd::policy
