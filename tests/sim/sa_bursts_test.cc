// SPDX-License-Identifier: Apache-2.0
// Who answers what: SaService with the view of a daemon that runs, on a transport that only notes
// which thread sends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "daemon/sa/parked_requests.h"
#include "daemon/sa/sa_service.h"
#include "mad/wire/sa_path_records.h"
#include "mad/wire/sa_records.h"
#include "mad/wire/sa_state_records.h"
#include "sa/state/sa_state.h"
#include "tests/sim/running_app.h"

namespace fabricd::daemon {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::Gt;
using testing::IsEmpty;
using testing::Ne;
using testing::SizeIs;
using testing::UnorderedElementsAre;

struct Answer {
  std::thread::id sender;
  Lid to;
  uint8_t status;  // The low byte.
  uint32_t retries;
  std::optional<mad::GlobalRoute> global;
};

class Notebook final : public mad::Transport {
 public:
  absl::Status Start(Sink) override { return absl::OkStatus(); }
  void Stop() override {}
  absl::Status Send(const mad::OutgoingMad& mad) override {
    std::lock_guard lock(mutex_);
    answers_.push_back(
        {std::this_thread::get_id(), mad.to.lid, mad.payload[5], mad.retries, mad.to.global});
    sent_.notify_all();
    return absl::OkStatus();
  }
  absl::Status SetIsSm(bool) override { return absl::OkStatus(); }
  mad::LocalPort local_port() const override { return {}; }

  // Those so far, once there are `count`.
  std::vector<Answer> WaitFor(size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(sent_.wait_for(lock, kPatience, [&] { return answers_.size() >= count; }));
    return answers_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable sent_;
  std::vector<Answer> answers_;
};

template <typename Record>
mad::IncomingMad Request(wire::Method method, const Record& record, uint64_t mask,
                         uint16_t from = 1) {
  mad::IncomingMad mad;
  mad.agent = mad::Agent::kSubnAdm;
  mad.from.lid = Lid(from);
  mad.payload.resize(wire::kMadBytes);
  wire::SaHeader header;
  header.mad.management_class = wire::ManagementClass::kSubnAdm;
  header.mad.class_version = wire::kSaClassVersion;
  header.mad.method = method;
  header.mad.attribute = static_cast<wire::AttributeId>(Record::kAttribute);
  header.component_mask = mask;
  header.Encode(std::span<uint8_t, wire::kMadBytes>(mad.payload.data(), wire::kMadBytes));
  record.Encode(
      std::span<uint8_t, Record::kBytes>(mad.payload.data() + wire::kSaDataAt, Record::kBytes));
  return mad;
}
void SetTransaction(mad::IncomingMad& mad, uint32_t transaction) {
  const std::span<uint8_t, wire::kMadBytes> bytes(mad.payload.data(), wire::kMadBytes);
  wire::SaHeader header = wire::SaHeader::Decode(bytes);
  header.mad.transaction_id = transaction;
  header.Encode(bytes);
}

class SaBurstsTest : public RunningApp {
 protected:
  void SetUp() override {
    Run("superpod:sus=1,hosts=4,rails=2,radix=8");
    Restart();
    service_->OnView(app->view());
    AwaitView();
  }
  void Restart() {
    service_.reset();
    auto state = sa::SaState::Make({}, 0);
    ASSERT_TRUE(state.ok()) << state.status();
    keeper_ = std::make_unique<SaKeeper>(*std::move(state), notebook_, KeeperLinks{});
    SaOptions options;
    options.sm_key = SmKey(1);
    options.farewell = std::chrono::seconds(1);
    service_ = std::make_unique<SaService>(notebook_, *keeper_, options, [](const auto&) {});
  }
  void AwaitView() {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (service_->view() == nullptr && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_NE(service_->view(), nullptr);
  }
  void AwaitDropped(uint64_t count) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (service_->statistics().dropped < count && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(service_->statistics().dropped, count);
  }
  std::shared_ptr<const sweep::FabricView> InState(wire::SmState state) const {
    auto view = std::make_shared<sweep::FabricView>(*app->view());
    view->sm.state = state;
    return view;
  }
  static mad::IncomingMad GetPath(uint16_t from = 1) {
    wire::PathRecord record;
    record.slid = Lid(1);
    record.dlid = Lid(3);
    return Request(wire::Method::kGet, record, 1 << 4 | 1 << 5, from);
  }
  static mad::IncomingMad GetNodes() {
    return Request(wire::Method::kGetTable, wire::NodeRecord{}, 0);
  }
  static std::vector<mad::IncomingMad> Paths(size_t count) {
    return std::vector<mad::IncomingMad>(count, GetPath());
  }

  static auto IsSentBy(testing::Matcher<std::thread::id> thread) {
    return Field(&Answer::sender, thread);
  }

  const std::thread::id here_ = std::this_thread::get_id();
  Notebook notebook_;
  std::unique_ptr<SaKeeper> keeper_;
  std::unique_ptr<SaService> service_;
};

TEST_F(SaBurstsTest, AShortRequestIsAnsweredWhereItIsReceived) {
  auto burst = Paths(1);
  service_->OnMads(burst);
  EXPECT_THAT(notebook_.WaitFor(1), Each(AllOf(IsSentBy(here_), Field(&Answer::status, 0))));
}

TEST_F(SaBurstsTest, ALongRequestIsAnsweredByAnotherThread) {
  std::vector<mad::IncomingMad> burst;
  burst.push_back(Request(wire::Method::kGetTable, wire::NodeRecord{}, 0));
  service_->OnMads(burst);
  EXPECT_THAT(notebook_.WaitFor(1), Each(IsSentBy(Ne(here_))));
}

TEST_F(SaBurstsTest, ALargeBurstIsAnsweredByAnotherThread) {
  auto burst = Paths(65);
  service_->OnMads(burst);
  EXPECT_THAT(notebook_.WaitFor(65), Each(IsSentBy(Ne(here_))));
}

// One source sends more requests than it may have waiting: the excess is refused at once.
TEST_F(SaBurstsTest, AStormOfTablesIsBusyAndAnotherSourceIsAnswered) {
  std::vector<mad::IncomingMad> burst(10'000, GetNodes());
  burst.push_back(GetPath(/*from=*/2));
  service_->OnMads(burst);
  const auto answers = notebook_.WaitFor(10'001);
  ASSERT_THAT(answers, SizeIs(10'001));
  const auto other = std::find_if(answers.begin(), answers.end(),
                                  [](const Answer& answer) { return answer.to == Lid(2); });
  ASSERT_NE(other, answers.end());
  EXPECT_EQ(other->status, 0);
  service_->Stop();  // An answer is counted when it has been sent.
  EXPECT_GE(service_->statistics().answered, 1025u);
  EXPECT_GT(service_->statistics().busy, 0u);
}

// The kernel sends these, and would give up: it asks again where there is no answer.
TEST_F(SaBurstsTest, AStormOfPathsIsDroppedAndNotBusy) {
  auto burst = Paths(50'000);
  service_->OnMads(burst);
  const auto dropped = service_->statistics().dropped;
  EXPECT_GT(dropped, 0u);
  EXPECT_THAT(notebook_.WaitFor(50'000 - dropped), Each(Field(&Answer::status, 0)));
}

TEST_F(SaBurstsTest, OnlyTablesAreBusyAfterTheStop) {
  service_->Stop();
  auto burst = Paths(2);
  burst.push_back(GetNodes());
  service_->OnMads(burst);
  EXPECT_THAT(notebook_.WaitFor(1), ElementsAre(Field(&Answer::status, wire::kStatusBusy)));
  EXPECT_EQ(service_->statistics().dropped, 2u);
}

TEST_F(SaBurstsTest, TablesAreSentWithRetries) {
  std::vector<mad::IncomingMad> burst{GetNodes(), GetPath()};
  service_->OnMads(burst);
  EXPECT_THAT(notebook_.WaitFor(2),
              UnorderedElementsAre(Field(&Answer::retries, Gt(0u)), Field(&Answer::retries, 0u)));
}

TEST_F(SaBurstsTest, ARequestWithAGrhIsAnsweredWithOne) {
  std::vector<mad::IncomingMad> burst{GetPath(), GetNodes(), GetPath(/*from=*/2)};
  const mad::GlobalRoute route{{0xFE80000000000000, 0xA1}, 3, 255, 5, 0x12345};
  burst[0].from.global = burst[1].from.global = route;
  service_->OnMads(burst);
  for (const Answer& answer : notebook_.WaitFor(3))
    EXPECT_EQ(answer.global, answer.to == Lid(1) ? std::optional(route) : std::nullopt);
}

TEST_F(SaBurstsTest, RequestsBeforeTheFirstViewAreAnsweredFromIt) {
  Restart();
  std::vector<mad::IncomingMad> burst{GetPath(), GetNodes(), GetPath()};
  SetTransaction(burst[0], 1);
  SetTransaction(burst[1], 2);
  SetTransaction(burst[2], 1);  // The client has waited and asks again.
  service_->OnMads(burst);
  EXPECT_THAT(notebook_.WaitFor(0), IsEmpty());
  service_->OnView(app->view());
  EXPECT_THAT(notebook_.WaitFor(2), SizeIs(2));
  AwaitView();
  EXPECT_THAT(notebook_.WaitFor(2), AllOf(SizeIs(2), Each(Field(&Answer::status, 0))));
}

TEST_F(SaBurstsTest, AStandbyDropsRequestsThatWaitedForItsFirstView) {
  Restart();
  std::vector<mad::IncomingMad> burst{GetNodes()};
  service_->OnMads(burst);
  service_->OnView(InState(wire::SmState::kStandby));
  AwaitDropped(1);
  EXPECT_THAT(notebook_.WaitFor(0), IsEmpty());
}

// A port has just got its LID, and the view of it comes later.
TEST_F(SaBurstsTest, ARequesterThatIsNotInTheViewYetWaitsForTheNext) {
  auto without = std::make_shared<sweep::FabricView>(*app->view());
  auto lids = std::make_shared<fabric::LidTable>(*without->lids);
  ASSERT_FALSE(lids->Owner(Lid(2)).IsNone());
  lids->Release(lids->Owner(Lid(2)));
  without->lids = lids;
  Restart();
  service_->OnView(without);
  AwaitView();
  std::vector<mad::IncomingMad> burst{GetPath(/*from=*/2)};
  service_->OnMads(burst);
  EXPECT_THAT(notebook_.WaitFor(0), IsEmpty());
  service_->OnView(app->view());
  EXPECT_THAT(notebook_.WaitFor(1), ElementsAre(Field(&Answer::status, 0)));
}

TEST_F(SaBurstsTest, AMasterThatHandsOverServesPathsForAWhile) {
  service_->OnView(InState(wire::SmState::kStandby));
  wire::ServiceRecord record;
  record.service_id = 1;
  std::vector<mad::IncomingMad> burst{Request(wire::Method::kSet, record, 1), GetPath()};
  service_->OnMads(burst);
  EXPECT_THAT(notebook_.WaitFor(1), ElementsAre(Field(&Answer::status, 0)));
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (service_->view() != nullptr && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ASSERT_EQ(service_->view(), nullptr);
  burst = {GetPath()};
  service_->OnMads(burst);
  EXPECT_THAT(notebook_.WaitFor(1), SizeIs(1));
}

TEST(ParkedRequestsTest, EachSourceHasItsShare) {
  ParkedRequests parked;
  const auto add = [&](uint16_t from, uint32_t transaction) {
    mad::IncomingMad mad = Request(wire::Method::kGet, wire::PathRecord{}, 0, from);
    SetTransaction(mad, transaction);
    return parked.Add(mad, {});
  };
  for (uint32_t id = 0; id < ParkedRequests::kShare; ++id) EXPECT_TRUE(add(1, id));
  EXPECT_FALSE(add(1, ParkedRequests::kShare));
  EXPECT_TRUE(add(1, 0)) << "a repetition needs no room";
  EXPECT_TRUE(add(2, 0));
  EXPECT_THAT(parked.TakeAll(), SizeIs(ParkedRequests::kShare + 1));
  for (uint32_t source = 1; parked.size() < ParkedRequests::kMost; ++source)
    for (uint32_t id = 0; id < ParkedRequests::kShare; ++id)
      EXPECT_TRUE(add(static_cast<uint16_t>(source), id));
  EXPECT_FALSE(add(0x4000, 0));
}

}  // namespace
}  // namespace fabricd::daemon
