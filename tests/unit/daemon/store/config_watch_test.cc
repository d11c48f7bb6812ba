// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/config_watch.h"

#include <gtest/gtest.h>

namespace fabricd::daemon {
namespace {

using std::chrono::seconds;

TEST(ConfigWatch, ReportsEachChangeOnce) {
  ConfigWatch watch;
  Instant now{};
  SharingNode own;
  own.is_this = true;
  SharingNode other;
  other.name = "head2 pid 7";
  own.name = "head1 pid 5";
  EXPECT_FALSE(watch.Look({own}, now));
  // An earlier owner of the epoch may have seen them differ.
  const auto first = watch.Look({own, other}, now += seconds(1));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->type, "ConditionCleared");
  other.different_keys = {"lid.lmc", "sm.sm_key"};
  const auto differs = watch.Look({own, other}, now += seconds(1));
  ASSERT_TRUE(differs);
  EXPECT_EQ(differs->type, "ConditionRaised");
  EXPECT_EQ(differs->message,
            "head1 pid 5 and head2 pid 7 are configured differently: lid.lmc, sm.sm_key");
  EXPECT_FALSE(watch.Look({own, other}, now += seconds(1)));
  // Without an answer of etcd nothing has changed.
  EXPECT_FALSE(watch.Look({}, now += seconds(1)));
  other.different_keys = {"lid.lmc"};
  EXPECT_TRUE(watch.Look({own, other}, now += seconds(1)));
  const auto alike = watch.Look({own}, now += seconds(1));
  ASSERT_TRUE(alike);
  EXPECT_EQ(alike->type, "ConditionCleared");
  EXPECT_FALSE(watch.Look({own}, now += seconds(1)));
}

TEST(ConfigWatch, IsDueOnceASecond) {
  ConfigWatch watch;
  EXPECT_TRUE(watch.IsDue(Instant{}));
  (void)watch.Look({}, Instant{});
  EXPECT_FALSE(watch.IsDue(Instant(ConfigWatch::kInterval) - Duration(1)));
  EXPECT_TRUE(watch.IsDue(Instant(ConfigWatch::kInterval)));
}

}  // namespace
}  // namespace fabricd::daemon
