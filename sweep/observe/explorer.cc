// SPDX-License-Identifier: Apache-2.0
#include "sweep/observe/explorer.h"

#include <algorithm>
#include <utility>

#include "common/sort_unique.h"
#include "sweep/interface/activity.h"

namespace fabricd::sweep {
namespace {
constexpr Duration kForgottenAfter = std::chrono::seconds(10);
}

void Explorer::Add(PortRef port, const std::string& cause, Instant since, Instant now) {
  if (next_.empty()) start_at_ = now + ground_.options.sweep.survey_patience;
  next_.ports.push_back(port);
  if (since >= next_.since) return;
  next_.since = since;
  next_.cause = cause;
}

void Explorer::OnCompletion(const mad::Completion& completion, Instant now) {
  if (discovery_) discovery_->OnCompletion(completion, now);
}

void Explorer::OnLinkLost(PortRef port) {
  if (discovery_) discovery_->OnLinkLost(port);
}

void Explorer::OnMoved(NodeIndex node, const wire::DirectedPath& from,
                       const wire::DirectedPath& to) {
  if (discovery_) discovery_->OnMoved(node, from, to);
}

void Explorer::Advance(PortRef local, bool reading, Instant now) {
  if (discovery_ && now >= discovery_->NextDeadline()) discovery_->OnTimer(now);
  if (discovery_ && discovery_->done()) Finish(local, now);
  // If all these ports are down again, the discovery ends at once, and the next one may start.
  while (!discovery_ && !next_.empty() && (!reading || now >= start_at_)) {
    Start(local, now);
    if (discovery_->done()) Finish(local, now);
  }
  advanced_ = now;
  gathers_ = HasFound() && only_arrivals_ && now < next_arrivals_;
}

Instant Explorer::NextDeadline() const {
  Instant next = gathers_ ? next_arrivals_ : kNever;
  if (discovery_) return std::min(next, discovery_->NextDeadline());
  return next_.empty() ? next : std::min(next, start_at_);
}

SurveyChanges Explorer::TakeChanges() {
  if (std::exchange(only_arrivals_, true)) next_arrivals_ = advanced_ + kGatherTime;
  gathers_ = false;
  return found_.Take();
}

void Explorer::Start(PortRef local, Instant now) {
  now_ = std::exchange(next_, {});
  SortUnique(now_.ports);
  if (!HasFound()) known_end_ = ground_.builder.node_index_end();
  discovery_ = std::make_unique<Discovery>(ground_, local.port, Activity::kExplorer);
  discovery_->StartBeyond(now_.ports, local, now);
}

// Some switches keep showing PortStateChange. Two of them would cause reads of each other for ever.
bool Explorer::IsToBeRead(NodeIndex dirty, Instant now) {
  const auto [known, is_first] = dirty_.emplace(dirty, now);
  if (!is_first && now < known->second + kForgottenAfter) return false;
  known->second = now;
  return true;
}

// All nodes must be new, and each port must lead to one of them.
void Explorer::NoteArrivals(const Discovery& done) {
  const auto is_arrival = [&](NodeIndex node) { return node.value() >= known_end_; };
  const std::vector<NodeIndex> found = done.found();
  only_arrivals_ = only_arrivals_ && !found.empty() && done.remote_sms().empty() &&
                   std::all_of(found.begin(), found.end(), is_arrival);
  for (PortRef port : now_.ports) {
    const fabric::Node* node = ground_.builder.node(port.node);
    if (node == nullptr || !done.IsLinked(port) || !is_arrival(node->port(port.port).peer.node))
      only_arrivals_ = false;
  }
}

// All ports of a switch that is new or has restarted were probed too.
std::vector<PortRef> Explorer::PortsAskedBy(const Discovery& done) const {
  std::vector<PortRef> ports;
  for (NodeIndex index : done.found()) {
    const fabric::Node& node = *ground_.builder.node(index);
    if (!node.IsSwitch() || !done.IsNew(index)) continue;
    for (const auto& [ref, port] : node.LinkPorts()) ports.push_back(ref);
  }
  SortUnique(ports);  // found() is unsorted.
  ports.insert(ports.begin(), now_.ports.begin(), now_.ports.end());
  return ports;
}

void Explorer::Finish(PortRef local, Instant now) {
  const std::unique_ptr<Discovery> done = std::move(discovery_);
  done->Finish(now);
  const bool had_found = HasFound();
  for (NodeIndex node : done->found()) {
    found_.Touch(node);
    if (done->IsNew(node)) found_.changes.come.push_back(node);
  }
  NoteArrivals(*done);
  for (const Unread& unread : done->unread())
    if (unread_.size() < kMaxUnread) unread_.push_back(unread);
  for (NodeIndex node : done->dirty())
    if (IsToBeRead(node, now)) suspects_.push_back(node);
  if (!done->remote_sms().empty()) {
    found_.changes.meets_sm = true;
    found_.changes.needs_sweep = fmt::format("an SM ({}) came", done->remote_sms().front().guid);
  }
  for (PortRef port : PortsAskedBy(*done)) {
    const fabric::Node* node = ground_.builder.node(port.node);
    const PortRef peer = node == nullptr ? PortRef{} : node->port(port.port).peer;
    if (peer.IsNone()) continue;
    if (done->IsUnresponsive(port)) {
      found_.Touch(peer.node);
      continue;
    }
    if (!done->IsLinked(port)) {  // The node or port behind it may have been replaced.
      if (found_.Lose(port, peer)) suspects_.push_back(peer.node);
      continue;
    }
    found_.Touch(port.node);
    found_.Touch(peer.node);
    found_.NoteFirst(port, peer);
  }
  // New paths may be shorter, and nodes that were cut off may be reachable again.
  found_.paths_dirty = true;
  found_.Repath(local, [](auto&&...) {});
  since_ = had_found ? std::min(since_, now_.since) : now_.since;
  if (since_ == now_.since) cause_ = now_.cause;
}

}  // namespace fabricd::sweep
