// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/streams/topology_delta.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "common/mutex.h"
#include "daemon/rpc/convert/convert.h"

namespace fabricd::rpc {
namespace {

using fabric::FabricSnapshot;
using fabric::Node;

// The nodes of which, or of whose ports and links, anything that is shown may differ.
class Touched {
 public:
  Touched(const query::ReadModel& before, const query::ReadModel& now)
      : before_(before), now_(now) {
    FromDevices();
    if (before.names != now.names || before.hosts != now.hosts || before.places != now.places)
      FromNames();
    if (before.view->lids != now.view->lids) FromLids();
    if (before.policy != now.policy) FromHolds();
  }
  const std::set<NodeIndex>& nodes() const { return nodes_; }

 private:
  void AddPeers(const Node* node) {
    if (node == nullptr) return;
    for (const fabric::Port& port : node->ports)
      if (!port.peer.IsNone()) nodes_.insert(port.peer.node);
  }
  void FromDevices() {
    now_.snapshot().ForEachNotShared(before_.snapshot(), [&](NodeIndex index) {
      nodes_.insert(index);
      const Node* was = before_.snapshot().node(index);
      const Node* is = now_.snapshot().node(index);
      if (!was || !is || was->ports.size() != is->ports.size()) {
        AddPeers(was);
        return AddPeers(is);
      }
      for (size_t number = 0; number < is->ports.size(); ++number) {
        if (was->ports[number] == is->ports[number]) continue;
        for (const PortRef peer : {was->ports[number].peer, is->ports[number].peer})
          if (!peer.IsNone()) nodes_.insert(peer.node);
      }
    });
  }
  // Names are shown at the peers too.
  void FromNames() {
    const auto shown = [](const query::ReadModel& model, const Node& node) {
      const fabric::Host* host = model.hosts->HostOf(node.index);
      return std::tuple(std::string_view(model.name(node.index)),
                        host ? std::string_view(host->name) : std::string_view(),
                        std::string_view(model.places->role(node)), model.places->tier(node.index),
                        model.places->rail(node.index));
    };
    now_.snapshot().ForEachNode([&](const Node& node) {
      const Node* was = before_.snapshot().node(node.index);
      if (was && shown(before_, *was) == shown(now_, node)) return;
      nodes_.insert(node.index);
      AddPeers(&node);
    });
  }
  void FromLids() {
    now_.snapshot().ForEachNode([&](const Node& node) {
      if (before_.snapshot().node(node.index) == nullptr) return;
      const size_t ports = before_.snapshot().node(node.index)->ports.size();
      for (const auto& [ref, port] : node.EndPorts())
        if (ref.port.value() < ports && before_.LidsOf(ref) != now_.LidsOf(ref))
          nodes_.insert(node.index);
    });
  }
  // A hold is shown on what it names, on its ports, and at their peers.
  void FromHolds() {
    std::map<uint64_t, const policy::HoldStatus*> was;
    for (const policy::HoldStatus& status : before_.policy->view().holds)
      was.emplace(status.hold.id, &status);
    for (const policy::HoldStatus& status : now_.policy->view().holds)
      if (was.erase(status.hold.id) == 0) AddHold(status.hold);
    for (const auto& [id, status] : was) AddHold(status->hold);
  }
  void AddHold(const policy::Hold& hold) {
    const auto add = [&](Guid guid) {
      const NodeIndex index = now_.snapshot().FindIndex(guid);
      if (index.IsNone()) return;
      nodes_.insert(index);
      AddPeers(now_.snapshot().node(index));
    };
    for (const Guid guid : hold.target.nodes) add(guid);
    for (const policy::HeldPort& port : hold.target.ports) add(port.node);
  }

  const query::ReadModel& before_;
  const query::ReadModel& now_;
  std::set<NodeIndex> nodes_;
};

template <typename Visit>
void ForEachKeyOn(const query::ReadModel& model, const Watched& watched, const Node& node,
                  Visit&& visit) {
  switch (watched.kind) {
    case pb::TOPOLOGY_KIND_NODE: return visit(ObjectKey{{node.index, PortNum(0)}, {}, ""});
    case pb::TOPOLOGY_KIND_HOST:
      if (const fabric::Host* host = model.hosts->HostOf(node.index))
        visit(ObjectKey{{}, {}, host->name});
      return;
    case pb::TOPOLOGY_KIND_PORT:
      for (const auto& [ref, port] : node.AllPorts()) visit(ObjectKey{ref, {}, ""});
      return;
    case pb::TOPOLOGY_KIND_LINK:
      for (const auto& [here, port] : node.LinkPorts()) {
        const PortRef peer = port.peer;
        if (peer.IsNone()) continue;
        const bool is_a = query::IsEndA(model.snapshot(), here, peer);
        visit(ObjectKey{is_a ? here : peer, is_a ? peer : here, ""});
      }
      return;
    default: return;
  }
}

std::set<ObjectKey> KeysOn(const query::ReadModel& model, const Watched& watched,
                           const std::set<NodeIndex>& nodes) {
  std::set<ObjectKey> keys;
  for (const NodeIndex index : nodes)
    if (const Node* node = model.snapshot().node(index))
      ForEachKeyOn(model, watched, *node, [&](ObjectKey key) { keys.insert(std::move(key)); });
  return keys;
}

// A host that has lost or won an adapter may have others, of which nothing differs.
void AddOtherHosts(const query::ReadModel& before, const query::ReadModel& now,
                   std::set<ObjectKey>& were, std::set<ObjectKey>& are) {
  for (const ObjectKey& key : std::set<ObjectKey>(were))
    if (now.hosts->Find(key.host)) are.insert(key);
  for (const ObjectKey& key : are)
    if (before.hosts->Find(key.host)) were.insert(key);
}

std::vector<ObjectChange> Compare(const query::ReadModel& before, const query::ReadModel& now,
                                  const Watched& watched) {
  const Touched touched(before, now);
  std::set<ObjectKey> were = KeysOn(before, watched, touched.nodes());
  std::set<ObjectKey> are = KeysOn(now, watched, touched.nodes());
  if (watched.kind == pb::TOPOLOGY_KIND_HOST) AddOtherHosts(before, now, were, are);
  std::vector<ObjectChange> changes;
  const auto text = [&](const query::ReadModel& model, const ObjectKey& key) {
    pb::TopologyChange shown;
    ToProto(model, watched, key, &shown);
    return shown.SerializeAsString();
  };
  for (const ObjectKey& key : were)
    if (are.count(key) == 0) changes.push_back({pb::CHANGE_TYPE_DELETED, key});
  for (const ObjectKey& key : are) {
    if (were.count(key) == 0)
      changes.push_back({pb::CHANGE_TYPE_ADDED, key});
    else if (text(before, key) != text(now, key))
      changes.push_back({pb::CHANGE_TYPE_MODIFIED, key});
  }
  return changes;
}

}  // namespace

void ToProto(const query::ReadModel& model, const Watched& watched, const ObjectKey& key,
             pb::TopologyChange* out) {
  switch (watched.kind) {
    case pb::TOPOLOGY_KIND_NODE:
      return ToProto(model, *model.snapshot().node(key.a.node), out->mutable_node());
    case pb::TOPOLOGY_KIND_HOST:
      return ToProto(model, *model.hosts->Find(key.host), out->mutable_host());
    case pb::TOPOLOGY_KIND_PORT: return ToProto(model, key.a, watched.view, out->mutable_port());
    case pb::TOPOLOGY_KIND_LINK:
      return ToProto(model, query::LinkEnds{key.a, key.b}, out->mutable_link());
    default: return;
  }
}

std::vector<ObjectChange> AllOf(const query::ReadModel& model, const Watched& watched) {
  std::vector<ObjectChange> all;
  if (watched.kind == pb::TOPOLOGY_KIND_HOST) {
    for (const fabric::Host& host : model.hosts->hosts())
      all.push_back({pb::CHANGE_TYPE_ADDED, {{}, {}, host.name}});
    return all;
  }
  for (const NodeIndex index : model.names->nodes) {
    ForEachKeyOn(model, watched, *model.snapshot().node(index), [&](ObjectKey key) {
      // Links from their end a only.
      if (key.a.node == index) all.push_back({pb::CHANGE_TYPE_ADDED, std::move(key)});
    });
  }
  return all;
}

TopologyDeltas::Delta TopologyDeltas::Between(const Model& before, const Model& now,
                                              const Watched& watched) {
  MutexLock lock(mutex_);
  for (const Known& known : known_)
    if (known.before == before && known.now == now && known.watched == watched) return known.delta;
  auto delta = std::make_shared<const std::vector<ObjectChange>>(Compare(*before, *now, watched));
  if (known_.size() == kKept) known_.erase(known_.begin());
  known_.push_back({before, now, watched, delta});
  return delta;
}

}  // namespace fabricd::rpc
