// SPDX-License-Identifier: Apache-2.0
#include "sweep/write/adaptive_routing_reader.h"

#include "mad/wire/vendor_smp.h"

namespace fabricd::sweep {

using State = AdaptiveRouting::State;

void AdaptiveRoutingReader::List(ProgramStage stage, WorkQueue& queue) {
  if (stage != ProgramStage::kReadTables || ground_.trees_only) return;
  queue.EndBatch();  // After all reads of tables that carry traffic.
  ground_.scope.ForEach([&](const fabric::Node& node) {
    if (!node.IsSwitch() || !node.switch_info || !ground_.devices.Has(node.index)) return;
    AdaptiveRouting& known = ground_.devices.applied().adaptive_routing();
    const State state = known.Of(node.index);
    const bool is_fresh = node.switch_info->linear_fdb_top == 0;
    if (state == State::kOn)  // It may have been switched off since.
      queue.Add({node.index, 0, PortNum(0), Work::kReadAdaptiveRouting});
    else if (state == State::kUnknown && !is_fresh &&
             wire::IsAdaptiveSwitch(node.info.vendor_id, node.info.device_id))
      queue.Add({node.index, 0, PortNum(0), Work::kReadCapabilities});
    else
      known.Put(node.index, State::kNone);
  });
  queue.StripeUnique();
}

std::optional<mad::SmpRequest> AdaptiveRoutingReader::Next(const WorkItem& item) {
  const uint32_t modifier = item.work == Work::kReadCapabilities ? wire::GeneralInfo::kModifier : 0;
  mad::SmpRequest request = ground_.devices.Get(item.node, AttributeOf(item.work), modifier);
  request.may_be_unknown = true;
  return request;
}

// A switch that does not answer, or not with status 0, has no adaptive routing that is known of.
void AdaptiveRoutingReader::OnAnswer(const WorkItem& item, const mad::Completion& completion) {
  if (IsGone(item.node)) return;
  AdaptiveRouting& known = ground_.devices.applied().adaptive_routing();
  const bool was_on = known.Of(item.node) == State::kOn;
  if (!IsOk(completion)) {
    if (!was_on) known.Put(item.node, State::kNone);
    return;
  }
  if (item.work == Work::kReadCapabilities) {
    if (wire::GeneralInfo::Decode(completion.response.data).HasAdaptiveRouting())
      queue_.Add({item.node, 0, PortNum(0), Work::kReadAdaptiveRouting});
    else
      known.Put(item.node, State::kNone);
    return;
  }
  const bool is_on = wire::ArInfo::Decode(completion.response.data).enabled;
  known.Put(item.node, is_on ? State::kOn : State::kNone);
  if (is_on && !was_on) ground_.devices.applied().Lft(item.node).Distrust();
}

}  // namespace fabricd::sweep
