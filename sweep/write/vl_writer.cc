// SPDX-License-Identifier: Apache-2.0
#include "sweep/write/vl_writer.h"

#include <algorithm>
#include <vector>

namespace fabricd::sweep {
namespace {

bool IsArbitration(Work work) {
  return work == Work::kReadArbitration || work == Work::kSetArbitration;
}

VlTable TableOf(const WorkItem& item) {
  return {item.ref(), IsArbitration(item.work) ? VlTable::Kind::kArbitration : VlTable::Kind::kMap,
          item.block};
}

// The bytes of the table without reserved fields.
wire::SmpData BytesOf(const WorkItem& item, const wire::SmpData& data) {
  wire::SmpData bytes{};
  if (IsArbitration(item.work))
    wire::VlArbitrationTable::Decode(data).Encode(bytes);
  else
    wire::SlToVlMappingTable::Decode(data).Encode(bytes);
  return bytes;
}

}  // namespace

void VlWriter::List(ProgramStage stage, WorkQueue& queue) {
  if (ground_.desired.plan == nullptr || ground_.desired.plan->lanes == 1) return;
  if (stage == ProgramStage::kReadLanes) ListReads(queue);
  if (stage != ProgramStage::kLanes) return;
  ground_.desired.snapshot->ForEachNode([&](const fabric::Node& node) {
    if (ground_.devices.Has(node.index)) ListWritesOf(node, queue);
  });
  queue.Stripe();
}

void VlWriter::ListReads(WorkQueue& queue) {
  AppliedVls& applied = ground_.devices.applied().vls();
  ground_.desired.snapshot->ForEachNode([&](const fabric::Node& node) {
    if (!ground_.devices.Has(node.index)) return;
    for (const VlTable& table : VlTablesOf(*ground_.desired.snapshot, node)) {
      // A CA whose link has just come up may have restarted.
      const bool new_link =
          !node.IsSwitch() && node.port(table.port.port).info.port_state == wire::PortState::kInit;
      if (new_link) applied.MarkUnknown(table);
      if (applied.Find(table) != nullptr) continue;
      queue.Add({node.index, table.in_out, table.port.port,
                 table.kind == VlTable::Kind::kMap ? Work::kReadMap : Work::kReadArbitration});
    }
  });
  queue.Stripe();
}

// If all mappings of a switch should be equal and several differ, one Set writes all of them.
void VlWriter::ListWritesOf(const fabric::Node& node, WorkQueue& queue) {
  std::vector<WorkItem> items;
  std::optional<wire::SmpData> map;
  bool one_map = node.IsSwitch() && node.switch_info->optimized_sl_to_vl != 0;
  for (const VlTable& table : VlTablesOf(*ground_.desired.snapshot, node)) {
    const auto wanted = WantedOf(table);
    if (!wanted) continue;
    const bool is_map = table.kind == VlTable::Kind::kMap;
    if (is_map) {
      one_map &= !map || *map == *wanted;
      map = wanted;
    }
    const wire::SmpData* held = ground_.devices.applied().vls().Find(table);
    if (held != nullptr && *held == *wanted) continue;
    items.push_back({node.index, table.in_out, table.port.port,
                     is_map ? Work::kSetMap : Work::kSetArbitration});
  }
  const auto is_map = [](const WorkItem& item) { return item.work == Work::kSetMap; };
  const auto first = std::find_if(items.begin(), items.end(), is_map);
  if (one_map && std::count_if(items.begin(), items.end(), is_map) >= 2) {
    const WorkItem whole{node.index, first->block, PortNum(0), Work::kSetWholeMap};
    std::erase_if(items, is_map);
    items.push_back(whole);
  }
  for (const WorkItem& item : items) queue.Add(item);
}

std::optional<wire::SmpData> VlWriter::WantedOf(const VlTable& table) const {
  const fabric::Node& node = *ground_.builder.node(table.port.node);
  wire::SmpData bytes{};
  if (table.kind == VlTable::Kind::kMap) {
    const PortNum out =
        node.IsSwitch() ? PortNum(static_cast<uint8_t>(table.in_out & 0xFF)) : table.port.port;
    VlMap(ground_.desired.plan->lanes, node.port(out).info).Encode(bytes);
    return bytes;
  }
  const wire::SmpData* held = ground_.devices.applied().vls().Find(table);
  if (held == nullptr) return std::nullopt;  // No response: the next run reads it again.
  const wire::PortInfo& info = node.port(table.port.port).info;
  const auto wanted = ServeVls(
      wire::VlArbitrationTable::Decode(*held), info.vl_arb_low_cap,
      std::min<int>(ground_.desired.plan->lanes, std::max(1, wire::DataVls(info.operational_vls))));
  if (!wanted) return std::nullopt;
  wanted->Encode(bytes);
  return bytes;
}

template <typename Visit>
void VlWriter::ForEachMap(NodeIndex node, Visit&& visit) const {
  for (const VlTable& table : VlTablesOf(*ground_.desired.snapshot, *ground_.builder.node(node)))
    if (table.kind == VlTable::Kind::kMap) visit(table);
}

std::optional<mad::SmpRequest> VlWriter::Next(const WorkItem& item) {
  VlTable table = TableOf(item);
  AppliedVls& applied = ground_.devices.applied().vls();
  const bool is_switch = NodeOf(item).IsSwitch();
  const PortRef route = ground_.sender.RouteOf(item);
  if (item.work == Work::kReadMap || item.work == Work::kReadArbitration)
    return ground_.devices.Get(route, table.attribute(), table.Modifier(is_switch));
  const auto wanted = WantedOf(table);
  if (!wanted) return std::nullopt;
  // Only the response confirms the table.
  if (item.work == Work::kSetWholeMap) {
    ForEachMap(item.node, [&](const VlTable& one) { applied.MarkUnknown(one); });
    table.kind = VlTable::Kind::kWholeMap;
  } else {
    applied.MarkUnknown(table);
  }
  mad::SmpRequest request =
      ground_.devices.Get(route, table.attribute(), table.Modifier(is_switch));
  request.method = wire::Method::kSet;
  request.data = *wanted;
  return request;
}

// If a device answers a Set with other values, the next run reads the table again.
void VlWriter::OnAnswer(const WorkItem& item, const mad::Completion& completion) {
  if (HasFailed(item, completion)) return;
  const VlTable table = TableOf(item);
  AppliedVls& applied = ground_.devices.applied().vls();
  const wire::SmpData bytes = BytesOf(item, completion.response.data);
  applied.Confirm(table, bytes);
  if (item.work == Work::kReadMap || item.work == Work::kReadArbitration) return;
  const auto wanted = WantedOf(table);  // For an arbitration table: what is still missing.
  if (wanted && *wanted != bytes) {
    applied.MarkUnknown(table);
    ground_.record.NoteContradiction(item, completion);
    return;
  }
  if (item.work == Work::kSetWholeMap)
    ForEachMap(item.node, [&](const VlTable& one) { applied.Confirm(one, bytes); });
}

}  // namespace fabricd::sweep
