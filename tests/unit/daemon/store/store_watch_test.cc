// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/store_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fabricd::daemon {
namespace {

using ::testing::HasSubstr;

TEST(StoreWatch, ReportsEachChangeOnce) {
  StoreWatch watch;
  EXPECT_FALSE(watch.Look(absl::OkStatus()));
  const auto away = watch.Look(Unavailable("etcd at head1: connection refused"));
  ASSERT_TRUE(away);
  EXPECT_EQ(away->type, "ConditionRaised");
  EXPECT_THAT(away->message, HasSubstr("routing goes on: etcd at head1: connection refused"));
  EXPECT_FALSE(watch.Look(Unavailable("etcd at head2: connection refused")));
  const auto old = watch.Look(FailedPrecondition("another fabricd has written"));
  ASSERT_TRUE(old);
  EXPECT_THAT(old->message, HasSubstr("another fabricd has written"));
  const auto back = watch.Look(absl::OkStatus());
  ASSERT_TRUE(back);
  EXPECT_EQ(back->type, "ConditionCleared");
  EXPECT_EQ(back->message, "changes are stored again");
  EXPECT_FALSE(watch.Look(absl::OkStatus()));
}

}  // namespace
}  // namespace fabricd::daemon
