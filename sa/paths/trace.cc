// SPDX-License-Identifier: Apache-2.0
#include "sa/paths/path_finder.h"
#include "sa/paths/paths.h"

namespace fabricd::sa {

using wire::PathRecord;

namespace {

// A port's identifier is its GUID; an external port of a switch goes by that of port 0.
wire::TraceRecord Trace(const SaView& view, NodeIndex index, PortNum entry, PortNum exit) {
  const fabric::Node& node = *view.snapshot().node(index);
  const auto guid = [&](PortNum port) {
    return node.port(node.IsSwitch() ? PortNum(0) : port).guid.value();
  };
  wire::TraceRecord record;
  record.gid_prefix = view.sm().gid_prefix;
  record.id_generation = static_cast<uint16_t>(view.snapshot().generation().value());
  record.node_type = static_cast<uint8_t>(node.info.node_type);
  record.node_id = node.guid().value();
  record.chassis_id = node.info.system_image_guid.value();
  record.entry_port_id = entry ? guid(entry) : 0;
  record.exit_port_id = exit ? guid(exit) : 0;
  record.entry_port = entry;
  record.exit_port = exit;
  return record;
}

uint16_t TracePath(const SaView& view, const Path& path, RecordTable& table) {
  const EndPort &from = view.ends()[path.from], &to = view.ends()[path.to];
  bool fits = true;
  const auto add = [&](NodeIndex node, PortNum entry, PortNum exit) {
    fits = fits && table.Append(Trace(view, node, entry, exit));
  };
  if (path.from == path.to) {
    add(from.ref.node, PortNum(), PortNum());
  } else {
    PortNum entry;
    if (from.ref.port) {
      add(from.ref.node, PortNum(), from.ref.port);
      entry = from.peer.port;
    }
    if (!from.place.IsNowhere()) {
      view.paths().Follow(from.place.at, {&to, path.dlid},
                          [&](uint32_t at, uint8_t port, const PathTable::Hop& hop) {
                            add(view.paths().node(at), entry, PortNum(port));
                            entry = PortNum(static_cast<uint8_t>(hop.far.port));
                          });
    }
    add(to.ref.node, to.ref.port ? to.ref.port : entry, PortNum());
  }
  return fits ? wire::kStatusOk : wire::kSaStatusNoResources;
}

}  // namespace

uint16_t CollectTrace(const SaView& view, const Asker& asker, const PathRecord& wanted,
                      uint64_t mask, RecordTable& table) {
  const Request request = Understand(view, asker, wanted, mask, true);
  if (request.status != wire::kStatusOk) return request.status;
  if (request.source.first == request.source.end ||
      request.destination.first == request.destination.end)
    return wire::kStatusOk;
  const uint32_t a = request.source.first, b = request.destination.first;
  PathFinder finder(view, asker, *request.query);
  if (!finder.IsOpen(a) || !finder.IsOpen(b)) return wire::kStatusOk;
  uint16_t status = wire::kStatusOk;
  finder.PairByWalk(request.source, a, request.destination, b, 1,
                    [&](const Path& path, const PathRecord&) {
                      status = TracePath(view, path, table);
                      return false;
                    });
  return status;
}

}  // namespace fabricd::sa
