// SPDX-License-Identifier: Apache-2.0
// IBA vol 1 §14.2.5.1, trap 144.
#include "sweep/mastership/priority_notice.h"

#include <gtest/gtest.h>

#include "mad/wire/notice.h"
#include "sweep/interface/activity.h"

namespace fabricd::sweep {
namespace {

using namespace std::chrono_literals;

class PriorityNoticeTest : public testing::Test {
 protected:
  PriorityNoticeTest() { devices_.SetPath(own_.node, {}); }
  static mad::Completion Shows(Lid lid, Lid master) {
    wire::PortInfo info;
    info.lid = lid;
    info.master_sm_lid = master;
    info.master_sm_sl = 3;
    mad::Completion completion;
    completion.outcome = mad::Completion::Outcome::kResponse;
    info.Encode(completion.response.data);
    return completion;
  }
  static constexpr Instant kNow{1000s};
  SmOptions options_;
  DeviceTable devices_{options_};
  mad::TransactionEngine engine_{mad::EngineOptions()};
  PriorityNotice notice_{devices_, engine_, mad::RequestContext::Of(Activity::kMastership)};
  const PortRef own_{NodeIndex(0), PortNum(1)};
};

TEST_F(PriorityNoticeTest, ReadsItsOwnPortAndThenSendsATrapToTheMaster) {
  notice_.Begin(own_);
  EXPECT_EQ(engine_.size(), 1u);
  const auto trap = notice_.Finish(Shows(Lid(5), Lid(9)));
  ASSERT_TRUE(trap.has_value());
  EXPECT_EQ(trap->agent, mad::Agent::kSmpLid);
  EXPECT_EQ(trap->to.lid, Lid(9));
  EXPECT_EQ(trap->to.sl, ServiceLevel(3));
  const auto smp = wire::Smp::Decode(
      std::span<const uint8_t, wire::kMadBytes>(trap->payload.data(), wire::kMadBytes));
  ASSERT_TRUE(smp.has_value());
  EXPECT_EQ(smp->method, wire::Method::kTrap);
  EXPECT_EQ(smp->attribute, wire::AttributeId::kNotice);
  const auto shown = wire::Notice::Decode(smp->data);
  EXPECT_EQ(shown.issuer_lid, Lid(5));
  EXPECT_EQ(shown.trap, 144);
}

TEST_F(PriorityNoticeTest, EachTrapHasAnIdOfItsOwn) {
  const auto first = notice_.Finish(Shows(Lid(5), Lid(9)));
  const auto second = notice_.Finish(Shows(Lid(5), Lid(9)));
  EXPECT_NE(first->payload, second->payload);
}

TEST_F(PriorityNoticeTest, WithoutALidAMasterOrAnAnswerNothingIsSent) {
  EXPECT_EQ(notice_.Finish(Shows(Lid(0), Lid(9))), std::nullopt);
  EXPECT_EQ(notice_.Finish(Shows(Lid(5), Lid(0))), std::nullopt);
  mad::Completion refused = Shows(Lid(5), Lid(9));
  refused.status = 4;
  EXPECT_EQ(notice_.Finish(refused), std::nullopt);
  notice_.Begin(PortRef{});
  notice_.Begin({NodeIndex(8), PortNum(1)});
  EXPECT_EQ(engine_.size(), 0u);
}

TEST_F(PriorityNoticeTest, BeginSeldomSendsOnceInTenSeconds) {
  notice_.BeginSeldom(own_, kNow);
  notice_.BeginSeldom(own_, kNow + 9s);
  EXPECT_EQ(engine_.size(), 1u);
  notice_.BeginSeldom(own_, kNow + 10s);
  EXPECT_EQ(engine_.size(), 2u);
}

}  // namespace
}  // namespace fabricd::sweep
