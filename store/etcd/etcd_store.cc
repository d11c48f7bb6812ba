// SPDX-License-Identifier: Apache-2.0
#include "store/etcd/etcd_store.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "common/breakage.h"
#include "common/mutex.h"
#include "common/number_text.h"
#include "common/status.h"
#include "store/contents.h"
#include "store/etcd/node_part.h"
#include "store/etcd/opening.h"
#include "store/etcd/shared_rows.h"
#include "store/etcd/turn_signal.h"
#include "store/hold_text.h"
#include "store/lid_index.h"

namespace fabricd::store::etcd {
namespace {

using std::chrono::milliseconds;
using Contends = EtcdStoreOptions::Contends;
using Outcome = SharedRows::Outcome;

// Of the calls that give back what this node has, together.
constexpr milliseconds kFarewell{3000};
// Of a claim where etcd did not answer before it.
constexpr milliseconds kClaimUnreached{100};
// Transactions in which a large write is carried over by one turn. A requester waits for these.
constexpr size_t kCarriedPerTurn = 8;

class EtcdStore final : public NodePart {
 public:
  EtcdStore(std::unique_ptr<Client> client, std::unique_ptr<Store> local, EtcdStoreOptions options,
            const std::string& instance)
      : NodePart(std::move(client), std::move(local), instance, options),
        options_(std::move(options)),
        shared_(*client_, {options_.prefix, instance, options_.name, options_.lease,
                           options_.endpoint, options_.clock}),
        epoch_(shared_.epoch()),
        first_claim_{options_.continues} {}
  ~EtcdStore() override {
    turns_.Stop();
    LimitFarewell(kFarewell);
    if (thread_.joinable()) thread_.join();
    if (has_uncopied_.exchange(false)) WriteCopy();
    history_.Send([left = 2]() mutable { return left-- > 0; });
    history_.Leave();
    MutexLock lock(mutex_);
    if (writable().ok()) shared_.Resign();
  }

  absl::Status Open();

  absl::StatusOr<Claimed> Claim() override;
  EventNumbering event_numbering() const override { return history_.numbering(); }
  bool contends() const override { return standing_ == Standing::kContends; }
  bool is_beside_master() const override { return standing_ == Standing::kBesideMaster; }
  bool has_owner_kept_epoch() const override { return has_owner_kept_epoch_; }
  absl::Status Confirm() override { return epoch_.ConfirmAsWriter(); }
  int64_t epoch() const override { return epoch_.revision(); }
  std::chrono::nanoseconds lease_left() const override { return epoch_.left(); }
  std::string why_reopen() const override {
    if (!is_superseded_) return "";
    const absl::Status status = writable();
    return status.ok() ? "another fabricd has the epoch" : Message(status);
  }

  absl::StatusOr<std::vector<LidRecord>> LoadLids() override { return Load(&Contents::lids); }
  absl::Status PutLids(const std::vector<LidRecord>& records) override;
  absl::Status RemoveLids(const std::vector<Guid>& port_guids) override;
  absl::StatusOr<policy::StoredHolds> LoadHolds() override { return Load(&Contents::holds); }
  absl::Status ChangeHolds(const std::vector<policy::Hold>& put,
                           const std::vector<uint64_t>& remove) override;
  absl::StatusOr<StoredRows> LoadRows() override { return Load(&Contents::rows); }
  absl::Status ChangeRows(const RowChanges& changes) override;
  absl::Status writable() const override {
    MutexLock lock(why_mutex_);
    return why_not_;
  }

 private:
  template <typename T>
  absl::StatusOr<T> Load(T Contents::*part) {
    MutexLock lock(mutex_);
    auto contents = Unflatten(rows_, shared_.where());
    if (!contents.ok()) return contents.status();
    return std::move(*contents.*part);
  }
  absl::Status OpenWith(const LocalCopy& copy);
  absl::Status OpenWithCopy(const absl::Status& unreachable, const Contents& copy,
                            const std::string& mark) FABRICD_REQUIRES(mutex_);
  absl::Status Adopt(Found found, const Contents& copy) FABRICD_REQUIRES(mutex_);
  absl::StatusOr<Claimed> ClaimEpoch() FABRICD_REQUIRES(mutex_);
  absl::Status Write(FlatChanges changes) FABRICD_REQUIRES(mutex_);
  absl::Status Reattach() FABRICD_REQUIRES(mutex_);
  absl::Status WriteDoubtful() FABRICD_REQUIRES(mutex_);
  void Keep(const FlatChanges& changes) FABRICD_REQUIRES(mutex_);
  void Say(const absl::Status& why_not);
  void Run();
  void Turn() override;
  void Look(const absl::StatusOr<SharedRows::View>& view, int64_t held);
  void RaiseSchema(const SharedRows::View& view);
  void LookAtMaster(const absl::StatusOr<SharedRows::View>& view);
  void CarryOver();
  void WriteCopy();
  void OnRecorded() override { turns_.Wake(); }

  enum class Standing : uint8_t {
    kOwner,         // Of the epoch, or to become it again by an unforced take.
    kContends,      // Until Claim().
    kOwesClaim,     // Claim() could not reach etcd: the epoch is taken by force once it can be.
    kBesideMaster,  // SharedStore::is_beside_master()
  };

  const EtcdStoreOptions options_;

  Mutex mutex_;  // Of a write, or of taking the epoch: held while etcd answers.
  SharedRows shared_ FABRICD_GUARDED_BY(mutex_);
  Epoch& epoch_;                                               // Of shared_; has a lock of its own.
  FlatRows rows_ FABRICD_GUARDED_BY(mutex_);                   // As acknowledged.
  LidIndex lids_ FABRICD_GUARDED_BY(mutex_);                   // Of rows_.
  std::set<std::string> doubtful_ FABRICD_GUARDED_BY(mutex_);  // Keys that etcd may have otherwise.
  std::string last_write_ FABRICD_GUARDED_BY(mutex_);  // The sequence that rows_ stands for.
  FlatChanges uncopied_ FABRICD_GUARDED_BY(mutex_);
  std::atomic<Standing> standing_ = Standing::kOwner;
  Claimed first_claim_ FABRICD_GUARDED_BY(mutex_);  // What the first Claim() answers.
  std::atomic<bool> is_superseded_ = false, has_owner_kept_epoch_ = false;

  mutable Mutex why_mutex_;
  absl::Status why_not_ FABRICD_GUARDED_BY(why_mutex_);  // Writes are refused; OK: they are not.

  TurnSignal turns_;
  std::atomic<bool> has_uncopied_ = false;
  struct Looks {
    std::chrono::nanoseconds last{};
    // Since when the schema might be raised in this epoch.
    int64_t epoch = 0;
    std::chrono::nanoseconds alike_since{};
  };
  Looks looks_;         // Of Open(), then of Turn().
  std::thread thread_;  // Last: it uses all of the above.
};

// ---- opening

absl::Status EtcdStore::Open() {
  const auto copy = ReadLocalCopy(*local_);
  if (!copy.ok()) return copy.status();
  FABRICD_RETURN_IF_ERROR(history_.Resume());
  FABRICD_RETURN_IF_ERROR(OpenWith(*copy));
  looks_.last = options_.clock();
  if (options_.has_thread) thread_ = std::thread([this] { Run(); });
  return absl::OkStatus();
}

absl::Status EtcdStore::OpenWith(const LocalCopy& copy) {
  const LimitedCalls limited(*client_, copy.mark.empty() ? std::nullopt : options_.takeover_limit);
  {
    MutexLock lock(mutex_);
    auto found = FindState(*client_, shared_, copy, options_);
    if (IsAway(found.status())) {
      FABRICD_RETURN_IF_ERROR(OpenWithCopy(found.status(), copy.contents, copy.mark));
      return history_.TakeNumbers();
    }
    if (!found.ok()) return found.status();
    // Before there is a copy, with which the next start would do without the history.
    FABRICD_RETURN_IF_ERROR(JoinHistory(copy));
    FABRICD_RETURN_IF_ERROR(Adopt(*std::move(found), copy.contents));
  }
  return history_.TakeNumbers();
}

absl::Status EtcdStore::OpenWithCopy(const absl::Status& unreachable, const Contents& copy,
                                     const std::string& mark) {
  const std::string begin = options_.prefix + " ";
  if (!mark.starts_with(begin))
    return Unavailable(
        "{}; and the state directory has no copy of {}, so it is not known which LIDs are in use",
        Message(unreachable), shared_.where());
  epoch_.Forget();  // It may have been taken before etcd ceased to answer.
  is_reached_ = false;
  rows_ = Flatten(copy);
  lids_ = LidIndex(copy.lids);
  last_write_ = mark.substr(begin.size());
  Say(unreachable);
  return absl::OkStatus();
}

absl::Status EtcdStore::Adopt(Found found, const Contents& copy) {
  if (IsBroken(Breakage::kSharedStateNotLoaded))
    std::erase_if(found.rows, [](const auto& row) { return !row.first.starts_with("row/"); });
  const auto contents = Unflatten(found.rows, shared_.where());
  if (!contents.ok()) return contents.status();
  rows_ = std::move(found.rows);
  lids_ = LidIndex(contents->lids);
  last_write_ = std::move(found.sequence);
  if (!found.held.ok()) {
    standing_ = Standing::kContends;
    ShowNodes(std::move(found.nodes));
    Say(Unavailable("{}; this fabricd takes it when it becomes master", Message(found.held)));
  }
  // Jobs come first, also where the disk is full: a later copy has all that this one lacks.
  if (!WriteLocalCopy(*local_, Flatten(copy), rows_, options_.prefix, last_write_).ok()) {
    uncopied_ = Difference(Flatten(copy), rows_);
    has_uncopied_ = true;
  }
  return absl::OkStatus();
}

// ---- mastership

// The epoch first, so that nobody else writes; then the question whether what was read is still
// what is there. If it is not, this store has the epoch, and is opened again.
absl::StatusOr<Store::Claimed> EtcdStore::Claim() {
  MutexLock lock(mutex_);
  absl::StatusOr<Claimed> claimed;
  {
    const LimitedCalls limited(
        *client_, is_reached_ ? options_.takeover_limit : std::optional(kClaimUnreached));
    claimed = ClaimEpoch();
    // Before it writes to devices the others can know its port: whether its SM is foreign to them.
    if (claimed.ok() && epoch_.revision() != 0) presence_.Turn();
  }
  // Not before: Look() would find no answer within the limit, and refuse writes.
  if (contends()) standing_ = Standing::kOwner;
  return claimed;
}

absl::StatusOr<Store::Claimed> EtcdStore::ClaimEpoch() {
  if (!contends()) standing_ = Standing::kOwner;
  Claimed claimed = std::exchange(first_claim_, {});
  if (epoch_.Confirm().ok()) return claimed;
  const absl::Status objection = OwnersObjection(*client_, shared_.where(), instance_, options_);
  if (!objection.ok()) {
    Say(objection);
    is_superseded_ = absl::IsAborted(objection);
    if (is_superseded_) return objection;
    standing_ = Standing::kBesideMaster;
    return Claimed{};
  }
  absl::Status taken = shared_.Attach(std::nullopt, /*by_force=*/true);
  if (IsAway(taken)) {
    // Jobs come first: the fabric has elected this SM.
    standing_ = Standing::kOwesClaim;
    is_reached_ = false;
    Say(taken);
    return claimed;
  }
  if (taken.ok() && !shared_.HasFound(last_write_)) {
    has_owner_kept_epoch_ = shared_.took_from_another();
    is_superseded_ = true;
    taken = MakeStatus(absl::StatusCode::kAborted, "{}: another fabricd has written meanwhile",
                       shared_.where());
  } else if (taken.ok()) {
    taken = WriteDoubtful();
  }
  Say(taken);
  if (!taken.ok()) return taken;
  claimed.continues |= shared_.took_from_another();
  return claimed;
}

// ---- writes

absl::Status EtcdStore::PutLids(const std::vector<LidRecord>& records) {
  FABRICD_RETURN_IF_ERROR(writable());
  MutexLock lock(mutex_);
  FABRICD_RETURN_IF_ERROR(lids_.CheckPut(records));
  FlatChanges changes;
  for (const LidRecord& record : records) changes[LidKey(record.port_guid)] = LidText(record);
  FABRICD_RETURN_IF_ERROR(Write(std::move(changes)));
  lids_.Put(records);
  return absl::OkStatus();
}

absl::Status EtcdStore::RemoveLids(const std::vector<Guid>& port_guids) {
  FABRICD_RETURN_IF_ERROR(writable());
  MutexLock lock(mutex_);
  FlatChanges changes;
  for (const Guid guid : port_guids) changes[LidKey(guid)] = std::nullopt;
  FABRICD_RETURN_IF_ERROR(Write(std::move(changes)));
  lids_.Remove(port_guids);
  return absl::OkStatus();
}

absl::Status EtcdStore::ChangeHolds(const std::vector<policy::Hold>& put,
                                    const std::vector<uint64_t>& remove) {
  for (const policy::Hold& hold : put)
    if (hold.id == 0) return InvalidArgument("a hold without an id");
  FABRICD_RETURN_IF_ERROR(writable());
  MutexLock lock(mutex_);
  const auto known = rows_.find(kHoldHighestKey);
  const uint64_t before =
      known == rows_.end() ? 0 : ParseNumber<uint64_t>(known->second).value_or(0);
  uint64_t highest = before;
  FlatChanges changes;
  for (const policy::Hold& hold : put) {
    changes[HoldKey(hold.id)] = HoldText(hold);
    highest = std::max(highest, hold.id);
  }
  for (const uint64_t id : remove) changes[HoldKey(id)] = std::nullopt;
  if (highest > before) changes[kHoldHighestKey] = std::to_string(highest);
  return Write(std::move(changes));
}

absl::Status EtcdStore::ChangeRows(const RowChanges& changes) {
  FABRICD_RETURN_IF_ERROR(writable());
  MutexLock lock(mutex_);
  FlatChanges flat;
  for (const auto& [key, value] : changes) flat[RowKeyText(key)] = value;
  return Write(std::move(flat));
}

absl::Status EtcdStore::Write(FlatChanges changes) {
  std::erase_if(changes, [this](const auto& change) FABRICD_REQUIRES(mutex_) {
    if (doubtful_.contains(change.first)) return false;  // etcd may have another value.
    const auto known = rows_.find(change.first);
    return known == rows_.end() ? !change.second : change.second == known->second;
  });
  if (IsBroken(Breakage::kWritesRefused)) return Unavailable("refused deliberately");
  if (IsBroken(Breakage::kWriteNotSent) && !changes.empty()) changes.erase(changes.begin());
  SharedRows::Result result = shared_.Write(changes);
  // The lease may have run out while this process was stopped.
  if (result.outcome == Outcome::kEpochOver) {
    const absl::Status attached = Reattach();
    result =
        attached.ok() ? shared_.Write(changes) : SharedRows::Result{Outcome::kEpochOver, attached};
  }
  if (result.outcome == Outcome::kDone) {
    Keep(changes);
    if (IsBroken(Breakage::kMemoryNotUpdated) && !changes.empty()) changes.erase(changes.begin());
    Apply(changes, rows_);
    return absl::OkStatus();
  }
  if (result.outcome == Outcome::kNotReached)
    for (const auto& [key, value] : changes) doubtful_.insert(key);
  is_superseded_ = shared_.is_superseded();
  // One write may be too large; whatever else etcd refuses stays so for all others.
  if (!absl::IsInvalidArgument(result.status)) Say(result.status);
  return result.status;
}

// Writes are possible again if this is OK.
absl::Status EtcdStore::Reattach() {
  if (is_superseded_) return writable();
  if (IsBroken(Breakage::kEpochNeverTaken)) return Unavailable("not taken, deliberately");
  const bool may_take = !options_.may_take || options_.may_take();
  // A full etcd would refuse another lease. The epoch that there is stays.
  const bool keeps = epoch_.revision() != 0 && absl::IsResourceExhausted(writable());
  const absl::Status attached = keeps ? shared_.Touch().status
                                : may_take
                                    ? shared_.Attach(last_write_, standing_ == Standing::kOwesClaim)
                                    : shared_.Inspect(last_write_);
  is_superseded_ = shared_.is_superseded();
  FABRICD_RETURN_IF_ERROR(attached);
  if (!keeps && !may_take)
    return Unavailable("{}: the epoch is not held, and this fabricd is not the master",
                       shared_.where());
  standing_ = Standing::kOwner;
  return WriteDoubtful();
}

absl::Status EtcdStore::WriteDoubtful() {
  FlatChanges again;
  for (const std::string& key : doubtful_) {
    const auto known = rows_.find(key);
    again[key] = known == rows_.end() ? std::nullopt : std::optional(known->second);
  }
  const SharedRows::Result written = shared_.Write(again);
  if (written.outcome != Outcome::kDone) return written.status;
  doubtful_.clear();
  Keep({});
  return absl::OkStatus();
}

// The last write is done. The copy follows later: it is nothing that a requester waits for.
void EtcdStore::Keep(const FlatChanges& changes) {
  last_write_ = shared_.sequence();
  for (const auto& [key, value] : changes) uncopied_[key] = value;
  has_uncopied_ = true;
  turns_.Wake();
}

void EtcdStore::Say(const absl::Status& why_not) {
  MutexLock lock(why_mutex_);
  why_not_ = why_not;
}

// ---- the thread

void EtcdStore::Run() {
  // Writes that follow each other share one copy, and events one page.
  while (turns_.Await(options_.retry, options_.copy_after)) Turn();
}

void EtcdStore::Turn() {
  if (has_uncopied_.exchange(false)) WriteCopy();
  presence_.Turn();
  if (!contends() && options_.clock() - looks_.last >= options_.retry) {
    const int64_t held = epoch_.revision();  // Before what it is compared with is read.
    const auto view = SharedRows::ReadControl(*client_, options_.prefix);
    Look(view, held);
    if (view.ok()) history_.Follow(view->history);
    looks_.last = options_.clock();
  }
  CarryOver();
  SendHistory(options_);
}

void EtcdStore::Look(const absl::StatusOr<SharedRows::View>& view, int64_t held) {
  is_reached_ = !absl::IsUnavailable(view.status());
  if (!is_reached_) return Say(view.status());
  if (view.ok()) ShowNodes(view->nodes);
  if (is_beside_master()) return LookAtMaster(view);
  if (held != 0 && view.ok() && view->epoch() != held && epoch_.revision() == held) epoch_.Forget();
  const absl::Status alive = epoch_.KeepAlive();
  if (alive.ok() && writable().ok()) {
    if (view.ok()) RaiseSchema(*view);
    return;
  }
  if (absl::IsUnavailable(alive)) return Say(alive);
  MutexLock lock(mutex_);
  Say(Reattach());
}

// Not before an older node that starts again, as one that steps down does, is there again.
void EtcdStore::RaiseSchema(const SharedRows::View& view) {
  if (!view.MayRaiseSchema() || view.epoch() != looks_.epoch) {
    looks_.epoch = view.epoch();
    looks_.alike_since = options_.clock();
  } else if (options_.clock() - looks_.alike_since >= 2 * options_.lease) {
    MutexLock lock(mutex_);
    (void)shared_.RaiseSchema();  // What fails is tried again by the next look.
  }
}

// When the master of the other part is no master any more, the state is read again.
void EtcdStore::LookAtMaster(const absl::StatusOr<SharedRows::View>& view) {
  if (view.ok() && view->OwnerIs(FabricRole::kMaster)) return;
  Say(Unavailable("etcd {}: no other fabricd is master with it any more", options_.prefix));
  is_superseded_ = true;
}

void EtcdStore::CarryOver() {
  if (epoch_.revision() == 0 || !writable().ok()) return;
  // Where a write is under way, the next turn does it: this one has to keep the lease alive.
  if (!mutex_.TryLock()) return;
  shared_.CarryOverIfDue(kCarriedPerTurn);
  mutex_.Unlock();
}

void EtcdStore::WriteCopy() {
  FlatChanges changes;
  std::string value;
  {
    MutexLock lock(mutex_);
    changes.swap(uncopied_);
    if (IsBroken(Breakage::kCopyNotWritten)) changes.clear();
    value = CopyMark(options_.prefix, last_write_);
  }
  absl::Status status;
  {
    MutexLock lock(local_mutex_);
    status = WriteChanges(*local_, changes);
    // Behind the rows: a copy that has more than its mark says is only taken for an older one.
    if (status.ok()) status = local_->PutMeta(kCopyKey, value);
  }
  if (status.ok()) return;
  // The disk is full, for example. The next write tries again; later changes win.
  MutexLock lock(mutex_);
  uncopied_.merge(changes);
}

}  // namespace

absl::StatusOr<std::unique_ptr<SharedStore>> OpenEtcdStore(std::unique_ptr<Client> client,
                                                           std::unique_ptr<Store> local,
                                                           EtcdStoreOptions options) {
  const auto instance = InstanceOf(*local);
  if (!instance.ok()) return instance.status();
  auto store = std::make_unique<EtcdStore>(std::move(client), std::move(local), std::move(options),
                                           *instance);
  FABRICD_RETURN_IF_ERROR(store->Open());
  return std::unique_ptr<SharedStore>(std::move(store));
}

}  // namespace fabricd::store::etcd
