// SPDX-License-Identifier: Apache-2.0
#include "sa/view/view.h"

#include <algorithm>

#include "common/check.h"

namespace fabricd::sa {

wire::McMemberRecord DefaultBroadcast() {
  wire::McMemberRecord record;
  record.mgid = {0xFF12401BFFFF0000, 0x00000000FFFFFFFF};
  record.q_key = 0x0B1B;
  record.mtu = 4;   // 2048 bytes
  record.rate = 3;  // 10 Gb/s
  record.p_key = kDefaultFullPKey;
  record.scope = 2;
  return record;
}

bool HasSameLayout(ViewInput a, const ViewInput& b) {
  a.multicast = b.multicast;
  a.foreign_mlids = b.foreign_mlids;
  return a == b;
}

SaView::SaView(ViewInput input, const SaView* before) : input_(std::move(input)) {
  FABRICD_CHECK(input_.snapshot != nullptr && input_.lids != nullptr, "a view of nothing");
  const bool is_same = before != nullptr && HasSameLayout(before->input_, input_);
  layout_ = is_same ? before->layout_ : MakeLayout();
}

std::shared_ptr<const SaView::Layout> SaView::MakeLayout() const {
  auto layout = std::make_shared<Layout>();
  const routing::LinkMap links(*input_.snapshot, *input_.lids);
  std::vector<EndPort> ends;
  snapshot().ForEachNode([&](const fabric::Node& node) {
    for (const auto& [ref, port] : node.EndPorts()) {
      const fabric::LidRange lids = input_.lids->Of(ref);
      if (!lids.base) continue;
      ends.push_back(Describe(ref, port, lids, links));
      ends.back().p_keys = layout->p_keys.Add(KeysOf(ref));
    }
  });
  layout->ends = EndPorts(std::move(ends));
  layout->paths = PathTable(links, input_.plan);
  return layout;
}

EndPort SaView::Describe(PortRef ref, const fabric::Port& port, fabric::LidRange lids,
                         const routing::LinkMap& links) const {
  EndPort end;
  end.ref = ref;
  end.guid = port.guid;
  end.base_lid = lids.base.value();
  end.lmc = lids.lmc;
  end.isolated = std::binary_search(input_.isolated.begin(), input_.isolated.end(), ref);
  end.place = links.place(lids.base.value());
  end.peer = port.peer;
  end.link = ref.port.value() == 0 ? CarriageOfPort0(port) : CarriageOf(snapshot(), port);
  return end;
}

uint32_t SaView::FindRouter(uint64_t prefix) const {
  const auto is_router = [this](const EndPort& end) {
    return NodeOf(end).info.node_type == wire::NodeType::kRouter;
  };
  for (const PrefixRoute& route : sm().prefix_routes) {
    if (route.prefix != 0 && route.prefix != prefix) continue;
    if (route.router) {
      const uint32_t number = ends().FindGuid(route.router);
      if (number != EndPorts::kNone && is_router(ends()[number])) return number;
      continue;
    }
    uint32_t first = EndPorts::kNone;
    for (uint32_t number = 0; number < ends().size(); ++number)
      if (is_router(ends()[number]) &&
          (first == EndPorts::kNone || ends()[number].guid < ends()[first].guid))
        first = number;
    if (first != EndPorts::kNone) return first;
  }
  return EndPorts::kNone;
}

std::vector<PKey> SaView::KeysOf(PortRef end_port) const {
  std::vector<PKey> keys;
  if (const fabric::PortTables* tables = TablesOf(end_port))
    for (const fabric::PortTables::PKeys& block : tables->p_keys)
      if (block.port == end_port.port)
        keys.insert(keys.end(), block.table.keys.begin(), block.table.keys.end());
  if (keys.empty()) keys.push_back(input_.unread_key);
  return keys;
}

const fabric::PortTables* SaView::TablesOf(PortRef end_port) const {
  if (input_.tables == nullptr) return nullptr;
  const auto found = input_.tables->find(end_port);
  return found == input_.tables->end() ? nullptr : &found->second;
}

}  // namespace fabricd::sa
