// SPDX-License-Identifier: Apache-2.0
#include "sim/run/run.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "common/check.h"
#include "common/status.h"
#include "sim/run/checkers.h"
#include "sim/run/foreign_sm.h"
#include "sim/run/simulation.h"
#include "sim/run/trace.h"

namespace fabricd::sim {
namespace {

using std::chrono::duration_cast;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using wire::SmState;

constexpr Duration kUpLimit = seconds(300);
constexpr Duration kSettleLimit = seconds(300);
constexpr Duration kQuiet = seconds(25);  // Longer than two light sweeps.

constexpr const char* kCheckers[] = {
    "up",          "settle", "second sweep", "not ACTIVE", "LIDs",    "tables",           "loops",
    "unreachable", "P_Keys", "window",       "idle Set",   "masters", "ERROR in the log",
};

Duration Microseconds(double count) { return microseconds(static_cast<int64_t>(count)); }

// Hands everything on to several.
class Observers : public SimObserver {
 public:
  void Add(SimObserver* observer) { observers_.push_back(observer); }
  void OnSend(Instant now, PortRef host, const mad::OutgoingMad& mad) override {
    for (SimObserver* each : observers_) each->OnSend(now, host, mad);
  }
  void OnServed(const Served& served) override {
    for (SimObserver* each : observers_) each->OnServed(served);
  }
  void OnDelivery(const Delivery& delivery) override {
    for (SimObserver* each : observers_) each->OnDelivery(delivery);
  }

 private:
  std::vector<SimObserver*> observers_;
};

class Run {
 public:
  Run(const fabric::FabricSnapshot& topology, const RunOptions& options)
      : options_(options),
        rng_(Rng(options.seed).Next()),  // Neighbouring seeds must not share a stream.
        drawn_(DrawFaults(options.faults, rng_)),
        simulation_(topology, DrawSimOptions()),
        watch_(simulation_.fabric(), DrawWatchOptions()) {
    result_.drawn = drawn_;
    observers_.Add(&watch_);
    simulation_.fabric().SetObserver(&observers_);
    ListPlaces();
  }

  RunResult Go() {
    StartFaults();
    AddManagers();
    AddForeignSms();
    if (IsCrowd()) LookWhoIsApart();
    PlanFaults();
    const Instant start = simulation_.now();
    if (drawn_.up_under_faults > 0 && !simulation_.RunUntil([&] { return IsUp(); }, kUpLimit))
      Fail("up: the subnet does not come up under the faults");
    result_.up_after = simulation_.now() - start;
    const Instant end = start + Seconds(drawn_.phase_s);
    if (simulation_.now() < end) simulation_.RunFor(end - simulation_.now());
    StopFaults();
    Settle();
    JudgeAtRest();
    Finish();
    return std::move(result_);
  }

 private:
  static Duration Seconds(double count) { return Microseconds(count * 1e6); }
  int Count(double value) const { return static_cast<int>(value + 0.5); }
  Duration UpTo(Duration limit) {
    return Duration(static_cast<int64_t>(rng_.Below(static_cast<uint64_t>(limit.count()) + 1)));
  }
  Instant SomeTime() { return simulation_.now() + UpTo(Seconds(drawn_.phase_s)); }
  bool IsCrowd() const { return Count(drawn_.managers) + Count(drawn_.foreign_sms) > 1; }

  SimOptions DrawSimOptions() {
    SimOptions options;
    options.seed = rng_.Next();
    options.training_time = milliseconds(1 + rng_.Below(200));
    options.reboot_time = milliseconds(100 + rng_.Below(5000));
    options.device.limited_default_key = drawn_.limited_keys >= 0.5;
    return options;
  }
  WatchOptions DrawWatchOptions() const {
    WatchOptions options;
    options.device_limit = options_.core.smp.device_limit;
    options.window_max = options_.core.smp.window_max;
    // Where every fifth MAD is lost, a sweep takes a dozen seconds, and may miss a port.
    options.awareness = seconds(30) + Seconds(drawn_.loss * 200);
    options.lids_are_stable = !IsCrowd();
    return options;
  }

  void Note(const std::string& text) {
    const auto at = duration_cast<microseconds>(simulation_.now().time_since_epoch()).count();
    result_.story.push_back(fmt::format("{:>12.6f} {}", static_cast<double>(at) / 1e6, text));
    for (auto& trace : traces_) trace->Mark(text);
  }
  void Fail(std::string text) {
    FABRICD_CHECK(std::find(std::begin(kCheckers), std::end(kCheckers),
                            text.substr(0, text.find(':'))) != std::end(kCheckers),
                  "{}", text);
    Note("FAILED " + text);
    result_.failures.push_back(std::move(text));
  }
  std::string NameOf(PortRef port) const {
    return fmt::format("{}/{}", simulation_.fabric().device(port.node)->description(), port.port);
  }

  // ---- who is there

  void ListPlaces() {
    const SimFabric& fabric = simulation_.fabric();
    for (uint32_t i = 0; i < fabric.node_index_end(); ++i) {
      const SimDevice* device = fabric.device(NodeIndex(i));
      if (device == nullptr) continue;
      nodes_.push_back(NodeIndex(i));
      for (int num = 1; num <= device->last_port().value(); ++num) {
        const PortRef port{NodeIndex(i), PortNum(static_cast<uint8_t>(num))};
        const PortRef peer = fabric.LinkedPeer(port);
        if (peer.IsNone()) continue;
        if (port < peer) cables_.push_back(port);
        if (!device->IsSwitch()) host_ports_.push_back(port);
      }
    }
  }
  PortRef SomeHost() { return host_ports_[rng_.Below(host_ports_.size())]; }
  // One that nobody sits on.
  PortRef SomeFreeHost() {
    for (;;) {
      const PortRef port = SomeHost();
      if (std::none_of(taken_.begin(), taken_.end(),
                       [&](PortRef other) { return other.node == port.node; }))
        return port;
    }
  }

  // Whether all that sit on the fabric can reach each other over cables that carry MADs; looked at
  // so often that no takeover falls in between.
  void LookWhoIsApart() {
    const SimFabric& fabric = simulation_.fabric();
    std::vector<bool> reached(fabric.node_index_end(), false);
    std::vector<NodeIndex> open{taken_.front().node};
    reached[open.front().value()] = true;
    for (size_t next = 0; next < open.size(); ++next) {
      for (int num = 1; num <= fabric.device(open[next])->last_port().value(); ++num) {
        const PortRef port{open[next], PortNum(static_cast<uint8_t>(num))};
        const PortRef peer = fabric.LinkedPeer(port);
        if (peer.IsNone() || fabric.link_loss(port) > 0 || reached[peer.node.value()]) continue;
        reached[peer.node.value()] = true;
        if (fabric.device(peer.node)->IsSwitch()) open.push_back(peer.node);
      }
    }
    const bool together = std::all_of(taken_.begin(), taken_.end(),
                                      [&](PortRef port) { return reached[port.node.value()]; });
    watch_.SetApart(simulation_.now(), !together);
    LookForTwoMasters(together);
    simulation_.At(simulation_.now() + milliseconds(50), [this] { LookWhoIsApart(); });
  }

  // What SMInfo would answer at each: two that can reach each other do not stay masters for long.
  void LookForTwoMasters(bool together) {
    size_t masters = 0;
    for (const ForeignSm::Peer& peer : PeersOf(PortRef()))
      masters += peer.state == SmState::kMaster ? 1 : 0;
    if (!together || masters < 2) {
      two_masters_since_ = kNever;
      return;
    }
    two_masters_since_ = std::min(two_masters_since_, simulation_.now());
    if (simulation_.now() - two_masters_since_ < DrawWatchOptions().awareness) return;
    Fail(fmt::format("masters: {} of them can reach each other and stay masters", masters));
    two_masters_since_ = kNever;
  }

  void AddManagers() {
    for (int i = 0; i < Count(drawn_.managers); ++i) {
      sweep::CoreOptions core = options_.core;
      core.sm.priority = static_cast<uint8_t>(rng_.Below(IsCrowd() ? 4 : 16));
      if (IsCrowd()) core.sm.polling_timeout = milliseconds(500 + rng_.Below(1500));
      const size_t number =
          simulation_.Add(core, i == 0 ? simulation_.fabric().DefaultHostPort() : SomeFreeHost());
      Manager& manager = simulation_.manager(number);
      taken_.push_back(manager.host);
      manager.store_time = Microseconds(drawn_.store_ms * 1000);
      manager.plan_time = Microseconds(drawn_.plan_ms * 1000);
      manager.on_log = [this, number](const sweep::LogRecord& record) {
        Note(fmt::format("[{}] {}", number, record.text));
      };
      if (options_.trace) {
        traces_.push_back(std::make_unique<Trace>(
            manager.host,
            [this, number](const std::string& line) { options_.trace(number, line); }));
        observers_.Add(traces_.back().get());
      }
      simulation_.At(simulation_.now() + (i == 0 ? Duration::zero() : UpTo(seconds(2))),
                     [this, number] { Start(number); });
    }
  }

  void Start(size_t number) {
    Manager& manager = simulation_.manager(number);
    if (manager.core) return;
    watch_.OnRestart(manager.host);
    Note(fmt::format("manager {} starts on {}, priority {}", number, NameOf(manager.host),
                     manager.options.sm.priority));
    simulation_.Start(number);
    if (rng_.Chance(0.7)) PlanKill(number);
  }

  void AddForeignSms() {
    for (int i = 0; i < Count(drawn_.foreign_sms); ++i) {
      const PortRef host = SomeFreeHost();
      taken_.push_back(host);
      auto foreign = std::make_unique<ForeignSm>(simulation_.fabric(), host,
                                                 static_cast<uint8_t>(rng_.Below(4)), rng_.Next(),
                                                 [this, host] { return PeersOf(host); });
      ForeignSm* sm = foreign.get();
      foreign_.push_back(sm);
      simulation_.AddActor(std::move(foreign));
      simulation_.At(SomeTime(), [this, sm] {
        Note(fmt::format("a foreign SM appears on {}", NameOf(sm->host())));
        sm->Appear(simulation_.now());
      });
      if (rng_.Chance(0.5)) {
        simulation_.At(SomeTime(), [this, sm] {
          Note(fmt::format("the foreign SM on {} goes", NameOf(sm->host())));
          sm->Leave(simulation_.now());
        });
      }
    }
  }
  std::vector<ForeignSm::Peer> PeersOf(PortRef own) const {
    std::vector<ForeignSm::Peer> peers;
    if (apart_) return peers;
    for (size_t i = 0; i < simulation_.manager_count(); ++i) {
      const Manager& manager = simulation_.manager(i);
      if (!manager.core) continue;
      const Guid guid =
          simulation_.fabric().device(manager.host.node)->port(manager.host.port).guid;
      peers.push_back({manager.host, guid, manager.options.sm.priority, manager.core->sm_state()});
    }
    for (const ForeignSm* other : foreign_)
      if (other->host() != own) peers.push_back({other->host(), Guid(0), 0, other->state()});
    return peers;
  }

  // ---- faults

  void StartFaults() {
    kills_left_ = Count(drawn_.kills);
    Note(fmt::format("faults: {}", Describe(drawn_)));
    MadFaults faults;
    faults.loss = drawn_.loss;
    faults.duplicate = drawn_.duplicate;
    faults.reorder = drawn_.reorder;
    faults.delay = Microseconds(drawn_.delay_us);
    faults.jitter = Microseconds(drawn_.jitter_us);
    faults.hold = Microseconds(drawn_.hold_us);
    simulation_.fabric().SetMadFaults(faults);
    for (int i = 0; i < Count(drawn_.sick_links) && drawn_.sick_loss > 0; ++i)
      simulation_.fabric().SetLinkLoss(SomeCable(), drawn_.sick_loss);
  }
  PortRef SomeCable() { return cables_[rng_.Below(cables_.size())]; }

  void PlanFaults() {
    for (int i = 0; i < Count(drawn_.flaps); ++i) {
      const PortRef cable = SomeCable();
      const Instant from = SomeTime();
      simulation_.At(from, [this, cable] { Unplug(cable); });
      simulation_.At(from + UpTo(seconds(3)), [this, cable] { Plug(cable); });
    }
    for (int i = 0; i < Count(drawn_.mutes); ++i) {
      const PortRef cable = SomeCable();
      const Instant from = SomeTime();
      simulation_.At(from, [this, cable] { Mute(cable, 1); });
      simulation_.At(from + UpTo(seconds(10)), [this, cable] { Mute(cable, 0); });
    }
    for (int i = 0; i < Count(drawn_.reboots); ++i) {
      const NodeIndex node = nodes_[rng_.Below(nodes_.size())];
      simulation_.At(SomeTime(), [this, node] {
        if (!simulation_.fabric().Reboot(simulation_.now(), node).ok()) return;
        Note(fmt::format("{} reboots", simulation_.fabric().device(node)->description()));
      });
    }
    for (int i = 0; i < Count(drawn_.departures); ++i) PlanDeparture();
    for (int i = 0; i < Count(drawn_.outages); ++i) PlanOutage();
    for (int i = 0; i < Count(drawn_.port_traps); ++i)
      simulation_.At(SomeTime(), [this] { TrapSomePort(); });
    for (int i = 0; i < Count(drawn_.odd_devices); ++i) MakeSomeDeviceOdd();
    for (int i = 0; i < Count(drawn_.kills); ++i)
      simulation_.At(SomeTime(), [this] { PlanKill(rng_.Below(simulation_.manager_count())); });
    for (int i = 0; i < Count(drawn_.partitions); ++i) PlanPartition();
  }

  void Unplug(PortRef cable) {
    if (!stopped_ && simulation_.fabric().Unlink(simulation_.now(), cable).ok())
      Note(fmt::format("cable at {} pulled", NameOf(cable)));
  }
  void Plug(PortRef cable) {
    if (simulation_.fabric().Link(simulation_.now(), cable).ok())
      Note(fmt::format("cable at {} plugged", NameOf(cable)));
  }
  void Mute(PortRef cable, double loss) {
    if (stopped_) return;
    simulation_.fabric().SetLinkLoss(cable, loss);
    Note(fmt::format("cable at {} {}", NameOf(cable), loss > 0 ? "falls silent" : "speaks again"));
  }
  // All cables of a node, pulled in one instant, back in another.
  void PlanDeparture() {
    const NodeIndex node = nodes_[rng_.Below(nodes_.size())];
    std::vector<PortRef> own;
    for (PortRef cable : cables_)
      if (cable.node == node || simulation_.fabric().LinkedPeer(cable).node == node)
        own.push_back(cable);
    const Instant from = SomeTime();
    for (PortRef cable : own) simulation_.At(from, [this, cable] { Unplug(cable); });
    const Instant back = from + UpTo(seconds(10));
    for (PortRef cable : own) simulation_.At(back, [this, cable] { Plug(cable); });
  }

  void PlanOutage() {
    const NodeIndex node = nodes_[rng_.Below(nodes_.size())];
    const Instant from = SomeTime();
    simulation_.At(from, [this, node] {
      if (stopped_ || !simulation_.fabric().PowerOff(simulation_.now(), node).ok()) return;
      Note(fmt::format("{} loses power", simulation_.fabric().device(node)->description()));
    });
    simulation_.At(from + UpTo(seconds(10)), [this, node] { Power(node); });
  }
  void Power(NodeIndex node) {
    if (simulation_.fabric().PowerOn(simulation_.now(), node).ok())
      Note(fmt::format("{} has power", simulation_.fabric().device(node)->description()));
  }
  void TrapSomePort() {
    const PortRef port = SomeCable();
    const uint16_t number = static_cast<uint16_t>(129 + rng_.Below(3));
    // A port that no manager has configured has nobody to tell.
    if (simulation_.fabric().RaisePortTrap(simulation_.now(), port, number).ok())
      Note(fmt::format("trap {} at {}", number, NameOf(port)));
  }
  // What firmware in the field has done. All but the fields that it never takes ends with the
  // faults.
  void MakeSomeDeviceOdd() {
    const NodeIndex node = nodes_[rng_.Below(nodes_.size())];
    Oddities odd;
    std::string what;
    switch (rng_.Below(6)) {
      case 0:
        odd.answer_delay = UpTo(milliseconds(600));
        what = "answers slowly";
        break;
      case 1:
        // For less than a manager waits before it tries again: longer, nobody can tell what is so.
        odd.stale_reads = UpTo(milliseconds(900));
        what = "shows old values";
        break;
      case 2:
        odd.ignored = IgnoredPortInfoFields::OfIbsim();
        what = "does not take some fields of PortInfo";
        break;
      case 3:
        odd.busy_every = static_cast<uint32_t>(2 + rng_.Below(5));
        what = "is often busy";
        break;
      case 4:
        odd.refused_gets[wire::AttributeId::kNodeDescription] =
            wire::kStatusUnsupportedMethodAttribute;
        what = "has no NodeDescription";
        break;
      default: odd.takes_parts = true; what = "takes parts of a PortInfo that it refuses";
    }
    Note(fmt::format("{} {}", simulation_.fabric().device(node)->description(), what));
    simulation_.fabric().SetOddities(node, odd);
    odd_[node] = odd;
  }
  void EndOddities() {
    for (const auto& [node, odd] : odd_) {
      Oddities stays;
      stays.ignored = odd.ignored;
      stays.takes_parts = odd.takes_parts;
      stays.refused_gets = odd.refused_gets;
      simulation_.fabric().SetOddities(node, stays);
    }
  }

  // At a MAD that lies within what a bring-up of this fabric takes.
  void PlanKill(size_t number) {
    Manager& manager = simulation_.manager(number);
    if (stopped_ || kills_left_ == 0 || !manager.core || manager.kill_at) return;
    --kills_left_;
    manager.kill_at = manager.mads_sent + 1 + rng_.Below(40 * nodes_.size());
    const Instant back = simulation_.now() + UpTo(seconds(5));
    simulation_.At(back, [this, number] { Resurrect(number); });
  }
  void Resurrect(size_t number) {
    Manager& manager = simulation_.manager(number);
    if (manager.core && manager.kill_at) {
      // It sends little: it dies now.
      simulation_.Kill(number, rng_.Chance(0.5));
    }
    if (manager.core) return;
    Note(fmt::format("manager {} was killed after {} MADs", number, manager.mads_sent));
    if (rng_.Chance(drawn_.moves)) Move(number);
    Start(number);
  }
  void Move(size_t number) {
    Manager& manager = simulation_.manager(number);
    const PortRef to = SomeFreeHost();
    std::replace(taken_.begin(), taken_.end(), manager.host, to);
    manager.host = to;
    if (number < traces_.size()) traces_[number]->Follow(to);
  }

  // Half of the switches, with one manager, are cut off from the rest, silently or by pulled
  // cables.
  void PlanPartition() {
    const Instant from = SomeTime();
    const Duration length = seconds(2) + UpTo(seconds(40));
    const bool silent = rng_.Chance(0.6);
    simulation_.At(from, [this, silent, length] {
      if (apart_ || stopped_ || taken_.size() < 2) return;
      const std::vector<PortRef> cut = Cut();
      apart_ = true;
      Note(fmt::format("partition: {} cables {}", cut.size(), silent ? "silent" : "pulled"));
      for (PortRef cable : cut) silent ? Mute(cable, 1) : Unplug(cable);
      simulation_.At(simulation_.now() + length, [this, cut, silent] { Join(cut, silent); });
    });
  }
  void Join(const std::vector<PortRef>& cut, bool silent) {
    if (!apart_) return;
    for (PortRef cable : cut) silent ? Mute(cable, 0) : Plug(cable);
    apart_ = false;
    Note("the partition is over");
  }
  // Cables between a part of the fabric grown from one manager's port and the part of another.
  std::vector<PortRef> Cut() {
    const SimFabric& fabric = simulation_.fabric();
    const size_t first = rng_.Below(taken_.size());
    const PortRef here = taken_[first];
    const PortRef there = taken_[(first + 1 + rng_.Below(taken_.size() - 1)) % taken_.size()];
    const NodeIndex stop = fabric.LinkedPeer(there).node;
    std::vector<bool> inside(fabric.node_index_end(), false);
    std::vector<NodeIndex> part{here.node};
    inside[here.node.value()] = true;
    const size_t size = 1 + rng_.Below(nodes_.size() / 2);
    for (size_t next = 0; next < part.size() && part.size() < size; ++next) {
      for (int num = 1; num <= fabric.device(part[next])->last_port().value(); ++num) {
        const NodeIndex peer =
            fabric.LinkedPeer({part[next], PortNum(static_cast<uint8_t>(num))}).node;
        if (peer.IsNone() || peer == stop || peer == there.node || inside[peer.value()]) continue;
        inside[peer.value()] = true;
        part.push_back(peer);
      }
    }
    std::vector<PortRef> cut;
    for (PortRef cable : cables_) {
      const PortRef peer = fabric.LinkedPeer(cable);
      if (!peer.IsNone() && inside[cable.node.value()] != inside[peer.node.value()])
        cut.push_back(cable);
    }
    return cut;
  }

  void StopFaults() {
    Note("the faults stop");
    stopped_ = true;
    MadFaults none;
    none.delay = Microseconds(drawn_.delay_us);
    simulation_.fabric().SetMadFaults(none);
    for (PortRef cable : cables_) {
      simulation_.fabric().SetLinkLoss(cable, 0);
      Plug(cable);
    }
    for (NodeIndex node : nodes_) Power(node);
    EndOddities();
    apart_ = false;
    for (size_t i = 0; i < simulation_.manager_count(); ++i) {
      simulation_.manager(i).kill_at.reset();
      Start(i);
    }
  }

  // ---- the end

  bool IsUp() const {
    size_t masters = 0, ready = 0;
    for (size_t i = 0; i < simulation_.manager_count(); ++i) {
      const auto& core = simulation_.manager(i).core;
      if (!core || core->sm_state() == SmState::kDiscovering) return false;
      if (core->sm_state() != SmState::kMaster) continue;
      ++masters;
      if (core->subnet_up() && core->phase() == sweep::Phase::kIdle) ++ready;
    }
    for (const ForeignSm* foreign : foreign_)
      masters += foreign->state() == SmState::kMaster ? 1 : 0;
    return masters == 1 && (ready == 1 || ForeignMaster());
  }
  bool ForeignMaster() const {
    return std::any_of(foreign_.begin(), foreign_.end(),
                       [](const auto* each) { return each->state() == SmState::kMaster; });
  }

  // Up, then no Set for a while, in which light sweeps find nothing to do.
  void Settle() {
    const Instant start = simulation_.now();
    while (simulation_.now() - start < kSettleLimit) {
      if (!simulation_.RunUntil([&] { return IsUp(); }, kSettleLimit - (simulation_.now() - start)))
        break;
      const uint64_t sets = watch_.sets();
      const Instant quiet_since = simulation_.now();
      const bool disturbed = simulation_.RunUntil(
          [&] { return !IsUp() || (watch_.sets() != sets && !ForeignMaster()); }, kQuiet);
      if (disturbed) continue;
      result_.settled_after = quiet_since - start;
      return;
    }
    Fail("settle: no quiet subnet with one master " +
         std::to_string(duration_cast<seconds>(kSettleLimit).count()) + " s after the last fault");
  }

  const Manager* Master() const {
    for (size_t i = 0; i < simulation_.manager_count(); ++i) {
      const Manager& manager = simulation_.manager(i);
      if (manager.core && manager.core->sm_state() == SmState::kMaster) return &manager;
    }
    return nullptr;
  }

  void JudgeAtRest() {
    const auto fail_all = [this](const char* checker, const std::vector<std::string>& findings) {
      for (const std::string& finding : findings) Fail(fmt::format("{}: {}", checker, finding));
    };
    const Manager* master = Master();
    if (master == nullptr) return;  // A foreign SM's fabric is that SM's affair.
    SecondSweep();
    const SimFabric& fabric = simulation_.fabric();
    fail_all("not ACTIVE", PortsNotActive(fabric));
    fail_all("LIDs", LidFaults(fabric));
    if (master->view->plan)
      fail_all("tables", TablesUnlikePlan(fabric, *master->view->snapshot, *master->view->plan));
    fail_all("loops", Loops(fabric));
    fail_all("unreachable", BrokenPairs(fabric));
    fail_all("P_Keys", PKeyFaults(fabric));
  }

  // A sweep that is asked for finds nothing to write.
  void SecondSweep() {
    for (size_t i = 0; i < simulation_.manager_count(); ++i) {
      Manager& manager = simulation_.manager(i);
      if (!manager.core || manager.core->sm_state() != SmState::kMaster) continue;
      const uint64_t sets = watch_.sets();
      manager.finished.clear();
      simulation_.Post(i, sweep::SweepCommand{1, true});
      if (!simulation_.RunUntil([&] { return !manager.finished.empty(); }, seconds(60)))
        Fail("second sweep: does not end");
      if (watch_.sets() != sets)
        Fail(fmt::format("second sweep: sends {} Sets", watch_.sets() - sets));
    }
  }

  void Finish() {
    for (const std::string& fault : watch_.faults()) Fail(fault);
    for (size_t i = 0; i < simulation_.manager_count(); ++i)
      for (const auto& record : simulation_.manager(i).log)
        if (record.level == sweep::LogLevel::kError) Fail("ERROR in the log: " + record.text);
    result_.digest = watch_.digest();
    result_.mads = watch_.mads();
    result_.sets = watch_.sets();
  }

  const RunOptions& options_;
  Rng rng_;
  const Faults drawn_;
  RunResult result_;
  Simulation simulation_;
  Watch watch_;
  Observers observers_;
  std::vector<std::unique_ptr<Trace>> traces_;
  std::vector<ForeignSm*> foreign_;
  std::vector<NodeIndex> nodes_;
  std::map<NodeIndex, Oddities> odd_;
  std::vector<PortRef> cables_;  // One end of each cable that was linked at first.
  std::vector<PortRef> host_ports_;
  std::vector<PortRef> taken_;  // By managers and foreign SMs.
  bool stopped_ = false, apart_ = false;
  int kills_left_ = 0;
  Instant two_masters_since_ = kNever;
};

}  // namespace

std::span<const char* const> CheckerNames() { return kCheckers; }

RunResult RunSeed(const fabric::FabricSnapshot& topology, const RunOptions& options) {
  return Run(topology, options).Go();
}

}  // namespace fabricd::sim
