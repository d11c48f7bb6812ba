// SPDX-License-Identifier: Apache-2.0
#include "policy/intent_maker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/policy/named_fabric.h"

namespace fabricd::policy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class IntentMakerTest : public testing::Test {
 protected:
  fabric::Intent Of(HoldKind kind, TargetKind target, std::string_view text,
                    DrainMode mode = DrainMode::kHard) {
    HoldBook book;
    Hold hold = fabric_.Wanted(kind, target, text);
    hold.mode = mode;
    book.Apply(book.Create(hold, 1, 10).value());
    return MakeIntent(book, *fabric_.snapshot, {});
  }
  NamedFabric fabric_;
  const PortRef leaf1_1_ = fabric_.At("leaf1", 1), leaf1_2_ = fabric_.At("leaf1", 2),
                leaf1_3_ = fabric_.At("leaf1", 3), spine1_1_ = fabric_.At("spine1", 1),
                node1_0_ = fabric_.At("node1 mlx5_0", 1), node1_1_ = fabric_.At("node1 mlx5_1", 1);
};

TEST_F(IntentMakerTest, ACordonChangesNoRoute) {
  EXPECT_TRUE(Of(HoldKind::kCordon, TargetKind::kHost, "node1").empty());
  EXPECT_TRUE(Of(HoldKind::kCordon, TargetKind::kSwitch, "leaf1").empty());
}

TEST_F(IntentMakerTest, AHardDrainClosesLinksAndSwitches) {
  fabric::Intent expected;
  expected.closed_links = {leaf1_3_, spine1_1_};
  EXPECT_EQ(Of(HoldKind::kDrain, TargetKind::kLink, "leaf1/3"), expected);
  expected.closed_links = {leaf1_3_};
  EXPECT_EQ(Of(HoldKind::kDrain, TargetKind::kPort, "leaf1/3"), expected);
  expected = {};
  expected.closed_switches = {fabric_.nodes["spine1"]};
  EXPECT_EQ(Of(HoldKind::kDrain, TargetKind::kSwitch, "spine1"), expected);
  // The links of a host stay up, but nothing is led there.
  expected = {};
  expected.isolated = {node1_0_, node1_1_};
  EXPECT_EQ(Of(HoldKind::kDrain, TargetKind::kHost, "node1"), expected);
  expected.isolated = {node1_1_};
  EXPECT_EQ(Of(HoldKind::kDrain, TargetKind::kHca, "node1/mlx5_1"), expected);
}

TEST_F(IntentMakerTest, ASoftDrainAvoids) {
  fabric::Intent expected;
  expected.avoided_links = {leaf1_3_, spine1_1_};
  EXPECT_EQ(Of(HoldKind::kDrain, TargetKind::kLink, "leaf1/3", DrainMode::kSoft), expected);
  expected = {};
  expected.avoided_switches = {fabric_.nodes["spine1"]};
  EXPECT_EQ(Of(HoldKind::kDrain, TargetKind::kSwitch, "spine1", DrainMode::kSoft), expected);
  EXPECT_TRUE(Of(HoldKind::kDrain, TargetKind::kHost, "node1", DrainMode::kSoft).empty());
}

TEST_F(IntentMakerTest, IsolatedTargetsHaveNoRouteAndNoPartition) {
  fabric::Intent expected;
  expected.isolated = expected.unpartitioned = {node1_0_, node1_1_};
  EXPECT_EQ(Of(HoldKind::kIsolate, TargetKind::kHost, "node1"), expected);
  expected = {};
  expected.isolated = expected.unpartitioned = {fabric_.At("leaf1", 0)};
  expected.closed_switches = {fabric_.nodes["leaf1"]};
  EXPECT_EQ(Of(HoldKind::kIsolate, TargetKind::kSwitch, "leaf1"), expected);
  expected = {};
  expected.closed_links = {leaf1_1_, node1_0_};
  expected.isolated = expected.unpartitioned = {node1_0_};
  EXPECT_EQ(Of(HoldKind::kIsolate, TargetKind::kLink, "leaf1/1"), expected);
}

TEST_F(IntentMakerTest, DisabledTargetsAreDownAtTheSwitch) {
  fabric::Intent expected;
  expected.isolated = {node1_0_, node1_1_};
  expected.closed_links = expected.disabled = {leaf1_1_, leaf1_2_};
  EXPECT_EQ(Of(HoldKind::kDisable, TargetKind::kHost, "node1"), expected);
  expected = {};
  expected.closed_links = expected.disabled = {leaf1_3_};
  EXPECT_EQ(Of(HoldKind::kDisable, TargetKind::kPort, "leaf1/3"), expected);
}

TEST_F(IntentMakerTest, HoldsOutliveTheirTargets) {
  HoldBook book;
  book.Apply(
      book.Create(fabric_.Wanted(HoldKind::kDrain, TargetKind::kSwitch, "spine1"), 1, 9).value());
  const Hold& hold = *book.Find(1);
  EXPECT_EQ(NoteOf(hold, *fabric_.snapshot), "");
  fabric_.builder.RemoveNode(fabric_.nodes["spine1"]);
  fabric_.Build();
  EXPECT_THAT(NoteOf(hold, *fabric_.snapshot), HasSubstr("not in the fabric"));
  EXPECT_THAT(MakeIntent(book, *fabric_.snapshot, {}).closed_switches,
              ElementsAre(fabric_.nodes["spine1"]));
  // Another snapshot that never saw it.
  const fabric::FabricSnapshot empty;
  EXPECT_TRUE(MakeIntent(book, empty, {}).empty());
}

TEST_F(IntentMakerTest, ADisabledHostIsNoLoss) {
  Hold hold = fabric_.Wanted(HoldKind::kDisable, TargetKind::kHost, "node1");
  fabric_.builder.RemoveNode(fabric_.nodes["node1 mlx5_0"]);
  fabric_.builder.RemoveNode(fabric_.nodes["node1 mlx5_1"]);
  fabric_.Build();
  EXPECT_EQ(NoteOf(hold, *fabric_.snapshot), "");
}

TEST_F(IntentMakerTest, APortStaysDownWhileAnyHoldDisablesIt) {
  HoldBook book;
  Hold port = fabric_.Wanted(HoldKind::kDisable, TargetKind::kPort, "leaf1/1");
  book.Apply(book.Create(port, 1, 9).value());
  book.Apply(
      book.Create(fabric_.Wanted(HoldKind::kDisable, TargetKind::kHost, "node1"), 1, 9).value());
  book.Apply(book.Delete({2, "", true}, 1).value());
  fabric::Intent intent = MakeIntent(book, *fabric_.snapshot, {});
  EXPECT_THAT(intent.disabled, ElementsAre(leaf1_1_));
  EXPECT_THAT(intent.reenabled, ElementsAre(leaf1_2_));
  book.Apply(book.Delete({1, "", true}, 1).value());
  intent = MakeIntent(book, *fabric_.snapshot, {});
  EXPECT_THAT(intent.disabled, IsEmpty());
  EXPECT_THAT(intent.closed_links, IsEmpty());
  EXPECT_THAT(intent.reenabled, ElementsAre(leaf1_1_, leaf1_2_));
}

TEST_F(IntentMakerTest, TheSmsLinkStaysUpUnderAnyHold) {
  HoldBook book;
  book.Apply(
      book.Create(fabric_.Wanted(HoldKind::kDisable, TargetKind::kHost, "node1"), 1, 9).value());
  const fabric::Intent intent = MakeIntent(book, *fabric_.snapshot, {}, node1_0_);
  EXPECT_THAT(intent.disabled, ElementsAre(leaf1_2_));
  EXPECT_THAT(intent.isolated, ElementsAre(node1_0_, node1_1_));
}

TEST_F(IntentMakerTest, DampedLinksAreAvoided) {
  EXPECT_THAT(MakeIntent({}, *fabric_.snapshot, {spine1_1_, leaf1_3_, leaf1_3_}).avoided_links,
              ElementsAre(leaf1_3_, spine1_1_));
}

TEST_F(IntentMakerTest, OwnEndPortsAreThoseThatTheHoldMeans) {
  const auto own = [&](HoldKind kind, TargetKind target, const char* text) {
    return OwnEndPorts(fabric_.Wanted(kind, target, text), *fabric_.snapshot);
  };
  EXPECT_THAT(own(HoldKind::kDrain, TargetKind::kHost, "node1"), ElementsAre(node1_0_, node1_1_));
  EXPECT_THAT(own(HoldKind::kDrain, TargetKind::kSwitch, "leaf1"),
              ElementsAre(fabric_.At("leaf1", 0)));
  // To drain a host's only link is to cut it off without saying so; to disable it says so.
  EXPECT_THAT(own(HoldKind::kDrain, TargetKind::kPort, "leaf1/1"), IsEmpty());
  EXPECT_THAT(own(HoldKind::kDisable, TargetKind::kPort, "leaf1/1"), ElementsAre(node1_0_));
  EXPECT_THAT(own(HoldKind::kIsolate, TargetKind::kLink, "leaf1/1"), ElementsAre(node1_0_));
  EXPECT_THAT(own(HoldKind::kDisable, TargetKind::kLink, "leaf1/3"), IsEmpty());
}

}  // namespace
}  // namespace fabricd::policy
