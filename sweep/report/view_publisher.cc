// SPDX-License-Identifier: Apache-2.0
#include "sweep/report/view_publisher.h"

#include <set>

namespace fabricd::sweep {
namespace {

SmStatus StatusOf(const ViewInput& input) {
  const PortRef port = input.observed.local();
  const Mastership& mastership = input.mastership;
  SmStatus status{input.options.sm.mode,
                  mastership.state(),
                  input.observed.own().port_guid,
                  input.lids.table()->Of(port).base,
                  mastership.priority(),
                  mastership.Own().activity_count,
                  port,
                  mastership.others(),
                  mastership.IsMaster() && input.guard.is_held(),
                  mastership.watched_master(),
                  mastership.watched_guid(),
                  mastership.watched_port_responds(),
                  mastership.last_master(),
                  mastership.has_other_master(),
                  input.has_own_link};
  // Another SM assigns the LIDs.
  const fabric::Port* local = input.observed.snapshot()->port(port);
  if (local != nullptr && !status.Manages()) status.lid = local->info.lid;
  return status;
}

// Null: there are none.
std::shared_ptr<const std::vector<Lid>> ForeignMlids(const AppliedState& applied,
                                                     const routing::MulticastPlan* plan) {
  std::set<Lid> mlids = applied.HeldMlids();
  if (plan != nullptr)
    for (const auto& tree : plan->trees) mlids.erase(tree->mlid);
  if (mlids.empty()) return nullptr;
  return std::make_shared<const std::vector<Lid>>(mlids.begin(), mlids.end());
}

}  // namespace

void ViewPublisher::OnSweepEnd(SweepReport report, bool is_heavy) {
  last_report_ = std::move(report);
  sweeps_done_ += is_heavy;
  changed_ = true;
}

void ViewPublisher::ShowReadTables(ReaderTables::Rows read, Guid master) {
  // Most are equal: one copy in memory is enough.
  for (auto& [guid, row] : read) {
    if (reader_tables_.computed == nullptr) break;
    const auto computed = reader_tables_.computed->find(guid);
    if (computed != reader_tables_.computed->end()) row.ShareEqualPages(computed->second);
  }
  reader_tables_.read = std::make_shared<const ReaderTables::Rows>(std::move(read));
  reader_tables_.master = master;
  changed_ = true;
}

void ViewPublisher::ShowComputedTables(const routing::RoutingPlan& plan,
                                       const fabric::FabricSnapshot& snapshot) {
  ReaderTables::Rows computed;
  snapshot.ForEachNode([&](const fabric::Node& node) {
    if (node.IsSwitch() && plan.HasRow(node.index))
      computed.emplace(node.guid(), *plan.rows[node.index.value()]);
  });
  reader_tables_.computed = std::make_shared<const ReaderTables::Rows>(std::move(computed));
  changed_ = true;
}

std::shared_ptr<const FabricView> ViewPublisher::Make(const ViewInput& input,
                                                      AppliedState& applied) {
  auto view = std::make_shared<FabricView>();
  view->generation = Generation(++generation_);
  view->snapshot = input.observed.snapshot();
  view->lids = input.lids.table();
  view->sm = StatusOf(input);
  // A plan that is only made for the takeover report is nothing that switches will hold.
  const bool is_to_be_written = MayManage(view->sm.mode) && !view->sm.is_held;
  view->plan = is_to_be_written ? input.planner.plan() : nullptr;
  view->plan_stands = view->plan != nullptr && !input.planner.AwaitsPlan() &&
                      input.phase != Phase::kElecting && input.phase != Phase::kAssigningLids;
  view->groups = input.multicast.groups();
  view->multicast = input.multicast.plan();
  // Looked for only until all trees are written; the same object while nothing changes.
  auto foreign = subnet_up_ ? nullptr : ForeignMlids(applied, view->multicast.get());
  if (foreign == nullptr || foreign_mlids_ == nullptr || *foreign != *foreign_mlids_)
    foreign_mlids_ = std::move(foreign);
  view->foreign_mlids = foreign_mlids_;
  view->chain = input.planner.chain();
  // During a new discovery the complete old tables are more useful than half of the new ones.
  if (port_tables_ == nullptr || input.phase == Phase::kIdle)
    port_tables_ = applied.PortTables(*input.observed.snapshot());
  view->tables = port_tables_;
  view->routing = input.options.routing;
  view->isolated = input.isolated;
  view->phase = input.phase;
  view->subnet_up = subnet_up_;
  view->sweeps_done = sweeps_done_;
  view->last_sweep = last_report_;
  view->problems = input.problems.List();
  view->takeover = input.guard.report();
  view->reader_tables = reader_tables_;
  view->table_writes = table_writes_;
  view->partitions = input.partitions.state();
  view->partitions_in_effect = input.partitions.in_effect();
  view->policy = input.policy;
  return view;
}

}  // namespace fabricd::sweep
