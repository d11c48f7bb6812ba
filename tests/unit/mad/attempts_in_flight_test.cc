// SPDX-License-Identifier: Apache-2.0
// What is in flight, and when it is overdue.
#include "mad/attempts_in_flight.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fabricd::mad {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

Instant At(int seconds) { return Instant(std::chrono::seconds(seconds)); }

class AttemptsInFlightTest : public testing::Test {
 protected:
  SlotIndex Add(int deadline) {
    const SlotIndex index = slots_.Allocate(SmpRequest());
    attempts_.Add(index, At(deadline));
    return index;
  }
  RequestSlots slots_{1};
  AttemptsInFlight attempts_{slots_};
};

TEST_F(AttemptsInFlightTest, TheNextDeadlineIsTheEarliest) {
  EXPECT_EQ(attempts_.NextDeadline(), kNever);
  Add(5);
  const SlotIndex early = Add(3);
  Add(4);
  EXPECT_EQ(attempts_.NextDeadline(), At(3));
  EXPECT_THAT(attempts_.FindOverdue(At(2)), IsEmpty());
  EXPECT_THAT(attempts_.FindOverdue(At(3)), ElementsAre(early));
  EXPECT_EQ(attempts_.size(), 3u) << "it stays until it is removed";
  EXPECT_EQ(attempts_.NextDeadline(), At(4));
}

TEST_F(AttemptsInFlightTest, AnyAttemptCanBeRemoved) {
  const SlotIndex a = Add(1), b = Add(2), c = Add(3);
  attempts_.Remove(a);
  EXPECT_THAT(attempts_.indices(), UnorderedElementsAre(b, c));
  attempts_.Remove(c);
  EXPECT_THAT(attempts_.indices(), ElementsAre(b));
  attempts_.Remove(b);
  EXPECT_EQ(attempts_.size(), 0u);
  EXPECT_EQ(attempts_.NextDeadline(), kNever);
}

TEST_F(AttemptsInFlightTest, ADeadlineCanBeMoved) {
  const SlotIndex a = Add(5);
  attempts_.SetDeadline(a, At(2));
  EXPECT_EQ(attempts_.NextDeadline(), At(2));
  EXPECT_THAT(attempts_.FindOverdue(At(2)), ElementsAre(a));
}

TEST_F(AttemptsInFlightTest, KeptPlacesCountUntilTheirEnd) {
  const SlotIndex a = Add(9);
  attempts_.KeepPlaceUntil(At(4));
  attempts_.KeepPlaceUntil(At(4));
  attempts_.KeepPlaceUntil(At(6));
  EXPECT_EQ(attempts_.places(), 4u);
  EXPECT_EQ(attempts_.size(), 1u);
  attempts_.Remove(a);
  EXPECT_EQ(attempts_.NextDeadline(), At(4));
  EXPECT_THAT(attempts_.FindOverdue(At(4)), IsEmpty());
  EXPECT_EQ(attempts_.places(), 1u);
  EXPECT_EQ(attempts_.NextDeadline(), At(6));
}

}  // namespace
}  // namespace fabricd::mad
