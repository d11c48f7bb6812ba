// SPDX-License-Identifier: Apache-2.0
// The history of events of every Store.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/store.h"
#include "tests/unit/store/store_kinds.h"

namespace fabricd::store {
namespace {

using fabric::Severity;
using testing::ElementsAre;
using testing::IsEmpty;

EventRecord Record(uint64_t number, int64_t time_ms, const std::string& type = "LinkDown",
                   Severity severity = Severity::kInfo, Guid node = Guid(0xF000000000000001)) {
  EventRecord record;
  record.number = number;
  record.time_ms = time_ms;
  record.event.type = type;
  record.event.severity = severity;
  record.event.node = node;
  record.event.port = PortNum(7);
  record.event.subject = "leaf1/7 ↔ spine2/1";
  record.event.message = "it's down";
  record.event.peer = Guid(0xF000000000000002);
  record.event.peer_port = PortNum(1);
  return record;
}

class EventsTest : public StoreContract {
 protected:
  std::vector<uint64_t> Numbers(const EventQuery& query = {}) {
    const auto records = store_->ListEvents(query);
    EXPECT_TRUE(records.ok()) << records.status();
    std::vector<uint64_t> numbers;
    for (const EventRecord& record : *records) numbers.push_back(record.number);
    return numbers;
  }
};

TEST_P(EventsTest, ListsUpToANumber) {
  ASSERT_TRUE(store_->AppendEvents({Record(1, 1), Record(2, 2), Record(3, 3)}).ok());
  EXPECT_THAT(Numbers({.after = 1, .up_to = 2}), ElementsAre(2));
  EXPECT_THAT(Numbers({.up_to = 0}), IsEmpty());
}

TEST_P(EventsTest, KeepsAllOfAnEventOverARestart) {
  EventRecord record = Record(41, 1'700'000'000'123, "RerouteCompleted", Severity::kWarning);
  record.begun_ms = 1'700'000'000'100;
  record.event.facts = {{"zeta", "1"}, {"alpha", "two"}, {"zeta", ""}};
  fabric::Reroute cost;
  cost.cause = "trap 128";
  cost.engine = "least change of rail";
  cost.surveyed = Duration(1);
  cost.planned = Duration(2'500'000);
  cost.applied = Duration(9'000'000'000);
  cost.smps_sent = 1400;
  cost.blocks_written = 70;
  cost.switches_written = 5;
  cost.destinations_changed = 32;
  cost.writes_failed = 1;
  cost.waves = 3;
  cost.superseded = true;
  record.event.reroute = cost;
  ASSERT_TRUE(store_->AppendEvents({record, Record(42, 5)}).ok());
  Open();
  const auto records = store_->ListEvents({});
  ASSERT_TRUE(records.ok()) << records.status();
  ASSERT_EQ(records->size(), 2u);
  const EventRecord& read = records->front();
  EXPECT_EQ(read.number, 41u);
  EXPECT_EQ(read.time_ms, 1'700'000'000'123);
  EXPECT_EQ(read.begun_ms, 1'700'000'000'100);
  EXPECT_EQ(read.event.type, "RerouteCompleted");
  EXPECT_EQ(read.event.severity, Severity::kWarning);
  EXPECT_EQ(read.event.node, Guid(0xF000000000000001));
  EXPECT_EQ(read.event.port, PortNum(7));
  EXPECT_EQ(read.event.subject, "leaf1/7 ↔ spine2/1");
  EXPECT_EQ(read.event.message, "it's down");
  EXPECT_EQ(read.event.facts, record.event.facts);
  ASSERT_TRUE(read.event.reroute);
  EXPECT_EQ(read.event.reroute->cause, "trap 128");
  EXPECT_EQ(read.event.reroute->engine, "least change of rail");
  EXPECT_EQ(read.event.reroute->surveyed, Duration(1));
  EXPECT_EQ(read.event.reroute->planned, Duration(2'500'000));
  EXPECT_EQ(read.event.reroute->applied, Duration(9'000'000'000));
  EXPECT_EQ(read.event.reroute->smps_sent, 1400u);
  EXPECT_EQ(read.event.reroute->blocks_written, 70u);
  EXPECT_EQ(read.event.reroute->switches_written, 5u);
  EXPECT_EQ(read.event.reroute->destinations_changed, 32u);
  EXPECT_EQ(read.event.reroute->writes_failed, 1u);
  EXPECT_EQ(read.event.reroute->waves, 3u);
  EXPECT_TRUE(read.event.reroute->superseded);
  EXPECT_FALSE(records->back().event.reroute);
  EXPECT_THAT(records->back().event.facts, IsEmpty());
}

TEST_P(EventsTest, ListsEventsThatMatchTheQuery) {
  ASSERT_TRUE(store_
                  ->AppendEvents({Record(1, 100, "A"), Record(2, 200, "B", Severity::kError),
                                  Record(5, 300, "C", Severity::kWarning, Guid(9)),
                                  Record(9, 400, "A", Severity::kInfo, Guid(9))})
                  .ok());
  EXPECT_THAT(Numbers(), ElementsAre(1, 2, 5, 9));
  EXPECT_THAT(Numbers({.after = 2}), ElementsAre(5, 9));
  EXPECT_THAT(Numbers({.since_ms = 200}), ElementsAre(2, 5, 9));
  EXPECT_THAT(Numbers({.types = {"A", "C"}}), ElementsAre(1, 5, 9));
  EXPECT_THAT(Numbers({.about = {{Guid(9), Guid(4)}, {}}}), ElementsAre(5, 9));
  EXPECT_THAT(Numbers({.min_severity = Severity::kWarning}), ElementsAre(2, 5));
  EXPECT_THAT(Numbers({.limit = 3}), ElementsAre(1, 2, 5));
  EXPECT_THAT(Numbers({.limit = 3, .latest = true}), ElementsAre(2, 5, 9));
  EXPECT_THAT(Numbers({.after = 1, .types = {"A"}, .about = {{Guid(9)}, {}}}), ElementsAre(9));
}

TEST_P(EventsTest, FindsEitherEndOfALink) {
  EventRecord host = Record(1, 100), hold = Record(2, 100), other = Record(3, 100);
  host.event.subject = "leaf1/7 ↔ node12 mlx5_3/1";
  hold.event.subject = "node12/mlx5_3";
  hold.event.peer = {};
  other.event.subject = "leaf1/7 ↔ node120 mlx5_3/1";
  other.event.peer = Guid(77);
  ASSERT_TRUE(store_->AppendEvents({host, hold, other}).ok());
  const auto named = [&](const char* name) { return Numbers({.about = {{}, {name}}}); };
  EXPECT_THAT(Numbers({.about = {{Guid(77)}, {}}}), ElementsAre(3));
  EXPECT_THAT(Numbers({.about = {{Guid(0xF000000000000002)}, {"node120"}}}), ElementsAre(1, 3));
  EXPECT_THAT(named("node12"), ElementsAre(1, 2));
  EXPECT_THAT(named("node12 mlx5_3"), ElementsAre(1));
  EXPECT_THAT(named("leaf1"), ElementsAre(1, 3));
  EXPECT_THAT(named("mlx5_3"), IsEmpty());
  EXPECT_THAT(named("node1"), IsEmpty());
  EXPECT_THAT(named("%"), IsEmpty());
}

TEST_P(EventsTest, NoNumberTwice) {
  ASSERT_TRUE(store_->AppendEvents({Record(1, 100)}).ok());
  EXPECT_EQ(store_->AppendEvents({Record(2, 100), Record(1, 100)}).code(),
            absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(Numbers(), ElementsAre(1));
}

TEST_P(EventsTest, ForgetsByCountAndAgeButNotTheLast) {
  ASSERT_TRUE(store_
                  ->AppendEvents({Record(1, 100), Record(2, 200), Record(3, 300), Record(4, 400),
                                  Record(5, 500)})
                  .ok());
  ASSERT_TRUE(store_->TrimEvents(10, 0).ok());
  EXPECT_THAT(Numbers(), ElementsAre(1, 2, 3, 4, 5));
  ASSERT_TRUE(store_->TrimEvents(4, 0).ok());
  EXPECT_THAT(Numbers(), ElementsAre(2, 3, 4, 5));
  ASSERT_TRUE(store_->TrimEvents(4, 350).ok());
  EXPECT_THAT(Numbers(), ElementsAre(4, 5));
  ASSERT_TRUE(store_->TrimEvents(0, 9999).ok());
  EXPECT_THAT(Numbers(), ElementsAre(5));
}

TEST_P(EventsTest, TrimsNothingOfNothing) {
  ASSERT_TRUE(store_->TrimEvents(1, 9999).ok());
  EXPECT_THAT(Numbers(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Stores, EventsTest, testing::ValuesIn(StoreKinds()), NameOfKind);

}  // namespace
}  // namespace fabricd::store
