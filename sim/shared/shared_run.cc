// SPDX-License-Identifier: Apache-2.0
#include "sim/shared/shared_run.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "common/rng.h"
#include "common/stable_hash.h"
#include "sim/checkers/checkers.h"
#include "sim/checkers/end_ports.h"
#include "sim/checkers/mad_watch.h"
#include "sim/faults/draw.h"
#include "sim/faults/places.h"
#include "sim/generate/generate.h"
#include "sim/shared/clients.h"
#include "sim/shared/foreign_node.h"
#include "sim/shared/foreign_watch.h"
#include "sim/shared/management_node.h"
#include "sim/shared/manager_watch.h"
#include "sim/shared/master_watch.h"
#include "sim/shared/wall_clocks.h"
#include "sim/simulation/observers.h"

namespace fabricd::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* kCheckers[] = {"LIDs",       "holds",          "P_Keys",
                                     "old master", "foreign master", "manager",
                                     "one master", "tables",         "unreachable"};
constexpr const char* kTopologies[] = {"superpod:sus=1,hosts=4,rails=2",
                                       "fat-tree:radix=4,levels=2", "torus:dims=3x3,hosts=1"};
// A lease, a process's start, two sweeps of a node that sees no SM, a bring-up.
constexpr seconds kMasterWithin{120};
constexpr seconds kRest{25};  // Longer than two light sweeps.
constexpr milliseconds kTick{50};

class SharedRun {
 public:
  SharedRun(uint64_t seed, std::function<void(const std::string&)> tell)
      : rng_(Rng(seed).Next()),
        topology_(
            OneOf(std::vector<std::string>(std::begin(kTopologies), std::end(kTopologies)), rng_)),
        world_(**Generate(topology_), DrawSimOptions(rng_), rng_.Next(), result_.failures,
               std::move(tell)),
        places_(world_.fabric()),
        clocks_(world_, ~seed + 1),
        watch_(world_.fabric(), WatchOptions{.lids_are_stable = true}),
        master_watch_([this] { return States(); },
                      [this](const std::string& what) { Say("old master", what); }),
        foreign_watch_([this](const std::string& what) { Say("foreign master", what); }),
        manager_watch_(world_, nodes_, foreign_,
                       [this](const std::string& what) { Say("manager", what); }),
        clients_(
            world_, places_, rng_, seed, [this] { return Master(); },
            [this](const char* checker, const std::string& what) { Say(checker, what); }) {
    observers_.Add(&watch_);
    observers_.Add(&master_watch_);
    observers_.Add(&foreign_watch_);
    world_.fabric().SetObserver(&observers_);
    world_.store.etcd.on_commit = [this](uint64_t process, const auto& transaction,
                                         const auto& result) {
      OnCommit(process, transaction, result);
    };
  }

  SharedRunResult Go() {
    world_.store.lease = seconds(2 + rng_.Below(4));
    AddNodes();
    begin_ = world_.now();
    phase_ = seconds(40 + rng_.Below(40));
    Tick();
    DrawFaults();
    if (clocks_.Plan(nodes_, phase_)) result_.faults.push_back("clocks set");
    clients_.Plan(phase_, clocks_.tolerance());
    world_.threads().RunUntil(begin_ + phase_);
    Rest();
    CheckEnd();
    End();
    AddFaultsOfWatch();
    result_.topology = topology_;
    result_.masterships = master_watch_.masterships();
    result_.late_sets = master_watch_.late_sets();
    result_.holds = clients_.holds();
    result_.partitions = clients_.partitions();
    result_.writes = world_.store.ledger.acknowledged();
    result_.takes = world_.store.ledger.takes();
    hash_.Add(watch_.digest());
    result_.digest = hash_.value();
    return std::move(result_);
  }

 private:
  bool Has(const char* fault, double probability) {
    const bool has = rng_.Chance(probability);
    if (has) result_.faults.push_back(fault);
    return has;
  }
  ManagementNode& AnyNode() { return *nodes_[rng_.Below(nodes_.size())]; }
  ManagementNode* Master() {
    for (const auto& node : nodes_)
      if (node->is_master() && !node->is_paused()) return node.get();
    return nullptr;
  }
  // The master of then more often than not.
  ManagementNode& Victim() {
    ManagementNode* master = Master();
    return master != nullptr && rng_.Chance(0.7) ? *master : AnyNode();
  }
  // One to `most` times, each for at most `longest` and within the phase. `begins` gets when it
  // ends.
  void Repeatedly(uint64_t most, Duration longest, const std::function<void(Instant end)>& begins) {
    for (uint64_t count = 1 + rng_.Below(most); count > 0; --count) {
      const Instant begin = begin_ + UpTo(phase_, rng_);
      // Short ones as often as long ones.
      const Duration time = rng_.Chance(0.5) ? UpTo(longest, rng_) : UpTo(longest / 8, rng_);
      const Instant end = std::min(begin + time, begin_ + phase_);
      world_.threads().At(begin, [begins, end] { begins(end); });
    }
  }

  // The same to nodes; half of the times not at once, but as one of the next Sets is sent.
  void StrikeNodes(uint64_t most, Duration longest,
                   const std::function<void(ManagementNode& node, Instant end)>& fault);

  void AddNodes();
  void DrawFaults();
  void EnableAudits() {  // From the next start of each on.
    for (const auto& node : nodes_) node->EnableAudit();
  }
  void DrawProcesses();
  void DrawEtcd();
  void DrawFabric();
  void DrawForeign();
  void LoseLink(PortRef port, Instant end);
  void OnCommit(uint64_t process, const store::etcd::Transaction& transaction,
                const store::etcd::TransactionResult& result);
  std::vector<MasterWatch::State> States() const;
  bool AreApart() const;
  void Tick();
  void Rest();
  bool HasOneMaster();
  void CheckEnd();
  void CheckDevices(const ManagementNode& master);
  void AddFaultsOfWatch();
  void End();
  void Say(const char* checker, const std::string& what) {
    if (result_.failures.size() >= 20) return;
    result_.failures.push_back(fmt::format("{}: {}", checker, what));
    Tell("FAILED " + result_.failures.back());
  }
  void FailAll(const char* checker, const std::vector<std::string>& findings) {
    for (const std::string& finding : findings) Say(checker, finding);
  }
  void Tell(const std::string& what) const { world_.Tell(what); }

  SharedRunResult result_;
  Rng rng_;
  const std::string topology_;
  SharedWorld world_;
  Places places_;
  WallClocks clocks_;
  Watch watch_;
  MasterWatch master_watch_;
  ForeignWatch foreign_watch_;
  ManagerWatch manager_watch_;
  Observers observers_;
  ManagementNodes nodes_;
  std::unique_ptr<ForeignNode> foreign_;  // Null: this seed has none.
  std::set<PortRef> pulled_;
  Clients clients_;
  Instant begin_{};
  Duration phase_{};
  bool is_at_rest_ = false;
  StableHash hash_;
};

void SharedRun::OnCommit(uint64_t process, const store::etcd::Transaction& transaction,
                         const store::etcd::TransactionResult& result) {
  hash_.Add(process);
  hash_.Add(static_cast<uint64_t>(result.revision));
  hash_.Add(static_cast<uint64_t>(world_.now().time_since_epoch().count()));
  const uint64_t takes = world_.store.ledger.takes();
  world_.store.ledger.OnCommit(process, transaction, result);
  if (world_.store.ledger.takes() != takes)
    Tell(fmt::format("process {} takes the epoch at revision {}", process, result.revision));
}

// ---- nodes

void SharedRun::AddNodes() {
  for (size_t i = 0, count = 2 + rng_.Below(2); i < count; ++i) {
    PortRef host = world_.fabric().DefaultHostPort();
    if (i == 0)
      places_.Take(host);
    else
      host = places_.TakeSomeHost(rng_);
    sweep::CoreOptions options;
    options.sm.priority = static_cast<uint8_t>(rng_.Below(3));
    options.audit.enabled = false;  // It would repair what a wrong record of tables leaves.
    auto node = std::make_unique<ManagementNode>(world_, i, host, std::move(options), rng_.Next());
    ManagementNode* const raw = node.get();
    raw->SetWallClock(clocks_.DrawEpoch());
    raw->on_start = [this, host] { watch_.OnRestart(host); };
    raw->on_view = [this, raw](const sweep::FabricView& view) { clients_.OnView(*raw, view); };
    raw->on_finished = [this](const sweep::FinishedCommand& finished) {
      clients_.OnFinished(finished);
    };
    raw->on_log = [this, i](const sweep::LogRecord& record) {
      if (world_.tells()) Tell(fmt::format("[{}] {}", i, record.text));
    };
    nodes_.push_back(std::move(node));
    world_.threads().In(UpTo(seconds(2), rng_), [raw] { raw->Start(); });
  }
}

std::vector<MasterWatch::State> SharedRun::States() const {
  std::vector<MasterWatch::State> states;
  for (const auto& node : nodes_)
    states.push_back({node->host(), node->process(), node->is_master()});
  return states;
}

bool SharedRun::AreApart() const {
  const auto beyond = PortsBeyond(world_.fabric(), nodes_[0]->host());
  const auto is_away = [&](PortRef host) {
    return beyond.contains(host) || world_.fabric().LinkedPeer(host).IsNone();
  };
  return (foreign_ && foreign_->runs() && is_away(foreign_->host())) ||
         std::any_of(nodes_.begin(), nodes_.end(),
                     [&](const auto& node) { return is_away(node->host()); });
}

void SharedRun::Tick() {
  const bool apart = AreApart();
  watch_.SetApart(world_.now(), apart);
  master_watch_.Look(world_.now(), apart);
  foreign_watch_.Look(world_.now(), foreign_.get(), apart);
  if (!is_at_rest_) manager_watch_.Look();
  world_.threads().In(kTick, [this] { Tick(); });
}

// ---- faults

void SharedRun::DrawFaults() {
  DrawProcesses();
  DrawEtcd();
  DrawFabric();
  if (Has("foreign SM", 0.25)) DrawForeign();
}

void SharedRun::StrikeNodes(uint64_t most, Duration longest,
                            const std::function<void(ManagementNode& node, Instant end)>& fault) {
  const auto strike = [this, fault](ManagementNode& node, Instant end) {
    manager_watch_.OnFault();
    fault(node, end);
  };
  Repeatedly(most, longest, [this, strike](Instant end) {
    ManagementNode* const node = &Victim();
    const uint64_t sets = 1 + rng_.Below(30);
    if (rng_.Chance(0.5)) return strike(*node, end);
    node->on_set = [this, strike, node, length = end - world_.now(), left = sets]() mutable {
      if (--left > 0) return;
      const Instant now = world_.now();
      world_.threads().At(now,
                          [this, strike, node, until = std::min(now + length, begin_ + phase_)] {
                            node->on_set = nullptr;
                            if (!is_at_rest_) strike(*node, until);
                            EnableAudits();  // etcd may not have the change of these Sets.
                          });
      left = UINT64_MAX;
    };
  });
}

void SharedRun::DrawProcesses() {
  if (Has("kills", 0.4))
    StrikeNodes(4, seconds(8), [this](ManagementNode& node, Instant end) {
      node.Kill();
      world_.threads().At(std::max(end, world_.now() + milliseconds(50)),
                          [each = &node] { each->Start(); });
    });
  if (Has("stops", 0.5))
    StrikeNodes(4, seconds(20), [](ManagementNode& node, Instant end) { node.Pause(end); });
  if (Has("step-downs", 0.2))
    Repeatedly(2, {}, [this](Instant) {
      const bool waits =
          std::any_of(nodes_.begin(), nodes_.end(), [](const auto& node) { return node->waits(); });
      ManagementNode* master = Master();
      if (!waits || master == nullptr) return;
      Tell(fmt::format("node {} is to step down", master->number()));
      manager_watch_.OnYield(shell::Succession::kTimeForAnother);
      master->StepDown();
    });
}

void SharedRun::DrawEtcd() {
  const size_t faults_before = result_.faults.size();
  const bool has_latency = Has("latency", 0.2), loses_replies = Has("replies lost", 0.2);
  for (const auto& node : nodes_) {
    if (has_latency) node->path.latency = UpTo(milliseconds(100), rng_);
    if (loses_replies) node->path.reply_lost = 0.02 * static_cast<double>(rng_.Below(10));
  }
  if (Has("partitions", 0.4))
    StrikeNodes(4, seconds(16), [this](ManagementNode& node, Instant end) {
      Tell(fmt::format("node {} is cut off from etcd", node.number()));
      node.path.cut_until = std::max(node.path.cut_until, end);
      node.path.cut_refuses = rng_.Chance(0.5);
    });
  if (Has("slow disk", 0.2))
    Repeatedly(2, seconds(15), [this](Instant end) {
      world_.store.etcd.SetDisk(UpTo(milliseconds(1500), rng_));
      world_.threads().At(end, [this] { world_.store.etcd.SetDisk({}); });
    });
  if (Has("full", 0.15))
    Repeatedly(2, seconds(15), [this](Instant end) {
      Tell("etcd is full");
      world_.store.etcd.model().SetFull(true);
      world_.threads().At(end, [this] { world_.store.etcd.model().SetFull(false); });
    });
  if (Has("elections", 0.3))
    Repeatedly(4, seconds(24), [this](Instant end) {
      Tell("etcd has no leader");
      world_.store.etcd.LoseLeader(end);
    });
  // Where a master may be kept from etcd while it changes tables, and then dies, its record is too
  // old: docs/HA.md, "Tables are not read again".
  if (result_.faults.size() > faults_before) EnableAudits();
}

void SharedRun::LoseLink(PortRef port, Instant end) {
  if (!pulled_.insert(port).second) return;
  (void)world_.fabric().Unlink(world_.now(), port);
  world_.Schedule();
  Tell(places_.NameOf(port) + " loses its link");
  world_.threads().At(std::max(end, world_.now() + milliseconds(20)), [this, port] {
    if (pulled_.erase(port) == 0) return;
    (void)world_.fabric().Link(world_.now(), port);
    world_.Schedule();
    Tell(places_.NameOf(port) + " has its cable again");
  });
}

void SharedRun::DrawFabric() {
  MadFaults mads;
  mads.delay = UpTo(microseconds(30), rng_);
  mads.jitter = UpTo(microseconds(30), rng_);
  if (Has("MADs lost", 0.2)) mads.loss = 0.01 * static_cast<double>(1 + rng_.Below(3));
  world_.fabric().SetMadFaults(mads);
  if (Has("port loss", 0.3))
    StrikeNodes(3, seconds(20),
                [this](ManagementNode& node, Instant end) { LoseLink(node.host(), end); });
  if (Has("fabric split", 0.2))
    Repeatedly(2, seconds(30), [this](Instant end) {
      const PortRef here = nodes_[0]->host(), there = nodes_.back()->host();
      const size_t size = 1 + rng_.Below(places_.nodes().size() / 2);
      Tell("the fabric falls in two parts");
      for (const PortRef cable : places_.CutBetween(here, there, size)) LoseLink(cable, end);
    });
  // Something to write for whoever is master.
  const auto is_taken = [this](PortRef port) {
    const auto is_host = [port](const auto& node) { return node->host() == port; };
    return std::any_of(nodes_.begin(), nodes_.end(), is_host);
  };
  std::vector<PortRef> others;
  for (const PortRef port : places_.cables()) {
    const PortRef peer = world_.fabric().device(port.node)->port(port.port).cable;
    if (!is_taken(port) && !is_taken(peer)) others.push_back(port);
  }
  if (others.empty()) return;
  Repeatedly(12, seconds(8), [this, others](Instant end) { LoseLink(OneOf(others, rng_), end); });
  if (Has("reboots", 0.3))
    Repeatedly(3, {}, [this, others](Instant) {
      const NodeIndex node = OneOf(others, rng_).node;
      if (!world_.fabric().device(node)->IsSwitch()) return;
      Tell(fmt::format("{} reboots", places_.NameOf(node)));
      manager_watch_.OnFault();
      (void)world_.fabric().Reboot(world_.now(), node);
      world_.Schedule();
    });
  // Ports that nobody has given a LID yet.
  for (uint64_t count = rng_.Below(4); count > 0; --count)
    LoseLink(OneOf(others, rng_), begin_ + UpTo(phase_, rng_));
}

// It comes and goes; it may win by its priority, and be busy.
void SharedRun::DrawForeign() {
  const PortRef host = places_.TakeSomeHost(rng_);
  foreign_ = std::make_unique<ForeignNode>(world_, nodes_, host,
                                           static_cast<uint8_t>(rng_.Below(4)), rng_.Next());
  Repeatedly(2, phase_, [this](Instant end) {
    foreign_->Appear();
    world_.threads().At(end, [this] { foreign_->Leave(); });
  });
  Repeatedly(4, phase_, [this](Instant end) { foreign_->Work(end - world_.now()); });
}

// ---- after the faults

void SharedRun::Rest() {
  Tell("all faults end");
  is_at_rest_ = true;
  MadFaults mads;
  mads.delay = microseconds(5);
  world_.fabric().SetMadFaults(mads);
  const std::set<PortRef> pulled = std::exchange(pulled_, {});
  for (const PortRef port : pulled) (void)world_.fabric().Link(world_.now(), port);
  world_.Schedule();
  world_.store.etcd.SetDisk({});
  world_.store.etcd.model().SetFull(false);
  if (foreign_) foreign_->Leave();
  for (const auto& node : nodes_) {
    node->path = EtcdPath();
    node->on_set = nullptr;
    node->Start();
  }
}

bool SharedRun::HasOneMaster() {
  size_t masters = 0, up = 0, waiting = 0;
  for (const auto& node : nodes_) {
    masters += node->is_master();
    waiting += node->waits();
    up += node->is_master() && node->may_write() && node->core()->subnet_up() &&
          node->core()->phase() == sweep::Phase::kIdle;
  }
  return masters == 1 && up == 1 && waiting + 1 == nodes_.size();
}

void SharedRun::CheckEnd() {
  const Instant begin = world_.now();
  const auto comes = [this](Duration limit) {
    const Instant end = world_.now() + limit;
    while (!HasOneMaster() && world_.now() < end) world_.threads().RunUntil(world_.now() + kTick);
    return HasOneMaster();
  };
  bool has = comes(kMasterWithin);
  result_.master_after = world_.now() - begin;
  if (has) {
    world_.threads().RunUntil(world_.now() + kRest);
    has = comes(kMasterWithin);
  }
  if (!has) {
    std::string states;
    for (const auto& node : nodes_)
      states += fmt::format("; node {} {}{}{}{}", node->number(),
                            node->core() == nullptr ? "does not run" : "",
                            node->is_master() ? "is master" : "", node->waits() ? "waits" : "",
                            node->may_write() ? ", may write" : "");
    Say("one master", fmt::format("not one with the subnet up, the others waiting, {} s after the "
                                  "faults{}",
                                  kMasterWithin.count(), states));
    return;
  }
  CheckDevices(*Master());
}

void SharedRun::CheckDevices(const ManagementNode& master) {
  const SimFabric& fabric = world_.fabric();
  clients_.OnEnd(master);
  FailAll("LIDs", LidFaults(fabric));
  FailAll("tables", TablesUnlikePlan(fabric, *master.view().snapshot, *master.view().plan));
  FailAll("unreachable", BrokenPairs(fabric));
}

// Who was stopped within a turn takes what it sends afterwards for sent before, and repeats it
// before it knows of the answer; the Watch knows no such program. Two writers are the
// MasterWatch's.
void SharedRun::AddFaultsOfWatch() {
  const bool has_stops =
      std::find(result_.faults.begin(), result_.faults.end(), "stops") != result_.faults.end();
  for (const std::string& fault : watch_.faults())
    if (fault.starts_with("LIDs: ") || (!has_stops && !fault.starts_with("two writers: ")))
      result_.failures.push_back(fault);
}

// Every thread has to end before the world does.
void SharedRun::End() {
  for (const auto& node : nodes_) node->Kill();
  world_.threads().RunUntil(world_.now() + seconds(1));
}

}  // namespace

std::span<const char* const> SharedCheckerNames() { return kCheckers; }

SharedRunResult RunSharedSeed(uint64_t seed, std::function<void(const std::string& line)> tell) {
  return SharedRun(seed, std::move(tell)).Go();
}

}  // namespace fabricd::sim
