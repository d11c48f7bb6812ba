// SPDX-License-Identifier: Apache-2.0
// Who answers what: SaService with the view of a daemon that runs, on a transport that only notes
// which thread sends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "daemon/sa/sa_service.h"
#include "mad/wire/sa_path_records.h"
#include "mad/wire/sa_records.h"
#include "sa/state/sa_state.h"
#include "tests/sim/running_app.h"

namespace fabricd::daemon {
namespace {

using testing::AllOf;
using testing::Each;
using testing::Field;
using testing::Ne;
using testing::SizeIs;

struct Answer {
  std::thread::id sender;
  Lid to;
  uint8_t status;  // The low byte.
};

class Notebook final : public mad::Transport {
 public:
  absl::Status Start(Sink) override { return absl::OkStatus(); }
  void Stop() override {}
  absl::Status Send(const mad::OutgoingMad& mad) override {
    std::lock_guard lock(mutex_);
    answers_.push_back({std::this_thread::get_id(), mad.to.lid, mad.payload[5]});
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

class SaBurstsTest : public RunningApp {
 protected:
  void SetUp() override {
    Run("superpod:sus=1,hosts=4,rails=2,radix=8");
    auto state = sa::SaState::Make({}, 0);
    ASSERT_TRUE(state.ok()) << state.status();
    keeper_ = std::make_unique<SaKeeper>(*std::move(state), notebook_, KeeperLinks{});
    service_ =
        std::make_unique<SaService>(notebook_, *keeper_, SaOptions{SmKey(1)}, [](const auto&) {});
    service_->OnView(app->view());
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (service_->view() == nullptr && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_NE(service_->view(), nullptr);
  }
  template <typename Record>
  static mad::IncomingMad Request(wire::Method method, const Record& record, uint64_t mask,
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
  static mad::IncomingMad GetPath(uint16_t from = 1) {
    wire::PathRecord record;
    record.slid = Lid(1);
    record.dlid = Lid(3);
    return Request(wire::Method::kGet, record, 1 << 4 | 1 << 5, from);
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

// One source sends more requests than it may have waiting: the excess is answered BUSY at once.
TEST_F(SaBurstsTest, AStormOfOneSourceIsBusyAndAnotherSourceIsAnswered) {
  auto burst = Paths(50'000);
  burst.push_back(GetPath(/*from=*/2));
  service_->OnMads(burst);
  const auto answers = notebook_.WaitFor(50'001);
  ASSERT_THAT(answers, SizeIs(50'001));
  const auto other = std::find_if(answers.begin(), answers.end(),
                                  [](const Answer& answer) { return answer.to == Lid(2); });
  ASSERT_NE(other, answers.end());
  EXPECT_EQ(other->status, 0);
  EXPECT_GE(service_->statistics().answered, 1025u);
}

TEST_F(SaBurstsTest, RequestsAfterTheStopAreBusy) {
  service_->Stop();
  auto burst = Paths(2);
  service_->OnMads(burst);
  EXPECT_THAT(notebook_.WaitFor(2), Each(Field(&Answer::status, wire::kStatusBusy)));
}

}  // namespace
}  // namespace fabricd::daemon
