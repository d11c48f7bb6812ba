// SPDX-License-Identifier: Apache-2.0
#include "routing/repair/repair.h"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "common/status.h"
#include "routing/graph/turned_order.h"
#include "routing/plan/no_index.h"
#include "routing/plan/node_name.h"
#include "routing/plan/parallel.h"
#include "routing/proof/change_proof.h"
#include "routing/repair/block_repair.h"
#include "routing/repair/channel_repair.h"
#include "routing/repair/kept_order.h"
#include "routing/repair/repaired_plan.h"

namespace fabricd::routing {
namespace {

constexpr size_t kBlocks = 0x10000 / Row::kBlock;
constexpr size_t kTasksFetched = 12;

class Repairer {
 public:
  Repairer(const RouteState& before, const fabric::FabricSnapshot& snapshot,
           const fabric::LidTable& lids, const RepairOptions& options, bool keeps_returned)
      : before_(before),
        old_(*before.plan),
        keeps_returned_(keeps_returned),
        lids_(lids),
        options_(options),
        old_order_(options.order ? *options.order : before.plan->order),
        parallel_(options.threads) {
    links_ = before.links.Next(snapshot, lids, changes_);
  }

  absl::StatusOr<Repair> Run() {
    FABRICD_RETURN_IF_ERROR(Accept());
    const bool grown = links_.lid_end() > old_.lid_top.value() + size_t{1};
    const bool cut = std::any_of(options_.cut.begin(), options_.cut.end(),
                                 [&](PortRef port) { return IsUsed(old_, port); });
    if (changes_.empty() && old_.pending.empty() && !grown && !cut && !options_.order)
      return Nothing();
    FillView();
    KeepReturned();
    Collect();
    FABRICD_RETURN_IF_ERROR(RunTasks());
    Assemble();
    Repair repair{
        {std::move(links_), std::make_shared<const RoutingPlan>(std::move(plan_))}, {}, {}};
    repair.diff = DiffPlans(old_, *repair.after.plan);
    repair.proof = ProveChange(
        {before_.links, old_, repair.after.links, *repair.after.plan, changes_, repair.diff}, lids_,
        options_.threads);
    if (!repair.proof.ok)
      return Internal("the plan of least change does not verify: {}",
                      repair.proof.faults.empty() ? "" : repair.proof.faults[0]);
    return repair;
  }
  // Switches came back with tables, and these were kept.
  bool has_returned() const { return !returned_.empty(); }

 private:
  // The plan as it is, with the same pointer.
  Repair Nothing() {
    Repair repair{{std::move(links_), before_.plan}, {}, {}};
    repair.proof.ok = repair.proof.deadlock_free = true;
    return repair;
  }
  // Else what holds is the channel dependencies (channel_repair.h).
  bool HasOrder() const { return !old_order_.empty(); }
  std::string Name(uint32_t s) const { return NodeName(links_.snapshot(), links_.node(s)); }

  absl::Status Accept() const {
    if (!old_.NeedsOneVl())
      return FailedPrecondition("a plan of {} on {} lanes is made anew", old_.engine, old_.lanes);
    if (changes_.table_sizes) return FailedPrecondition("a switch holds another number of LIDs");
    if (links_.lid_end() > links_.least_table())
      return FailedPrecondition("the table of a switch holds fewer LIDs than there are");
    if (StepsForNew() > options_.most_steps)
      return FailedPrecondition("{} switches and up to {} LIDs are new", changes_.come.size(),
                                changes_.lids.size());
    const bool joins = std::any_of(changes_.ports.begin(), changes_.ports.end(),
                                   [](const auto& change) { return change.after.IsSwitch(); });
    return joins ? CheckJoints() : absl::OkStatus();
  }

  // A LID that is new has to be led from every switch, and every LID from a switch that is new:
  // ports times the hops beyond them.
  uint64_t StepsForNew() const {
    constexpr uint64_t kHops = 4;
    const auto lids = static_cast<uint64_t>(
        std::count_if(changes_.lids.begin(), changes_.lids.end(),
                      [](const LinkChanges::LidMove& move) { return !move.after.IsNowhere(); }));
    uint64_t steps = 0;
    for (uint32_t s = 0; lids > 0 && s < links_.size(); ++s) steps += lids * links_.ports(s);
    for (uint32_t s : changes_.come) steps += links_.lid_end() * links_.ports(s) * kHops;
    return steps;
  }

  // Switches that could not reach each other before may have no way in the old order.
  absl::Status CheckJoints() const {
    const std::vector<uint32_t> was = before_.links.Components(), is = links_.Components();
    std::map<uint32_t, uint32_t> came_from;  // By new component.
    for (uint32_t s = 0; s < was.size(); ++s) {
      if (was[s] == kNone || is[s] == kNone) continue;
      const auto [known, added] = came_from.emplace(is[s], s);
      if (!added && was[known->second] != was[s])
        return FailedPrecondition("switches {} and {} are connected again", Name(known->second),
                                  Name(s));
    }
    return absl::OkStatus();
  }

  void FillView() {
    view_.old_links = &before_.links;
    view_.links = &links_;
    view_.urgent = options_.urgent;
    view_.full_blocks = old_.lid_top.value() / static_cast<uint32_t>(Row::kBlock) + 1;
    view_.rows.resize(links_.size());
    for (uint32_t s = 0; s < links_.size(); ++s)
      if (links_.IsAlive(s) && old_.HasRow(links_.node(s)))
        view_.rows[s] = old_.rows[links_.node(s).value()].get();
    if (HasOrder()) FillPositions();
  }

  // What a switch that comes back holds may serve pairs behind it: entries that lead to their LIDs
  // as the plan would have it stay.
  void KeepReturned() {
    if (!keeps_returned_ || !options_.applied) return;
    const size_t size =
        std::max<size_t>(view_.full_blocks, lids_.top().value() / Row::kBlock + 1) * Row::kBlock;
    for (uint32_t s : changes_.come) {
      const size_t index = links_.node(s).value();
      if (index >= options_.applied->rows.size() || options_.applied->rows[index].size() == 0)
        continue;
      auto row = std::make_shared<Row>(options_.applied->rows[index]);
      row->Resize(size, kNoRoute);
      view_.rows[s] = row.get();
      returned_.emplace(s, std::move(row));
    }
    // All of a path stays or none of it, so that one is judged by all that was held.
    std::vector<std::pair<Row*, uint32_t>> dropped;
    for (const auto& [s, row] : returned_)
      for (uint32_t lid = 0; lid < size; ++lid)
        if ((*row)[lid] != kNoRoute && !Arrives(s, lid)) dropped.emplace_back(row.get(), lid);
    for (const auto& [row, lid] : dropped) row->Set(lid, kNoRoute);
  }
  // Bit i: the switch has come back with an entry for LID 64 * block + i that stays.
  uint64_t KeptAt(uint32_t s, uint32_t block) const {
    const auto found = returned_.find(s);
    if (found == returned_.end()) return 0;
    return ~EqualMask(found->second->block(block), kNoRoute);
  }

  void Collect() {
    tasks_.clear();
    tasks_at_.clear();
    tasks_at_.resize(kBlocks);
    CollectPorts();
    CollectLids();
    CollectPending();
    CollectNewSwitches();
    if (options_.order) CollectTurning();
  }
  // LIDs with entries that rise after they fell.
  void CollectTurning() {
    for (uint32_t block = 0; block * Row::kBlock < links_.lid_end(); ++block) {
      uint64_t turning = 0;
      for (uint32_t s = 0; s < links_.size(); ++s)
        if (view_.rows[s] && block < view_.rows[s]->blocks())
          turning |= TurningAt(links_, s, block) | TurningAt(before_.links, s, block);
      if (turning) TaskAt(block).anywhere |= turning;
    }
  }
  uint64_t TurningAt(const LinkMap& links, uint32_t s, uint32_t block) const {
    uint64_t turning = 0;
    for (uint32_t i = 0; s < links.size() && i < Row::kBlock; ++i) {
      const FarEnd far = links.far(s, view_.rows[s]->block(block)[i]);
      if (!far.IsSwitch() || IsUp(s, far.head)) continue;
      const Row* next = view_.rows[far.head];
      const FarEnd then =
          next && block < next->blocks() ? links.far(far.head, next->block(block)[i]) : FarEnd{};
      if (then.IsSwitch() && IsUp(far.head, then.head)) turning |= uint64_t{1} << i;
    }
    return turning;
  }

  void FillPositions() {
    order_ = OrderWith(changes_.come, old_order_, links_, view_.rows);
    view_.position.resize(links_.size());
    for (uint32_t s = 0; s < links_.size(); ++s) view_.position[s] = order_[links_.node(s).value()];
    turned_ = !options_.urgent && !options_.order && TurnOrder(links_, view_.position);
    if (turned_) TakePositions();
  }
  void TakePositions() {
    for (uint32_t s = 0; s < links_.size(); ++s) order_[links_.node(s).value()] = view_.position[s];
  }

  LinkMap Observed() const {
    LinkChanges unused;
    return options_.observed ? links_.Next(*options_.observed, lids_, unused) : links_;
  }

  BlockTask& TaskAt(uint32_t block) {
    std::unique_ptr<BlockTask>& task = tasks_at_[block];
    if (!task) {
      task = std::make_unique<BlockTask>();
      task->block = block;
    }
    return *task;
  }

  // Entries whose port leads elsewhere now.
  void CollectPorts() {
    for (const LinkChanges::Port& change : changes_.ports) {
      const Row* row = view_.rows[change.at];
      if (!row) continue;
      uint32_t ordinal = 0;
      for (uint32_t block = 0; block < row->blocks(); ++block) {
        const uint64_t lids = EqualMask(row->block(block), change.port);
        if (!lids) continue;
        if (change.before.head != FarEnd::kDead)
          TaskAt(block).broken.push_back({change.at, lids, ordinal});
        ordinal += static_cast<uint32_t>(std::popcount(lids));
        if (change.after.head != FarEnd::kDead) DropStrays(change, block, lids);
      }
    }
  }

  // Old entries towards LIDs that hang nowhere must not lead a packet into foreign hands, nor up
  // again after it fell.
  void DropStrays(const LinkChanges::Port& change, uint32_t block, uint64_t lids) {
    ForEachBit(lids, [&](uint32_t i) {
      const uint32_t lid = block * static_cast<uint32_t>(Row::kBlock) + i;
      if (!links_.place(lid).IsNowhere()) return;
      if (HasOrder() && change.after.IsSwitch() && IsUp(change.after.head, change.at)) {
        const Row* next = view_.rows[change.after.head];
        const uint8_t onward = next && lid < next->size() ? (*next)[lid] : kNoRoute;
        const FarEnd far = links_.far(change.after.head, onward);
        if (!far.IsSwitch() || IsUp(far.head, change.after.head)) return;
      }
      TaskAt(block).writes.push_back({change.at, static_cast<uint8_t>(i), kNoRoute});
    });
  }
  bool IsUp(uint32_t from, uint32_t to) const { return view_.position[to] > view_.position[from]; }

  void CollectLids() {
    for (const LinkChanges::LidMove& move : changes_.lids) {
      const uint32_t lid = move.lid.value(), block = lid / Row::kBlock, i = lid % Row::kBlock;
      if (!move.after.IsNowhere()) {
        TaskAt(block).anywhere |= uint64_t{1} << i;
        continue;
      }
      const LidPlace was = move.before;
      const bool leads = !was.IsNowhere() && links_.IsAlive(was.at) &&
                         (was.port == 0 || links_.far(was.at, was.port).head != FarEnd::kDead);
      if (leads && view_.rows[was.at])
        TaskAt(block).writes.push_back({was.at, static_cast<uint8_t>(i), kNoRoute});
    }
  }

  // What an earlier repair left, unless its links came back.
  void CollectPending() {
    for (const ExemptPair& pair : old_.pending) {
      const uint32_t s = links_.number(pair.source_switch), lid = pair.destination.value();
      if (s == kNone || !links_.IsAlive(s) || !view_.rows[s] || Arrives(s, lid)) continue;
      std::vector<BlockTask::Broken>& broken = TaskAt(lid / Row::kBlock).broken;
      const uint64_t bit = uint64_t{1} << lid % Row::kBlock;
      if (!broken.empty() && broken.back().at == s)
        broken.back().lids |= bit;
      else
        broken.push_back({s, bit, 0});
    }
  }
  bool Arrives(uint32_t s, uint32_t lid) const {
    const LidPlace to = links_.place(lid);
    bool fell = false;
    for (uint32_t hops = 0; !to.IsNowhere() && hops <= links_.size(); ++hops) {
      const Row* row = view_.rows[s];
      const uint8_t out = row && lid < row->size() ? (*row)[lid] : kNoRoute;
      if (s == to.at) return out == to.port;
      const FarEnd far = links_.far(s, out);
      if (!far.IsSwitch() || far.head == s) return false;
      if (HasOrder() && fell && IsUp(s, far.head)) return false;
      fell |= HasOrder() && !IsUp(s, far.head);
      s = far.head;
    }
    return false;
  }

  void CollectNewSwitches() {
    for (uint32_t s : changes_.come)
      for (uint32_t block = 0; block * Row::kBlock < links_.lid_end(); ++block)
        TaskAt(block).broken.push_back({s, ~KeptAt(s, block), 0, true});
  }

  absl::Status RunTasks() {
    for (auto& task : tasks_at_)
      if (task) tasks_.push_back(task.get());
    if (!HasOrder()) return RunByChannels();
    results_.assign(tasks_.size(), {});
    RunSome([](const BlockResult&) { return true; });
    const auto unclear = [](const BlockResult& result) { return result.needs_components; };
    if (std::any_of(results_.begin(), results_.end(), unclear)) {
      view_.components = links_.Components();
      RunSome(unclear);
    }
    for (const BlockResult& result : results_)
      if (result.unserved_at != kNone)
        return FailedPrecondition("no way from switch {} to LID {} in the order of the old plan",
                                  Name(result.unserved_at), result.unserved_lid);
    return absl::OkStatus();
  }

  absl::Status RunByChannels() {
    CopyOldPlan();
    if (tasks_.empty()) return absl::OkStatus();
    view_.components = links_.Components();
    const LinkMap observed = Observed();
    const AppliedTables held = options_.applied ? AppliedTables() : TablesOf(old_);
    auto results = MendByChannels({view_, observed, options_.applied ? *options_.applied : held,
                                   plan_, options_.trees, options_.threads},
                                  tasks_);
    if (!results.ok()) return results.status();
    results_ = *std::move(results);
    return absl::OkStatus();
  }

  void CopyOldPlan() {
    plan_ = old_;
    plan_.rows.resize(links_.snapshot().node_index_end());
    for (const auto& [s, row] : returned_) plan_.rows[links_.node(s).value()] = row;
  }

  // Also copies the old plan's pointers: a plan of the largest subnet has thousands.
  template <typename Wanted>
  void RunSome(Wanted&& wanted) {
    const auto parts = static_cast<size_t>(std::min<size_t>(
        tasks_.size(), 2 * static_cast<size_t>(std::max(parallel_.concurrency(), 1))));
    const bool copy = plan_.rows.empty();
    parallel_.For(parts + copy, [&](size_t part) {
      if (part == parts) return CopyOldPlan();
      BlockRepair repair(view_);
      std::vector<size_t> mine;
      for (size_t i = part; i < tasks_.size(); i += parts)
        if (wanted(results_[i])) mine.push_back(i);
      std::vector<const BlockTask*> batch;
      for (size_t i = 0; i < mine.size(); ++i) {
        if (i % kTasksFetched == 0) {
          batch.clear();
          for (size_t j = i; j < std::min(i + kTasksFetched, mine.size()); ++j)
            batch.push_back(tasks_[mine[j]]);
          repair.FetchAhead(batch);
        }
        results_[mine[i]] = repair.Run(*tasks_[mine[i]]);
      }
    });
  }

  void Assemble() {
    if ((turned_ || options_.order) && plan_.unturned_order.empty())
      plan_.unturned_order = std::move(plan_.order);
    plan_.order = std::move(order_);
    plan_.lid_top = lids_.top();
    for (uint32_t s : changes_.gone) plan_.rows[links_.node(s).value()] = nullptr;
    WriteResults({before_, links_, changes_, lids_, tasks_, results_, options_.cut}, parallel_,
                 plan_);
    const auto dead = [&](const ExemptPair& pair) {
      return !plan_.HasRow(pair.source_switch) ||
             plan_.EgressPort(pair.source_switch, pair.destination) != kNoRoute;
    };
    plan_.exempt.erase(std::remove_if(plan_.exempt.begin(), plan_.exempt.end(), dead),
                       plan_.exempt.end());
  }

  const RouteState& before_;
  const RoutingPlan& old_;
  const bool keeps_returned_;
  const fabric::LidTable& lids_;
  const RepairOptions& options_;
  const std::vector<uint32_t>& old_order_;  // [NodeIndex] Empty: there is none.
  Parallel parallel_;
  LinkMap links_;
  LinkChanges changes_;
  RepairView view_;
  std::map<uint32_t, std::shared_ptr<Row>> returned_;  // Of switches that came back: what stays.
  std::vector<uint32_t> order_;                        // [NodeIndex]
  bool turned_ = false;
  std::vector<std::unique_ptr<BlockTask>> tasks_at_;  // [block]
  std::vector<const BlockTask*> tasks_;
  std::vector<BlockResult> results_;  // [task]
  RoutingPlan plan_;
};

}  // namespace

absl::StatusOr<Repair> RepairPlan(const RouteState& before, const fabric::FabricSnapshot& snapshot,
                                  const fabric::LidTable& lids, const RepairOptions& options) {
  Repairer repairer(before, snapshot, lids, options, /*keeps_returned=*/true);
  auto repair = repairer.Run();
  if (repair.ok() || !repairer.has_returned()) return repair;
  return Repairer(before, snapshot, lids, options, /*keeps_returned=*/false).Run();
}

}  // namespace fabricd::routing
