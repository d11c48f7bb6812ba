// SPDX-License-Identifier: Apache-2.0
#include "store/memory_store.h"

#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status.h"

namespace fabricd::store {
namespace {

using testing::ElementsAre;

LidRecord Record(uint64_t guid, uint16_t lid) { return LidRecord{Guid(guid), Lid(lid), 0, 0}; }

TEST(MemoryStore, FailedWritesChangeNothing) {
  MemoryStore store;
  ASSERT_TRUE(store.PutLids({Record(1, 10)}).ok());
  store.FailWrites(Unavailable("disk full"));
  EXPECT_EQ(store.PutLids({Record(2, 11)}).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(store.RemoveLids({Guid(1)}).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(store.PutMeta("a", "b").code(), absl::StatusCode::kUnavailable);
  store.FailWrites(absl::OkStatus());
  EXPECT_THAT(*store.LoadLids(), ElementsAre(Record(1, 10)));
  EXPECT_EQ(*store.GetMeta("a"), std::nullopt);
}

}  // namespace
}  // namespace fabricd::store
