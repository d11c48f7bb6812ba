// SPDX-License-Identifier: Apache-2.0
// What is read back, how much at a time, and what becomes of what differs.
#include "sweep/program/read_back.h"

#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/sweep/small_fabric.h"

namespace fabricd::sweep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Entries = std::array<uint8_t, 64>;

class ReadBackTest : public testing::Test {
 protected:
  static constexpr size_t kBlocks = 5;
  ReadBackTest() : devices_(options_) {
    for (NodeIndex node : small_.switches) {
      devices_.SetPath(node, wire::DirectedPath()
                                 .Then(PortNum(1))
                                 .Then(PortNum(static_cast<uint8_t>(node.value() + 1))));
      for (size_t block = 0; block < kBlocks; ++block) {
        devices_.applied().Lft(node).Confirm(block, Bytes(1));
        registers_[{node, block}] = Bytes(1);
      }
    }
    snapshot_ = small_.builder.Build();
  }
  static Entries Bytes(uint8_t value) {
    Entries bytes;
    bytes.fill(value);
    return bytes;
  }
  void Sample() { read_back_.AddSample(snapshot_, false, now_); }
  // What the engine sends is answered by registers_ (other tables: refused), at most `most` of it.
  // Returns the blocks that were read.
  std::vector<std::pair<NodeIndex, size_t>> Answer(size_t most = 1000) {
    std::vector<std::pair<NodeIndex, size_t>> read;
    size_t& answered = answered_ = 0;
    while (answered < most) {
      read_back_.Feed(now_);
      std::vector<mad::OutgoingMad> sent;
      std::vector<mad::Completion> done;
      engine_.Pump(now_, sent, done);
      most_in_flight_ = std::max(most_in_flight_, engine_.size());
      if (sent.empty()) break;
      for (const mad::OutgoingMad& mad : sent) {
        ++answered;
        Reply(mad, read, done);
      }
      for (const mad::Completion& each : done)
        if (read_back_.IsMine(each)) read_back_.OnCompletion(each);
    }
    return read;
  }
  void Reply(const mad::OutgoingMad& mad, std::vector<std::pair<NodeIndex, size_t>>& read,
             std::vector<mad::Completion>& done) {
    auto smp = *wire::Smp::Decode(
        std::span<const uint8_t, wire::kMadBytes>(mad.payload.data(), wire::kMadBytes));
    EXPECT_EQ(smp.method, wire::Method::kGet);
    for (NodeIndex node : small_.switches) {
      if (smp.attribute != wire::AttributeId::kLinearForwardingTable ||
          *smp.path != devices_.PathTo(node))
        continue;
      read.emplace_back(node, smp.modifier);
      smp.data = registers_.at({node, smp.modifier});
    }
    smp.method = wire::Method::kGetResp;
    smp.returning = true;
    mad::IncomingMad answer;
    answer.payload.resize(wire::kMadBytes);
    smp.Encode(std::span<uint8_t, wire::kMadBytes>(answer.payload.data(), wire::kMadBytes));
    engine_.OnIncoming(answer, now_, done);
  }

  SmOptions options_;
  SmallFabric small_{2};
  DeviceTable devices_;
  std::shared_ptr<const fabric::FabricSnapshot> snapshot_;
  mad::TransactionEngine engine_{mad::EngineOptions()};
  AuditOptions audit_;
  ReadBack read_back_{small_.builder, devices_, engine_, audit_};
  std::map<std::pair<NodeIndex, size_t>, Entries> registers_;
  Instant now_{std::chrono::seconds(100)};
  size_t most_in_flight_ = 0;
  size_t answered_ = 0;  // By the last Answer().
};

TEST_F(ReadBackTest, SamplesReachEveryBlock) {
  std::set<std::pair<NodeIndex, size_t>> seen;
  for (int sample = 0; sample < 3; ++sample) {
    Sample();
    const auto read = Answer();
    EXPECT_THAT(read, SizeIs(4)) << "two of each switch";
    seen.insert(read.begin(), read.end());
    EXPECT_THAT(read_back_.TakeResult(now_).differing, IsEmpty());
  }
  EXPECT_THAT(seen, SizeIs(2 * kBlocks));
}

TEST_F(ReadBackTest, AllIsReadWithFewInFlight) {
  read_back_.AddAll(snapshot_, false);
  EXPECT_THAT(Answer(), SizeIs(2 * kBlocks));
  EXPECT_LE(most_in_flight_, ReadBack::kInFlight);
  EXPECT_EQ(read_back_.TakeResult(now_).tables_read, 2 * kBlocks);
  EXPECT_FALSE(read_back_.HasResult());
}

TEST_F(ReadBackTest, ADifferenceIsRecordedAsAppliedAndTheWholeTableIsRead) {
  const NodeIndex node = small_.switches[1];
  registers_[{node, 0}][7] = 9;
  registers_[{node, 4}][8] = 9;
  Sample();
  EXPECT_THAT(Answer(), SizeIs(testing::Ge(kBlocks)));
  const ReadBack::Result result = read_back_.TakeResult(now_);
  EXPECT_THAT(result.differing, ElementsAre(node));
  EXPECT_EQ(devices_.applied().Lft(node).row().block(0)[7], 9);
  EXPECT_EQ(devices_.applied().Lft(node).row().block(4)[8], 9);
  ASSERT_THAT(result.events, SizeIs(1));
  const auto& facts = result.events[0].facts;
  EXPECT_THAT(facts, testing::Contains(testing::Pair("entries", "2")));
  EXPECT_THAT(facts, testing::Contains(testing::Pair("block", "0")));
  const auto bytes = [&](const char* name) {
    return std::find_if(facts.begin(), facts.end(), [&](auto& fact) { return fact.first == name; })
        ->second;
  };
  EXPECT_EQ(bytes("shown").substr(14, 2), "09");
  EXPECT_NE(bytes("held").substr(14, 2), "09");
}

TEST_F(ReadBackTest, WithoutRepairsADifferenceIsReportedAndTheWantedRowStays) {
  audit_.repairs = false;
  const NodeIndex node = small_.switches[1];
  const uint8_t written = devices_.applied().Lft(node).row().block(0)[7];
  registers_[{node, 0}][7] = 9;
  Sample();
  Answer();
  const ReadBack::Result result = read_back_.TakeResult(now_);
  EXPECT_THAT(result.differing, IsEmpty());
  EXPECT_EQ(devices_.applied().Lft(node).row().block(0)[7], written);
  ASSERT_THAT(result.events, SizeIs(1));
  EXPECT_THAT(result.events[0].message, testing::HasSubstr("they stay"));
}

TEST_F(ReadBackTest, ForwardingTablesOfASwitchWithAdaptiveRoutingAreNotRead) {
  const NodeIndex odd = small_.switches[0];
  devices_.applied().adaptive_routing().Put(odd, AdaptiveRouting::State::kOn);
  for (size_t block = 0; block < kBlocks; ++block) registers_[{odd, block}] = Bytes(9);
  read_back_.AddAll(snapshot_, false);
  for (const auto& [node, block] : Answer()) EXPECT_NE(node, odd) << "what it shows proves nothing";
  EXPECT_THAT(read_back_.TakeResult(now_).differing, IsEmpty());
  EXPECT_EQ(devices_.applied().Lft(odd).row().block(0)[0], 1);
}

TEST_F(ReadBackTest, SamplesKeepToTheirRate) {
  audit_.rate = 2;
  now_ += std::chrono::seconds(10);
  Sample();
  Answer();
  EXPECT_EQ(answered_, 2u) << "a second's worth at once";
  EXPECT_GT(read_back_.next_feed(), now_);
  Answer();
  EXPECT_EQ(answered_, 0u);
  now_ = read_back_.next_feed();
  Answer();
  EXPECT_EQ(answered_, 1u);
  for (int second = 0; second < 100 && !read_back_.HasResult(); ++second) {
    now_ += std::chrono::seconds(1);
    Answer();
    EXPECT_LE(answered_, 2u);
  }
  EXPECT_TRUE(read_back_.HasResult());
  EXPECT_EQ(read_back_.next_feed(), kNever);
}

TEST_F(ReadBackTest, ARequestedReadBackIgnoresTheRate) {
  audit_.rate = 1;
  read_back_.AddAll(snapshot_, false);
  EXPECT_THAT(Answer(), SizeIs(2 * kBlocks));
}

TEST_F(ReadBackTest, ADeviceThatDiffersAgainDriftsUntilItWasRightForLong) {
  const NodeIndex node = small_.switches[0];
  const auto sample = [&](uint8_t entry) {
    registers_[{node, 0}][3] = entry;
    for (int i = 0; i < 3; ++i) Sample(), Answer();
    return read_back_.TakeResult(now_).drifting;
  };
  EXPECT_THAT(sample(200), IsEmpty());
  now_ += ReadBack::kFirstWait;
  std::vector<NodeIndex> drifting = sample(201);
  EXPECT_THAT(drifting, ElementsAre(node));
  now_ += 4 * ReadBack::kFirstWait;
  EXPECT_THAT(sample(201), IsEmpty());
}

TEST_F(ReadBackTest, BlocksInFlightAreNotCompared) {
  const NodeIndex node = small_.switches[0];
  registers_[{node, 0}] = registers_[{node, 1}] = Bytes(2);
  Sample();
  read_back_.Feed(now_);
  devices_.applied().Lft(node).MarkSent(0, Bytes(2));
  devices_.applied().Lft(node).MarkSent(1, Bytes(2));
  Answer();
  EXPECT_THAT(read_back_.TakeResult(now_).differing, IsEmpty());
}

TEST_F(ReadBackTest, APausedReadBackContinuesLater) {
  read_back_.Hold({5});
  read_back_.AddAll(snapshot_, false);
  Answer(1);
  read_back_.Pause();
  EXPECT_FALSE(read_back_.HasResult());
  Answer();
  EXPECT_TRUE(read_back_.HasResult());
  EXPECT_THAT(read_back_.TakeResult(now_).commands, ElementsAre(5));
}

TEST_F(ReadBackTest, DropReturnsTheWaitingCommands) {
  read_back_.AddAll(snapshot_, false);
  read_back_.Hold({5, 6});
  EXPECT_THAT(read_back_.Drop(), ElementsAre(5, 6));
  EXPECT_FALSE(read_back_.HasResult());
  EXPECT_THAT(Answer(), IsEmpty());
}

TEST_F(ReadBackTest, ADeviceThatKeepsDifferingIsReportedAtGrowingIntervals) {
  const NodeIndex node = small_.switches[0];
  std::vector<Duration> waits;
  Instant last = now_;
  for (int sample = 0; sample < 5000; ++sample, now_ += std::chrono::seconds(10)) {
    registers_[{node, 0}][3] = static_cast<uint8_t>(sample);  // Whatever was written.
    Sample();
    Answer();
    if (read_back_.TakeResult(now_).differing.empty()) continue;
    waits.push_back(now_ - std::exchange(last, now_));
  }
  ASSERT_THAT(waits, SizeIs(testing::Ge(9)));
  EXPECT_LE(waits.size(), 30u);
  for (size_t i = 9; i < waits.size(); ++i) EXPECT_GE(waits[i], ReadBack::kLongestWait);
}

}  // namespace
}  // namespace fabricd::sweep
