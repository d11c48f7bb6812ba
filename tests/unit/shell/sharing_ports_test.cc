// SPDX-License-Identifier: Apache-2.0
#include "shell/sharing_ports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shell/statement_lines.h"
#include "tests/unit/shell/saying_store.h"

namespace fabricd::shell {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(StatementLines, TheFirstLineWithTheWordCounts) {
  const char about[] = "name head2 pid 7\nports 5\nport 0x17\nport 0x18\nempty\n";
  EXPECT_EQ(FindValue(about, "port"), "0x17");
  EXPECT_EQ(FindValue(about, "name"), "head2 pid 7");
  EXPECT_EQ(FindValue(about, "head2"), "");
  EXPECT_EQ(FindValue(about, "empty"), "");
  EXPECT_EQ(FindValue("port 0x17", "port"), "0x17") << "without a newline";
  EXPECT_EQ(FindValue("", "port"), "");
}

class SharingPortsTest : public testing::Test {
 protected:
  SharingPortsTest() { store_.own = "head1"; }
  void Say(const std::string& instance, const std::string& about) {
    std::erase_if(store_.all_nodes, [&](const auto& node) { return node.instance == instance; });
    store_.all_nodes.push_back({instance, {{}, about}});
  }
  using Ports = SharingPortsWatch::Ports;
  std::optional<Ports> Look() { return watch_.Look(store_, now_ += milliseconds(200)); }

  SayingStore store_;
  SharingPortsWatch watch_;
  Instant now_ = Instant() + std::chrono::hours(24);
};

TEST_F(SharingPortsTest, AreThoseThatTheOtherNodesName) {
  Say("head1", "name head1 pid 4\n" + PortLine(Guid(0x16)));
  Say("head2", "name head2 pid 7\n" + PortLine(Guid(0x17)) + "key a 1\n");
  EXPECT_EQ(watch_.Begin(store_, now_), Ports{Guid(0x17)});
  EXPECT_EQ(Look(), Ports{Guid(0x17)}) << "they are not kept yet";
  EXPECT_EQ(Look(), std::nullopt);
}

TEST_F(SharingPortsTest, AreNotKnownBeforeEtcdHasShownANode) {
  EXPECT_EQ(watch_.Begin(store_, now_), std::nullopt);
  EXPECT_EQ(Look(), std::nullopt);
  Say("head1", PortLine(Guid(0x16)));
  EXPECT_EQ(Look(), Ports{}) << "there is no other node";
}

TEST_F(SharingPortsTest, AreNotKnownUntilEachNodeHasNamedItsPort) {
  Say("head2", PortLine(Guid(0x17)));
  Say("head3", "name head3 pid 8\n" + PortLine(Guid()));
  EXPECT_EQ(watch_.Begin(store_, now_), std::nullopt);
  EXPECT_EQ(Look(), std::nullopt);
  Say("head3", PortLine(Guid(0x18)));
  EXPECT_EQ(Look(), (Ports{Guid(0x17), Guid(0x18)}));
  Say("head4", "name head4 pid 9\n");
  Say("head5", PortLine(Guid(0x19)));
  EXPECT_EQ(Look(), (Ports{Guid(0x17), Guid(0x18), Guid(0x19)}));
}

TEST_F(SharingPortsTest, AnotherNodeCountsAsThereWhileItStartsAgain) {
  Say("head1", "");
  (void)watch_.Begin(store_, now_);
  EXPECT_FALSE(watch_.HasOthers(now_));
  Say("head2", "name head2 pid 7\n");
  (void)Look();
  EXPECT_TRUE(watch_.HasOthers(now_));
  store_.all_nodes.pop_back();
  now_ += std::chrono::seconds(14);
  (void)Look();
  EXPECT_TRUE(watch_.HasOthers(now_));
  now_ += std::chrono::seconds(1);
  (void)Look();
  EXPECT_FALSE(watch_.HasOthers(now_));
}

TEST_F(SharingPortsTest, StayKnownForAnHourAfterTheirNodeHasGone) {
  Say("head1", PortLine(Guid(0x16)));
  Say("head2", PortLine(Guid(0x17)));
  (void)watch_.Begin(store_, now_);
  EXPECT_NE(Look(), std::nullopt);
  std::erase_if(store_.all_nodes, [](const auto& node) { return node.instance == "head2"; });
  now_ += std::chrono::minutes(59);
  EXPECT_EQ(Look(), std::nullopt);
  now_ += std::chrono::minutes(1);
  EXPECT_EQ(Look(), Ports{});
}

TEST_F(SharingPortsTest, AreKeptOverARestart) {
  Say("head2", PortLine(Guid(0x17)));
  (void)watch_.Begin(store_, now_);
  ASSERT_TRUE(SharingPortsWatch::Keep(store_, *Look()).ok());
  store_.all_nodes.clear();
  SharingPortsWatch next;
  EXPECT_EQ(next.Begin(store_, now_), Ports{Guid(0x17)});
}

TEST_F(SharingPortsTest, AreReturnedAgainWhereTheyCouldNotBeKept) {
  Say("head2", PortLine(Guid(0x17)));
  EXPECT_EQ(Look(), Ports{Guid(0x17)});
  watch_.Repeat();
  EXPECT_EQ(Look(), Ports{Guid(0x17)});
  EXPECT_EQ(Look(), std::nullopt);
}

TEST_F(SharingPortsTest, TheOneNamedLongestAgoIsForgottenBeyond64) {
  for (uint64_t i = 1; i <= 100; ++i) {
    Say("head2", PortLine(Guid(0x100 + i)));
    const auto ports = Look();
    ASSERT_TRUE(ports);
    EXPECT_LE(ports->size(), 64u);
    EXPECT_EQ(ports->back(), Guid(0x100 + i));
  }
}

TEST(SharingPortsText, InvalidPortsAreLeftOut) {
  EXPECT_THAT(SharingPortsWatch::ReadText("0x17 x  0x0 0x18\n 19 0x11112222333344445"),
              ElementsAre(Guid(0x17), Guid(0x19)));
  EXPECT_THAT(SharingPortsWatch::ReadText(""), IsEmpty());
  const std::vector<Guid> ports = {Guid(0x17), Guid(0x0002fab100000201)};
  EXPECT_EQ(SharingPortsWatch::ReadText(SharingPortsWatch::TextOf(ports)), ports);
}

}  // namespace
}  // namespace fabricd::shell
