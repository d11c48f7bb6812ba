// SPDX-License-Identifier: Apache-2.0
// sim/store: the store that several nodes share, as a simulated service in virtual time, and runs
// of seeds on it.
//
// SimEtcd: an EtcdModel behind a network, a leader and a disk that can be made to fail. Its
// clients repeat calls as the gRPC client does (store/etcd/attempts.h). A call blocks the
// VirtualThreads::Thread that it is made on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>

#include "common/rng.h"
#include "sim/store/etcd_model.h"
#include "sim/store/virtual_threads.h"
#include "store/etcd/client.h"

namespace fabricd::sim {

// How one machine reaches the store. All times are upper bounds of what is drawn for each message.
struct EtcdPath {
  Duration latency = std::chrono::microseconds(500);  // One way.
  double request_lost = 0;
  double reply_lost = 0;
  double request_late = 0;  // How many requests take up to `late` more.
  Duration late{};
  // A partition: until then nothing is sent. What is under way arrives; replies do not.
  Instant cut_until{};
  bool cut_refuses = false;  // Connections fail at once; else nothing is said.
};

class SimEtcd {
 public:
  static constexpr size_t kMembers = 3;

  // `world` outlives this.
  SimEtcd(VirtualThreads& world, uint64_t seed);

  // `path` outlives the client. `process` names it to on_commit.
  std::unique_ptr<store::etcd::Client> MakeClient(const EtcdPath& path, uint64_t process,
                                                  store::etcd::ClientOptions options = {});

  EtcdModel& model() { return model_; }
  // An election: nothing is answered until then, and leases have their whole time afterwards.
  void LoseLeader(Instant until);
  // Changes take up to so much more.
  void SetDisk(Duration slow) { slow_disk_ = slow; }
  // It answers, and no fault makes it slow or full.
  bool is_prompt() const {
    return has_leader() && !model_.is_full() && slow_disk_ == Duration::zero();
  }
  void Compact() { (void)model_.Compact(model_.revision()); }

  // Each transaction that was carried out, before its result is sent.
  std::function<void(uint64_t process, const store::etcd::Transaction& transaction,
                     const store::etcd::TransactionResult& result)>
      on_commit;

 private:
  friend class SimEtcdClient;
  friend class SimEtcdWatch;
  // How a request reaches the store, and what carries it out there.
  struct Request {
    bool is_change;
    std::function<void()> carry_out;
    std::function<void()> refuse;  // No leader.
    std::function<void()> answer;
  };
  void Arrive(const EtcdPath& path, std::shared_ptr<const Request> request);
  void Reply(const EtcdPath& path, const std::function<void()>& reply);
  bool has_leader() const { return world_.now() >= no_leader_until_; }
  void Tick();
  void FeedWatches();

  VirtualThreads& world_;
  Rng rng_;
  EtcdModel model_;
  Instant no_leader_until_{};
  Duration slow_disk_{};
  std::list<class SimEtcdWatch*> watches_;
};

}  // namespace fabricd::sim
