// SPDX-License-Identifier: Apache-2.0
#include "policy/guards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status.h"
#include "tests/unit/policy/named_fabric.h"

namespace fabricd::policy {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class GuardsTest : public testing::Test {
 protected:
  GuardsTest() { facts_.budget = 10; }
  absl::Status Check(const Hold& hold) {
    return CheckGuards(hold, facts_, *fabric_.snapshot, fabric_.At("node3 mlx5_0", 1));
  }
  void ExpectRefused(const Hold& hold, const testing::Matcher<std::string>& text) {
    const absl::Status status = Check(hold);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(Message(status), text);
  }
  NamedFabric fabric_;
  GuardFacts facts_;
  Hold drain_ = fabric_.Wanted(HoldKind::kDrain, TargetKind::kSwitch, "leaf1");
};

TEST_F(GuardsTest, HarmlessHoldsPass) { EXPECT_TRUE(Check(drain_).ok()); }

TEST_F(GuardsTest, CuttingOffOthersIsRefusedUnlessForced) {
  facts_.cut_off = {fabric_.At("node1 mlx5_0", 1), fabric_.At("node1 mlx5_1", 1)};
  ExpectRefused(drain_, AllOf(HasSubstr("connectivity"), HasSubstr("2 other end ports"),
                              HasSubstr("node1 mlx5_0/1")));
  drain_.forced = true;
  EXPECT_TRUE(Check(drain_).ok());
}

TEST_F(GuardsTest, NoPlanIsRefusedUnlessForced) {
  facts_.plan_found = false;
  facts_.why_not = "up_down: no root";
  ExpectRefused(drain_, HasSubstr("up_down: no root"));
  drain_.forced = true;
  EXPECT_TRUE(Check(drain_).ok());
}

TEST_F(GuardsTest, TheSmsPathIsKept) {
  facts_.sm_cut_off = true;
  ExpectRefused(drain_, HasSubstr("SM's own port node3 mlx5_0/1"));
  drain_.forced = true;
  EXPECT_TRUE(Check(drain_).ok());
}

TEST_F(GuardsTest, TheSmsLinkIsNeverDisabled) {
  for (const auto& [kind, name] : {std::pair(TargetKind::kHost, "node3"),
                                   {TargetKind::kPort, "leaf2/5"},
                                   {TargetKind::kLink, "node3/mlx5_0"}}) {
    Hold disable = fabric_.Wanted(HoldKind::kDisable, kind, name);
    disable.forced = true;
    ExpectRefused(disable, HasSubstr("cannot be forced"));
  }
  EXPECT_TRUE(Check(fabric_.Wanted(HoldKind::kDisable, TargetKind::kPort, "leaf2/1")).ok());
}

TEST_F(GuardsTest, TheBudgetIsKept) {
  facts_.standing = 10;
  ExpectRefused(drain_, AllOf(HasSubstr("10 holds"), HasSubstr("budget is 10")));
  facts_.standing = 9;
  EXPECT_TRUE(Check(drain_).ok());
}

TEST(BudgetTest, ANumberOrAShare) {
  const HoldOptions options;
  EXPECT_EQ(BudgetOf(HoldKind::kDrain, 256, options), 10u);
  EXPECT_EQ(BudgetOf(HoldKind::kDisable, 11'664, options), 58u);
  EXPECT_GT(BudgetOf(HoldKind::kCordon, 1, options), 1'000'000u);
}

TEST_F(GuardsTest, HoldsThatKeepTheSmsOwnLinkDownAreNamed) {
  HoldBook book;
  const HeldPort own{fabric_.snapshot->node(fabric_.nodes["node1 mlx5_0"])->guid(), PortNum(1)};
  EXPECT_EQ(HoldsOnLinkOf(book, own), "");
  // By the port of the switch alone nobody can tell from here that it is this link.
  Hold hold = fabric_.Wanted(HoldKind::kDisable, TargetKind::kPort, "leaf1/1");
  hold.owner = "ann";
  book.Apply(book.Create(hold, 1, 9).value());
  EXPECT_EQ(HoldsOnLinkOf(book, own),
            "if it has a cable, one of these may disable it: hold 1 of ann (leaf1/1); then fabricd "
            "has to run on another port");
  hold = fabric_.Wanted(HoldKind::kDisable, TargetKind::kHost, "node1");
  hold.owner = "bob";
  book.Apply(book.Create(hold, 1, 9).value());
  EXPECT_EQ(HoldsOnLinkOf(book, own),
            "hold 2 of bob (node1) disables it; fabricd has to run on another port");
  // Its port is not known to be enabled again.
  book.Apply(book.Delete({2, "", true}, 1).value());
  EXPECT_THAT(HoldsOnLinkOf(book, own), HasSubstr("hold 2 of bob (node1) disables it"));
}

}  // namespace
}  // namespace fabricd::policy
