// SPDX-License-Identifier: Apache-2.0
// store/etcd: durable state that several management nodes share, in etcd (v3).
//
// Client: the calls of etcd that fabricd needs, as plain values. GrpcClient (grpc_client.h) sends
// them; tests may put something else in its place.
//
// Calls block until they have an answer, at most ClientOptions::timeout, and at most what Limit()
// leaves. They are sent to one member after the other until one answers, so a call that changes
// something may have been carried out by an attempt whose answer was lost: give transactions
// comparisons that fail the second time.
// Errors:
//   UNAVAILABLE  no member has answered, or none has a leader. What the call was to change may have
//                been changed, and may still be changed later.
//   others       etcd's own; nothing was changed
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <absl/status/status.h>
#include <absl/status/statusor.h>

namespace fabricd::store::etcd {

struct KeyValue {
  std::string key, value;
  int64_t create_revision = 0;
  int64_t mod_revision = 0;
  int64_t version = 0;  // Puts since the key was created.
  int64_t lease = 0;    // 0: none.
  friend bool operator==(const KeyValue&, const KeyValue&) = default;
};

// The first key behind all keys that begin with `prefix`; "\0", which is all keys, where there is
// none.
std::string EndOfPrefix(std::string prefix);

struct RangeRequest {
  std::string key;
  std::string range_end = {};  // Empty: `key` alone.
  int64_t limit = 0;           // 0: none.
  int64_t revision = 0;        // 0: the newest. OUT_OF_RANGE: compacted.
};
struct RangeResult {
  std::vector<KeyValue> kvs;  // By key.
  bool more = false;          // Than `limit`.
  int64_t revision = 0;       // Of the store.
  uint64_t cluster = 0;       // The cluster's id.
};

// What must hold for a transaction: one field of one key. A key that is not there has 0 in each.
struct Comparison {
  enum class Field : uint8_t { kVersion, kCreateRevision, kModRevision };
  std::string key;
  Field field = Field::kModRevision;
  int64_t is = 0;
};
// A change within a transaction. A key may be changed once.
struct Change {
  std::string key;
  std::string value = {};
  bool is_delete = false;
  std::string range_end = {};  // Of a deletion; empty: `key` alone.
  int64_t lease = 0;
};
// All changes if all comparisons hold, else none. Bounds of etcd's default configuration: 128
// comparisons, 128 changes, 1.5 MiB.
struct Transaction {
  std::vector<Comparison> comparisons;
  std::vector<Change> changes;
  std::vector<RangeRequest> reads = {};  // Carried out if a comparison does not hold.
};
struct TransactionResult {
  bool succeeded = false;
  int64_t revision = 0;       // If it succeeded, mod_revision of all keys that were put.
  std::vector<KeyValue> kvs;  // What was read, if it did not.
};

struct Lease {
  int64_t id = 0;
  std::chrono::seconds ttl{};  // At least what was asked for.
};

struct MemberStatus {
  std::string version;  // "3.4.23"
  uint64_t leader = 0;  // 0: it knows none.
  int64_t database_bytes = 0;
  std::vector<std::string> alarms;
};

struct WatchRequest {
  std::string key;
  std::string range_end = {};
  int64_t start_revision = 0;  // 0: what happens from now on.
};
struct WatchEvent {
  KeyValue kv;  // Of a deletion only the key and the revision.
  bool is_delete = false;
};
// Called on a thread of the watch.
class WatchHandler {
 public:
  virtual ~WatchHandler() = default;
  // What happened up to `revision`, in order; a revision is never split. Empty: nothing happened.
  virtual void OnEvents(const std::vector<WatchEvent>& events, int64_t revision) = 0;
  // Events from start_revision on were forgotten before they could be sent. No call follows: read
  // everything, then watch from the revision behind what was read.
  virtual void OnCompacted(int64_t compact_revision) = 0;
  // OK: events arrive (again). Otherwise: no member could be reached for now, or none accepts it;
  // the watch goes on trying, and loses nothing.
  virtual void OnConnection(const absl::Status& status) = 0;
};
// Destroying it ends the watch; no call of the handler is under way afterwards.
class Watch {
 public:
  virtual ~Watch() = default;
};

struct ClientOptions {
  std::vector<std::string> endpoints;  // "HOST:PORT". At least one.
  // PEM files. `ca` empty: no TLS. `cert` and `key` empty: no certificate of our own. Changed files
  // are taken up by new connections.
  std::string ca, cert, key;
  std::string user, password;  // Empty: no authentication by password.
  std::chrono::milliseconds timeout{3000};
  std::chrono::milliseconds attempt_timeout{1000};  // Of one member.
};

// Any thread.
class Client {
 public:
  virtual ~Client() = default;
  // The calls that begin from now on have `time` together, of which one member has its share.
  // nullopt: each has its timeout again. Zero: none is sent, and those under way end too.
  virtual void Limit(std::optional<std::chrono::milliseconds> time) = 0;
  virtual absl::StatusOr<RangeResult> Range(const RangeRequest& request) = 0;
  // The revision.
  virtual absl::StatusOr<int64_t> Put(const std::string& key, const std::string& value,
                                      int64_t lease) = 0;
  // How many keys there were. `range_end` empty: `key` alone.
  virtual absl::StatusOr<int64_t> DeleteRange(const std::string& key,
                                              const std::string& range_end) = 0;
  virtual absl::StatusOr<TransactionResult> Commit(const Transaction& transaction) = 0;
  virtual absl::StatusOr<Lease> GrantLease(std::chrono::seconds ttl) = 0;
  // The time that is left from now on. NOT_FOUND: it has expired.
  virtual absl::StatusOr<std::chrono::seconds> KeepAlive(int64_t lease) = 0;
  // Its keys go with it. NOT_FOUND: it has expired.
  virtual absl::Status RevokeLease(int64_t lease) = 0;
  // Of the first member that answers.
  virtual absl::StatusOr<MemberStatus> Status() = 0;
  // `handler` must outlive the watch, and this must too.
  virtual std::unique_ptr<Watch> StartWatch(WatchRequest request, WatchHandler& handler) = 0;
};

// Client::Limit() while it lives.
class LimitedCalls {
 public:
  // nullopt: no limit is set or lifted. `client` must outlive this.
  LimitedCalls(Client& client, std::optional<std::chrono::milliseconds> time)
      : client_(client), is_limit_(time.has_value()) {
    if (is_limit_) client_.Limit(time);
  }
  ~LimitedCalls() {
    if (is_limit_) client_.Limit(std::nullopt);
  }
  LimitedCalls(const LimitedCalls&) = delete;
  LimitedCalls& operator=(const LimitedCalls&) = delete;

 private:
  Client& client_;
  const bool is_limit_;
};

// Reads a range of any size at one revision, in pages of `page` keys. Begins again where the newest
// revision is compacted meanwhile, at most twice.
absl::StatusOr<RangeResult> RangeAll(Client& client, RangeRequest request, int64_t page = 256);

}  // namespace fabricd::store::etcd
