// SPDX-License-Identifier: Apache-2.0
#include "sim/run/run.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "common/check.h"
#include "common/status.h"
#include "sim/checkers/checkers.h"
#include "sim/checkers/end_ports.h"
#include "sim/checkers/key_checker.h"
#include "sim/checkers/mad_watch.h"
#include "sim/checkers/quality_checker.h"
#include "sim/checkers/table_watch.h"
#include "sim/device/firmware_profile.h"
#include "sim/faults/draw.h"
#include "sim/faults/fault_injector.h"
#include "sim/faults/places.h"
#include "sim/run/cast.h"
#include "sim/run/members.h"
#include "sim/run/operators.h"
#include "sim/run/tenants.h"
#include "sim/simulation/observers.h"
#include "sim/simulation/simulation.h"
#include "sim/simulation/trace.h"

namespace fabricd::sim {
namespace {

using std::chrono::duration_cast;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kUpLimit = seconds(300);
constexpr Duration kSettleLimit = seconds(300);
// Until tables that somebody else has written are right again: each table is read back in turn.
constexpr Duration kReadBackLimit = std::chrono::minutes(10);
constexpr Duration kQuiet = seconds(25);  // Longer than two light sweeps.

constexpr const char* kCheckers[] = {
    "up",
    "settle",
    "second sweep",
    "not ACTIVE",
    "LIDs",
    "tables",
    "loops",
    "unreachable",
    "P_Keys",
    "window",
    "idle Set",
    "masters",
    "no master",
    "two writers",
    "ERROR in the log",
    "transient loop",
    "transient cut",
    "transient credit loop",
    "holds",
    "multicast loop",
    "multicast",
    "tenants",
    "quality",
    "observer",
    "restart",
};

SimOptions DrawSimOptions(const Faults& faults, Rng& rng) {
  SimOptions options;
  options.seed = rng.Next();
  options.training_time = milliseconds(1 + rng.Below(200));
  options.reboot_time = milliseconds(100 + rng.Below(5000));
  options.device.limited_default_key = faults.limited_keys >= 0.5;
  return options;
}

WatchOptions MakeWatchOptions(const Faults& faults, const sweep::CoreOptions& core) {
  WatchOptions options;
  options.device_limit = core.smp.device_limit;
  options.window_max = core.smp.window_max;
  // Where every fifth MAD is lost, a sweep takes a dozen seconds, and may miss a port.
  options.awareness = seconds(30) + Seconds(faults.loss * 200);
  if (faults.loss >= 0.1) options.first_awareness = options.awareness;
  options.lids_are_stable = !IsCrowd(faults);
  return options;
}

// Where one fabricd alone writes tables, and devices hold what they say they hold.
bool IsTableWatchFair(const Faults& faults) {
  return !IsCrowd(faults) && Count(faults.odd_devices) == 0 && Count(faults.foreign_writes) == 0;
}

TableWatch::Options MakeTableWatchOptions(const Faults& faults, const sweep::CoreOptions& core) {
  TableWatch::Options options;
  options.credit_loops = core.routing.lanes_max == 1;
  // A trap, a look at the switch and a plan; where traps are lost, two light sweeps.
  options.notice = seconds(1) + Microseconds(faults.plan_ms * 2000);
  if (faults.loss > 0 || faults.trap_loss > 0 || Count(faults.mutes) > 0 ||
      Count(faults.sick_links) > 0 || Count(faults.silences) > 0)
    options.notice += 2 * core.sweep.light_interval;
  return options;
}

// The phases of one run, and what is found wrong in them.
class Run {
 public:
  Run(const fabric::FabricSnapshot& topology, const RunOptions& options)
      : topology_(topology),
        options_(options),
        rng_(Rng(options.seed).Next()),  // Neighbouring seeds must not share a stream.
        drawn_(DrawFaults(options.faults, rng_)),
        simulation_(topology, DrawSimOptions(drawn_, rng_)),
        watch_options_(MakeWatchOptions(drawn_, options.core)),
        watch_(simulation_.fabric(), watch_options_),
        table_watch_(simulation_.fabric(), MakeTableWatchOptions(drawn_, options.core)),
        places_(simulation_.fabric()),
        injector_(simulation_, places_, drawn_, rng_, [this](const auto& text) { Note(text); }),
        cast_(simulation_, places_, injector_, drawn_, rng_,
              {.note = [this](const auto& text) { Note(text); },
               .on_start = [this](size_t manager) { OnStart(manager); },
               .on_finished =
                   [this](const auto& finished) {
                     operators_.OnFinished(finished);
                     tenants_.OnFinished(finished);
                   }}),
        operators_(simulation_, places_, drawn_, rng_,
                   {.note = [this](const auto& text) { Note(text); },
                    .on_unwanted = [this](PortRef port) { table_watch_.SetUnwanted(port, true); }}),
        members_(simulation_, drawn_, options.seed, [this](const auto& text) { Note(text); }),
        tenants_(simulation_, places_, drawn_, rng_, [this](const auto& text) { Note(text); }) {
    result_.drawn = drawn_;
    if (options.profiles) DrawProfiles();
    observers_.Add(&watch_);
    observers_.Add(&injector_);
    if (options.watch_tables && IsTableWatchFair(drawn_)) observers_.Add(&table_watch_);
    if (Count(drawn_.groups) > 0) observers_.Add(&members_);
    simulation_.fabric().SetObserver(&observers_);
  }

  RunResult Go() {
    // Up to the first MAD, in the order of the draws: in another, every seed is another run.
    injector_.Start();
    cast_.Add(options_.core);
    if (options_.trace) AddTraces();
    if (options_.make_tap) AddTaps();
    if (IsCrowd(drawn_)) LookWhoIsApart();
    injector_.Plan();
    cast_.PlanKills();
    injector_.PlanPartitions();
    operators_.Plan();
    members_.Plan();
    tenants_.Plan();
    LiveThroughFaults();
    injector_.Stop();
    operators_.Stop();
    members_.Stop();
    tenants_.Stop();
    cast_.StopKills();
    if (Count(drawn_.foreign_writes) > 0) simulation_.RunFor(kReadBackLimit);
    Settle();
    if (cast_.HasForeignMaster()) {
      // What it has written shows nothing of ours; once it goes, a standby has to rise and put it
      // right.
      cast_.SendForeignSmsAway();
      Settle();
    }
    JudgeAtRest();
    StartAgain();
    Finish();
    return std::move(result_);
  }

 private:
  // From a generator of their own: otherwise the seeds are the same runs with and without them.
  void DrawProfiles() {
    Rng rng(options_.seed ^ 0xF1F0);
    rng = Rng(rng.Next());
    for (const NodeIndex node : places_.nodes()) {
      const bool is_switch = simulation_.fabric().device(node)->IsSwitch();
      const FirmwareProfile& profile = DrawFirmwareProfile(is_switch, rng);
      Note(fmt::format("{} has the firmware of {}", places_.NameOf(node), profile.name));
      injector_.SetFirmware(node, profile.quirks);
    }
  }

  // ---- the story, and who hears what

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
  void FailAll(const char* checker, const std::vector<std::string>& findings) {
    for (const std::string& finding : findings) Fail(fmt::format("{}: {}", checker, finding));
  }

  void AddTraces() {
    for (size_t i = 0; i < simulation_.manager_count(); ++i) {
      traces_.push_back(
          std::make_unique<Trace>(simulation_.manager(i).host,
                                  [this, i](const std::string& line) { options_.trace(i, line); }));
      observers_.Add(traces_.back().get());
    }
  }
  void AddTaps() {
    for (size_t i = 0; i < simulation_.manager_count(); ++i)
      simulation_.manager(i).make_tap = [this, i] { return options_.make_tap(i); };
  }
  void OnStart(size_t number) {
    const PortRef host = simulation_.manager(number).host;
    watch_.OnRestart(host);
    if (options_.trace) traces_[number]->Follow(host);
  }

  // ---- while faults hit

  void LiveThroughFaults() {
    const Instant start = simulation_.now();
    if (drawn_.up_under_faults > 0 && !simulation_.RunUntil([&] { return cast_.IsUp(); }, kUpLimit))
      Fail("up: the subnet does not come up under the faults");
    result_.up_after = simulation_.now() - start;
    const Instant end = start + Seconds(drawn_.phase_s);
    if (simulation_.now() < end) simulation_.RunFor(end - simulation_.now());
  }

  // So often that no takeover falls in between.
  void LookWhoIsApart() {
    const bool together = places_.AllTogether();
    watch_.SetApart(simulation_.now(), !together);
    LookForTwoMasters(together && !injector_.partitioned());
    LookForNoMaster(together && !injector_.partitioned());
    simulation_.At(simulation_.now() + milliseconds(50), [this] { LookWhoIsApart(); });
  }

  // What SMInfo would answer at each: two that can reach each other do not stay masters for long.
  void LookForTwoMasters(bool together) {
    const size_t masters = cast_.MasterCount();
    if (!together || masters < 2) {
      two_masters_since_ = kNever;
      return;
    }
    two_masters_since_ = std::min(two_masters_since_, simulation_.now());
    if (simulation_.now() - two_masters_since_ < watch_options_.awareness) return;
    Fail(fmt::format("masters: {} of them can reach each other and stay masters", masters));
    two_masters_since_ = kNever;
  }

  // Fabricds that run and reach each other agree on a master, whatever another make does beside
  // them. A kill or a start sets the clock back: each costs a discovery.
  void LookForNoMaster(bool together) {
    const size_t running = cast_.RunningCount();
    const bool excused = !together || running == 0 || cast_.MasterCount() > 0 ||
                         running != std::exchange(running_, running);
    if (excused) {
      no_master_since_ = kNever;
      return;
    }
    no_master_since_ = std::min(no_master_since_, simulation_.now());
    if (simulation_.now() - no_master_since_ < watch_options_.awareness) return;
    Fail(fmt::format("no master: {} fabricds run, and none of them rises", running));
    no_master_since_ = kNever;
  }

  // ---- the end

  // Up, then no Set for a while, in which light sweeps find nothing to do.
  void Settle() {
    const Instant start = simulation_.now();
    while (simulation_.now() - start < kSettleLimit) {
      const Duration left = kSettleLimit - (simulation_.now() - start);
      if (!simulation_.RunUntil([&] { return cast_.IsUp(); }, left)) break;
      const Instant quiet_since = simulation_.now();
      if (!StaysQuiet()) continue;
      result_.settled_after = quiet_since - start;
      return;
    }
    Fail("settle: no quiet subnet with one master " +
         std::to_string(duration_cast<seconds>(kSettleLimit).count()) + " s after the last fault");
  }
  // A foreign SM may write what it pleases.
  bool StaysQuiet() {
    const uint64_t sets = watch_.sets();
    return !simulation_.RunUntil(
        [&] { return !cast_.IsUp() || (watch_.sets() != sets && !cast_.HasForeignMaster()); },
        kQuiet);
  }

  void JudgeAtRest() {
    const Manager* master = cast_.Master();
    if (master == nullptr) {
      Fail("settle: nobody is master");
      return;
    }
    if (simulation_.fabric().LinkedPeer(master->host).IsNone()) {
      Fail("settle: the master's own port has no link");
      return;
    }
    SecondSweep();
    const SimFabric& fabric = simulation_.fabric();
    // Where operators have disabled all ways to a part, nobody can bring it up.
    const auto beyond = PortsBeyond(fabric, master->host);
    auto unwanted = operators_.Unwanted(*master);
    unwanted.insert(beyond.begin(), beyond.end());
    FailAll("not ACTIVE", PortsNotActive(fabric, 10, beyond));
    FailAll("LIDs", LidFaults(fabric, 10, beyond));
    if (master->view->plan == nullptr)
      Fail("tables: the master has no plan");
    else
      FailAll("tables", TablesUnlikePlan(fabric, *master->view->snapshot, *master->view->plan));
    FailAll("quality", QualityFaults(fabric, *master, topology_));
    FailAll("loops", Loops(fabric));
    FailAll("unreachable", BrokenPairs(fabric, 10, unwanted));
    FailAll("holds", operators_.Findings(*master));
    FailAll("multicast", members_.Findings(*master, unwanted));
    JudgePartitions(*master, beyond);
    CheckObservers(beyond);
  }

  void JudgePartitions(const Manager& master, const absl::flat_hash_set<PortRef>& beyond) {
    for (size_t i = 0; i < simulation_.manager_count(); ++i)
      if (&simulation_.manager(i) == &master) FailAll("tenants", tenants_.Findings(i));
    KeyExpectations expected;
    expected.partitions = master.view->partitions->partitions;
    expected.options = master.options.policy.partitions;
    expected.self = master.view->sm.guid;
    expected.isolated = operators_.Unpartitioned(master);
    expected.undecided = beyond;
    for (const sweep::Problem& problem : master.view->problems)
      if (problem.kind == sweep::ProblemKind::kNotEnforced)
        expected.not_enforced.emplace_back(problem.subject.node, problem.subject.port);
    FailAll("P_Keys", PKeyFaults(simulation_.fabric(), expected));
  }

  // One that only reads finds nothing that it would take from the clients of a fabric that its like
  // manages: each sent Gets only, or the run has ended (mad/read_only_transport.h).
  void CheckObservers(const absl::flat_hash_set<PortRef>& beyond) {
    for (const size_t number : cast_.observers()) {
      Manager& observer = simulation_.manager(number);
      if (!observer.core || simulation_.fabric().LinkedPeer(observer.host).IsNone()) continue;
      if (!beyond.empty()) continue;  // It may be on the other side.
      observer.finished.clear();
      simulation_.Post(number, sweep::SweepCommand{1, true});
      if (!simulation_.RunUntil([&] { return !observer.finished.empty(); }, seconds(120)))
        Fail("observer: its sweep does not end");
      const sweep::SharedTakeoverReport report = observer.view->takeover;
      if (observer.view->sm.state != wire::SmState::kNotActive || observer.view->subnet_up)
        Fail("observer: it takes itself for a manager");
      if (report == nullptr)
        Fail("observer: it has no takeover report");
      else if (!report->risks.empty() || report->lids_changed != 0)
        Fail(fmt::format("observer: it would make {} risky changes and change {} LIDs",
                         report->risks.size(), report->lids_changed));
    }
  }

  uint64_t TableSets() const {
    return simulation_.fabric().stats().Of(wire::AttributeId::kLinearForwardingTable).sets;
  }
  // A manager that starts again leaves the tables of an unchanged fabric as they are. Not checked
  // in a trace, since a killed manager leaves traps without a response; nor with holds or damped
  // links: the ideal plan then depends on links that a new process has not seen in use, and is
  // written where that is hitless.
  void StartAgain() {
    const Manager* master = cast_.Master();
    if (!result_.failures.empty() || !IsTableWatchFair(drawn_) || master == nullptr) return;
    if (options_.trace) return;
    const auto& damped = master->view->policy->damped;
    const bool is_damped =
        std::any_of(damped.begin(), damped.end(), [](const auto& link) { return link.suppressed; });
    if (is_damped || !master->view->policy->holds.empty()) return;
    for (size_t i = 0; i < simulation_.manager_count(); ++i) {
      if (&simulation_.manager(i) != master) continue;
      const uint64_t sets = TableSets();
      Note(fmt::format("manager {} starts again", i));
      simulation_.Kill(i);
      OnStart(i);
      simulation_.Start(i);
      if (!simulation_.RunUntil([&] { return cast_.IsUp(); }, kUpLimit))
        return Fail("restart: the subnet does not come up");
      simulation_.RunFor(kQuiet);
      if (TableSets() != sets)
        Fail(fmt::format("restart: writes {} blocks of tables", TableSets() - sets));
      return;
    }
  }

  // A sweep that is asked for finds nothing to write.
  void SecondSweep() {
    for (size_t i = 0; i < simulation_.manager_count(); ++i) {
      Manager& manager = simulation_.manager(i);
      if (!manager.core || manager.core->sm_state() != wire::SmState::kMaster) continue;
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
    table_watch_.Look();
    for (const std::string& fault : watch_.faults()) Fail(fault);
    for (const std::string& finding : table_watch_.findings()) Fail(finding);
    for (const std::string& loop : members_.loops()) Fail(loop);
    for (size_t i = 0; i < simulation_.manager_count(); ++i)
      for (const auto& record : simulation_.manager(i).log)
        if (record.level == sweep::LogLevel::kError) Fail("ERROR in the log: " + record.text);
    result_.digest = watch_.digest();
    result_.mads = watch_.mads();
    result_.sets = watch_.sets();
    result_.tables = table_watch_.statistics();
  }

  const fabric::FabricSnapshot& topology_;
  const RunOptions& options_;
  Rng rng_;
  const Faults drawn_;
  RunResult result_;
  Simulation simulation_;
  const WatchOptions watch_options_;
  Watch watch_;
  TableWatch table_watch_;
  Observers observers_;
  std::vector<std::unique_ptr<Trace>> traces_;  // By the manager's number; none without a trace.
  Places places_;
  FaultInjector injector_;
  Cast cast_;
  Operators operators_;
  Members members_;
  Tenants tenants_;
  Instant two_masters_since_ = kNever, no_master_since_ = kNever;
  size_t running_ = 0;  // Fabricds, at the last look.
};

}  // namespace

absl::Status CheckRunnable(const fabric::FabricSnapshot& topology, const FaultSpec& faults) {
  size_t cables = 0, hosts = 0;
  topology.ForEachNode([&](const fabric::Node& node) {
    const bool linked = std::any_of(node.ports.begin(), node.ports.end(),
                                    [](const fabric::Port& port) { return !port.peer.IsNone(); });
    cables += linked ? 1 : 0;
    hosts += linked && !node.IsSwitch() ? 1 : 0;
  });
  double wanted = 1;  // For whoever moves.
  for (size_t i = 0; i < faults.size(); ++i) {
    const auto value = FaultClasses()[i].value;
    if (value == &Faults::managers || value == &Faults::foreign_sms || value == &Faults::observers)
      wanted += std::max(faults[i].high, faults[i].extreme);
  }
  if (cables == 0) return InvalidArgument("the topology has no cable");
  if (static_cast<double>(hosts) < wanted)
    return InvalidArgument("{} hosts with a cable are too few: {} are wanted", hosts, wanted);
  return absl::OkStatus();
}

std::span<const char* const> CheckerNames() { return kCheckers; }

RunResult RunSeed(const fabric::FabricSnapshot& topology, const RunOptions& options) {
  return Run(topology, options).Go();
}

}  // namespace fabricd::sim
