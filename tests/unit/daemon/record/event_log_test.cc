// SPDX-License-Identifier: Apache-2.0
// The event log at its bounds, over restarts, and with a store that fails or is slow.
#include "daemon/record/event_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status.h"
#include "store/memory_store.h"

namespace fabricd::daemon {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;

fabric::FabricEvent Event(const std::string& type, Instant at = Instant()) {
  fabric::FabricEvent event;
  event.type = type;
  event.at = at;
  return event;
}

struct CountingWatcher final : EventLog::Watcher {
  void OnEvents(bool beat) override { ++(beat ? beats : wakes); }
  int wakes = 0, beats = 0;
};

class EventLogTest : public ::testing::Test {
 protected:
  void Open(EventLog::Limits limits = {}) {
    const auto post_to = [](auto& jobs, const bool& full) {
      return [&](std::function<void()> job) {
        if (!full) jobs.push_back(std::move(job));
        return !full;
      };
    };
    auto opened = EventLog::Open(store_, post_to(jobs_, full_),
                                 {store_, post_to(listings_, listings_full_)}, limits);
    ASSERT_TRUE(opened.ok()) << opened.status();
    log_ = *std::move(opened);
  }
  void RunJobs() {
    for (auto* jobs : {&jobs_, &listings_})
      for (const auto& job : std::exchange(*jobs, {})) job();
  }
  void EmitEvents(std::vector<std::string> types) {
    std::vector<fabric::FabricEvent> events;
    for (const std::string& type : types) events.push_back(Event(type));
    log_->Append(std::move(events), Instant());
    RunJobs();
  }
  std::vector<std::string> TypesAfter(uint64_t number) {
    std::vector<std::string> types;
    const auto records = log_->After(number, 100);
    EXPECT_TRUE(records.ok()) << records.status();
    if (records.ok())
      for (const auto& record : *records) types.push_back(record->event.type);
    return types;
  }
  std::vector<std::string> Stored() {
    std::vector<std::string> types;
    const auto records = store_.ListEvents({});
    EXPECT_TRUE(records.ok()) << records.status();
    for (const auto& record : records.value()) types.push_back(record.event.type);
    return types;
  }

  store::MemoryStore store_;
  std::vector<std::function<void()>> jobs_, listings_;
  bool full_ = false, listings_full_ = false;  // Their queues.
  std::unique_ptr<EventLog> log_;
};

TEST_F(EventLogTest, ShowsEventsOnceTheyAreStored) {
  Open();
  auto watcher = std::make_shared<CountingWatcher>();
  ASSERT_TRUE(log_->AddWatcher(watcher));
  const std::string before = log_->version();
  log_->Append({Event("A"), Event("B")}, Instant());
  // Nobody sees what the store does not have yet.
  EXPECT_EQ(watcher->wakes, 0);
  EXPECT_EQ(log_->version(), before);
  EXPECT_THAT(TypesAfter(0), IsEmpty());
  RunJobs();
  EXPECT_EQ(watcher->wakes, 1);
  EXPECT_THAT(TypesAfter(0), ElementsAre("A", "B"));
  EXPECT_THAT(TypesAfter(1), ElementsAre("B"));
  EXPECT_THAT(Stored(), ElementsAre("A", "B"));
  EXPECT_EQ(*log_->BeginAt(log_->version()), 2u);
  EXPECT_EQ(*log_->BeginAt(before), 0u);
}

TEST_F(EventLogTest, StampsByHowLongAgoItWas) {
  Open();
  const Instant now{std::chrono::hours(5)};
  fabric::FabricEvent event = Event("RerouteCompleted", now - std::chrono::milliseconds(300));
  event.reroute.emplace().begun = now - std::chrono::milliseconds(1000);
  log_->Append({event}, now);
  log_->Append({Event("Now")}, now);
  RunJobs();
  const auto records = *store_.ListEvents({});
  EXPECT_EQ(records[0].time_ms - records[0].begun_ms, 700);
  // The second was stamped with the present, not before the first plus its age.
  EXPECT_GE(records[1].time_ms - records[0].time_ms, 300);
}

TEST_F(EventLogTest, ARestartContinuesTheHistory) {
  Open();
  EmitEvents({"A", "B"});
  const std::string version = log_->version();
  Open();
  EXPECT_EQ(log_->version(), version);
  EmitEvents({"C"});
  EXPECT_THAT(TypesAfter(*log_->BeginAt(version)), ElementsAre("C"));
  EXPECT_THAT(TypesAfter(0), ElementsAre("A", "B", "C"));
  // A power failure may have taken events after B whose numbers somebody has seen.
  EXPECT_EQ(log_->BeginAt(log_->VersionOf(1000)).status().code(), absl::StatusCode::kOk);
  EXPECT_GT(*log_->NumberOf(log_->version()), 1000u);
}

TEST_F(EventLogTest, ALostHistoryIsAnotherEpoch) {
  Open();
  EmitEvents({"A"});
  const std::string version = log_->version();
  store_ = store::MemoryStore();
  Open();
  EXPECT_EQ(log_->BeginAt(version).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(log_->BeginAt("nonsense").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(log_->BeginAt("x.").status().code(), absl::StatusCode::kInvalidArgument);
}

store::EventRecord OfMaster(uint64_t number, const std::string& type) {
  store::EventRecord record;
  record.number = number;
  record.time_ms = WallNowMs();
  record.instance = "master";
  record.event.type = type;
  return record;
}

TEST_F(EventLogTest, AWaitingNodeShowsTheEventsOfTheMasterAndNoneOfItsOwn) {
  store_.set_event_numbering({.follows = true, .floor = 1000});
  EXPECT_TRUE(store_.AppendEvents({OfMaster(5, "OfBefore")}).ok());
  Open();
  auto watcher = std::make_shared<CountingWatcher>();
  ASSERT_TRUE(log_->AddWatcher(watcher));
  EXPECT_THAT(log_->version(), EndsWith(".1000"));
  EmitEvents({"Own"});
  EXPECT_EQ(watcher->wakes, 0);
  EXPECT_TRUE(store_.MergeHistory({OfMaster(1005, "A"), OfMaster(1006, "B")}, {}).ok());
  EXPECT_TRUE(log_->CatchUp());
  RunJobs();
  EXPECT_EQ(watcher->wakes, 1);
  EXPECT_THAT(TypesAfter(1000), ElementsAre("A", "B"));
  EXPECT_THAT(log_->version(), EndsWith(".1006"));
  EXPECT_THAT(Stored(), ElementsAre("OfBefore", "A", "B"));
  // The client was at the master, which is ahead.
  EXPECT_EQ(*log_->BeginAt(log_->VersionOf(1008)), 1008u);
  // What was recorded before the history was shared has other numbers on each node.
  EXPECT_EQ(log_->BeginAt(log_->VersionOf(5)).status().code(), absl::StatusCode::kOutOfRange);
}

TEST_F(EventLogTest, NumbersGoAboveThoseThatAnotherNodeHasUsed) {
  store_.set_event_numbering({.floor = 1000, .begin = 2000});
  Open();
  EmitEvents({"A"});
  EXPECT_THAT(log_->version(), EndsWith(".2000"));
  store_.set_event_numbering({.floor = 1000, .begin = 5000});
  EmitEvents({"B", "C"});
  EXPECT_THAT(log_->version(), EndsWith(".5001"));
  store_.set_event_numbering({.floor = 1000, .begin = 5000});
  EmitEvents({"D"});
  EXPECT_THAT(log_->version(), EndsWith(".5002"));
}

TEST_F(EventLogTest, TheHistoryOfAWaitingNodeIsBoundedToo) {
  store_.set_event_numbering({.follows = true, .floor = 1000});
  Open({.keep = 2});
  for (uint64_t number = 1001; number <= 1005; ++number)
    EXPECT_TRUE(store_.MergeHistory({OfMaster(number, "A")}, {}).ok());
  EXPECT_TRUE(log_->CatchUp());
  RunJobs();
  EXPECT_EQ(Stored().size(), 2u);
}

TEST_F(EventLogTest, AVersionOfTheFormerMasterIsGoodAtTheNextOne) {
  store_.set_event_numbering({.floor = 1000, .begin = 1105});
  EXPECT_TRUE(store_.AppendEvents({OfMaster(1005, "A")}).ok());
  Open();
  // It was shown by the former master, and is not here: the master died before it was shared.
  const std::string lost = log_->VersionOf(1007);
  EXPECT_EQ(*log_->BeginAt(lost), 1007u);
  EmitEvents({"B"});
  EXPECT_THAT(TypesAfter(*log_->BeginAt(lost)), ElementsAre("B"));
  EXPECT_THAT(log_->version(), EndsWith(".1105"));
  EXPECT_EQ(log_->BeginAt(log_->VersionOf(1106)).status().code(), absl::StatusCode::kOutOfRange);
}

TEST_F(EventLogTest, ARingThatHasMovedOnRefusesAndEnds) {
  Open({.ring = 3});
  EmitEvents({"A", "B", "C", "D", "E"});
  EXPECT_THAT(TypesAfter(2), ElementsAre("C", "D", "E"));
  EXPECT_EQ(log_->After(1, 10).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(log_->BeginAt(log_->VersionOf(1)).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(log_->oldest(), EndsWith(".2"));
  EXPECT_TRUE(log_->BeginAt(log_->oldest()).ok());
  EXPECT_EQ(log_->BeginAt(log_->VersionOf(6)).status().code(), absl::StatusCode::kOutOfRange);
}

TEST_F(EventLogTest, TheRingHoldsNoMoreThanTheHistory) {
  Open({.keep = 2});
  EmitEvents({"A", "B", "C", "D"});
  EXPECT_THAT(log_->oldest(), EndsWith(".2"));
}

TEST_F(EventLogTest, TooManyEventsAreDroppedAndCounted) {
  Open({.pending = 2});
  EmitEvents({"A", "B", "C", "D"});
  EXPECT_THAT(Stored(), ElementsAre("A", "B", "EventsLost"));
  EXPECT_EQ(store_.ListEvents({})->back().event.facts[0].second, "2");
  EmitEvents({"E"});
  EXPECT_THAT(Stored(), ElementsAre("A", "B", "EventsLost", "E"));
}

TEST_F(EventLogTest, WaitsForAStoreThatIsBusy) {
  Open();
  full_ = true;
  EmitEvents({"A"});
  full_ = false;
  EXPECT_THAT(Stored(), IsEmpty());
  log_->Beat();
  RunJobs();
  EXPECT_THAT(Stored(), ElementsAre("A"));
}

TEST_F(EventLogTest, AStoreThatFailsHidesNothingFromWatchers) {
  Open();
  store_.FailWrites(Unavailable("disk full"));
  EmitEvents({"A"});
  EXPECT_THAT(TypesAfter(0), ElementsAre("A"));
  store_.FailWrites(absl::OkStatus());
  EmitEvents({"B"});
  EXPECT_THAT(TypesAfter(0), ElementsAre("A", "B"));
  EXPECT_THAT(Stored(), ElementsAre("B"));
}

TEST_F(EventLogTest, HistoryIsBoundedByCountAndAge) {
  Open({.keep = 2});
  for (int i = 0; i < 1001; ++i) EmitEvents({"A"});
  // Trimmed at the first event and then every 1000.
  EXPECT_EQ(Stored().size(), 2u);
  Open({.max_age = std::chrono::hours(1)});
  log_->Append({Event("Old", Instant(std::chrono::hours(1))), Event("New")},
               Instant(std::chrono::hours(3)));
  RunJobs();
  EXPECT_THAT(Stored(), ElementsAre("A", "A", "Old", "New"));
  Open({.max_age = std::chrono::hours(-1)});  // All is older, the last is kept.
  EmitEvents({"B"});
  EXPECT_THAT(Stored(), ElementsAre("B"));
}

TEST_F(EventLogTest, WatchersAreBoundedAndForgotten) {
  Open({.watchers = 2});
  auto a = std::make_shared<CountingWatcher>(), b = std::make_shared<CountingWatcher>();
  ASSERT_TRUE(log_->AddWatcher(a));
  ASSERT_TRUE(log_->AddWatcher(b));
  EXPECT_FALSE(log_->AddWatcher(std::make_shared<CountingWatcher>()));
  log_->Beat();
  RunJobs();
  EXPECT_EQ(a->beats, 1);
  EXPECT_EQ(a->wakes, 0);
  a.reset();
  EXPECT_TRUE(log_->AddWatcher(std::make_shared<CountingWatcher>()));
}

TEST_F(EventLogTest, ListsFromTheStoreOrRefuses) {
  Open();
  EmitEvents({"A", "B"});
  std::vector<std::string> types;
  absl::Status status;
  const auto listed = [&](absl::StatusOr<EventLog::Page> page) {
    status = page.status();
    if (page.ok())
      for (const auto& record : page->records) types.push_back(record.event.type);
  };
  log_->List({.types = {"B"}}, listed);
  RunJobs();
  EXPECT_THAT(types, ElementsAre("B"));
  listings_full_ = true;
  log_->List({}, listed);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
}

TEST_F(EventLogTest, ListingsTakeNoRoomOfWrites) {
  Open();
  for (int i = 0; i < 100; ++i) log_->List({}, [](const auto&) {});
  EXPECT_TRUE(jobs_.empty());
}

// Events that are written while a listing waits are neither in it nor before its version, so that a
// watch from that version receives each event once.
TEST_F(EventLogTest, AListingEndsAtItsVersion) {
  Open();
  EmitEvents({"A"});
  const std::string before = log_->version();
  EventLog::Page page;
  log_->List({}, [&](absl::StatusOr<EventLog::Page> listed) { page = *std::move(listed); });
  EmitEvents({"B"});  // Is written before the listing is run.
  ASSERT_EQ(page.records.size(), 1u);
  EXPECT_EQ(page.records[0].event.type, "A");
  EXPECT_EQ(page.version, before);
  EXPECT_THAT(TypesAfter(*log_->NumberOf(page.version)), ElementsAre("B"));
}

}  // namespace
}  // namespace fabricd::daemon
