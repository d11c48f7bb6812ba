// SPDX-License-Identifier: Apache-2.0
#include "sweep/activity/change_follower.h"

#include <memory>

#include "common/sort_unique.h"
#include "sweep/observe/paths.h"

namespace fabricd::sweep {

void ChangeFollower::Report(PortRef port, const std::string& cause, Instant now) {
  const fabric::Node* node = observed_.snapshot()->node(port.node);
  if (node == nullptr || !node->IsSwitch()) return;
  if (port.port == PortNum(0))
    suspects_.Add(port.node, cause, now);
  else
    suspects_.AddPort(port, cause, now);
}

void ChangeFollower::ReportThorough(const std::vector<NodeIndex>& nodes, const std::string& cause,
                                    Instant now) {
  for (const NodeIndex node : observed_.SwitchesOf(nodes))
    suspects_.Add(node, cause, now, /*thorough=*/true);
}

bool ChangeFollower::Start(SurveyTask task, Instant now) {
  if (task.switches.empty() && task.ports.empty() && task.links.empty()) return false;
  surveys_.Start(std::move(task), observed_.local(), now);
  return true;
}

bool ChangeFollower::SurveyReported(Instant now) {
  if (now < suspects_.due()) return false;
  const auto is_at = [this](NodeIndex node) { return surveys_.AreAt(node); };
  SurveyTask task = suspects_.Take(is_at, now);
  if (!task.switches.empty()) {
    task.described.assign(described_.begin(), described_.end());
    described_.clear();
  }
  return Start(std::move(task), now);
}

bool ChangeFollower::SurveyPathsTo(const std::vector<mad::DeviceId>& unresponsive, Instant now) {
  SurveyTask task{{}, {}, {}, {}, "a time-out", now};
  for (const mad::DeviceId device : unresponsive) {
    if (!ground_.devices.Has(NodeIndex(device))) continue;
    for (const PortRef link :
         LinksOnPath(ground_.builder, observed_.local(), ground_.devices, NodeIndex(device)))
      if (!surveys_.AreAt(link.node)) task.links.push_back(link);
  }
  SortUnique(task.links);
  return Start(std::move(task), now);
}

void ChangeFollower::SurveyUndone(const std::set<NodeIndex>& nodes, Instant now) {
  SurveyTask task{{}, {}, {}, {}, "something was left undone", now, /*thorough=*/true};
  for (const NodeIndex index : nodes) {
    const fabric::Node* node = observed_.snapshot()->node(index);
    if (node == nullptr) continue;
    if (node->IsSwitch()) task.switches.push_back(index);
    for (const fabric::Port& port : node->ports)
      if (!node->IsSwitch() && !port.peer.IsNone()) task.ports.push_back(port.peer);
  }
  surveys_.Start(std::move(task), observed_.local(), now);
}

void ChangeFollower::TakeUpEnded(Instant now) {
  for (const std::unique_ptr<Survey>& ended : surveys_.TakeDone()) {
    for (const NodeIndex node : ended->task().switches)
      suspects_.OnLooked(node, ended->Changed(node), now);
    observed_.AddUnread(ended->TakeUnread());
  }
  Explorer& explorer = surveys_.explorer();
  observed_.AddUnread(explorer.TakeUnread());
  for (const NodeIndex node : explorer.TakeSuspects()) suspects_.Add(node, "a new neighbour", now);
}

}  // namespace fabricd::sweep
