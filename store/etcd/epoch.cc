// SPDX-License-Identifier: Apache-2.0
#include "store/etcd/epoch.h"

#include <ctime>

#include "common/breakage.h"
#include "common/status.h"

namespace fabricd::store::etcd {

std::chrono::nanoseconds BootTime() {
  timespec time{};
  clock_gettime(CLOCK_BOOTTIME, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

absl::StatusOr<int64_t> Epoch::Grant(std::chrono::seconds ttl) {
  const auto asked = clock_();
  auto lease = client_.GrantLease(ttl);
  if (!lease.ok()) return lease.status();
  MutexLock lock(mutex_);
  lease_ = lease->id;
  revision_ = 0;
  deadline_ = asked + lease->ttl;
  return lease->id;
}

void Epoch::Begin(std::string key, int64_t revision) {
  MutexLock lock(mutex_);
  key_ = std::move(key);
  revision_ = revision;
}

absl::Status Epoch::Confirm() {
  return ConfirmBy([this](const std::string& key) -> absl::StatusOr<std::vector<KeyValue>> {
    auto read = client_.Range({key});
    if (!read.ok()) return read.status();
    return std::move(read->kvs);
  });
}

// A full etcd refuses a transaction for what it would put, before it compares. These comparisons
// contradict each other, so that nothing is put.
absl::Status Epoch::ConfirmAsWriter() {
  return ConfirmBy([this](const std::string& key) -> absl::StatusOr<std::vector<KeyValue>> {
    auto read = client_.Commit(
        {{{key, Comparison::Field::kVersion, 0}, {key, Comparison::Field::kVersion, 1}},
         {{key + "/never"}},
         {{key}}});
    if (!read.ok()) return read.status();
    return std::move(read->kvs);
  });
}

absl::Status Epoch::ConfirmBy(
    const std::function<absl::StatusOr<std::vector<KeyValue>>(const std::string& key)>& read) {
  const int64_t held = revision();
  if (held == 0) return MakeStatus(absl::StatusCode::kAborted, "the lease is over");
  std::string key;
  {
    MutexLock lock(mutex_);
    key = key_;
  }
  const auto kvs = read(key);
  if (!kvs.ok()) return kvs.status();
  if (!kvs->empty() && (*kvs)[0].mod_revision == held) return absl::OkStatus();
  MutexLock lock(mutex_);
  if (revision_ == held) revision_ = 0;
  return MakeStatus(absl::StatusCode::kAborted, "another fabricd has taken the epoch");
}

int64_t Epoch::revision() const {
  MutexLock lock(mutex_);
  return clock_() < deadline_ || IsBroken(Breakage::kLeaseNeverOver) ? revision_ : 0;
}

std::chrono::nanoseconds Epoch::left() const {
  MutexLock lock(mutex_);
  const auto left = revision_ == 0 ? std::chrono::nanoseconds::zero() : deadline_ - clock_();
  return std::max(left, std::chrono::nanoseconds::zero());
}

absl::Status Epoch::KeepAlive() {
  int64_t lease = 0;
  {
    MutexLock lock(mutex_);
    if (revision_ == 0) return NotFound("no epoch is held");
    lease = lease_;
  }
  const auto asked = clock_();
  const auto left = client_.KeepAlive(lease);
  MutexLock lock(mutex_);
  if (lease_ != lease) return absl::OkStatus();  // Another one was begun meanwhile.
  if (left.ok()) {
    deadline_ = asked + *left;
    return absl::OkStatus();
  }
  if (absl::IsNotFound(left.status())) revision_ = 0;
  return left.status();
}

void Epoch::Forget() {
  MutexLock lock(mutex_);
  revision_ = lease_ = 0;
}

void Epoch::Release() {
  int64_t lease = 0;
  {
    MutexLock lock(mutex_);
    std::swap(lease, lease_);
    revision_ = 0;
  }
  // Where it fails, the lease runs out by itself.
  if (lease != 0) (void)client_.RevokeLease(lease);
}

}  // namespace fabricd::store::etcd
