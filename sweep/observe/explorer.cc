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
  // All that rose may be down again: then there is nothing to be waited for.
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

// Some go on showing PortStateChange, and two of them would have each other read for ever.
bool Explorer::IsToBeRead(NodeIndex dirty, Instant now) {
  const auto [known, is_first] = dirty_.emplace(dirty, now);
  if (!is_first && now < known->second + kForgottenAfter) return false;
  known->second = now;
  return true;
}

// Nothing but nodes never seen before, each port that was asked about facing one of them.
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

// Of a switch that started anew all ports were.
std::vector<PortRef> Explorer::PortsAskedBy(const Discovery& done) const {
  std::vector<PortRef> ports;
  for (NodeIndex index : done.found()) {
    const fabric::Node& node = *ground_.builder.node(index);
    for (uint8_t num = 1; node.IsSwitch() && done.IsNew(index) && num <= node.info.num_ports; ++num)
      ports.push_back({index, PortNum(num)});
  }
  SortUnique(ports);  // They were found in no order.
  ports.insert(ports.begin(), now_.ports.begin(), now_.ports.end());
  return ports;
}

void Explorer::Finish(PortRef local, Instant now) {
  const std::unique_ptr<Discovery> done = std::move(discovery_);
  done->Finish();
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
    if (!done->IsLinked(port)) {  // Who stood there before may be another now, or another port.
      if (found_.Lose(port, peer)) suspects_.push_back(peer.node);
      continue;
    }
    found_.Touch(port.node);
    found_.Touch(peer.node);
    found_.NoteFirst(port, peer);
  }
  // New ways may be shorter, and what was cut off from a port may be reached again.
  found_.paths_dirty = true;
  found_.Repath(local, [](auto&&...) {});
  since_ = had_found ? std::min(since_, now_.since) : now_.since;
  if (since_ == now_.since) cause_ = now_.cause;
}

}  // namespace fabricd::sweep
