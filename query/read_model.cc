// SPDX-License-Identifier: Apache-2.0
#include "query/read_model.h"

#include <algorithm>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "common/number_text.h"
#include "common/status.h"
#include "query/port_text.h"
#include "query/status.h"
#include "query/verdict_conditions.h"

namespace fabricd::query {
namespace {

using fabric::FabricSnapshot;
using fabric::NameTable;
using fabric::Node;

// The one node of a host; an error that says which it has, when it has several.
absl::StatusOr<NodeIndex> OnlyNodeOf(const ReadModel& model, const fabric::Host& host) {
  std::vector<std::string> names;
  NodeIndex only = NodeIndex::None();
  for (const fabric::HostPort& port : host.ports) {
    if (port.port.node == only) continue;
    only = port.port.node;
    names.push_back(fmt::format("\"{}\"", model.name(only)));
  }
  if (names.size() == 1) return only;
  return BadField("name",
                  fmt::format("host {} has {} HCAs; name one: {}", host.name, names.size(),
                              fmt::join(names, ", ")),
                  "AMBIGUOUS_NAME");
}

// NODE[PORT] as NODE/PORT.
std::string WithSlash(const std::string& text) {
  const auto parts = text.empty() || text.back() != ']' ? std::nullopt : SplitPortText(text);
  return parts ? fabric::PortName(parts->node, parts->port) : text;
}

}  // namespace

bool IsEndA(const FabricSnapshot& snapshot, PortRef a, PortRef b) {
  const Node& node_a = *snapshot.node(a.node);
  const Node& node_b = *snapshot.node(b.node);
  if (node_a.IsSwitch() != node_b.IsSwitch()) return node_a.IsSwitch();
  return std::tuple(node_a.guid(), a.port) < std::tuple(node_b.guid(), b.port);
}

LinkQuality QualityOf(const FabricSnapshot& snapshot, PortRef a, PortRef b) {
  const fabric::Port& end_a = *snapshot.port(a);
  const fabric::Port& end_b = *snapshot.port(b);
  if (!end_a.known || !end_b.known) return {};
  // What both support: the bits that both have set.
  wire::PortInfo common = end_a.info;
  common.link_width_supported &= end_b.info.link_width_supported;
  common.link_speed_supported &= end_b.info.link_speed_supported;
  common.link_speed_ext_supported &= end_b.info.link_speed_ext_supported;
  common.link_speed_ext_supported2 &= end_b.info.link_speed_ext_supported2;
  LinkQuality quality;
  quality.width_supported = wire::BestSupportedWidth(common);
  quality.speed_supported = wire::BestSupportedSpeed(common);
  if (!end_a.IsUp() || !end_b.IsUp()) return quality;
  const int width = wire::ActiveWidth(end_a.info);
  const wire::LinkSpeed speed = end_a.Speed();
  const bool known_speed = speed != wire::LinkSpeed::kUnknown;
  quality.degraded = (width > 0 && width < quality.width_supported) ||
                     (known_speed && speed < quality.speed_supported);
  return quality;
}

NodeOrder::NodeOrder(const FabricSnapshot& snapshot, const fabric::NodeNameMap& map)
    : by_name(snapshot, &map), names(snapshot.node_index_end()) {
  snapshot.ForEachNode([&](const Node& node) {
    names[node.index.value()] = Utf8(fabric::DisplayName(node, &map));
    nodes.push_back(node.index);
  });
  std::sort(nodes.begin(), nodes.end(), [&](NodeIndex a, NodeIndex b) {
    const std::string& name_a = names[a.value()];
    const std::string& name_b = names[b.value()];
    if (const int order = fabric::CompareNatural(name_a, name_b); order != 0) return order < 0;
    return snapshot.node(a)->guid() < snapshot.node(b)->guid();
  });
}

LinkCounts::LinkCounts(const FabricSnapshot& snapshot) : of_(snapshot.node_index_end()) {
  snapshot.ForEachNode([&](const Node& node) { Count(snapshot, node.index); });
}

LinkCounts LinkCounts::Moved(const FabricSnapshot& before, const FabricSnapshot& now) const {
  std::set<NodeIndex> touched;
  const auto touch = [&](const Node* node) {
    if (node == nullptr) return;
    for (const fabric::Port& port : node->ports)
      if (!port.peer.IsNone()) touched.insert(port.peer.node);
  };
  now.ForEachNotShared(before, [&](NodeIndex index) {
    touched.insert(index);
    touch(before.node(index));
    touch(now.node(index));
  });
  LinkCounts moved = *this;
  moved.of_.resize(now.node_index_end());
  for (const NodeIndex index : touched) moved.Count(now, index);
  return moved;
}

void LinkCounts::Count(const FabricSnapshot& snapshot, NodeIndex index) {
  Of now;
  if (const Node* node = snapshot.node(index)) {
    for (const auto& [here, port] : node->LinkPorts()) {
      now.ports_active += port.known && port.info.port_state == wire::PortState::kActive;
      if (port.peer.IsNone()) continue;
      now.degraded += QualityOf(snapshot, here, port.peer).degraded;
      now.as_a += IsEndA(snapshot, here, port.peer);
    }
  }
  Of& old = of_[index.value()];
  links_ += now.as_a - old.as_a;
  degraded_ends_ += now.degraded - old.degraded;
  ports_active_ += now.ports_active - old.ports_active;
  old = now;
}

absl::StatusOr<NameTable::Address> ReadModel::Resolve(const std::string& text) const {
  // Without an assignment of our own (standby, before the first), LIDs are what the ports say.
  const fabric::LidTable* lids = view->lids->port_count() > 0 ? view->lids.get() : nullptr;
  const NameTable table(snapshot(), names->by_name, lids);
  const auto address = table.Resolve(WithSlash(text));
  if (address.ok()) return address;
  if (address.status().code() == absl::StatusCode::kInvalidArgument) {
    return BadField("name", Message(address.status()), "AMBIGUOUS_NAME");
  }
  // "node12/mlx5_3" for "node12 mlx5_3".
  if (const size_t slash = text.find('/'); slash != std::string::npos) {
    std::string spaced = WithSlash(text);
    spaced[slash] = ' ';
    if (const auto device = table.Resolve(spaced); device.ok()) return device;
  }
  if (const fabric::Host* host = hosts->Find(text)) {
    const auto only = OnlyNodeOf(*this, *host);
    if (!only.ok()) return only.status();
    return NameTable::Address{*only, false, PortNum(0)};
  }
  return NoSuch(SplitPortText(text) ? "port" : "node", text, Message(address.status()));
}

absl::StatusOr<const Node*> ReadModel::FindNode(const std::string& text) const {
  const auto address = Resolve(text);
  if (!address.ok()) return address.status();
  const auto port = address->has_port ? SplitPortText(text) : std::nullopt;
  if (port && port->port == address->port && !fabric::ParseGuid(text)) {
    return BadField("node", fmt::format("\"{}\" is a port, not a node", text));
  }
  return snapshot().node(address->node);
}

absl::StatusOr<PortRef> ReadModel::FindPort(const std::string& text) const {
  const auto address = Resolve(text);
  if (!address.ok()) return address.status();
  if (address->has_port) return PortRef{address->node, address->port};
  return BadField("port", fmt::format("\"{}\" is a node; a port is NODE/PORT", text));
}

absl::StatusOr<ReadModel::End> ReadModel::FindEnd(const std::string& text) const {
  const auto address = Resolve(text);
  if (!address.ok()) return address.status();
  const Node& node = *snapshot().node(address->node);
  PortRef port{address->node, address->has_port ? address->port : node.first_end_port()};
  if (port.port > node.last_end_port()) {
    return BadField("name",
                    fmt::format("{} is no end port: a path begins and ends at a switch or at "
                                "a port of an HCA",
                                text));
  }
  if (!address->has_port && !node.IsSwitch()) {
    for (const auto& [ref, state] : node.LinkPorts()) {
      if (state.peer.IsNone()) continue;
      port.port = ref.port;
      break;
    }
  }
  const fabric::LidRange lids = LidsOf(port);
  const uint32_t named = ParseDecimalOrHex<uint32_t>(text).value_or(0);
  const bool own = named >= lids.base.value() && named < lids.base.value() + lids.count();
  return End{port, own && named ? Lid(static_cast<uint16_t>(named)) : lids.base};
}

fabric::LidRange ReadModel::LidsOf(PortRef end_port) const {
  const fabric::LidRange assigned = view->lids->Of(end_port);
  if (assigned.base) return assigned;
  const fabric::Port& port = *snapshot().port(end_port);
  return {port.info.lid, port.info.lmc};
}

std::shared_ptr<const ReadModel> MakeReadModel(ReadModelInputs inputs, const ReadModel* last) {
  auto model = std::make_shared<ReadModel>();
  const FabricSnapshot& now = *inputs.view->snapshot;
  const FabricSnapshot* before = last ? &last->snapshot() : nullptr;
  if (before && SameNodes(*before, now))
    model->names = last->names;
  else
    model->names = std::make_shared<const NodeOrder>(now, inputs.name_map);
  if (before == &now)
    model->links = last->links;
  else
    model->links = std::make_shared<const LinkCounts>(before ? last->links->Moved(*before, now)
                                                             : LinkCounts(now));
  model->hosts = std::move(inputs.hosts);
  const auto layout_of = [](const sweep::FabricView& of) {
    return of.plan ? of.plan->layout.get() : nullptr;
  };
  const bool same_places = last && last->hosts == model->hosts &&
                           layout_of(*last->view) == layout_of(*inputs.view) &&
                           Places::StayPut(*before, now, layout_of(*inputs.view));
  model->places = same_places
                      ? last->places
                      : std::make_shared<const Places>(now, *model->hosts, layout_of(*inputs.view));
  // Rails too are read from where adapters hang.
  model->missing = same_places
                       ? last->missing
                       : std::make_shared<const MissingNics>(inputs.view->snapshot, model->hosts);
  model->verdicts = inputs.verdicts;
  if (last && last->view->policy == inputs.view->policy && last->verdicts == inputs.verdicts)
    model->policy = last->policy;
  else
    model->policy = std::make_shared<const PolicyIndex>(
        WithVerdicts(inputs.view->policy, *inputs.verdicts, &inputs.name_map), inputs.patterns);
  model->view = std::move(inputs.view);
  return model;
}

}  // namespace fabricd::query
