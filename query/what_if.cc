// SPDX-License-Identifier: Apache-2.0
#include "query/what_if.h"

#include <algorithm>
#include <memory>

#include "common/port_numbers.h"
#include "common/rng.h"
#include "common/status.h"
#include "fabric/names.h"
#include "fabric/port_name.h"
#include "fabric/snapshot_builder.h"
#include "policy/intent_maker.h"
#include "routing/plan/usable.h"
#include "routing/repair/repair.h"

namespace fabricd::query {
namespace {

using fabric::FabricSnapshot;
using fabric::Node;

// The fabric as it would be.
class ChangedFabric {
 public:
  ChangedFabric(const sweep::FabricView& view, const WhatIf& question, WhatIfAnswer& answer)
      : view_(view),
        question_(question),
        answer_(answer),
        builder_(*view.snapshot),
        lids_(*view.lids) {}

  absl::Status Make() {
    FailLinks();
    FABRICD_RETURN_IF_ERROR(FailAtRandom());
    FailNodes();
    FABRICD_RETURN_IF_ERROR(AddNodes());
    for (const auto& [a, b] : question_.added_links) FABRICD_RETURN_IF_ERROR(AddLink(a, b));
    snapshot_ = builder_.Build();
    return absl::OkStatus();
  }
  const FabricSnapshot& snapshot() const { return *snapshot_; }
  const fabric::LidTable& lids() const { return lids_; }

 private:
  bool IsLinked(PortRef port) const {
    const Node* node = builder_.node(port.node);
    return node != nullptr && port.port.value() < node->ports.size() &&
           !node->port(port.port).peer.IsNone();
  }
  void Cut(PortRef port) {
    if (!IsLinked(port)) return;
    builder_.Unlink(port);
    ++answer_.failed_links;
  }

  void FailLinks() {
    for (const PortRef port : question_.failed_links) Cut(port);
  }
  absl::Status FailAtRandom() {
    std::vector<PortRef> cables;
    view_.snapshot->ForEachNode([&](const Node& node) {
      if (!node.IsSwitch()) return;
      for (const auto& [here, port] : node.LinkPorts()) {
        const PortRef peer = port.peer;
        if (IsLinked(here) && here < peer && view_.snapshot->node(peer.node)->IsSwitch())
          cables.push_back(here);
      }
    });
    if (question_.failed_at_random > cables.size())
      return InvalidArgument("{} cables between switches are to fail, and there are {}",
                             question_.failed_at_random, cables.size());
    Rng rng(question_.seed);
    for (uint32_t i = 0; i < question_.failed_at_random; ++i) {
      std::swap(cables[i], cables[i + rng.Below(cables.size() - i)]);
      Cut(cables[i]);
    }
    return absl::OkStatus();
  }
  void FailNodes() {
    for (const NodeIndex index : question_.failed_nodes) {
      const Node* node = builder_.node(index);
      if (node == nullptr) continue;  // Named twice.
      for (const auto& [ref, port] : node->LinkPorts()) Cut(ref);
      builder_.RemoveNode(index);
      ++answer_.failed_nodes;
    }
  }

  // GUIDs that no vendor gives, and that are free.
  Guid NextGuid() {
    while (builder_.FindIndex(Guid(next_guid_)) != NodeIndex::None()) next_guid_ += 256;
    return Guid(std::exchange(next_guid_, next_guid_ + 256));
  }
  absl::Status AddNodes() {
    for (const WhatIf::AddedNode& wanted : question_.added_nodes) {
      wire::NodeInfo info;
      info.node_type = wanted.type;
      info.num_ports = wanted.ports;
      info.node_guid = info.system_image_guid = NextGuid();
      const bool is_switch = wanted.type == wire::NodeType::kSwitch;
      info.port_guid = Guid(info.node_guid.value() + !is_switch);
      info.local_port = PortNum(1);
      const NodeIndex node = builder_.PutNode(info);
      builder_.SetDescription(node, wanted.name);
      if (is_switch) builder_.SetSwitchInfo(node, LikeOtherSwitches());
      const PortNum first(is_switch ? 0 : 1), last(is_switch ? 0 : wanted.ports);
      for (const PortNum number : PortNumbers(first, last)) {
        const PortRef port{node, number};
        builder_.SetPortGuid(port, Guid(info.node_guid.value() + number.value()));
        FABRICD_RETURN_IF_ERROR(GiveLids(port, is_switch ? 0 : LmcOfOthers()));
      }
      added_.push_back(node);
      ++answer_.added_nodes;
    }
    return absl::OkStatus();
  }
  wire::SwitchInfo LikeOtherSwitches() const {
    wire::SwitchInfo info;
    info.linear_fdb_cap = kMaxUnicastLid.value();
    view_.snapshot->ForEachNode([&](const Node& node) {
      if (node.switch_info && node.switch_info->linear_fdb_cap < info.linear_fdb_cap)
        info.linear_fdb_cap = node.switch_info->linear_fdb_cap;
    });
    return info;
  }
  uint8_t LmcOfOthers() const {
    uint8_t lmc = 0;
    view_.snapshot->ForEachNode([&](const Node& node) {
      if (!node.IsSwitch()) lmc = std::max(lmc, view_.lids->Of({node.index, PortNum(1)}).lmc);
    });
    return lmc;
  }
  absl::Status GiveLids(PortRef port, uint8_t lmc) {
    const uint32_t count = 1u << lmc;
    const auto is_free = [&](uint32_t base) {
      for (uint32_t lid = base; lid < base + count; ++lid)
        if (!lids_.Owner(Lid(static_cast<uint16_t>(lid))).IsNone()) return false;
      return true;
    };
    uint32_t base = count;
    while (base + count - 1 <= kMaxUnicastLid.value() && !is_free(base)) base += count;
    if (base + count - 1 > kMaxUnicastLid.value())
      return InvalidArgument("no LID is left for added nodes");
    lids_.Assign(port, {Lid(static_cast<uint16_t>(base)), lmc});
    return absl::OkStatus();
  }

  absl::StatusOr<PortRef> Find(const WhatIf::AddedEnd& end) const {
    const Node* node = builder_.node(end.node.IsNone() ? added_[end.added] : end.node);
    if (node == nullptr) return InvalidArgument("a link is added to a node that fails");
    const std::string name = fabric::DisplayName(*node);
    if (end.port.value() >= node->ports.size())
      return InvalidArgument("{} has no port {}", name, end.port);
    const PortRef named{node->index, end.port};
    if (end.port.value() != 0 && IsLinked(named))
      return InvalidArgument("{} has a cable", fabric::PortName(name, end.port));
    if (end.port.value() != 0) return named;
    for (const auto& [port, state] : node->LinkPorts()) {
      if (!IsLinked(port)) return port;
    }
    return InvalidArgument("{} has no free port", name);
  }
  absl::Status AddLink(const WhatIf::AddedEnd& a, const WhatIf::AddedEnd& b) {
    const auto here = Find(a), there = Find(b);
    if (!here.ok()) return here.status();
    if (!there.ok()) return there.status();
    if (here->node == there->node) return InvalidArgument("a link is added from a node to itself");
    wire::PortInfo up;
    up.port_state = wire::PortState::kActive;
    builder_.SetPortInfo(*here, up);
    builder_.SetPortInfo(*there, up);
    builder_.Link(*here, *there);
    ++answer_.added_links;
    return absl::OkStatus();
  }

  const sweep::FabricView& view_;
  const WhatIf& question_;
  WhatIfAnswer& answer_;
  fabric::SnapshotBuilder builder_;
  fabric::LidTable lids_;
  uint64_t next_guid_ = 0xFAB0000000000000;
  std::vector<NodeIndex> added_;  // [of WhatIf::added_nodes]
  std::shared_ptr<const FabricSnapshot> snapshot_;
};

fabric::Intent IntentOf(const sweep::FabricView& view, const FabricSnapshot& snapshot,
                        const std::vector<policy::HoldTarget>& drained) {
  std::vector<policy::Hold> holds;
  uint64_t highest = 0;
  for (const policy::HoldStatus& status : view.policy->holds) {
    holds.push_back(status.hold);
    highest = std::max(highest, status.hold.id);
  }
  for (const policy::HoldTarget& target : drained) {
    policy::Hold hold;
    hold.id = ++highest;
    hold.kind = policy::HoldKind::kDrain;
    hold.target = target;
    holds.push_back(std::move(hold));
  }
  std::vector<PortRef> suppressed;
  for (const policy::DampedLink& link : view.policy->damped)
    if (link.suppressed) suppressed.push_back(link.a);
  fabric::Intent intent = policy::MakeIntent(policy::HoldBook(std::move(holds), highest), snapshot,
                                             suppressed, view.sm.port);
  for (const policy::DampedLink& link : view.policy->damped)
    if (link.suppressed) intent.flapping_links.push_back({link.a, link.b});
  return intent;
}

}  // namespace

absl::StatusOr<WhatIfAnswer> Answer(const sweep::FabricView& view, const WhatIf& question) {
  if (!view.plan || !view.plan_stands)
    return Unavailable("there is no plan for the fabric as it is; ask again");
  WhatIfAnswer answer;
  ChangedFabric then(view, question, answer);
  FABRICD_RETURN_IF_ERROR(then.Make());
  const fabric::Intent intent_now = IntentOf(view, *view.snapshot, {});
  const routing::UsableFabric usable = routing::MakeUsable(*view.snapshot, *view.lids, intent_now);
  const auto now = std::make_shared<const routing::RouteState>(
      routing::MakeRouteState(*usable.snapshot, *usable.lids, view.plan));
  const fabric::Intent intent = IntentOf(view, then.snapshot(), question.drained);
  routing::RoutingOptions options = question.routing.value_or(view.routing);
  options.threads = 1;  // Reroutes have the others.
  routing::JudgeInput input{then.snapshot(),
                            then.lids(),
                            options,
                            now,
                            intent,
                            view.sm.port,
                            routing::ReplanGoal::kWhole};
  if (!question.routing) answer.first = routing::Judge(input);
  input.goal = routing::ReplanGoal::kIdeal;
  answer.settled = routing::Judge(input);
  return answer;
}

}  // namespace fabricd::query
