// SPDX-License-Identifier: Apache-2.0
#include "sim/store/sim_etcd.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/status.h"
#include "sim/faults/draw.h"
#include "store/etcd/attempts.h"

namespace fabricd::sim {

using std::chrono::milliseconds;
using std::chrono::seconds;
using store::etcd::Client;
using store::etcd::ClientOptions;
using store::etcd::Lease;
using store::etcd::MemberStatus;
using store::etcd::RangeRequest;
using store::etcd::RangeResult;
using store::etcd::Transaction;
using store::etcd::TransactionResult;
using store::etcd::Watch;
using store::etcd::WatchEvent;
using store::etcd::WatchHandler;
using store::etcd::WatchRequest;

namespace {

// Between two looks of etcd at its leases.
constexpr milliseconds kLeaseTick{500};

}  // namespace

class SimEtcdWatch final : public Watch {
 public:
  SimEtcdWatch(SimEtcd& etcd, const EtcdPath& path, WatchRequest request, WatchHandler& handler)
      : etcd_(etcd), path_(path), request_(std::move(request)), handler_(handler) {
    if (request_.start_revision == 0) request_.start_revision = etcd_.model_.revision() + 1;
    etcd_.watches_.push_back(this);
  }
  ~SimEtcdWatch() override { etcd_.watches_.remove(this); }

  // Sends what it has not sent, unless the path is cut: then that is sent later.
  void Feed() {
    if (is_over_) return;
    const bool is_connected = etcd_.has_leader() && etcd_.world_.now() >= path_.cut_until;
    if (is_connected != std::exchange(is_connected_, is_connected))
      handler_.OnConnection(is_connected ? absl::OkStatus() : Unavailable("etcd: not reached"));
    if (!is_connected) return;
    const EtcdModel& model = etcd_.model_;
    if (request_.start_revision < model.compacted()) {
      is_over_ = true;
      return handler_.OnCompacted(model.compacted());
    }
    for (auto at = model.history().lower_bound(request_.start_revision);
         at != model.history().end(); ++at) {
      std::vector<WatchEvent> events;
      for (const WatchEvent& event : at->second)
        if (Concerns(event.kv.key)) events.push_back(event);
      if (!events.empty()) handler_.OnEvents(events, at->first);
    }
    request_.start_revision = std::max(request_.start_revision, model.revision() + 1);
  }

 private:
  bool Concerns(const std::string& key) const {
    const std::string& end = request_.range_end;
    if (end.empty()) return key == request_.key;
    return key >= request_.key && (end == std::string(1, '\0') || key < end);
  }

  SimEtcd& etcd_;
  const EtcdPath& path_;
  WatchRequest request_;  // start_revision: the next one.
  WatchHandler& handler_;
  bool is_connected_ = false;
  bool is_over_ = false;
};

class SimEtcdClient final : public Client {
 public:
  SimEtcdClient(SimEtcd& etcd, const EtcdPath& path, uint64_t process, ClientOptions options)
      : etcd_(etcd), path_(path), process_(process), options_(std::move(options)) {}

  // One thread at a time calls it, so that none is under way.
  void Limit(std::optional<milliseconds> time) override {
    limit_.Set(time, etcd_.world_.now().time_since_epoch());
  }
  absl::StatusOr<RangeResult> Range(const RangeRequest& request) override {
    return Call<RangeResult>(
        false, [request](SimEtcd& etcd, uint64_t) { return etcd.model_.Range(request); });
  }
  absl::StatusOr<int64_t> Put(const std::string& key, const std::string& value,
                              int64_t lease) override {
    return Call<int64_t>(
        true, [=](SimEtcd& etcd, uint64_t) { return etcd.model_.Put(key, value, lease); });
  }
  absl::StatusOr<int64_t> DeleteRange(const std::string& key,
                                      const std::string& range_end) override {
    return Call<int64_t>(
        true, [=](SimEtcd& etcd, uint64_t) { return etcd.model_.DeleteRange(key, range_end); });
  }
  absl::StatusOr<TransactionResult> Commit(const Transaction& transaction) override {
    return Call<TransactionResult>(true, [transaction](SimEtcd& etcd, uint64_t process) {
      auto result = etcd.model_.Commit(transaction);
      if (result.ok() && etcd.on_commit) etcd.on_commit(process, transaction, *result);
      return result;
    });
  }
  absl::StatusOr<Lease> GrantLease(seconds ttl) override {
    return Call<Lease>(true, [ttl](SimEtcd& etcd, uint64_t) {
      return etcd.model_.GrantLease(ttl, etcd.world_.now());
    });
  }
  absl::StatusOr<seconds> KeepAlive(int64_t lease) override {
    return Call<seconds>(false, [lease](SimEtcd& etcd, uint64_t) {
      return etcd.model_.KeepAlive(lease, etcd.world_.now());
    });
  }
  absl::Status RevokeLease(int64_t lease) override {
    return Call<bool>(true,
                      [lease](SimEtcd& etcd, uint64_t) -> absl::StatusOr<bool> {
                        const absl::Status revoked = etcd.model_.RevokeLease(lease);
                        if (!revoked.ok()) return revoked;
                        return true;
                      })
        .status();
  }
  absl::StatusOr<MemberStatus> Status() override {
    return Call<MemberStatus>(false, [](SimEtcd&, uint64_t) -> absl::StatusOr<MemberStatus> {
      return MemberStatus{.version = "3.4.0-simulated", .leader = 1};
    });
  }
  std::unique_ptr<Watch> StartWatch(WatchRequest request, WatchHandler& handler) override {
    auto watch = std::make_unique<SimEtcdWatch>(etcd_, path_, std::move(request), handler);
    etcd_.world_.In(path_.latency, [etcd = &etcd_] { etcd->FeedWatches(); });
    return watch;
  }

 private:
  // `carry_out` may run after this client has gone.
  template <typename Result, typename CarryOut>
  absl::StatusOr<Result> Call(bool is_change, CarryOut carry_out) {
    using Answer = std::optional<absl::StatusOr<Result>>;
    absl::StatusOr<Result> result = absl::CancelledError("killed");
    VirtualThreads::Thread& thread = etcd_.world_.current();
    const store::etcd::AttemptClock clock{[this] { return etcd_.world_.now().time_since_epoch(); },
                                          [&thread](milliseconds time) { thread.Sleep(time); }};
    const absl::Status status = store::etcd::CallMembers(
        SimEtcd::kMembers, preferred_, options_, limit_, clock,
        is_change ? store::etcd::CallKind::kChange : store::etcd::CallKind::kOther,
        [&](size_t, milliseconds timeout) {
          // The process may be stopped after it has read a clock and before it sends.
          thread.Sleep(Duration(1));
          const Instant deadline = etcd_.world_.now() + timeout;
          auto inside = std::make_shared<Answer>(), answer = std::make_shared<Answer>();
          auto request = std::make_shared<SimEtcd::Request>();
          request->is_change = is_change;
          request->carry_out = [etcd = &etcd_, inside, process = process_, carry_out] {
            *inside = carry_out(*etcd, process);
          };
          request->refuse = [inside] { *inside = Unavailable("etcdserver: no leader"); };
          request->answer = [inside, answer, &thread] {
            *answer = *inside;
            thread.Wake();
          };
          if (!Send(std::move(request))) return Unavailable("etcd: connection refused");
          thread.WaitUntil(deadline, [&] { return answer->has_value(); });
          if (thread.is_killed()) return absl::Status(absl::CancelledError("killed"));
          if (!answer->has_value()) return Unavailable("etcd: no answer in time");
          result = **answer;
          return result.status();
        });
    if (!status.ok()) return status;
    return result;
  }

  // False: nothing was sent, and that is known.
  bool Send(std::shared_ptr<const SimEtcd::Request> request) {
    VirtualThreads& world = etcd_.world_;
    Rng& rng = etcd_.rng_;
    if (world.current().is_killed()) return true;
    if (world.now() < path_.cut_until) {
      if (path_.cut_refuses) world.current().Sleep(milliseconds(1));
      return !path_.cut_refuses;
    }
    Duration delay = UpTo(path_.latency, rng);
    if (rng.Chance(path_.request_late)) delay += UpTo(path_.late, rng);
    if (rng.Chance(path_.request_lost)) return true;
    world.In(delay, [etcd = &etcd_, path = &path_, request] { etcd->Arrive(*path, request); });
    return true;
  }

  SimEtcd& etcd_;
  const EtcdPath& path_;
  const uint64_t process_;
  const ClientOptions options_;
  store::etcd::CallLimit limit_;
  std::atomic<size_t> preferred_ = 0;
};

SimEtcd::SimEtcd(VirtualThreads& world, uint64_t seed) : world_(world), rng_(seed) {
  world_.In(kLeaseTick, [this] { Tick(); });
}

std::unique_ptr<Client> SimEtcd::MakeClient(const EtcdPath& path, uint64_t process,
                                            ClientOptions options) {
  return std::make_unique<SimEtcdClient>(*this, path, process, std::move(options));
}

void SimEtcd::LoseLeader(Instant until) {
  no_leader_until_ = std::max(no_leader_until_, until);
  world_.At(no_leader_until_, [this] {
    if (has_leader()) model_.RenewLeases(world_.now());
  });
}

void SimEtcd::Tick() {
  if (has_leader()) model_.Expire(world_.now());
  FeedWatches();
  world_.In(kLeaseTick, [this] { Tick(); });
}

void SimEtcd::FeedWatches() {
  for (SimEtcdWatch* watch : std::vector(watches_.begin(), watches_.end())) watch->Feed();
}

void SimEtcd::Arrive(const EtcdPath& path, std::shared_ptr<const Request> request) {
  if (!has_leader()) {
    // The member knows it and refuses, or keeps the proposal until there is a leader.
    if (rng_.Chance(0.5)) {
      request->refuse();
      return Reply(path, request->answer);
    }
    const Instant then = no_leader_until_ + UpTo(milliseconds(10), rng_);
    return world_.At(then, [this, &path, request] { Arrive(path, request); });
  }
  const Duration disk = request->is_change ? UpTo(slow_disk_, rng_) : Duration();
  world_.In(disk, [this, &path, request] {
    if (!has_leader()) return Arrive(path, request);
    request->carry_out();
    Reply(path, request->answer);
    FeedWatches();
  });
}

void SimEtcd::Reply(const EtcdPath& path, const std::function<void()>& reply) {
  const bool is_lost = rng_.Chance(path.reply_lost);
  const Duration delay = UpTo(path.latency, rng_);
  if (is_lost) return;
  world_.In(delay, [this, &path, reply] {
    if (world_.now() >= path.cut_until) reply();
  });
}

}  // namespace fabricd::sim
