// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/inbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <string>

namespace fabricd::daemon {
namespace {

using ::testing::ElementsAre;
using Kind = mad::LocalPortEvent::Kind;

mad::IncomingMad Mad() { return {}; }

class InboxTest : public ::testing::Test {
 protected:
  std::vector<sweep::Event> Take() {
    std::vector<sweep::Event> events;
    inbox_.Take(events, std::chrono::steady_clock::now());
    return events;
  }
  template <typename T>
  std::vector<T> TakeAll() {
    std::vector<T> found;
    for (const sweep::Event& event : Take())
      if (const T* wanted = std::get_if<T>(&event)) found.push_back(*wanted);
    return found;
  }
  void FillCommands() {
    while (inbox_.PushCommand(sweep::SweepCommand{})) continue;
  }

  Inbox inbox_;
};

// Every priority class is filled in turn; messages of the others still arrive.
TEST_F(InboxTest, AFullPriorityClassDoesNotBlockOthers) {
  const std::vector<std::function<void()>> fillers = {[&] { FillCommands(); },
                                                      [&] {
                                                        for (size_t i = 0; i <= Inbox::kTraps; ++i)
                                                          inbox_.PushTrap(Mad());
                                                      },
                                                      [&] {
                                                        for (size_t i = 0; i < Inbox::kReplies; ++i)
                                                          inbox_.PushReply(Mad());
                                                      },
                                                      [&] {
                                                        for (uint32_t i = 0; i < 5000; ++i)
                                                          inbox_.WantLanes({{NodeIndex(i)}});
                                                      }};
  for (const auto& fill : fillers) {
    fill();
    inbox_.PushAnswer(sweep::Answer{sweep::QuestionId(7), sweep::Persisted{}});
    inbox_.PushPortEvent({Kind::kPortDown});
    inbox_.PushLatest(sweep::GroupsChanged{});
    bool persisted = false, port_down = false, groups = false;
    for (const sweep::Event& event : Take()) {
      persisted = persisted || std::holds_alternative<sweep::Answer>(event);
      port_down = port_down || std::holds_alternative<mad::LocalPortEvent>(event);
      groups = groups || std::holds_alternative<sweep::GroupsChanged>(event);
    }
    EXPECT_TRUE(persisted && port_down && groups);
  }
}

TEST_F(InboxTest, CommandsBeyondTheBoundAreRefused) {
  FillCommands();
  EXPECT_EQ(TakeAll<sweep::SweepCommand>().size(), Inbox::kCommands);
  EXPECT_TRUE(inbox_.PushCommand(sweep::SweepCommand{}));
}

TEST_F(InboxTest, RepeatedRequestsForVlTablesAreMerged) {
  for (int query = 0; query < 3000; ++query) inbox_.WantLanes({{NodeIndex(2), NodeIndex(1)}});
  const auto wanted = TakeAll<sweep::ReadLanes>();
  ASSERT_EQ(wanted.size(), 1u);
  EXPECT_THAT(wanted[0].nodes, ElementsAre(NodeIndex(1), NodeIndex(2)));
  EXPECT_TRUE(Take().empty());
}

TEST_F(InboxTest, OnlyTheNewestValueOfAKindWaits) {
  const auto groups = std::make_shared<const fabric::MulticastGroups>();
  inbox_.PushLatest(sweep::GroupsChanged{});
  inbox_.PushLatest(sweep::AliasesChanged{});
  inbox_.PushLatest(sweep::GroupsChanged{groups});
  const auto events = Take();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<sweep::AliasesChanged>(events[0]));
  EXPECT_EQ(std::get<sweep::GroupsChanged>(events[1]).groups, groups);
}

TEST_F(InboxTest, RepeatedPortEventsKeepTheirLastOrder) {
  for (const Kind kind : {Kind::kPortDown, Kind::kPortActive, Kind::kPortDown})
    inbox_.PushPortEvent({kind});
  const auto events = TakeAll<mad::LocalPortEvent>();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].kind, Kind::kPortActive);
  EXPECT_EQ(events[1].kind, Kind::kPortDown);
}

TEST_F(InboxTest, TrapsBeyondTheBoundAreCounted) {
  for (size_t i = 0; i < Inbox::kTraps + 3; ++i) inbox_.PushTrap(Mad());
  EXPECT_EQ(inbox_.dropped_traps(), 3u);
}

TEST_F(InboxTest, AClosedOneHoldsUpNoReceiver) {
  for (size_t i = 0; i < Inbox::kReplies; ++i) inbox_.PushReply(Mad());
  auto waiting = std::async(std::launch::async, [&] { inbox_.PushReply(Mad()); });
  inbox_.Close();
  waiting.get();
  EXPECT_FALSE(inbox_.PushCommand(sweep::SweepCommand{}));
}

}  // namespace
}  // namespace fabricd::daemon
