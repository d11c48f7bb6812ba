// SPDX-License-Identifier: Apache-2.0
// Presence: what this node says of itself to the others that share the state, as a key of etcd that
// lives by a lease of its own: it goes with the process. Set() from any thread, Turn() on the
// store's thread.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "common/mutex.h"
#include "store/etcd/client.h"
#include "store/etcd/epoch.h"

namespace fabricd::store::etcd {

struct NodeStatement {
  FabricRole role = FabricRole::kOther;
  std::string about;  // For the daemon's part of the other node; opaque here.
  friend bool operator==(const NodeStatement&, const NodeStatement&) = default;
};
struct Node {
  std::string instance;  // Names one state directory, over restarts.
  NodeStatement statement;
  int schema = 1;  // kSchema of its version.
};
// The text has kSchema of this version too.
std::string StatementText(const NodeStatement& statement);
NodeStatement ReadStatement(const std::string& text);
// 1: it does not say.
int SchemaOf(const std::string& text);

class Presence {
 public:
  // `client` must outlive this.
  Presence(Client& client, std::string key, std::chrono::seconds ttl, BootClock clock);
  // Withdraws the key, as far as etcd is reached.
  ~Presence();

  void Set(NodeStatement statement);
  // Keeps the key alive and up to date. What fails is tried again by the next call. Any thread;
  // waits for etcd.
  void Turn();

 private:
  Client& client_;
  const std::string key_;
  const std::chrono::seconds ttl_;
  const BootClock clock_;

  Mutex mutex_;
  std::string wanted_ FABRICD_GUARDED_BY(mutex_);  // Empty: nothing is said yet.

  Mutex turn_mutex_;  // Held while etcd answers.
  std::string said_ FABRICD_GUARDED_BY(turn_mutex_);
  int64_t lease_ FABRICD_GUARDED_BY(turn_mutex_) = 0;  // 0: none.
  std::chrono::nanoseconds kept_ FABRICD_GUARDED_BY(turn_mutex_){};
};

}  // namespace fabricd::store::etcd
