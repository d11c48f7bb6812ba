// SPDX-License-Identifier: Apache-2.0
// Slots of requests, and the transaction ids that they are found by.
#include "mad/request_slots.h"

#include <set>

#include <gtest/gtest.h>

#include "mad/transactions.h"

namespace fabricd::mad {
namespace {

TransactionId IdOf(RequestSlots& slots, SlotIndex index) {
  return TransactionId(slots.At(index).tid);
}

TEST(RequestSlots, AFreedSlotIsReusedWithoutItsPast) {
  RequestSlots slots(1);
  SmpRequest request;
  request.modifier = 7;
  const SlotIndex index = slots.Allocate(request);
  EXPECT_EQ(slots.At(index).request.modifier, 7u);
  slots.AssignId(index);
  slots.At(index).attempts = 3;
  slots.At(index).state = RequestSlot::State::kUnsent;
  slots.At(index).demand = RequestSlot::Demand::kNone;
  slots.Free(index);
  EXPECT_EQ(slots.At(index).state, RequestSlot::State::kFree);
  EXPECT_EQ(slots.Allocate(SmpRequest()), index);
  EXPECT_EQ(slots.At(index).attempts, 0u);
  EXPECT_EQ(slots.At(index).tid, 0u);
  EXPECT_TRUE(slots.At(index).WantsCompletion());
}

TEST(RequestSlots, IndicesStayValidWhileTheSlabGrows) {
  RequestSlots slots(1);
  std::set<SlotIndex> indices;
  for (uint32_t n = 0; n < 1000; ++n) {
    SmpRequest request;
    request.modifier = n;
    const SlotIndex index = slots.Allocate(request);
    slots.AssignId(index);
    indices.insert(index);
  }
  EXPECT_EQ(indices.size(), 1000u);
  std::set<uint32_t> modifiers;
  for (const SlotIndex index : indices) {
    modifiers.insert(slots.At(index).request.modifier);
    EXPECT_EQ(slots.Find(IdOf(slots, index)), index);
  }
  EXPECT_EQ(modifiers.size(), 1000u);
}

TEST(RequestSlots, AnIdIsAssignedOnceAndFoundUntilItIsDropped) {
  RequestSlots slots(41);
  const SlotIndex index = slots.Allocate(SmpRequest());
  EXPECT_EQ(slots.At(index).tid, 0u);
  slots.AssignId(index);
  const TransactionId id = IdOf(slots, index);
  EXPECT_EQ(id, TransactionId(41));
  slots.AssignId(index);
  EXPECT_EQ(IdOf(slots, index), id);
  EXPECT_EQ(slots.Find(id), index);
  slots.DropId(index);
  EXPECT_EQ(slots.Find(id), kNoIndex);
  slots.AssignId(index);
  EXPECT_EQ(IdOf(slots, index), TransactionId(42));
  slots.Free(index);
  EXPECT_EQ(slots.Find(TransactionId(42)), kNoIndex);
}

TEST(RequestSlots, ARetiredIdIsFoundBesideItsSuccessor) {
  RequestSlots slots(1);
  const SlotIndex index = slots.Allocate(SmpRequest());
  slots.AssignId(index);
  slots.RetireId(index);
  slots.AssignId(index);
  EXPECT_EQ(slots.Find(TransactionId(1)), index);
  EXPECT_EQ(slots.Find(TransactionId(2)), index);
  slots.RetireId(index);
  EXPECT_EQ(slots.Find(TransactionId(1)), kNoIndex) << "one is kept";
  EXPECT_EQ(slots.Find(TransactionId(2)), index);
  slots.DropRetiredId(index);
  EXPECT_EQ(slots.Find(TransactionId(2)), kNoIndex);
}

TEST(RequestSlots, IdsInUseAreSkippedWhenTheNumbersStartAgain) {
  RequestSlots slots(kTelemetryTransactionBit - 1);
  const SlotIndex last = slots.Allocate(SmpRequest()), first = slots.Allocate(SmpRequest());
  slots.AssignId(last);
  slots.AssignId(first);
  EXPECT_EQ(IdOf(slots, last), TransactionId(kTelemetryTransactionBit - 1));
  EXPECT_EQ(IdOf(slots, first), TransactionId(1)) << "0 means none";
  RequestSlots again(1);
  const SlotIndex one = again.Allocate(SmpRequest()), two = again.Allocate(SmpRequest());
  again.AssignId(one);
  again.RetireId(one);
  again.AssignId(two);
  EXPECT_EQ(IdOf(again, two), TransactionId(2));
}

TEST(RequestSlots, AHeldAttemptIsInFlightStill) {
  using State = RequestSlot::State;
  RequestSlot slot;
  for (const State state : {State::kFree, State::kQueued}) {
    slot.state = state;
    EXPECT_FALSE(slot.IsInFlight());
    EXPECT_FALSE(slot.IsHeld());
  }
  slot.state = State::kInFlight;
  EXPECT_TRUE(slot.IsInFlight());
  EXPECT_FALSE(slot.IsHeld());
  for (const State state : {State::kAnsweredBusy, State::kUnsent}) {
    slot.state = state;
    EXPECT_TRUE(slot.IsInFlight());
    EXPECT_TRUE(slot.IsHeld());
  }
}

TEST(RequestSlots, TheRouteIsThatOfTheAttempt) {
  RequestSlot slot;
  slot.request.path = {1, 2};
  slot.request.alternative = wire::DirectedPath{1, 3};
  EXPECT_EQ(slot.path(), (wire::DirectedPath{1, 2}));
  slot.on_alternative = true;
  EXPECT_EQ(slot.path(), (wire::DirectedPath{1, 3}));
}

}  // namespace
}  // namespace fabricd::mad
