// SPDX-License-Identifier: Apache-2.0
#include "sweep/write/request_sender.h"

#include "tests/unit/sweep/write/writer_fixture.h"

namespace fabricd::sweep {
namespace {

class RequestSenderTest : public WriterTest {
 protected:
  RequestSenderTest() { Begin(); }
  RequestSender& sender() { return run_->sender; }
  Request SetOf(PortRef port) const {
    return {{port.node, 0, port.port, Work::kConfigurePort},
            devices_.Set(port, port.port.value(), wire::PortInfo{})};
  }
  Request GetOf(PortRef port) const {
    return {{port.node, 0, port.port, Work::kReadPort},
            devices_.Get(port, wire::AttributeId::kPortInfo, port.port.value())};
  }
  bool IsBusy(PortRef port) { return applied().IsBusy(port, wire::AttributeId::kPortInfo); }
};

TEST_F(RequestSenderTest, ASetIsBusyFromItsRequestToItsAnswerAndAGetIsNot) {
  const PortRef host = fabric_.Host(1), leaf = SwitchPort(1, 1);
  const Request set = Submit(SetOf(host)), get = Submit(GetOf(leaf));
  EXPECT_TRUE(IsBusy(host));
  EXPECT_FALSE(IsBusy(leaf));
  EXPECT_EQ(sender().outstanding(), 2u);
  sender().OnCompletion(Refusal(set));
  sender().OnCompletion(AnswerTo(get, {}));
  EXPECT_FALSE(IsBusy(host));
  EXPECT_EQ(sender().outstanding(), 0u);
}

TEST_F(RequestSenderTest, ACompletionLeadsBackToTheWorkOfItsRun) {
  const WorkItem item{fabric_.switches[1], 513, PortNum(0), Work::kSetLft};
  sender().Submit(devices_.Get(item.node, wire::AttributeId::kLinearForwardingTable, 513), item);
  std::vector<mad::OutgoingMad> out;
  std::vector<mad::Completion> done;
  engine_.Pump(Instant(std::chrono::seconds(1)), out, done);
  ASSERT_EQ(out.size(), 1u);
  for (int attempt = 0; attempt < 9 && done.empty(); ++attempt)
    engine_.Pump(Instant(std::chrono::seconds(10 * (attempt + 1))), out, done);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(RequestSender::ItemOf(done[0]), item);
  EXPECT_TRUE(sender().IsMine(done[0]));
  EXPECT_EQ(done[0].context.owner_as<Activity>(), Activity::kProgrammer);
  const RequestSender other(fabric_.builder, devices_, engine_, input_.run + 1);
  EXPECT_FALSE(other.IsMine(done[0]));
}

TEST_F(RequestSenderTest, ARouteThatTimedOutIsLeftAloneUntilItAnswers) {
  const Request leaf = Submit(SetOf(SwitchPort(1, 1))), other = SetOf(SwitchPort(1, 36));
  const Request slow = Submit(GetOf(SwitchPort(1, 0)));
  EXPECT_TRUE(sender().MayReach(other.item));
  sender().OnCompletion(Timeout(leaf));
  EXPECT_FALSE(sender().MayReach(other.item)) << "a switch is reached by one route";
  EXPECT_TRUE(sender().MayReach(SetOf(SwitchPort(0, 1)).item));
  sender().OnCompletion(AnswerTo(slow, {}));
  EXPECT_TRUE(sender().MayReach(other.item));
}

TEST_F(RequestSenderTest, EachPortOfAHostHasARouteOfItsOwn) {
  const PortRef first = fabric_.Host(1), second{fabric_.hosts[1], PortNum(2)};
  EXPECT_EQ(sender().RouteOf(SetOf(first).item), first);
  sender().OnCompletion(Timeout(Submit(SetOf(first))));
  EXPECT_FALSE(sender().MayReach(SetOf(first).item));
  EXPECT_TRUE(sender().MayReach(SetOf(second).item));
}

TEST_F(RequestSenderTest, AnUnsentRequestSaysNothingOfTheRoute) {
  const Request set = Submit(SetOf(SwitchPort(1, 1)));
  sender().OnCompletion(CompletionOf(set, mad::Completion::Outcome::kSendFailed));
  sender().OnCompletion(Unsent(Submit(SetOf(SwitchPort(1, 1)))));
  EXPECT_TRUE(sender().MayReach(set.item));
}

TEST_F(RequestSenderTest, ANodeThatIsGoneIsNotReached) {
  const Request set = Submit(SetOf(SwitchPort(1, 1)));
  fabric_.builder.RemoveNode(fabric_.switches[1]);
  sender().OnCompletion(Timeout(set));
  EXPECT_TRUE(sender().MayReach(set.item)) << "its timeout says nothing of who comes in its place";
  devices_.Remove(fabric_.switches[1]);
  EXPECT_FALSE(sender().MayReach(set.item));
}

TEST_F(RequestSenderTest, ARequestThatWasNotSentCanBeTakenBack) {
  const Request set = Submit(SetOf(fabric_.Host(1)));
  EXPECT_FALSE(sender().Withdraw(SetOf(SwitchPort(1, 1)).item)) << "never submitted";
  EXPECT_TRUE(sender().Withdraw(set.item));
  EXPECT_EQ(sender().outstanding(), 0u);
  EXPECT_FALSE(IsBusy(fabric_.Host(1)));
  EXPECT_EQ(engine_.size(), 0u);
  Submit(SetOf(fabric_.Host(1)));
  Sent();
  EXPECT_FALSE(sender().Withdraw(set.item)) << "it has been sent";
  EXPECT_EQ(sender().outstanding(), 1u);
}

TEST_F(RequestSenderTest, IsFullWhenTheEngineHoldsEnough) {
  size_t count = 0;
  for (; !sender().IsFull() && count < 10'000; ++count) Submit(GetOf(fabric_.Host(1)));
  EXPECT_EQ(count, 512u);
  Sent();
  EXPECT_FALSE(sender().IsFull());
}

}  // namespace
}  // namespace fabricd::sweep
