// SPDX-License-Identifier: Apache-2.0
#include "sim/store/store_run.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "common/rng.h"
#include "common/stable_hash.h"
#include "common/status.h"
#include "sim/faults/draw.h"
#include "sim/store/store_node.h"
#include "store/etcd/etcd_store.h"
#include "store/etcd/shared_rows.h"

namespace fabricd::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* kCheckers[] = {
    "acknowledged", "copies", "event numbers", "fencing", "history", "hold ids", "LIDs",
    "opened",       "owner",  "two epochs",    "memory",  "whole",   "writes",   "carried over"};
// A lease, the start of a process, an election and a few attempts of each.
constexpr seconds kOwnerWithin{30};
constexpr seconds kWriteWithin{10};
constexpr seconds kCarriedWithin{5};
constexpr seconds kCopiesWithin{5};
// A standby takes the master's place on the fabric after so long without an answer.
constexpr milliseconds kSilence{1600};
constexpr milliseconds kTick{100};
// Of an owner: between two looks at the epoch, with the time that a call may take.
constexpr seconds kConfirmWithin{4};

class StoreRun {
 public:
  StoreRun(uint64_t seed, std::function<void(const std::string&)> tell)
      : rng_(seed), world_(rng_.Next(), result_.failures, std::move(tell)) {}

  StoreRunResult Go() {
    world_.lease = seconds(2 + rng_.Below(4));
    world_.etcd.on_commit = [this](uint64_t process, const auto& transaction, const auto& result) {
      OnCommit(process, transaction, result);
    };
    for (size_t i = 0, count = 2 + rng_.Below(2); i < count; ++i) {
      nodes_.push_back(std::make_unique<StoreNode>(world_, i, rng_.Next()));
      StoreNode* node = nodes_.back().get();
      world_.time.In(UpTo(seconds(2), rng_), [node] { node->Start(); });
    }
    unanswered_.resize(nodes_.size());
    begin_ = world_.time.now();
    phase_ = seconds(40 + rng_.Below(40));
    Tick();
    DrawFaults();
    world_.time.RunUntil(begin_ + phase_);
    Rest();
    CheckAll();
    End();
    result_.takes = world_.ledger.takes();
    result_.acknowledged = world_.ledger.acknowledged();
    result_.digest = hash_.value();
    return std::move(result_);
  }

 private:
  bool Has(const char* fault, double probability = 0.35) {
    const bool has = rng_.Chance(probability);
    if (has) result_.faults.push_back(fault);
    return has;
  }
  StoreNode& AnyNode() { return *nodes_[rng_.Below(nodes_.size())]; }
  // One to `most` times, each for at most `longest` and within the phase.
  void Repeatedly(uint64_t most, Duration longest,
                  const std::function<void(Instant begin, Instant end)>& what) {
    for (uint64_t count = 1 + rng_.Below(most); count > 0; --count) {
      const Instant begin = begin_ + UpTo(phase_, rng_);
      // Short ones as often as long ones.
      const Duration time = rng_.Chance(0.5) ? UpTo(longest, rng_) : UpTo(longest / 8, rng_);
      what(begin, std::min(begin + time, begin_ + phase_));
    }
  }
  void DrawFaults();
  void DrawNetwork();
  void DrawService();
  void DrawProcesses();
  void OnCommit(uint64_t process, const store::etcd::Transaction& transaction,
                const store::etcd::TransactionResult& result);
  void Tick();
  void ChooseMaster();
  void CheckEpochs();
  void Rest();
  bool HoldsWithin(const std::function<bool()>& holds, Duration limit);
  void CheckAll();
  void CheckCopies();
  void End();
  void Say(const char* checker, const std::string& what) {
    result_.failures.push_back(fmt::format("{}: {}", checker, what));
  }
  void Tell(const std::string& what) {
    if (!world_.tell) return;
    const auto now = std::chrono::duration<double>(world_.time.now().time_since_epoch());
    world_.tell(fmt::format("{:10.3f} {}", now.count(), what));
  }

  StoreRunResult result_;
  Rng rng_;
  StoreWorld world_;
  std::vector<std::unique_ptr<StoreNode>> nodes_;
  std::vector<Duration> unanswered_;  // How long each node has said nothing on the fabric.
  std::optional<size_t> master_;
  Duration without_master_{};
  Instant forced_{};       // The epoch was taken from a process that had it.
  Instant split_until_{};  // Until then no node hears of another one on the fabric.
  Instant begin_{};
  Duration phase_{};
  StableHash hash_;
};

void StoreRun::OnCommit(uint64_t process, const store::etcd::Transaction& transaction,
                        const store::etcd::TransactionResult& result) {
  hash_.Add(process);
  hash_.Add(static_cast<uint64_t>(result.revision));
  hash_.Add(static_cast<uint64_t>(world_.time.now().time_since_epoch().count()));
  for (const auto& change : transaction.changes) hash_.Add(change.key);
  const uint64_t takes = world_.ledger.takes();
  const uint64_t before = world_.ledger.owner();
  world_.ledger.OnCommit(process, transaction, result);
  if (world_.ledger.takes() == takes) return;
  // The key was there.
  const std::string epoch = store::etcd::EtcdStoreOptions().prefix + "control/epoch";
  const bool is_forced = process != before && world_.etcd.model().Find(epoch)->version > 1;
  if (is_forced) forced_ = world_.time.now();
  Tell(fmt::format("process {} takes the epoch{} at revision {}", process,
                   is_forced ? " by force" : "", result.revision));
  CheckEpochs();
}

// ---- faults

void StoreRun::DrawFaults() {
  DrawNetwork();
  DrawService();
  DrawProcesses();
  world_.writes_large = Has("large writes");
  if (Has("fabric split", 0.2))
    Repeatedly(2, seconds(20), [this](Instant begin, Instant end) {
      world_.time.At(begin, [this, end] { split_until_ = std::max(split_until_, end); });
    });
}

void StoreRun::DrawNetwork() {
  const bool has_latency = Has("latency"), loses = Has("requests lost"),
             loses_replies = Has("replies lost"), delays = Has("requests late");
  for (const auto& node : nodes_) {
    EtcdPath& path = node->path;
    if (has_latency) path.latency = UpTo(milliseconds(150), rng_);
    if (loses) path.request_lost = 0.02 * static_cast<double>(rng_.Below(10));
    if (loses_replies) path.reply_lost = 0.02 * static_cast<double>(rng_.Below(10));
    if (delays) path.request_late = 0.02 * static_cast<double>(rng_.Below(10));
    path.late = seconds(1 + rng_.Below(12));
  }
  if (!Has("partitions")) return;
  Repeatedly(6, seconds(16), [this](Instant begin, Instant end) {
    StoreNode* node = &AnyNode();
    const bool refuses = rng_.Chance(0.5);
    world_.time.At(begin, [this, node, end, refuses] {
      Tell(fmt::format("node {} is cut off from the store", node->number()));
      node->path.cut_until = std::max(node->path.cut_until, end);
      node->path.cut_refuses = refuses;
    });
  });
}

void StoreRun::DrawService() {
  if (Has("elections"))
    Repeatedly(5, seconds(6), [this](Instant begin, Instant end) {
      world_.time.At(begin, [this, end] { world_.etcd.LoseLeader(end); });
    });
  if (Has("slow disk"))
    Repeatedly(3, seconds(15), [this](Instant begin, Instant end) {
      const Duration slow = UpTo(milliseconds(1500), rng_);
      world_.time.At(begin, [this, slow] { world_.etcd.SetDisk(slow); });
      world_.time.At(end, [this] { world_.etcd.SetDisk({}); });
    });
  if (Has("full"))
    Repeatedly(2, seconds(15), [this](Instant begin, Instant end) {
      world_.time.At(begin, [this] { world_.etcd.model().SetFull(true); });
      world_.time.At(end, [this] { world_.etcd.model().SetFull(false); });
    });
  if (Has("compaction"))
    Repeatedly(40, {}, [this](Instant begin, Instant) {
      world_.time.At(begin, [this] { world_.etcd.Compact(); });
    });
}

void StoreRun::DrawProcesses() {
  if (Has("kills"))
    Repeatedly(6, seconds(8), [this](Instant begin, Instant end) {
      StoreNode* node = &AnyNode();
      world_.time.At(begin, [node] { node->Kill(); });
      world_.time.At(std::max(end, begin + milliseconds(50)), [node] { node->Start(); });
    });
  const auto pause = [this](bool is_frozen) {
    Repeatedly(5, seconds(20), [this, is_frozen](Instant begin, Instant end) {
      StoreNode* node = &AnyNode();
      world_.time.At(begin, [node, end, is_frozen] { node->Pause(end, is_frozen); });
    });
  };
  if (Has("stops")) pause(false);
  if (Has("frozen machines", 0.15)) pause(true);
  if (Has("local disk full", 0.2))
    Repeatedly(2, seconds(20), [this](Instant begin, Instant end) {
      StoreNode* node = &AnyNode();
      world_.time.At(begin, [node] { node->disk.FailWrites(Unavailable("the disk is full")); });
      world_.time.At(end, [node] { node->disk.FailWrites({}); });
    });
}

// ---- the fabric

void StoreRun::Tick() {
  ChooseMaster();
  CheckEpochs();
  world_.time.In(kTick, [this] { Tick(); });
}

// Which of the managers is master, SMInfo decides: the one that is, stays it as long as it answers.
// Who waits beside an owner learns that none does.
void StoreRun::ChooseMaster() {
  const auto answers = [this](size_t i) {
    return nodes_[i]->is_manager() && unanswered_[i] <= kSilence;
  };
  for (size_t i = 0; i < nodes_.size(); ++i)
    unanswered_[i] = nodes_[i]->is_paused() ? unanswered_[i] + kTick : Duration();
  if (master_ && !answers(*master_)) master_.reset();
  without_master_ = master_ ? Duration() : without_master_ + kTick;
  for (size_t i = 0; i < nodes_.size() && !master_; ++i)
    if (answers(i) && !nodes_[i]->is_paused()) master_ = i;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i]->is_paused()) continue;
    const bool is_split = world_.time.now() < split_until_;
    nodes_[i]->is_elected = nodes_[i]->is_manager() && (master_ == i || is_split);
    nodes_[i]->has_no_master = without_master_ > kSilence || is_split;
  }
}

// Who believes that it has the epoch is who has it; not at once where it was taken by force.
void StoreRun::CheckEpochs() {
  if (world_.time.now() < forced_ + world_.lease + kConfirmWithin) return;
  for (const auto& node : nodes_)
    if (!node->is_paused() && !node->was_frozen() && node->epoch() != 0 &&
        node->process() != world_.ledger.owner() && result_.failures.size() < 20)
      Say("two epochs",
          fmt::format("node {} believes at {} ms that process {} has the epoch, "
                      "which process {} has taken",
                      node->number(), world_.time.now().time_since_epoch() / milliseconds(1),
                      node->process(), world_.ledger.owner()));
}

// ---- after the faults

bool StoreRun::HoldsWithin(const std::function<bool()>& holds, Duration limit) {
  const Instant end = world_.time.now() + limit;
  while (!holds() && world_.time.now() < end) world_.time.RunUntil(world_.time.now() + kTick);
  return holds();
}

void StoreRun::Rest() {
  Tell("all faults end");
  for (const auto& node : nodes_) {
    node->path = EtcdPath();
    node->disk.FailWrites({});
    node->Start();
  }
  world_.etcd.SetDisk({});
  world_.etcd.model().SetFull(false);
}

void StoreRun::CheckAll() {
  const Instant begin = world_.time.now();
  const auto has_owner = [this] {
    const auto writers = std::count_if(nodes_.begin(), nodes_.end(),
                                       [](const auto& node) { return node->may_write(); });
    const auto managers = std::count_if(nodes_.begin(), nodes_.end(),
                                        [](const auto& node) { return node->is_manager(); });
    return writers == 1 && managers == 1 && master_ && nodes_[*master_]->is_master();
  };
  if (!HoldsWithin(has_owner, kOwnerWithin)) {
    Say("owner",
        fmt::format("not one manager that may write {} s after the faults", kOwnerWithin.count()));
    return;
  }
  result_.owner_after = world_.time.now() - begin;
  const uint64_t before = world_.ledger.acknowledged();
  if (!HoldsWithin([&] { return world_.ledger.acknowledged() > before + 3; }, kWriteWithin))
    Say("writes", fmt::format("{} in {} s with nothing that fails",
                              world_.ledger.acknowledged() - before, kWriteWithin.count()));
  world_.is_quiet = true;
  const auto is_carried_over = [this] { return !world_.ledger.HasBatch(); };
  if (!HoldsWithin(is_carried_over, store::etcd::kCarryOverAfter + kCarriedWithin))
    Say("carried over", "a large write is still in its parts");
  world_.time.RunUntil(world_.time.now() + kCopiesWithin);
  CheckCopies();
  for (const auto& node : nodes_) world_.history.Check(node->disk, node->number());
}

void StoreRun::CheckCopies() {
  const store::FlatRows existing = world_.ledger.Existing();
  const std::string prefix = store::etcd::EtcdStoreOptions().prefix;
  const auto* sequence = world_.etcd.model().Find(prefix + "control/sequence");
  const std::string mark =
      store::etcd::CopyMark(prefix, sequence == nullptr ? "" : sequence->value);
  for (const auto& node : nodes_) {
    const store::FlatRows copy = store::Flatten(*store::ReadContents(node->disk));
    auto difference = store::Difference(existing, copy);
    // A store never lowers it, where the hold that was last is undone.
    difference.erase(store::kHoldHighestKey);
    if (!difference.empty())
      Say("copies", fmt::format("that of node {} differs in {} rows, the first is {}: '{}'",
                                node->number(), difference.size(), difference.begin()->first,
                                difference.begin()->second.value_or("")));
    else if (node->disk.GetMeta(store::etcd::kCopyKey)->value_or("") != mark)
      Say("copies", fmt::format("that of node {} is of another write", node->number()));
  }
}

// Every thread has to end before the world does.
void StoreRun::End() {
  for (const auto& node : nodes_) node->Kill();
  world_.time.RunUntil(world_.time.now() + seconds(1));
}

}  // namespace

std::span<const char* const> StoreCheckerNames() { return kCheckers; }

StoreRunResult RunStoreSeed(uint64_t seed, std::function<void(const std::string& line)> tell) {
  return StoreRun(seed, std::move(tell)).Go();
}

}  // namespace fabricd::sim
