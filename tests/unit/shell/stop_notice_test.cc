// SPDX-License-Identifier: Apache-2.0
#include "shell/stop_notice.h"

#include <gtest/gtest.h>

#include "tests/unit/shell/saying_store.h"

namespace fabricd::shell {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class StopNoticesTest : public testing::Test {
 protected:
  StopNoticesTest() { store_.own = "head1"; }
  void Say(const std::string& instance, std::chrono::nanoseconds stopped_for) {
    store_.all_nodes.push_back(
        {instance, {{}, "name head2 pid 7\n" + StopNotice(stopped_for) + "key a 1\n"}});
  }
  bool Look() { return notices_.HasNew(store_, now_ += milliseconds(500)); }

  SayingStore store_;
  StopNotices notices_;
  Instant now_ = Instant() + seconds(100);
};

TEST_F(StopNoticesTest, AStopIsNewOnce) {
  EXPECT_FALSE(Look());
  Say("head2", seconds(0));
  EXPECT_FALSE(Look()) << "it was not stopped";
  store_.all_nodes.clear();
  Say("head2", seconds(14));
  EXPECT_TRUE(Look());
  EXPECT_FALSE(Look());
  store_.all_nodes.clear();
  EXPECT_FALSE(Look());
  Say("head2", seconds(14));
  EXPECT_FALSE(Look()) << "its key was away for a moment";
  store_.all_nodes.clear();
  Say("head2", seconds(15));
  EXPECT_TRUE(Look()) << "it was stopped again";
  notices_.Forget();
  EXPECT_TRUE(Look());
}

TEST_F(StopNoticesTest, EachNodeCountsButThisOne) {
  Say("head1", seconds(14));
  EXPECT_FALSE(Look());
  Say("head2", seconds(14));
  EXPECT_TRUE(Look());
  Say("head3", seconds(14));
  EXPECT_TRUE(Look());
  EXPECT_FALSE(Look());
}

TEST_F(StopNoticesTest, LooksTwiceASecond) {
  EXPECT_FALSE(Look());
  Say("head2", seconds(14));
  EXPECT_FALSE(notices_.HasNew(store_, now_ + milliseconds(499)));
  EXPECT_TRUE(notices_.HasNew(store_, now_ + milliseconds(500)));
}

}  // namespace
}  // namespace fabricd::shell
