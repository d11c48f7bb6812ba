// SPDX-License-Identifier: Apache-2.0
// The Store of several management nodes: LIDs, holds and the rows of parts are in etcd, written by
// the owner of the epoch alone (shared_rows.h). Named values are of this node, and stay in its
// SQLite store; so does a copy of what is in etcd. Events and the audit log are there too, with
// what other nodes have recorded (shared_history.h).
//
// While etcd cannot be reached, or the epoch is not held, writes are refused at once with
// UNAVAILABLE, and reads answer from memory. A thread keeps the lease alive and tries to take the
// epoch again; then writes are possible again without a restart, unless another fabricd has the
// epoch, or has had it meanwhile: what this process knows is old then, and the store has to be
// opened again.
//
// A write that failed because etcd did not answer may have reached it. Before the next write, and
// with a new epoch, its rows are written again as they were before it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <absl/status/statusor.h>

#include "store/etcd/client.h"
#include "store/etcd/epoch.h"
#include "store/etcd/presence.h"
#include "store/store.h"

namespace fabricd::store::etcd {

struct EtcdStoreOptions {
  std::string prefix = "/fabricd/";  // Ends with a slash.
  std::string name;                  // For operators of the other node: "head1 pid 4711".
  std::string endpoint = {};         // Of our API, for clients of the other node; empty: none.
  // How long after the end of this process another one can take the epoch.
  std::chrono::seconds lease{5};
  std::chrono::milliseconds retry{500};       // Of an epoch that is not held.
  std::chrono::milliseconds copy_after{200};  // A write is in the local copy, an event in etcd.
  // Whether the epoch may be taken again. Called on the store's own thread. Empty: always.
  std::function<bool()> may_take = {};
  // Where another fabricd has the epoch: refuse; or open without it, and have Claim() take it: from
  // an owner that does not respond on the fabric; from one that says that its port has no link, and
  // still says so at the claim; or from one that says that it is not master. Where that one says
  // that it is, of a part of the fabric that cannot be seen from here,
  // Claim() is granted without the epoch: routing goes on, and changes are refused.
  enum class Contends : uint8_t {
    kNo,
    kWithUnresponsiveOwner,
    kWithOwnerWithoutLink,
    kWithIdleOwner,
  };
  Contends contends = Contends::kNo;
  // The epoch of the owner that does not respond; 0: it is not known. An owner of another epoch has
  // responded to etcd since: this fabricd waits beside it.
  int64_t unresponsive_epoch = 0;
  // The epoch of another fabricd has ended just now: what it knew is all in etcd.
  bool continues = false;
  // Of a takeover: the time of all calls of the opening together, where there is a copy, and of all
  // calls of a Claim(). Where it is over, both go on as if etcd could not be reached. nullopt: each
  // call has its own timeout.
  std::optional<std::chrono::milliseconds> takeover_limit = {};
  // Where it waits and nobody has the epoch: for so long another node may take it first.
  std::chrono::milliseconds yields{0};
  BootClock clock = BootTime;
  bool has_thread = true;  // False: Turn() is called instead, by a simulator.
};

class SharedStore : public Store {
 public:
  // The number of the epoch that is held; 0: none, or its lease is over by CLOCK_BOOTTIME. Any
  // thread; never waits for etcd.
  virtual int64_t epoch() const = 0;
  // Until the lease of the epoch is over by CLOCK_BOOTTIME. Zero: none is held. Any thread.
  virtual std::chrono::nanoseconds lease_left() const { return {}; }
  // Since etcd last said what it has. Any thread.
  virtual std::chrono::nanoseconds since_answer() const { return {}; }
  // Why what this process knows is old, for good, so that the store has to be opened again: another
  // fabricd has the epoch, or has had it since this one has read; or (waiting_store.h) the epoch
  // may be taken. Empty: it is not. Any thread; as far as etcd has said.
  virtual std::string why_reopen() const = 0;
  // The owner of the epoch where this process only waits for it. Any thread.
  virtual std::optional<EpochOwner> other_owner() const { return std::nullopt; }
  // Without the epoch, until Claim() takes it. Writes are refused. Any thread.
  virtual bool contends() const { return false; }
  // Claim() was granted without the epoch, beside an owner that is master elsewhere. Any thread.
  virtual bool is_beside_master() const { return false; }
  // Where this process waits: the owner has given its epoch back. Otherwise: Claim() took the epoch
  // from an owner that had written since this process read the state. Any thread.
  virtual bool has_owner_kept_epoch() const { return false; }
  // Where this process waits: how often all was read again, because the owner has written. Any
  // thread.
  virtual uint64_t refreshes() const { return 0; }
  // How often events or audit records of other nodes were taken into the local store. Any thread.
  virtual uint64_t histories_taken() const = 0;
  // What this node says to the others. Any thread.
  virtual void SetStatement(NodeStatement statement) = 0;
  // All nodes that share the state, this one too, as last read. Any thread.
  virtual std::vector<Node> nodes() const = 0;
  // Names this node among nodes().
  virtual const std::string& instance() const = 0;
  // Asks etcd whether the epoch is still ours. Any thread. ABORTED: it is not. UNAVAILABLE: etcd
  // does not answer. RESOURCE_EXHAUSTED: it is full, and no fabricd can take the epoch.
  virtual absl::Status Confirm() = 0;
  // What the store's thread does: every `retry`, and `copy_after` a write. May wait for etcd.
  virtual void Turn() = 0;
};

// What the local store says of itself, in a named value (GetMeta): that it is a copy of what is
// below a prefix, up to a write. None, or an empty one: it is no copy.
inline constexpr char kCopyKey[] = "etcd_copy";
std::string CopyMark(const std::string& prefix, const std::string& sequence);
// "it is a copy of what is in etcd below /fabricd/"
std::string CopyNote(const std::string& mark);

// `local`: the store of this node's state directory. Errors:
//   ABORTED              another fabricd holds the epoch (it is named), and this one does not
//                        contend
//   FAILED_PRECONDITION  etcd has a newer schema; `local` has state of its own, which would be
//                        hidden; or etcd is empty although `local` has a copy of its state
//   UNAVAILABLE          etcd cannot be reached, and `local` has no copy of its state
//   DATA_LOSS            what is in etcd keeps no rule of ours
// Where etcd cannot be reached and there is a copy, the store opens with the copy.
absl::StatusOr<std::unique_ptr<SharedStore>> OpenEtcdStore(std::unique_ptr<Client> client,
                                                           std::unique_ptr<Store> local,
                                                           EtcdStoreOptions options);

}  // namespace fabricd::store::etcd
