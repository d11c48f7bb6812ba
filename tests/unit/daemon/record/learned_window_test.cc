// SPDX-License-Identifier: Apache-2.0
#include "daemon/record/learned_window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/memory_store.h"

namespace fabricd::daemon {
namespace {

using std::chrono::seconds;
using testing::Optional;

class LearnedWindowTest : public testing::Test {
 protected:
  std::optional<uint32_t> Kept() { return *LearnedWindow::Load(store_); }

  store::MemoryStore store_;
  bool takes_ = true;
  int writes_ = 0;
  LearnedWindow window_{[this](const auto& job) {
    if (takes_) job(store_);
    if (takes_) ++writes_;
    return takes_;
  }};
  const Instant start_ = Instant() + seconds(100);
};

TEST_F(LearnedWindowTest, NothingIsKnownOfAFabricAtFirst) { EXPECT_EQ(Kept(), std::nullopt); }

TEST_F(LearnedWindowTest, IsKeptOnceAMinuteWhereItChanges) {
  window_.Note(12, start_);
  EXPECT_THAT(Kept(), Optional(12u));
  window_.Note(16, start_ + seconds(59));
  EXPECT_THAT(Kept(), Optional(12u));
  window_.Note(20, start_ + seconds(60));
  EXPECT_THAT(Kept(), Optional(20u));
  window_.Note(20, start_ + seconds(600));
  EXPECT_EQ(writes_, 2);
}

TEST_F(LearnedWindowTest, AWriteThatWasNotTakenIsTriedAgain) {
  takes_ = false;
  window_.Note(12, start_);
  takes_ = true;
  window_.Note(12, start_ + seconds(1));
  EXPECT_THAT(Kept(), Optional(12u));
}

TEST_F(LearnedWindowTest, AValueThatIsNoNumberIsNone) {
  ASSERT_TRUE(store_.PutMeta("smp_window", "wide").ok());
  EXPECT_EQ(Kept(), std::nullopt);
}

}  // namespace
}  // namespace fabricd::daemon
