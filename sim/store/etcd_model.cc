// SPDX-License-Identifier: Apache-2.0
#include "sim/store/etcd_model.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/status.h"

namespace fabricd::sim {
namespace {

using store::etcd::Change;
using store::etcd::Comparison;
using store::etcd::KeyValue;
using store::etcd::Lease;
using store::etcd::RangeRequest;
using store::etcd::RangeResult;
using store::etcd::Transaction;
using store::etcd::TransactionResult;

constexpr size_t kMostOperations = 128;
constexpr size_t kMostBytes = 3 << 19;     // 1.5 MiB.
constexpr size_t kMostReceived = 4 << 19;  // And what gRPC receives at all.
// One and a half elections, rounded up.
constexpr std::chrono::seconds kShortestLease{2};

absl::Status TooLarge(size_t bytes) {
  if (bytes > kMostReceived)
    return MakeStatus(absl::StatusCode::kResourceExhausted, "received message larger than max");
  return InvalidArgument("etcdserver: request is too large");
}

absl::Status NoSpace() {
  return MakeStatus(absl::StatusCode::kResourceExhausted,
                    "etcdserver: mvcc: database space exceeded");
}

absl::Status NoLease() { return NotFound("etcdserver: requested lease not found"); }

bool IsIn(const std::string& key, const std::string& begin, const std::string& range_end) {
  if (range_end.empty()) return key == begin;
  return key >= begin && (range_end == std::string(1, '\0') || key < range_end);
}

}  // namespace

const KeyValue* EtcdModel::Find(const std::string& key) const {
  const auto found = keys_.find(key);
  if (found == keys_.end() || found->second.back().version == 0) return nullptr;
  return &found->second.back();
}

absl::StatusOr<RangeResult> EtcdModel::Range(const RangeRequest& request) const {
  if (request.key.empty()) return InvalidArgument("etcdserver: key is not provided");
  if (request.revision > revision_)
    return MakeStatus(absl::StatusCode::kOutOfRange,
                      "etcdserver: mvcc: required revision is a future revision");
  if (request.revision != 0 && request.revision < compacted_)
    return MakeStatus(absl::StatusCode::kOutOfRange,
                      "etcdserver: mvcc: required revision has been compacted");
  const int64_t at = request.revision == 0 ? revision_ : request.revision;
  RangeResult result{{}, false, revision_, kCluster};
  for (auto key = keys_.lower_bound(request.key); key != keys_.end(); ++key) {
    if (!IsIn(key->first, request.key, request.range_end)) break;
    const auto later =
        std::upper_bound(key->second.begin(), key->second.end(), at,
                         [](int64_t r, const KeyValue& kv) { return r < kv.mod_revision; });
    if (later == key->second.begin() || std::prev(later)->version == 0) continue;
    if (request.limit > 0 && result.kvs.size() == static_cast<size_t>(request.limit)) {
      result.more = true;
      break;
    }
    result.kvs.push_back(*std::prev(later));
  }
  return result;
}

absl::Status EtcdModel::CheckPut(const std::string& key, int64_t lease) const {
  if (key.empty()) return InvalidArgument("etcdserver: key is not provided");
  if (lease != 0 && !leases_.contains(lease)) return NoLease();
  return absl::OkStatus();
}

absl::StatusOr<int64_t> EtcdModel::Put(const std::string& key, const std::string& value,
                                       int64_t lease) {
  if (key.size() + value.size() > kMostBytes) return TooLarge(key.size() + value.size());
  if (is_full_) return NoSpace();
  FABRICD_RETURN_IF_ERROR(CheckPut(key, lease));
  PutNext(key, value, lease);
  End();
  return revision_;
}

absl::StatusOr<int64_t> EtcdModel::DeleteRange(const std::string& key,
                                               const std::string& range_end) {
  if (key.empty()) return InvalidArgument("etcdserver: key is not provided");
  const std::vector<std::string> keys = KeysIn(key, range_end);
  for (const std::string& each : keys) DeleteNext(each);
  End();
  return static_cast<int64_t>(keys.size());
}

absl::Status EtcdModel::Check(const Transaction& transaction) const {
  size_t bytes = 0;
  for (const Change& change : transaction.changes) bytes += change.key.size() + change.value.size();
  if (bytes > kMostBytes) return TooLarge(bytes);
  if (std::max({transaction.comparisons.size(), transaction.changes.size(),
                transaction.reads.size()}) > kMostOperations)
    return InvalidArgument("etcdserver: too many operations in txn request");
  std::set<std::string> put;
  for (const Change& change : transaction.changes) {
    if (change.key.empty()) return InvalidArgument("etcdserver: key is not provided");
    if (!change.is_delete && !put.insert(change.key).second)
      return InvalidArgument("etcdserver: duplicate key given in txn request");
  }
  for (const Change& change : transaction.changes)
    for (const std::string& key : put)
      if (change.is_delete && IsIn(key, change.key, change.range_end))
        return InvalidArgument("etcdserver: duplicate key given in txn request");
  // The failed half only reads; a full database refuses whatever may put.
  if (is_full_ && !put.empty()) return NoSpace();
  return absl::OkStatus();
}

bool EtcdModel::Holds(const Comparison& comparison) const {
  const KeyValue* kv = Find(comparison.key);
  if (kv == nullptr) return comparison.is == 0;
  switch (comparison.field) {
    case Comparison::Field::kVersion: return kv->version == comparison.is;
    case Comparison::Field::kCreateRevision: return kv->create_revision == comparison.is;
    case Comparison::Field::kModRevision: return kv->mod_revision == comparison.is;
  }
  return false;
}

absl::StatusOr<TransactionResult> EtcdModel::Commit(const Transaction& transaction) {
  FABRICD_RETURN_IF_ERROR(Check(transaction));
  TransactionResult result;
  result.succeeded =
      std::all_of(transaction.comparisons.begin(), transaction.comparisons.end(),
                  [this](const Comparison& comparison) { return Holds(comparison); });
  if (result.succeeded) {
    for (const Change& change : transaction.changes)
      if (!change.is_delete) FABRICD_RETURN_IF_ERROR(CheckPut(change.key, change.lease));
    for (const Change& change : transaction.changes) {
      if (!change.is_delete) PutNext(change.key, change.value, change.lease);
      if (change.is_delete)
        for (const std::string& key : KeysIn(change.key, change.range_end)) DeleteNext(key);
    }
    End();
  } else {
    for (const RangeRequest& read : transaction.reads) {
      auto part = Range(read);
      if (!part.ok()) return part.status();
      std::move(part->kvs.begin(), part->kvs.end(), std::back_inserter(result.kvs));
    }
  }
  result.revision = revision_;
  return result;
}

absl::StatusOr<Lease> EtcdModel::GrantLease(std::chrono::seconds ttl, Instant now) {
  if (is_full_) return NoSpace();
  const Lease lease{++last_lease_, std::max(ttl, kShortestLease)};
  leases_[lease.id] = {lease.ttl, now + lease.ttl, {}};
  return lease;
}

absl::StatusOr<std::chrono::seconds> EtcdModel::KeepAlive(int64_t lease, Instant now) {
  const auto found = leases_.find(lease);
  if (found == leases_.end() || found->second.end <= now)
    return NotFound("etcd: lease {:#x} has expired", lease);
  found->second.end = now + found->second.ttl;
  return found->second.ttl;
}

absl::Status EtcdModel::RevokeLease(int64_t lease) {
  const auto found = leases_.find(lease);
  if (found == leases_.end()) return NoLease();
  const std::set<std::string> keys = found->second.keys;
  for (const std::string& key : keys) DeleteNext(key);
  leases_.erase(lease);
  End();
  return absl::OkStatus();
}

absl::Status EtcdModel::Compact(int64_t revision) {
  if (revision <= compacted_ || revision > revision_)
    return MakeStatus(absl::StatusCode::kOutOfRange, "etcdserver: mvcc: revision {}", revision);
  compacted_ = revision;
  history_.erase(history_.begin(), history_.lower_bound(revision));
  for (auto key = keys_.begin(); key != keys_.end();) {
    Versions& versions = key->second;
    while (versions.size() > 1 && versions[1].mod_revision <= revision)
      versions.erase(versions.begin());
    const bool is_gone = versions.front().version == 0 && versions.front().mod_revision <= revision;
    if (is_gone) versions.erase(versions.begin());
    key = versions.empty() ? keys_.erase(key) : std::next(key);
  }
  return absl::OkStatus();
}

void EtcdModel::Expire(Instant now) {
  std::vector<int64_t> over;
  for (const auto& [id, lease] : leases_)
    if (lease.end <= now) over.push_back(id);
  for (const int64_t id : over) (void)RevokeLease(id);
}

void EtcdModel::RenewLeases(Instant now) {
  for (auto& [id, lease] : leases_) lease.end = now + lease.ttl;
}

std::vector<std::string> EtcdModel::KeysIn(const std::string& key,
                                           const std::string& range_end) const {
  std::vector<std::string> keys;
  for (auto each = keys_.lower_bound(key); each != keys_.end(); ++each) {
    if (!IsIn(each->first, key, range_end)) break;
    if (each->second.back().version != 0) keys.push_back(each->first);
  }
  return keys;
}

void EtcdModel::PutNext(const std::string& key, const std::string& value, int64_t lease) {
  Detach(key);
  const KeyValue* before = Find(key);
  KeyValue kv{key,
              value,
              before == nullptr ? revision_ + 1 : before->create_revision,
              revision_ + 1,
              before == nullptr ? 1 : before->version + 1,
              lease};
  if (lease != 0) leases_.at(lease).keys.insert(key);
  history_[revision_ + 1].push_back({kv, false});
  keys_[key].push_back(std::move(kv));
}

void EtcdModel::DeleteNext(const std::string& key) {
  Detach(key);
  KeyValue kv{.key = key, .mod_revision = revision_ + 1};
  history_[revision_ + 1].push_back({kv, true});
  keys_[key].push_back(std::move(kv));
}

void EtcdModel::Detach(const std::string& key) {
  const KeyValue* kv = Find(key);
  if (kv == nullptr || kv->lease == 0) return;
  const auto lease = leases_.find(kv->lease);
  if (lease != leases_.end()) lease->second.keys.erase(key);
}

void EtcdModel::End() {
  if (history_.contains(revision_ + 1)) ++revision_;
}

}  // namespace fabricd::sim
