// SPDX-License-Identifier: Apache-2.0
// SharedRows: flat rows below one prefix of etcd, written by the owner of the epoch alone, each
// write as a whole or not at all. One thread at a time; calls block as Client's do.
//
//   PREFIX data/KEY           the rows (store/contents.h)
//   PREFIX control/schema     version of all of this (schema.h)
//   PREFIX control/epoch      the owner, by a lease
//   PREFIX control/node/ID    what each node says of itself, by a lease of its own (presence.h)
//   PREFIX control/history    of the shared history (shared_history.h)
//   PREFIX control/resigned   the number of the last epoch that was given back, and not lost
//   PREFIX control/sequence   the last write: "HANDLE NUMBER"; each write changes it, and each take
//                             of the epoch. "HANDLE NUMBER = WRITE": rows were carried over since
//                             that write; this changes no row
//   PREFIX control/batch/N    parts of a large write; they mean nothing before
//   PREFIX control/commit     says that the parts of a batch are all there
//
// A write that fits one transaction of etcd (kMostChanges rows, kMostBytes) is one. A larger one is
// put into the batch's parts first, then committed by one transaction. Until the commit it has
// changed nothing. From then on it is done, and each reader applies it. Its rows are carried over
// kCarryOverAfter later, in the background, by several transactions, the last of which deletes the
// parts. A new owner of the epoch goes on with that. Meanwhile a write of other rows does not wait
// for the batch; a write of its rows, and another large one, carry it over first.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include "store/contents.h"
#include "store/etcd/client.h"
#include "store/etcd/epoch.h"
#include "store/etcd/presence.h"

namespace fabricd::store::etcd {

// Etcd's default bounds are 128 changes and 1.5 MiB.
inline constexpr size_t kMostChanges = 96;
inline constexpr size_t kMostBytes = size_t{1} << 20;
// A row that has more cannot be written: INVALID_ARGUMENT.
inline constexpr size_t kMostRowBytes = size_t{256} << 10;
// A first sweep writes the LIDs of all ports, and is over before they are carried over.
inline constexpr std::chrono::seconds kCarryOverAfter{10};
// The lease has to be kept alive, and a requester may be waiting.
inline constexpr std::chrono::milliseconds kCarryOverTime{500};

// The last write that a sequence names: where it is the same, the rows are.
std::string_view WriteOf(std::string_view sequence);

struct SharedRowsOptions {
  std::string prefix = "/fabricd/";  // Ends with a slash.
  std::string instance;              // Names one state directory, over restarts.
  std::string name;                  // For people: "head1 pid 4711".
  std::chrono::seconds lease{5};
  std::string endpoint = {};  // Of the API; empty: none.
  BootClock clock = BootTime;
};

class SharedRows {
 public:
  // `client` must outlive this.
  SharedRows(Client& client, SharedRowsOptions options);

  // Takes the epoch.
  //   ABORTED              another instance holds the epoch (it is named)
  //   FAILED_PRECONDITION  the schema is newer; or `expected` is given and the last write was
  //                        neither that one nor one of this object: somebody else has written, or
  //                        etcd has lost its data
  //   DATA_LOSS            a control key has no value of ours
  // What this instance had before (its process has died) is taken over at once; by force, what
  // another instance has. Its writes are refused from then on.
  absl::Status Attach(const std::optional<std::string>& expected, bool by_force = false);
  // The errors of Attach(), and the same is noted, but nothing is changed.
  absl::Status Inspect(const std::optional<std::string>& expected);
  // Another instance holds the epoch, or has had it since this object has read. For good.
  bool is_superseded() const { return is_superseded_; }
  // The last Attach() has taken it from another instance.
  bool took_from_another() const { return taken_.from_another; }
  // Whether there was anything below the prefix when the epoch was taken.
  bool was_empty() const { return taken_.was_empty; }

  absl::StatusOr<FlatRows> Load();

  enum class Outcome : uint8_t {
    kDone,
    kRefused,     // Nothing was changed, and nothing will be.
    kEpochOver,   // The same, because the lease is over. Attach() again.
    kTakenOver,   // The same, because another instance has had the epoch. For good.
    kNotReached,  // It may be done, now or later. Attach() again, then write the rows again.
  };
  struct Result {
    Outcome outcome = Outcome::kDone;
    absl::Status status;
  };
  Result Write(const FlatChanges& changes);
  // Carries over the rows of a large write that was committed.
  Result CarryOver();
  // The same where it is time, and some of it: at most `transactions`, and none after
  // kCarryOverTime.
  void CarryOverIfDue(size_t transactions);
  // A write of nothing: whether etcd takes writes.
  Result Touch() { return CommitFenced({}, Counts::kAsWrite); }

  // Makes the layout the newest that this program knows, for good.
  absl::Status RaiseSchema();

  // Gives the epoch back, and says so, as far as etcd is reached: nothing was written to devices
  // since the last write here, and nothing will be.
  void Resign();
  static std::string NodeKey(const std::string& prefix, const std::string& instance) {
    return prefix + "control/node/" + instance;
  }

  // From another thread too.
  Epoch& epoch() { return epoch_; }
  // Of the last write that is done; taking the epoch is one.
  const std::string& sequence() const { return sequence_; }
  // Whether the last Attach() has found `sequence` as the last write, or nothing after it but
  // writes of this object.
  bool HasFound(const std::string& sequence) const { return IsOnlyOurs(sequence, found_); }
  uint64_t cluster() const { return cluster_; }
  // "etcd /fabricd/"
  std::string where() const { return "etcd " + options_.prefix; }

  // Reads without the epoch, for exports. UNAVAILABLE, DATA_LOSS, FAILED_PRECONDITION (newer
  // schema), NOT_FOUND (nothing is there).
  static absl::StatusOr<FlatRows> Read(Client& client, const std::string& prefix);
  struct View {
    FlatRows rows;
    std::string sequence;
    std::optional<EpochOwner> owner;
    int64_t resigned = 0;  // The number of the last one that was given back.
    std::string owner_instance;
    std::vector<Node> nodes;  // By instance.
    KeyValue history;         // control/history (shared_history.h).
    int schema = 0;

    // The number of the owner's; 0: nobody has it.
    int64_t epoch() const { return owner ? owner->epoch : 0; }
    bool OwnerIs(FabricRole role) const { return owner && owner->role == role; }
    // All nodes know a newer layout, this one and another at least. One that is alone may have to
    // make room for an older one that is just not there.
    bool MayRaiseSchema() const;
  };
  // All of one revision. Errors as Read().
  static absl::StatusOr<View> ReadView(Client& client, const std::string& prefix);
  // The same without rows.
  static absl::StatusOr<View> ReadControl(Client& client, const std::string& prefix);

 private:
  struct Control;
  static absl::StatusOr<View> ReadUpTo(Client& client, const std::string& prefix,
                                       const std::string& last);
  static absl::StatusOr<Control> ControlOf(const std::vector<KeyValue>& kvs,
                                           const std::string& prefix);
  absl::StatusOr<Control> Look(const std::optional<std::string>& expected, bool by_force);
  std::string Key(const char* name) const { return options_.prefix + "control/" + name; }
  std::string PartKey(size_t number) const;
  std::string NextSequence();
  // No other object has written between `expected` and `last`, as far as was seen.
  bool IsOnlyOurs(const std::string& expected, const std::string& last) const;
  absl::Status TakeEpoch(const Control& control);
  absl::Status InheritBatch(const Control& control);
  // Deletes the parts of a batch from this number on.
  Change PartsDeletion(size_t first) const;
  void Owe(FlatChanges batch, int64_t commit);
  Result CarryOverSome();
  Result WriteLarge(const FlatChanges& changes);
  // How a transaction changes the sequence. One that does not may be repeated.
  enum class Counts : uint8_t { kNot, kAsWrite, kAsCarriedOver };
  Result CommitFenced(std::vector<Change> changes, Counts counts);
  // `ours`: the sequence that it would have put; empty: none.
  Result ResultOfRefusal(const TransactionResult& refused, const std::string& ours);

  Client& client_;
  const SharedRowsOptions options_;
  const std::string handle_;  // Of this object.
  Epoch epoch_;
  uint64_t writes_ = 0;
  std::string sequence_;
  int64_t sequence_revision_ = 0;
  std::string found_;                   // The last write, when the epoch was taken.
  std::string foreign_;                 // The last write of others that was seen,
  uint64_t writes_before_foreign_ = 0;  // and how many of this object were before it.
  uint64_t cluster_ = 0;
  struct Taken {
    bool was_empty = false;
    bool from_another = false;  // Instance.
  };
  Taken taken_;  // By the last Attach().
  bool is_superseded_ = false;
  struct Owed {
    FlatChanges batch;
    int64_t commit = 0;  // The revision of its commit.
    std::string next;    // The first key that is not carried over.
    std::chrono::nanoseconds due{};
  };
  std::optional<Owed> owed_;    // A batch that is committed.
  bool is_batch_void_ = false;  // A batch of ours may be committed, and was reported as failed.
};

}  // namespace fabricd::store::etcd
