// SPDX-License-Identifier: Apache-2.0
#include "store/etcd/waiting_store.h"

#include <atomic>
#include <thread>
#include <utility>

#include "common/status.h"
#include "store/etcd/epoch.h"
#include "store/etcd/node_part.h"
#include "store/etcd/shared_rows.h"
#include "store/etcd/turn_signal.h"

namespace fabricd::store::etcd {
namespace {

using std::chrono::milliseconds;

// Of the call that withdraws what this node has said of itself.
constexpr milliseconds kWithdrawal{300};

class WaitingStore final : public NodePart {
 public:
  WaitingStore(std::unique_ptr<Client> client, std::unique_ptr<Store> local,
               EtcdStoreOptions options, std::string instance)
      : NodePart(std::move(client), std::move(local), std::move(instance), options),
        options_(std::move(options)) {}
  ~WaitingStore() override {
    turns_.Stop();
    // What the thread reads is of no use any more. This may be a takeover: no time is left to wait
    // for an etcd that does not answer.
    client_->Limit(milliseconds::zero());
    if (thread_.joinable()) thread_.join();
    LimitFarewell(kWithdrawal);
  }

  void Turn() override {
    presence_.Turn();
    std::string why = Look();
    MutexLock lock(mutex_);
    why_reopen_ = std::move(why);
  }

  absl::Status Open() {
    const auto copy = ReadLocalCopy(*local_);
    if (!copy.ok()) return copy.status();
    rows_ = Flatten(copy->contents);
    FABRICD_RETURN_IF_ERROR(history_.Resume());
    {
      const LimitedCalls limited(*client_,
                                 copy->mark.empty() ? std::nullopt : options_.takeover_limit);
      FABRICD_RETURN_IF_ERROR(JoinHistory(*copy));
      FABRICD_RETURN_IF_ERROR(Refresh());
    }
    if (options_.has_thread) thread_ = std::thread([this] { Run(); });
    return absl::OkStatus();
  }

  int64_t epoch() const override { return 0; }
  EventNumbering event_numbering() const override {
    EventNumbering numbering = history_.numbering();
    numbering.follows = true;
    return numbering;
  }
  absl::Status Confirm() override {
    return MakeStatus(absl::StatusCode::kAborted, "another fabricd has the epoch");
  }
  std::string why_reopen() const override {
    MutexLock lock(mutex_);
    return why_reopen_;
  }
  bool has_owner_kept_epoch() const override {
    MutexLock lock(mutex_);
    return has_owner_resigned_;
  }
  std::optional<EpochOwner> other_owner() const override {
    MutexLock lock(mutex_);
    return owner_;
  }

  uint64_t refreshes() const override { return refreshes_; }

  // It takes no writes but its own of the copy. Where those fail what it shows is old.
  absl::Status writable() const override {
    MutexLock lock(mutex_);
    if (copied_.ok()) return copied_;
    return Unavailable("the copy of etcd {} cannot be written, and what this node shows is old: {}",
                       options_.prefix, Message(copied_));
  }

  absl::StatusOr<std::vector<LidRecord>> LoadLids() override {
    MutexLock lock(local_mutex_);
    return local_->LoadLids();
  }
  absl::StatusOr<policy::StoredHolds> LoadHolds() override {
    MutexLock lock(local_mutex_);
    return local_->LoadHolds();
  }
  absl::StatusOr<StoredRows> LoadRows() override {
    MutexLock lock(local_mutex_);
    return local_->LoadRows();
  }
  absl::Status PutLids(const std::vector<LidRecord>&) override { return Refusal(); }
  absl::Status RemoveLids(const std::vector<Guid>&) override { return Refusal(); }
  absl::Status ChangeHolds(const std::vector<policy::Hold>&,
                           const std::vector<uint64_t>&) override {
    return Refusal();
  }
  absl::Status ChangeRows(const RowChanges&) override { return Refusal(); }

 private:
  absl::Status Refusal() const {
    MutexLock lock(mutex_);
    return FailedPrecondition("etcd {}: another fabricd uses it: {}", options_.prefix, owner_.name);
  }

  // Reads everything, and writes it to the copy.
  absl::Status Refresh() {
    auto view = SharedRows::ReadView(*client_, options_.prefix);
    if (!view.ok()) return view.status();
    const auto contents = Unflatten(view->rows, "etcd " + options_.prefix);
    if (!contents.ok()) return contents.status();
    {
      MutexLock lock(local_mutex_);
      const absl::Status copied =
          WriteLocalCopy(*local_, rows_, view->rows, options_.prefix, view->sequence);
      if (!copied.ok()) {
        // Some of it may be there.
        if (const auto kept = ReadContents(*local_); kept.ok()) rows_ = Flatten(*kept);
        return SayCopied(copied);
      }
    }
    rows_ = std::move(view->rows);
    sequence_ = view->sequence;
    ++refreshes_;
    answered_ = options_.clock();
    ShowNodes(std::move(view->nodes));
    NoteOwner(*view);
    return SayCopied(absl::OkStatus());
  }

  absl::Status SayCopied(const absl::Status& status) {
    MutexLock lock(mutex_);
    copied_ = status;
    return status;
  }

  void NoteOwner(const SharedRows::View& view) {
    if (!view.owner) return;
    MutexLock lock(mutex_);
    owner_ = *view.owner;
  }

  void Run() {
    while (why_reopen().empty() && turns_.Await(options_.retry, options_.copy_after)) Turn();
  }

  // Why the wait is over; empty: it is not.
  std::string Look() {
    const auto control = SharedRows::ReadControl(*client_, options_.prefix);
    is_reached_ = !absl::IsUnavailable(control.status());
    if (!control.ok()) {
      // Where etcd answers, but with what cannot be used, the next attempt to open it says why.
      if (absl::IsUnavailable(control.status()) && options_.clock() - answered_ < options_.lease)
        return "";
      return Message(control.status());
    }
    answered_ = options_.clock();
    ShowNodes(control->nodes);
    const bool is_same = WriteOf(control->sequence) == WriteOf(sequence_);
    if (!control->owner) {
      // Not if another node has had the epoch since, and has given it back as well.
      MutexLock lock(mutex_);
      if (owner_.epoch == 0 && is_same && answered_ - opened_ < options_.yields) return "";
      has_owner_resigned_ = owner_.epoch != 0 && control->resigned == owner_.epoch;
      return fmt::format("etcd {}: nobody has the epoch", options_.prefix);
    }
    NoteOwner(*control);
    // What could not be read or written now is tried again next time.
    if (!is_same) (void)Refresh();
    history_.Follow(control->history);
    SendHistory(options_);
    return "";
  }

  const EtcdStoreOptions options_;
  // Of Open(), then of the thread.
  FlatRows rows_;  // Of the copy.
  std::string sequence_;
  std::chrono::nanoseconds answered_{};
  const std::chrono::nanoseconds opened_ = options_.clock();
  std::atomic<uint64_t> refreshes_ = 0;

  mutable Mutex mutex_;
  std::string why_reopen_ FABRICD_GUARDED_BY(mutex_);
  EpochOwner owner_ FABRICD_GUARDED_BY(mutex_);  // The last one.
  bool has_owner_resigned_ FABRICD_GUARDED_BY(mutex_) = false;
  absl::Status copied_ FABRICD_GUARDED_BY(mutex_);  // By the last Refresh().
  TurnSignal turns_;
  std::thread thread_;  // Last: it uses all of the above.
};

}  // namespace

absl::StatusOr<std::unique_ptr<SharedStore>> OpenWaitingStore(std::unique_ptr<Client> client,
                                                              std::unique_ptr<Store> local,
                                                              EtcdStoreOptions options) {
  auto instance = InstanceOf(*local);
  if (!instance.ok()) return instance.status();
  auto store = std::make_unique<WaitingStore>(std::move(client), std::move(local),
                                              std::move(options), *std::move(instance));
  FABRICD_RETURN_IF_ERROR(store->Open());
  return std::unique_ptr<SharedStore>(std::move(store));
}

absl::StatusOr<std::unique_ptr<SharedStore>> OpenOrWait(const StoreParts& parts,
                                                        const EtcdStoreOptions& options,
                                                        bool may_wait) {
  using Opened = absl::StatusOr<std::unique_ptr<SharedStore>>;
  const auto open = [&](auto& attempt) -> Opened {
    auto local = parts.local();
    if (!local.ok()) return local.status();
    auto client = parts.client();
    if (!client.ok()) return client.status();
    return attempt(*std::move(client), *std::move(local), options);
  };
  Opened opened = options.yields.count() > 0
                      ? absl::AbortedError("another fabricd may take the epoch")
                      : open(OpenEtcdStore);
  if (!absl::IsAborted(opened.status()) || !may_wait) return opened;
  if (parts.on_wait) parts.on_wait(opened.status());
  return open(OpenWaitingStore);
}

}  // namespace fabricd::store::etcd
