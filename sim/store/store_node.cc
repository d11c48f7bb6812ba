// SPDX-License-Identifier: Apache-2.0
#include "sim/store/store_node.h"

#include <algorithm>
#include <set>
#include <utility>

#include "common/status.h"
#include "sim/faults/draw.h"
#include "store/etcd/waiting_store.h"
#include "store/hold_text.h"

namespace fabricd::sim {

using std::chrono::milliseconds;
using std::chrono::seconds;
using store::FlatChanges;
using store::LidRecord;

namespace {

constexpr uint64_t kPorts = 40;
constexpr uint64_t kRows = 60;
constexpr size_t kLargeWrite = 260;  // Rows: more than fit into two transactions.

}  // namespace

StoreNode::StoreNode(StoreWorld& world, size_t number, uint64_t seed)
    : world_(world), number_(number), rng_(seed) {
  (void)disk.PutMeta("instance", fmt::format("instance{}", number));
}

void StoreNode::Tell(const std::string& what) const {
  if (world_.tell)
    world_.tell(
        fmt::format("{:10.3f} node {} process {}: {}",
                    std::chrono::duration<double>(world_.time.now().time_since_epoch()).count(),
                    number_, process_, what));
}

Duration StoreNode::Draw(Duration limit) { return UpTo(limit, rng_); }

void StoreNode::Start() {
  if (runs()) return;
  thread_ = &world_.time.Start([this] { Live(); });
}

void StoreNode::Kill() {
  if (!runs()) return;
  Tell("is killed");
  thread_->Kill();
}

void StoreNode::Pause(Instant until, bool is_frozen) {
  if (!runs() || is_paused()) return;
  Tell(fmt::format("is {} for {} ms", is_frozen ? "frozen" : "stopped",
                   (until - world_.time.now()) / milliseconds(1)));
  thread_->Pause(until);
  if (is_frozen) behind_ += until - world_.time.now();
}

void StoreNode::Live() {
  VirtualThreads::Thread& thread = *thread_;
  while (!thread.is_killed()) {
    std::unique_ptr<SharedStore> store = Open();
    if (store == nullptr) {
      thread.Sleep(seconds(1));  // systemd starts it again.
      continue;
    }
    store_ = store.get();
    Use(*store);
    store_ = nullptr;
    is_waiting_ = is_master_ = false;
    store.reset();
  }
}

std::unique_ptr<StoreNode::SharedStore> StoreNode::Open() {
  process_ = ++world_.processes;
  store::etcd::EtcdStoreOptions options;
  options.name = fmt::format("node{} process {}", number_, process_);
  options.lease = world_.lease;
  options.may_take = [this] { return is_master_; };
  using Contends = store::etcd::EtcdStoreOptions::Contends;
  options.contends = contends_ ? Contends::kWithUnresponsiveOwner : Contends::kNo;
  options.continues = true;
  options.clock = [this] { return world_.time.now().time_since_epoch() - behind_; };
  options.has_thread = false;
  store::etcd::StoreParts parts;
  parts.client = [this] { return world_.etcd.MakeClient(path, process_); };
  parts.local = [this] { return std::make_unique<LocalDisk>(world_.time, disk); };
  parts.on_wait = [this](const absl::Status&) { is_waiting_ = true; };
  auto opened = store::etcd::OpenOrWait(parts, options);
  contends_ = false;
  is_waiting_ = is_waiting_ && opened.ok();
  if (thread_->is_killed()) return nullptr;
  if (!opened.ok()) {
    Tell(fmt::format("does not start: {}", Message(opened.status())));
    return nullptr;
  }
  SharedStore& store = **opened;
  Tell(is_waiting_             ? "waits"
       : store.writable().ok() ? "is open"
                               : fmt::format("has its copy: {}", Message(store.writable())));
  if (!is_waiting_ && store.writable().ok())
    world_.ledger.Open(process_, store::Flatten(*store::ReadContents(store)));
  return *std::move(opened);
}

bool StoreNode::FollowFabric(SharedStore& store) {
  if (is_waiting_) {
    contends_ = has_no_master;
    return !has_no_master;
  }
  if (!is_elected) {
    is_master_ = false;
    return !store.contends() || has_no_master;
  }
  if (is_master_) return true;
  const auto claimed = store.Claim();
  if (thread_->is_killed()) return false;
  is_master_ = claimed.ok();
  Tell(claimed.ok() ? "is master" : "does not become master: " + Message(claimed.status()));
  return is_master_;
}

void StoreNode::Use(SharedStore& store) {
  const store::etcd::EtcdStoreOptions defaults;
  VirtualThreads& time = world_.time;
  VirtualThreads::Thread& thread = *thread_;
  Instant turn = time.now() + defaults.retry;
  next_event_ = 0;
  bool was_writable = store.writable().ok();
  while (!thread.is_killed()) {
    const Instant write = time.now() + milliseconds(20) + Draw(milliseconds(250));
    while (time.now() < write && !thread.is_killed()) {
      thread.WaitUntil(std::min(turn, write), [] { return false; });
      if (time.now() < turn || thread.is_killed()) continue;
      store.Turn();
      turn = time.now() + defaults.retry;
      if (thread.is_killed() || !FollowFabric(store)) return;
      if (const std::string why = store.why_reopen(); !why.empty()) {
        Tell("starts again: " + why);
        thread.Sleep(Draw(milliseconds(300)));
        return;
      }
    }
    if (thread.is_killed()) return;
    WriteSomething(store);
    RecordSomething(store);
    turn = std::min(turn, time.now() + defaults.copy_after);
    const bool is_writable = store.writable().ok();
    if (is_writable != std::exchange(was_writable, is_writable))
      Tell(is_writable ? "may write" : "may not write: " + Message(store.writable()));
  }
}

void StoreNode::WriteSomething(SharedStore& store) {
  if (world_.is_quiet) return;
  const uint64_t kind = rng_.Below(10);
  if (kind < 4) return PutLids(store);
  if (kind < 5) return RemoveLids(store);
  if (kind < 7) return ChangeHolds(store);
  ChangeRows(store);
}

void StoreNode::RecordSomething(SharedStore& store) {
  const store::EventNumbering numbering = store.event_numbering();
  const bool is_shared = numbering.floor != 0;
  if (world_.is_quiet || thread_->is_killed() || !is_shared) return;
  next_event_ = std::max(next_event_, numbering.begin);
  if (!numbering.follows && rng_.Chance(0.3)) RecordEvents(store);
  if (!rng_.Chance(0.1) || thread_->is_killed()) return;
  store::AuditRecord call;
  call.request = fmt::format("call {}", ++world_.values);
  if (!store.AppendAudit({call}).ok()) return;
  Tell("records " + call.request);
  world_.history.NoteAudit(call);
}

void StoreNode::RecordEvents(SharedStore& store) {
  std::vector<store::EventRecord> records(1 + rng_.Below(3));
  for (store::EventRecord& record : records) {
    record.number = next_event_++;
    record.event.subject = fmt::format("event {}", ++world_.values);
  }
  if (!store.AppendEvents(records).ok()) return;
  for (const store::EventRecord& record : records) world_.history.NoteEvent(record);
}

void StoreNode::Write(SharedStore& store, FlatChanges changes,
                      const std::function<absl::Status()>& write) {
  if (changes.empty()) return;
  const Instant begun = world_.time.now();
  const uint64_t number = world_.ledger.Begin(process_, std::move(changes));
  const absl::Status status = write();
  // The answer was lost.
  if (thread_->is_killed()) return world_.ledger.Fail(number);
  if (status.ok())
    return world_.ledger.Acknowledge(number, store::Flatten(*store::ReadContents(store)));
  if (world_.time.now() == begun) return world_.ledger.Withdraw(number);
  Tell(fmt::format("write {} fails: {}", number, Message(status)));
  world_.ledger.Fail(number);
}

// As the core does it: the lowest LID that is free as far as this node knows.
void StoreNode::PutLids(SharedStore& store) {
  const auto known = store.LoadLids();
  std::set<uint16_t> used;
  std::set<Guid> ports;
  for (const LidRecord& record : *known) {
    used.insert(record.base_lid.value());
    ports.insert(record.port_guid);
  }
  std::vector<LidRecord> records;
  FlatChanges changes;
  uint16_t lid = 1;
  for (uint64_t count = 1 + rng_.Below(4); count > 0; --count) {
    const Guid guid(0x1000 + rng_.Below(kPorts));
    if (!ports.insert(guid).second) continue;
    while (!used.insert(lid).second) ++lid;
    records.push_back({guid, Lid(lid), 0, static_cast<int64_t>(++world_.values)});
    changes[store::LidKey(guid)] = store::LidText(records.back());
  }
  Write(store, std::move(changes), [&] { return store.PutLids(records); });
}

void StoreNode::RemoveLids(SharedStore& store) {
  const auto known = store.LoadLids();
  if (known->empty()) return;
  const std::vector<Guid> ports = {OneOf(*known, rng_).port_guid};
  Write(store, {{store::LidKey(ports[0]), std::nullopt}}, [&] { return store.RemoveLids(ports); });
}

void StoreNode::ChangeHolds(SharedStore& store) {
  const auto known = store.LoadHolds();
  if (known->holds.size() > 20 || (rng_.Chance(0.3) && !known->holds.empty())) {
    const std::vector<uint64_t> ids = {OneOf(known->holds, rng_).id};
    return Write(store, {{store::HoldKey(ids[0]), std::nullopt}},
                 [&] { return store.ChangeHolds({}, ids); });
  }
  policy::Hold hold;
  hold.id = known->highest_id + 1;
  hold.owner = fmt::format("process {}", process_);
  hold.created = static_cast<policy::WallMs>(++world_.values);
  Write(store,
        {{store::HoldKey(hold.id), store::HoldText(hold)},
         {store::kHoldHighestKey, std::to_string(hold.id)}},
        [&] { return store.ChangeHolds({hold}, {}); });
}

void StoreNode::ChangeRows(SharedStore& store) {
  const bool is_large = world_.writes_large && rng_.Chance(0.2);
  // Of rows that may not be carried over yet.
  const bool is_of_many = is_large || (world_.writes_large && rng_.Chance(0.05));
  const size_t count = is_large ? kLargeWrite : 1 + rng_.Below(5);
  const auto known = store.LoadRows();
  RowChanges changes;
  FlatChanges flat;
  for (size_t i = 0; i < count; ++i) {
    const RowKey key{is_of_many ? "many" : "few",
                     std::to_string(is_large ? i : rng_.Below(is_of_many ? kLargeWrite : kRows))};
    std::optional<std::string> value = fmt::format("value {}", ++world_.values);
    if (rng_.Chance(0.2) && known->contains(key)) value.reset();
    changes[key] = value;
    flat[store::RowKeyText(key)] = value;
  }
  Write(store, std::move(flat), [&] { return store.ChangeRows(changes); });
}

}  // namespace fabricd::sim
