// SPDX-License-Identifier: Apache-2.0
#include "sweep/plan/multicast.h"

#include <utility>

#include <fmt/format.h>

namespace fabricd::sweep {
namespace {

constexpr size_t kMostProblems = 32;  // Limit for groups that are named.

}  // namespace

Multicast::Multicast(SharedGroups groups, OpenQuestions& questions)
    : questions_(questions),
      groups_(groups ? std::move(groups) : std::make_shared<const fabric::MulticastGroups>()),
      plan_(std::make_shared<const routing::MulticastPlan>()) {}

void Multicast::SetGroups(SharedGroups groups) {
  has_changes_ = has_changes_ || *groups_ != *groups;
  groups_ = std::move(groups);
}

uint16_t Multicast::blocks() const {
  if (groups_->groups.empty()) return 0;
  constexpr unsigned kFirst = fabric::kFirstMulticastLid.value();
  const unsigned entry = groups_->groups.back().mlid.value() - kFirst;
  return static_cast<uint16_t>(entry / std::tuple_size_v<routing::MulticastBlock> + 1);
}

void Multicast::NoteQuestion(const ComputePlan& question) {
  Cancel();
  snapshot_ = question.snapshot;
  lids_ = question.lids;
  intent_ = question.intent;
}

bool Multicast::HasWork(const DeviceTable& devices) const {
  return !groups_->groups.empty() || !plan_->empty() || devices.applied().HasTrees();
}

void Multicast::Ask(std::shared_ptr<const routing::RoutingPlan> plan, const DeviceTable& devices) {
  has_changes_ = false;
  SharedTrees before = plan_;
  if (!has_plan_)
    before = std::make_shared<const routing::MulticastPlan>(devices.applied().Trees());
  questions_.Ask(
      ComputeTrees{snapshot_, lids_, intent_, std::move(plan), groups_, std::move(before)});
}

Multicast::SharedTrees Multicast::OnTrees(TreesReady ready, const fabric::FabricSnapshot& snapshot,
                                          ProblemList& problems) {
  is_held_ = false;
  problems.Remove(ProblemKind::kNoTrees);
  if (ready.plan) {
    plan_ = std::move(ready.plan);
    has_plan_ = true;
  } else {
    // The trees in the tables may not fit the unicast plan.
    plan_ = std::make_shared<const routing::MulticastPlan>();
    problems.Add(ProblemKind::kNoTrees, ProblemSubject::Subnet(),
                 fmt::format("no multicast trees that can be proved: {}", ready.fault));
  }
  ListProblems(snapshot, problems);
  return plan_;
}

// Absent members are not listed: they are still to come, or have left.
void Multicast::ListProblems(const fabric::FabricSnapshot& snapshot, ProblemList& problems) const {
  problems.Remove(ProblemKind::kMulticastUnserved);
  size_t named = 0;
  for (const auto& tree : plan_->trees) {
    const routing::UnservedMember* first = nullptr;
    size_t count = 0;
    for (const routing::UnservedMember& member : tree->unserved) {
      if (member.reason == routing::Unserved::kAbsent) continue;
      if (count++ == 0) first = &member;
    }
    if (first == nullptr || ++named > kMostProblems) continue;
    const PortRef port = snapshot.FindPort(first->port_guid);
    const fabric::Node* node = port.IsNone() ? nullptr : snapshot.node(port.node);
    problems.Add(ProblemKind::kMulticastUnserved,
                 ProblemSubject::Named(fmt::format("MLID {:#x}", tree->mlid.value())),
                 fmt::format("{} member{} not served, \"{}\" ({}) for one: {}", count,
                             count == 1 ? " is" : "s are", node ? node->description : "",
                             first->port_guid, routing::UnservedName(first->reason)));
  }
}

void Multicast::Forget() {
  plan_ = std::make_shared<const routing::MulticastPlan>();
  has_plan_ = is_held_ = false;
  order_ = TreeOrder();
}

}  // namespace fabricd::sweep
