// SPDX-License-Identifier: Apache-2.0
// The vendor's SMPs of a simulated device: Get only. Facts: reference/telemetry-and-adaptive.md
// §2.4, §3.1.
#include "mad/wire/vendor_smp.h"

#include "sim/performance/performance_agent.h"

namespace fabricd::sim {

// Values of ArInfo are not public of any device: these are ours.
void PerformanceAgent::AnswerSmp(const SimDevice& device, PortNum ingress, wire::Method method,
                                 wire::Smp& smp) const {
  const PerformanceFamily family = Family(device);
  if (method != wire::Method::kGet || family == PerformanceFamily::kPlain) return;
  const bool is_quantum = family == PerformanceFamily::kQuantum2;
  if (smp.attribute == wire::GeneralInfo::kAttribute) {
    using Capability = wire::GeneralInfo::Capability;
    smp.status = wire::kStatusInvalidAttributeValue;
    if (smp.modifier != wire::GeneralInfo::kModifier) return;
    wire::GeneralInfo info;
    info.capabilities = {Capability::kExtPortInfo};
    if (is_quantum && device.IsSwitch()) {
      info.capabilities.Set(Capability::kAdaptiveRoutingRev1);
    }
    info.Encode(smp.data);
    smp.status = wire::kStatusOk;
  } else if (smp.attribute == wire::ExtPortInfo::kAttribute) {
    const bool own = smp.modifier == 0 && !device.IsSwitch();
    const uint32_t port = own ? ingress.value() : smp.modifier;
    smp.status = wire::kStatusInvalidAttributeValue;
    if (port > device.last_port().value()) return;
    wire::ExtPortInfo().Encode(smp.data);
    smp.status = wire::kStatusOk;
  } else if (smp.attribute == wire::ArInfo::kAttribute && is_quantum && device.IsSwitch()) {
    smp.status = wire::kStatusInvalidAttributeValue;
    if (smp.modifier != 0) return;
    wire::ArInfo info;
    info.enabled = device.HasAdaptiveRouting();
    info.by_sl_supported = true;
    info.group_table_copy_supported = 1;
    info.arn_supported = info.frn_supported = info.fast_recovery_supported = true;
    info.group_cap = 0xFFF;
    info.sub_groups_supported = 2;
    info.version = 1;
    info.Encode(smp.data);
    smp.status = wire::kStatusOk;
  }
}

}  // namespace fabricd::sim
