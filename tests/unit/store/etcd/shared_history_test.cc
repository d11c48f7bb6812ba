// SPDX-License-Identifier: Apache-2.0
// The history that nodes share: what one has recorded is listed at all of them, once and in order,
// whatever fails between them and etcd.
#include "store/etcd/shared_history.h"

#include <algorithm>

#include "store/memory_store.h"
#include "tests/unit/store/etcd/etcd_fixture.h"
#include "tests/unit/store/etcd/forwarding_client.h"

namespace fabricd::store::etcd {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

EventRecord Event(uint64_t number, const std::string& type = "LinkDown") {
  EventRecord record;
  record.number = number;
  record.time_ms = 1'000'000 + static_cast<int64_t>(number);
  record.event.type = type;
  record.event.subject = "leaf1/3 ↔ spine2/7";
  record.event.node = Guid(0x10);
  record.event.port = PortNum(3);
  record.event.facts = {{"cause", "trap 128"}};
  return record;
}

AuditRecord Audit(const std::string& caller) {
  AuditRecord record;
  record.time_ms = 5;
  record.caller = caller;
  record.method = "fabric.v1.RemediationService/CreateHold";
  record.code = "OK";
  record.node = "head1";
  return record;
}

// A client whose next transaction is carried out, or not, and not answered.
class Unanswered final : public ForwardingClient {
 public:
  using ForwardingClient::ForwardingClient;
  enum class Next : uint8_t { kAnswered, kLost, kDoneButLost };

  absl::StatusOr<TransactionResult> Commit(const Transaction& transaction) override {
    const Next now = std::exchange(next, Next::kAnswered);
    if (now == Next::kLost) return Unavailable("no answer");
    auto result = real_.Commit(transaction);
    if (now == Next::kDoneButLost) return Unavailable("no answer");
    return result;
  }

  Next next = Next::kAnswered;
};

// One management node.
struct Node {
  Node(Client& etcd, std::string name, uint64_t most_pages = SharedHistory::kMostPages)
      : client(etcd), history(client, local, mutex, kPrefix, std::move(name), most_pages) {}

  // As a start of the process does.
  void Start() {
    EXPECT_TRUE(history.Resume().ok());
    const absl::Status joined = history.Join();
    EXPECT_TRUE(joined.ok()) << joined;
  }
  void Record(const std::vector<EventRecord>& events, const std::vector<AuditRecord>& audit = {}) {
    EXPECT_TRUE(local.AppendEvents(events).ok());
    EXPECT_TRUE(local.AppendAudit(audit).ok());
    history.OnRecorded();
    history.Send([] { return true; });
  }
  // As the store's thread does now and then.
  void Turn() {
    const auto head = client.Range({std::string(kPrefix) + "control/history"});
    ASSERT_TRUE(head.ok());
    history.Follow(head->kvs.empty() ? KeyValue() : head->kvs[0]);
    history.Send([] { return true; });
  }
  std::vector<uint64_t> Numbers() {
    std::vector<uint64_t> numbers;
    const auto events = local.ListEvents({});
    for (const EventRecord& record : *events) numbers.push_back(record.number);
    return numbers;
  }
  std::vector<std::string> Callers() {
    std::vector<std::string> callers;
    const auto audit = local.ListAudit({});
    for (const AuditRecord& record : *audit) callers.push_back(record.caller);
    return callers;
  }

  Unanswered client;
  MemoryStore local;
  Mutex mutex;
  SharedHistory history;
};

class SharedHistoryTest : public EtcdTest {
 protected:
  static void MustTakeNumbers(Node& node) { EXPECT_TRUE(node.history.TakeNumbers().ok()); }
  std::string Head() {
    const auto head = client_->Range({std::string(kPrefix) + "control/history"});
    return head.ok() && !head->kvs.empty() ? head->kvs[0].value : std::string();
  }
};

TEST_F(SharedHistoryTest, RecordsBeyondTheTimeOfATurnAreSentByALaterOne) {
  Node a(*client_, "a"), b(*client_, "b");
  a.Start();
  b.Start();
  EXPECT_TRUE(a.local.AppendEvents({Event(7, "LinkDown")}).ok());
  a.history.OnRecorded();
  a.history.Send([] { return false; });
  b.Turn();
  EXPECT_THAT(b.Numbers(), ElementsAre());
  a.Turn();
  b.Turn();
  EXPECT_THAT(b.Numbers(), ElementsAre(7));
}

TEST_F(SharedHistoryTest, RecordsOfOneNodeAreAtTheOther) {
  Node a(*client_, "a"), b(*client_, "b");
  a.Start();
  b.Start();
  EventRecord reroute = Event(7, "RerouteCompleted");
  reroute.begun_ms = 99;
  fabric::Reroute& cost = reroute.event.reroute.emplace();
  cost.cause = "trap 128";
  cost.applied = std::chrono::milliseconds(17);
  cost.smps_sent = 70;
  cost.superseded = true;
  a.Record({reroute}, {Audit("user:alice")});
  b.Record({}, {Audit("user:bob")});
  b.Turn();
  a.Turn();
  ASSERT_THAT(b.Numbers(), ElementsAre(7));
  const EventRecord there = b.local.ListEvents({})->front();
  EXPECT_EQ(there.instance, "a");
  EXPECT_EQ(there.time_ms, reroute.time_ms);
  EXPECT_EQ(there.begun_ms, 99);
  EXPECT_EQ(there.event.subject, reroute.event.subject);
  EXPECT_EQ(there.event.node, reroute.event.node);
  EXPECT_EQ(there.event.port, reroute.event.port);
  EXPECT_EQ(there.event.facts, reroute.event.facts);
  ASSERT_TRUE(there.event.reroute);
  EXPECT_EQ(there.event.reroute->cause, "trap 128");
  EXPECT_EQ(there.event.reroute->applied, std::chrono::milliseconds(17));
  EXPECT_EQ(there.event.reroute->smps_sent, 70u);
  EXPECT_TRUE(there.event.reroute->superseded);
  EXPECT_THAT(b.Callers(), testing::UnorderedElementsAre("user:alice", "user:bob"));
  EXPECT_THAT(a.Callers(), testing::UnorderedElementsAre("user:alice", "user:bob"));
  EXPECT_EQ(b.history.taken(), 1u);
}

TEST_F(SharedHistoryTest, ANodeThatWasAwayTakesTheMissedRecordsOnce) {
  Node a(*client_, "a");
  a.Start();
  a.Record({Event(1)});
  Node b(*client_, "b");
  b.Start();
  EXPECT_THAT(b.Numbers(), ElementsAre(1));
  for (uint64_t number = 2; number <= 200; ++number) a.Record({Event(number)});
  b.Turn();
  b.Turn();
  EXPECT_EQ(b.Numbers().size(), 200u);
  EXPECT_EQ(a.Numbers().size(), 200u);
  // As after a crash: how far it had come was not written down.
  b.Start();
  EXPECT_EQ(b.Numbers().size(), 200u);
}

TEST_F(SharedHistoryTest, OwnRecordsThatWereLostWithTheMachineComeBack) {
  Node a(*client_, "a");
  a.Start();
  a.Record({Event(1)}, {Audit("user:alice")});
  a.Record({Event(2), Event(3)}, {Audit("user:bob")});
  Node b(*client_, "b");
  b.Start();
  b.Record({}, {Audit("user:carol")});
  // The disk has the first ones, and not how far it had come.
  Node again(*client_, "a");
  ASSERT_TRUE(again.local.AppendEvents({Event(1)}).ok());
  ASSERT_TRUE(again.local.AppendAudit({Audit("user:alice")}).ok());
  ASSERT_TRUE(again.local.PutMeta("history", **a.local.GetMeta("history")).ok());
  // At first etcd does not answer, and what is recorded meanwhile is no reason to forget the rest.
  ASSERT_TRUE(again.history.Resume().ok());
  ASSERT_TRUE(again.local.AppendEvents({Event(9)}).ok());
  again.Turn();
  EXPECT_THAT(again.Numbers(), ElementsAre(1, 2, 3, 9));
  for (int start = 0; start < 2; ++start) {
    again.Start();
    again.Record({});
    EXPECT_THAT(again.Numbers(), ElementsAre(1, 2, 3, 9));
    EXPECT_THAT(again.Callers(), ElementsAre("user:alice", "user:bob", "user:carol"));
  }
  b.Turn();
  EXPECT_THAT(b.Numbers(), ElementsAre(1, 2, 3, 9));
  EXPECT_THAT(b.Callers(), testing::UnorderedElementsAre("user:alice", "user:bob", "user:carol"));
}

TEST_F(SharedHistoryTest, RecordsWithoutEtcdAreAppendedLater) {
  Node a(*client_, "a"), b(*client_, "b");
  a.Start();
  b.Start();
  a.client.next = Unanswered::Next::kLost;
  a.Record({Event(1)}, {Audit("user:alice")});
  a.Record({Event(2)});  // Not tried before etcd answers again.
  b.Turn();
  EXPECT_THAT(b.Numbers(), IsEmpty());
  a.Turn();
  b.Turn();
  EXPECT_THAT(b.Numbers(), ElementsAre(1, 2));
  EXPECT_THAT(b.Callers(), ElementsAre("user:alice"));
}

TEST_F(SharedHistoryTest, AnAppendWhoseAnswerIsLostIsNotRepeated) {
  Node a(*client_, "a"), b(*client_, "b");
  a.Start();
  b.Start();
  a.client.next = Unanswered::Next::kDoneButLost;
  a.Record({Event(1)}, {Audit("user:alice")});
  a.Turn();
  const std::string pages = std::string(kPrefix) + "history/";
  EXPECT_EQ(client_->Range({pages, EndOfPrefix(pages)})->kvs.size(), 1u);
  b.Turn();
  EXPECT_THAT(b.Numbers(), ElementsAre(1));
  EXPECT_THAT(b.Callers(), ElementsAre("user:alice"));
}

TEST_F(SharedHistoryTest, NodesThatAppendAtOnceLoseNothing) {
  Node a(*client_, "a"), b(*client_, "b");
  a.Start();
  b.Start();
  for (uint64_t i = 1; i <= 20; ++i) {
    a.Record({Event(i)}, {Audit(fmt::format("a{}", i))});
    b.Record({}, {Audit(fmt::format("b{}", i))});
  }
  for (int i = 0; i < 3; ++i) {
    a.Turn();
    b.Turn();
  }
  EXPECT_EQ(b.Numbers().size(), 20u);
  EXPECT_EQ(a.Callers().size(), 40u);
  EXPECT_EQ(b.Callers().size(), 40u);
}

TEST_F(SharedHistoryTest, HistoriesFromBeforeStayApart) {
  Node a(*client_, "a"), b(*client_, "b");
  EXPECT_TRUE(a.local.AppendEvents({Event(1, "LinkUp")}).ok());
  EXPECT_TRUE(b.local.AppendEvents({Event(1, "NodeVanished")}).ok());
  EXPECT_TRUE(b.local.AppendAudit({Audit("user:bob")}).ok());
  a.Start();
  EXPECT_EQ(a.history.numbering().floor, SharedHistory::kFloor);
  b.Start();
  a.Turn();
  b.Turn();
  EXPECT_EQ(a.local.ListEvents({})->front().event.type, "LinkUp");
  EXPECT_EQ(b.local.ListEvents({})->front().event.type, "NodeVanished");
  EXPECT_THAT(a.Callers(), IsEmpty());
  const auto log = *a.local.GetMeta("events.epoch");
  EXPECT_TRUE(log && !log->empty());
  EXPECT_EQ(*b.local.GetMeta("events.epoch"), log);
}

TEST_F(SharedHistoryTest, EachStartHasNumbersAboveThoseOfAllStartsBefore) {
  Node a(*client_, "a"), b(*client_, "b");
  a.Start();
  MustTakeNumbers(a);
  const uint64_t first = a.history.numbering().begin;
  EXPECT_GT(first, SharedHistory::kFloor);
  // What a shows and cannot append before it dies is below what b shows.
  b.Start();
  MustTakeNumbers(b);
  EXPECT_GE(b.history.numbering().begin, first + SharedHistory::kBlock);
}

// As a start does that etcd does not answer.
uint64_t NumbersWithoutEtcd(Node& node) {
  EXPECT_TRUE(node.history.Resume().ok());
  node.client.next = Unanswered::Next::kLost;
  EXPECT_TRUE(node.history.TakeNumbers().ok());
  return node.history.numbering().begin;
}

TEST_F(SharedHistoryTest, NodesWithoutEtcdUseDifferentNumbersBelowThoseOfTheNextStart) {
  Node a(*client_, "a"), b(*client_, "b");
  EXPECT_EQ(a.history.numbering().floor, 0u);  // It has never taken part.
  a.Start();
  b.Start();
  const uint64_t of_a = NumbersWithoutEtcd(a), of_b = NumbersWithoutEtcd(b);
  EXPECT_NE(of_a, of_b);
  // Also where a power failure takes all events of that start.
  EXPECT_GT(NumbersWithoutEtcd(a), of_a);
  Node c(*client_, "c");
  c.Start();
  MustTakeNumbers(c);
  EXPECT_GT(c.history.numbering().begin, std::max(of_a, of_b));
}

TEST_F(SharedHistoryTest, AMasterThatSeesHigherNumbersGoesAboveThem) {
  Node a(*client_, "a"), b(*client_, "b");
  a.Start();
  b.Start();
  MustTakeNumbers(b);
  const uint64_t before = b.history.numbering().begin;
  // Without etcd a has started again and again, and recorded.
  uint64_t of_a = 0;
  for (int start = 0; start < 4; ++start) {
    of_a = NumbersWithoutEtcd(a);
    EXPECT_TRUE(a.local.AppendEvents({Event(of_a)}).ok());
  }
  ASSERT_GT(of_a, before);
  a.history.OnRecorded();
  a.Turn();
  b.Turn();
  EXPECT_GT(b.history.numbering().begin, of_a);
}

TEST_F(SharedHistoryTest, AMasterWithoutEtcdTakesABlockOnceItAnswers) {
  Node a(*client_, "a");
  a.Start();
  const uint64_t alone = NumbersWithoutEtcd(a);
  a.Turn();
  EXPECT_EQ(a.history.numbering().begin % SharedHistory::kBlock, 0u);
  EXPECT_GT(a.history.numbering().begin, alone);
}

TEST_F(SharedHistoryTest, ANodeThatDoesNotTakePartWritesNothing) {
  Node a(*client_, "a");
  EXPECT_TRUE(a.local.AppendEvents({Event(1)}).ok());
  a.history.OnRecorded();
  a.history.Send([] { return true; });  // The destructor of a store that did not open.
  EXPECT_TRUE(a.history.Resume().ok());
  a.Turn();
  a.history.Leave();
  EXPECT_EQ(Head(), "");
}

TEST_F(SharedHistoryTest, ANodeThatFindsNoEtcdKeepsItsOwnHistory) {
  Node a(*client_, "a");
  a.client.next = Unanswered::Next::kLost;
  EXPECT_TRUE(a.history.Resume().ok());
  EXPECT_EQ(a.history.Join().code(), absl::StatusCode::kUnavailable);
  MustTakeNumbers(a);
  EXPECT_EQ(a.history.numbering().floor, 0u);
  a.Record({Event(1)});
  a.Turn();
  EXPECT_EQ(Head(), "");
}

TEST_F(SharedHistoryTest, AnUnusableHeadIsReplaced) {
  for (const char* text : {"", "nonsense", "  1 2 0", "log inc 9 3 0"}) {
    SCOPED_TRACE(text);
    ASSERT_TRUE(client_->Put(std::string(kPrefix) + "control/history", text, 0).ok());
    Node a(*client_, "a"), b(*client_, "b");
    a.Start();
    b.Start();
    a.Record({Event(1)});
    b.Turn();
    EXPECT_THAT(b.Numbers(), ElementsAre(1));
  }
}

TEST_F(SharedHistoryTest, AnEtcdThatIsRestoredGetsAgainTheRecordsThatItLacks) {
  Node a(*client_, "a"), b(*client_, "b");
  a.Start();
  b.Start();
  MustTakeNumbers(a);
  uint64_t number = a.history.numbering().begin;
  a.Record({Event(++number)}, {Audit("user:alice")});
  b.Turn();
  const std::string old = Head();
  for (int i = 0; i < 3; ++i) a.Record({Event(++number)}, {Audit(fmt::format("call {}", i))});
  b.Turn();
  // The state of before.
  const std::string pages = std::string(kPrefix) + "history/";
  const auto kvs = client_->Range({pages, EndOfPrefix(pages)})->kvs;
  for (size_t i = 1; i < kvs.size(); ++i) ASSERT_TRUE(client_->DeleteRange(kvs[i].key, "").ok());
  ASSERT_TRUE(client_->Put(std::string(kPrefix) + "control/history", old, 0).ok());
  for (int i = 0; i < 3; ++i) {
    a.Turn();
    b.Turn();
  }
  Node c(*client_, "c");
  c.Start();
  EXPECT_EQ(c.Numbers(), a.Numbers());
  EXPECT_EQ(b.Numbers(), a.Numbers());
  EXPECT_EQ(c.Callers().size(), 4u);
  EXPECT_EQ(b.Callers().size(), 4u);
}

TEST_F(SharedHistoryTest, ManyPagesAreTakenInSeveralTurns) {
  Node a(*client_, "a"), b(*client_, "b");
  a.Start();
  b.Start();
  for (uint64_t number = 1; number <= 300; ++number) a.Record({Event(number)});
  b.Turn();
  EXPECT_EQ(b.Numbers().size(), 256u);
  b.Turn();
  EXPECT_EQ(b.Numbers().size(), 300u);
}

TEST_F(SharedHistoryTest, AnAnswerThatIsLostCostsABlockOfNumbersAndNoMore) {
  Node a(*client_, "a"), b(*client_, "b");
  a.Start();
  a.client.next = Unanswered::Next::kDoneButLost;
  MustTakeNumbers(a);
  b.Start();
  MustTakeNumbers(b);
  EXPECT_NE(a.history.numbering().begin, b.history.numbering().begin);
  a.Turn();
  a.Record({Event(a.history.numbering().begin)});
  a.Turn();
  b.Turn();
  EXPECT_EQ(b.Numbers(), a.Numbers());
}

TEST_F(SharedHistoryTest, AGapBeyondTheBoundIsAnEvent) {
  Node a(*client_, "a", 4), b(*client_, "b");
  a.Start();
  b.Start();
  a.Record({Event(1)});
  b.Turn();
  for (uint64_t number = 10; number <= 20; ++number) a.Record({Event(number)});
  const std::string pages = std::string(kPrefix) + "history/";
  EXPECT_EQ(client_->Range({pages, EndOfPrefix(pages)})->kvs.size(), 4u);
  b.Turn();
  EXPECT_THAT(b.Numbers(), ElementsAre(1, 16, 17, 18, 19, 20));
  EXPECT_EQ((*b.local.ListEvents({}))[1].event.type, "EventsLost");
}

TEST_F(SharedHistoryTest, ANewEtcdIsNotTakenForTheOldOne) {
  Node a(*client_, "a"), b(*client_, "b");
  a.Start();
  b.Start();
  for (uint64_t number = 1; number <= 5; ++number) a.Record({Event(number)});
  b.Turn();
  const auto log = *a.local.GetMeta("events.epoch");
  ASSERT_TRUE(client_->DeleteRange(kPrefix, EndOfPrefix(kPrefix)).ok());
  a.Turn();  // Nothing is there.
  a.history.Leave();
  a.Start();
  EXPECT_EQ(*a.local.GetMeta("events.epoch"), log);  // Versions stay good.
  a.Record({Event(6)});
  b.Turn();  // Of another one: not before it is opened again.
  b.history.Leave();
  b.Start();
  EXPECT_THAT(b.Numbers(), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST_F(SharedHistoryTest, PagesAreBoundedInBytes) {
  HistoryPage page{"a"};
  for (uint64_t number = 1; number <= 100; ++number) page.events.push_back(Event(number));
  const auto one = EncodeHistory(page, 1 << 20);
  ASSERT_EQ(one.size(), 1u);
  const auto pages = EncodeHistory(page, 1000);
  EXPECT_GT(pages.size(), 5u);
  size_t records = 0;
  for (const std::string& bytes : pages) {
    EXPECT_LT(bytes.size(), 1200u);
    const auto decoded = DecodeHistory(bytes);
    ASSERT_TRUE(decoded);
    records += decoded->events.size();
  }
  EXPECT_EQ(records, 100u);
  EXPECT_FALSE(DecodeHistory("nonsense"));
  EXPECT_FALSE(DecodeHistory(""));
}

}  // namespace
}  // namespace fabricd::store::etcd
