// SPDX-License-Identifier: Apache-2.0
// Epoch: the right of one fabricd to write, as a key of etcd that lives by a lease. The revision
// that put it is the number of the epoch: it grows with each owner, and every write compares it, so
// that etcd refuses what an earlier owner has sent, however late it arrives.
//
// The epoch can be taken from an owner that is alive: by a fabricd that has become master because
// this one does not respond on the fabric. So the lease alone proves nothing; Confirm() does.
//
// The lease has a deadline here too, by CLOCK_BOOTTIME, which counts while the machine sleeps: from
// the moment before etcd was last asked to extend it. An owner that was stopped sees that it is
// over before it asks anyone. Any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include <absl/status/status.h>

#include "common/mutex.h"
#include "store/etcd/client.h"

namespace fabricd::store::etcd {

// Time since boot, sleep included.
std::chrono::nanoseconds BootTime();
// BootTime(), or that of a simulated machine. Any thread.
using BootClock = std::function<std::chrono::nanoseconds()>;

// What a node is to the fabric, as it says itself.
enum class FabricRole : uint8_t {
  kOther,
  kMaster,  // Of a subnet.
  kNoLink,  // Its port has no link, so that it reaches no device. It may be master or not.
};

// Who has it.
struct EpochOwner {
  std::string name;           // "head1 pid 4711"
  std::string endpoint = {};  // Of its API: HOST:PORT or unix:PATH; empty: it does not say.
  FabricRole role = FabricRole::kOther;
  int64_t epoch = 0;  // Its number.
  friend bool operator==(const EpochOwner&, const EpochOwner&) = default;
};

class Epoch {
 public:
  // `client` must outlive this.
  explicit Epoch(Client& client, BootClock clock = BootTime)
      : client_(client), clock_(std::move(clock)) {}

  // Grants a lease; the caller puts the key with it.
  absl::StatusOr<int64_t> Grant(std::chrono::seconds ttl);
  // `key` was put at this revision.
  void Begin(std::string key, int64_t revision);
  // The revision; 0: none is held, or its lease is over.
  int64_t revision() const;
  // Until its lease is over. Zero: none is held.
  std::chrono::nanoseconds left() const;
  // UNAVAILABLE: etcd was not reached. NOT_FOUND: the lease has expired, the epoch is over.
  absl::Status KeepAlive();
  // Asks etcd whether the key is still ours. ABORTED: it is not, or the lease is over; the epoch is
  // over. UNAVAILABLE: etcd was not reached.
  absl::Status Confirm();
  // The same, and whether etcd takes writes. If it does not, no fabricd can take the epoch, so
  // another one may be master without it. RESOURCE_EXHAUSTED: etcd is full. Writes nothing.
  absl::Status ConfirmAsWriter();
  // Ends it here alone.
  void Forget();
  // Ends it in etcd too, as far as that is reached.
  void Release();

 private:
  absl::Status ConfirmBy(
      const std::function<absl::StatusOr<std::vector<KeyValue>>(const std::string& key)>& read);

  Client& client_;
  const BootClock clock_;
  mutable Mutex mutex_;
  int64_t lease_ FABRICD_GUARDED_BY(mutex_) = 0;
  int64_t revision_ FABRICD_GUARDED_BY(mutex_) = 0;
  std::string key_ FABRICD_GUARDED_BY(mutex_);
  std::chrono::nanoseconds deadline_ FABRICD_GUARDED_BY(mutex_){};
};

}  // namespace fabricd::store::etcd
