// SPDX-License-Identifier: Apache-2.0
#include "daemon/telemetry/reset_events.h"

#include <gtest/gtest.h>

#include "sim/generate/generate.h"

namespace fabricd::daemon {
namespace {

using telemetry::EpochCause;
using telemetry::EpochStarted;

TEST(ResetEventsTest, NamesThePortAndTheCause) {
  const auto fabric = *sim::Generate("superpod:sus=1,hosts=4,rails=2,radix=8");
  ResetEvents reset_events;
  const PortRef port{fabric->FindIndex(fabric->node(NodeIndex(0))->guid()), PortNum(1)};
  const auto events = reset_events.Take({{port, EpochCause::kCounterReset}}, *fabric,
                                        Instant(std::chrono::hours(1)));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].type, "CountersReset");
  EXPECT_EQ(events[0].subject, fabric->node(NodeIndex(0))->description + "/1");
  EXPECT_EQ(events[0].facts[0].second, "COUNTER_RESET");
}

TEST(ResetEventsTest, AClearOfAWholeFabricIsElevenEvents) {
  const auto fabric = *sim::Generate("superpod:sus=1,hosts=4,rails=2,radix=8");
  ResetEvents reset_events;
  Instant now(std::chrono::hours(1));
  size_t events = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::vector<EpochStarted> one = {{{NodeIndex(0), PortNum(1)}, EpochCause::kCounterReset}};
    events += reset_events.Take(one, *fabric, now).size();
  }
  EXPECT_EQ(events, ResetEvents::kEach);
  now += std::chrono::minutes(1);
  const auto last = reset_events.Take({}, *fabric, now);
  ASSERT_EQ(last.size(), 1u);
  EXPECT_NE(last[0].message.find("990 more ports"), std::string::npos);
  EXPECT_TRUE(reset_events.Take({}, *fabric, now + std::chrono::minutes(2)).empty());
}

}  // namespace
}  // namespace fabricd::daemon
