// SPDX-License-Identifier: Apache-2.0
#include "sweep/device/lane_reader.h"

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "sweep/device/completion.h"
#include "sweep/interface/activity.h"

namespace fabricd::sweep {
namespace {

constexpr size_t kReady = 512;  // Requests queued in the engine beyond its window.

using Kind = VlTable::Kind;

}  // namespace

LaneReader::LaneReader(std::shared_ptr<const fabric::FabricSnapshot> snapshot,
                       std::vector<NodeIndex> nodes, DeviceTable& devices,
                       mad::TransactionEngine& engine, uint16_t run)
    : snapshot_(std::move(snapshot)),
      nodes_(std::move(nodes)),
      devices_(devices),
      engine_(engine),
      run_(run) {
  for (const NodeIndex index : nodes_) {
    const fabric::Node* node = snapshot_->node(index);
    if (node == nullptr || node->unresponsive || !devices_.Has(index)) continue;
    const size_t before = tables_.size();
    for (const VlTable& table : AllVlTablesOf(*node))
      if (devices_.applied().vls().Find(table) == nullptr) tables_.push_back(table);
    left_.push_back({index, tables_.size() - before});
    if (left_.back().tables == 0) devices_.applied().vls().MarkRead(index);
  }
  std::sort(left_.begin(), left_.end(),
            [](const Left& a, const Left& b) { return a.node < b.node; });
}

void LaneReader::Feed() {
  while (next_ < tables_.size() && engine_.queued() < kReady) {
    const VlTable& table = tables_[next_];
    const bool is_switch = snapshot_->node(table.port.node)->IsSwitch();
    const size_t at = next_++;
    // The node has disappeared since.
    if (!devices_.Has(table.port.node)) continue;
    const PortRef route{table.port.node, is_switch ? PortNum(0) : table.port.port};
    mad::SmpRequest request = devices_.Get(route, table.attribute(), table.Modifier(is_switch));
    request.context = mad::RequestContext::Of(Activity::kLaneReader);
    request.context.run = run_;
    request.context.number = static_cast<uint32_t>(at);
    ++outstanding_;
    engine_.Submit(std::move(request));
  }
}

// A device without such a table returns an error, and no more can be learnt. For an arbitration
// table that no plan writes (beyond VLArbLowCap, or of a port 0 without VLs) that counts as empty.
void LaneReader::OnCompletion(const mad::Completion& completion) {
  FABRICD_CHECK(outstanding_ > 0);
  --outstanding_;
  const VlTable& table = tables_[completion.context.number];
  if (completion.outcome != mad::Completion::Outcome::kResponse || !devices_.Has(table.port.node))
    return;
  wire::SmpData bytes{};
  const bool is_optional = table.kind == Kind::kArbitration &&
                           (table.in_out != kLowArbitrationBlock || table.port.port == PortNum(0));
  if (!IsOk(completion)) {
    if (is_optional) devices_.applied().vls().Confirm(table, bytes);
  } else {
    if (table.kind == Kind::kMap)
      wire::SlToVlMappingTable::Decode(completion.response.data).Encode(bytes);
    else
      wire::VlArbitrationTable::Decode(completion.response.data).Encode(bytes);
    devices_.applied().vls().Confirm(table, bytes);
  }
  const auto left = std::lower_bound(left_.begin(), left_.end(), table.port.node,
                                     [](const Left& a, NodeIndex node) { return a.node < node; });
  if (--left->tables == 0) devices_.applied().vls().MarkRead(table.port.node);
}

}  // namespace fabricd::sweep
