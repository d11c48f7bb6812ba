// SPDX-License-Identifier: Apache-2.0
// Holds of every Store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/store.h"
#include "tests/unit/store/sample_hold.h"
#include "tests/unit/store/store_kinds.h"

namespace fabricd::store {
namespace {

using policy::Hold;
using testing::ElementsAre;
using testing::IsEmpty;

class HoldsTest : public StoreContract {
 protected:
  policy::StoredHolds Load() {
    const auto stored = store_->LoadHolds();
    EXPECT_TRUE(stored.ok()) << stored.status();
    return stored.ok() ? *stored : policy::StoredHolds();
  }
};

TEST_P(HoldsTest, BeginsEmpty) {
  EXPECT_THAT(Load().holds, IsEmpty());
  EXPECT_EQ(Load().highest_id, 0u);
}

TEST_P(HoldsTest, KeepsAllOfAHoldOverARestart) {
  Hold plain;
  plain.id = 9;
  plain.target.kind = policy::TargetKind::kHost;
  plain.target.nodes = {Guid(5)};
  ASSERT_TRUE(store_->ChangeHolds({plain, MakeHold(4)}, {}).ok());
  Open();
  EXPECT_THAT(Load().holds, ElementsAre(MakeHold(4), plain));
}

TEST_P(HoldsTest, ReplacesAndRemovesInOneGo) {
  ASSERT_TRUE(store_->ChangeHolds({MakeHold(1), MakeHold(2)}, {}).ok());
  Hold changed = MakeHold(2);
  changed.lifted = false;
  ASSERT_TRUE(store_->ChangeHolds({changed, MakeHold(3)}, {1, 77}).ok());
  EXPECT_THAT(Load().holds, ElementsAre(changed, MakeHold(3)));
}

TEST_P(HoldsTest, TheHighestIdOutlivesItsHold) {
  ASSERT_TRUE(store_->ChangeHolds({MakeHold(12), MakeHold(3)}, {}).ok());
  ASSERT_TRUE(store_->ChangeHolds({}, {12, 3}).ok());
  Open();
  EXPECT_THAT(Load().holds, IsEmpty());
  EXPECT_EQ(Load().highest_id, 12u);
}

TEST_P(HoldsTest, AnIdlessHoldChangesNothing) {
  EXPECT_EQ(store_->ChangeHolds({MakeHold(1), MakeHold(0)}, {}).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Load().holds, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Stores, HoldsTest, testing::ValuesIn(StoreKinds()), NameOfKind);

}  // namespace
}  // namespace fabricd::store
