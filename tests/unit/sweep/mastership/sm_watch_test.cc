// SPDX-License-Identifier: Apache-2.0
// What a master asks other SMs between sweeps: how often, how many, and what counts as an answer.
#include "sweep/mastership/sm_watch.h"

#include <gtest/gtest.h>

#include "mad/wire/sm_info.h"

namespace fabricd::sweep {
namespace {

using std::chrono::milliseconds;
using wire::SmState;

constexpr Instant kNow{std::chrono::seconds(1)};
constexpr mad::RequestContext kContext{.owner = 4, .kind = 5};

class SmWatchTest : public testing::Test {
 protected:
  SmWatchTest() {
    for (uint32_t i = 0; i < 3; ++i) devices_.SetPath(NodeIndex(i), wire::DirectedPath());
  }
  static RemoteSm Other(uint32_t node, SmState state) {
    return {{NodeIndex(node), PortNum(1)}, Guid(0x1000 + node), 5, state, 0};
  }
  static wire::DirectedPath Path(uint8_t port) { return wire::DirectedPath().Then(PortNum(port)); }
  static mad::Completion Says(uint32_t number, SmState state) {
    mad::Completion completion;
    completion.context = kContext;
    completion.context.number = number;
    completion.outcome = mad::Completion::Outcome::kResponse;
    wire::SmInfo info;
    info.guid = Guid(0x1002);
    info.state = state;
    info.Encode(completion.response.data);
    return completion;
  }

  SmOptions options_;
  DeviceTable devices_{options_};
  mad::TransactionEngine engine_{{}};
  SmWatch watch_{devices_, engine_, kContext};
};

TEST_F(SmWatchTest, PollsDiscoveringSmsUntilTheyChangeState) {
  watch_.Follow({Other(0, SmState::kStandby), Other(1, SmState::kMaster)}, kNow);
  EXPECT_EQ(watch_.NextDeadline(), kNever);
  watch_.Follow({Other(0, SmState::kStandby), Other(2, SmState::kDiscovering)}, kNow);
  const Instant due = watch_.NextDeadline();
  EXPECT_EQ(due, kNow + milliseconds(500));
  watch_.OnTimer(due);
  EXPECT_EQ(engine_.size(), 1u);
  const auto seen = watch_.OnCompletion(Says(0, SmState::kStandby));
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->port, Other(2, SmState::kStandby).port);
  EXPECT_EQ(seen->state, SmState::kStandby);
  watch_.Follow({*seen}, due);
  EXPECT_EQ(watch_.NextDeadline(), kNever);
}

TEST_F(SmWatchTest, ProbesASenderOnceASecondAndSixteenAtMost) {
  watch_.Follow({}, kNow);
  for (uint8_t port = 1; port < 40; ++port) {
    watch_.OnAsked(Path(port), kAskerDevice);
    watch_.OnAsked(Path(port), kAskerDevice);
  }
  EXPECT_LE(watch_.NextDeadline(), kNow);
  watch_.OnTimer(kNow);
  EXPECT_EQ(engine_.size(), 16u);
  EXPECT_EQ(watch_.NextDeadline(), kNever);
  watch_.OnAsked(Path(1), kAskerDevice);
  EXPECT_EQ(watch_.NextDeadline(), kNow + std::chrono::seconds(1));
  watch_.OnTimer(kNow + milliseconds(999));
  EXPECT_EQ(engine_.size(), 16u);
}

TEST_F(SmWatchTest, ProbesSendersOfASweepAfterItsEnd) {
  watch_.Follow({}, kNow);
  watch_.OnSweepStart();
  watch_.OnAsked(Path(1), kAskerDevice);
  EXPECT_EQ(watch_.NextDeadline(), kNever);
  watch_.Follow({}, kNow);
  EXPECT_LE(watch_.NextDeadline(), kNow);
  watch_.Stop();
  EXPECT_EQ(watch_.NextDeadline(), kNever);
}

TEST_F(SmWatchTest, AToolIsNoSm) {
  watch_.Follow({}, kNow);
  watch_.OnAsked(Path(1), kAskerDevice);
  watch_.OnTimer(kNow);
  mad::Completion silence;
  silence.context = kContext;
  EXPECT_FALSE(watch_.OnCompletion(silence));
  EXPECT_FALSE(watch_.OnCompletion(Says(0, SmState::kMaster))) << "answered already";
  watch_.OnAsked(Path(1), kAskerDevice);
  watch_.OnTimer(kNow + std::chrono::seconds(1));
  EXPECT_FALSE(watch_.OnCompletion(Says(1, SmState::kNotActive)));
}

TEST_F(SmWatchTest, IgnoresResponsesToProbesSentBeforeASweep) {
  watch_.Follow({Other(2, SmState::kDiscovering)}, kNow);
  watch_.OnTimer(watch_.NextDeadline());
  watch_.OnSweepStart();
  watch_.Follow({Other(2, SmState::kDiscovering)}, kNow);
  EXPECT_FALSE(watch_.OnCompletion(Says(0, SmState::kMaster)));
}

}  // namespace
}  // namespace fabricd::sweep
