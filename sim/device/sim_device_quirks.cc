// SPDX-License-Identifier: Apache-2.0
#include "sim/device/sim_device.h"

#include <algorithm>

namespace fabricd::sim {

using wire::AttributeId;
using wire::Method;
using wire::PortInfo;

void SimDevice::SetQuirks(Quirks quirks) {
  if (quirks == Quirks()) {
    odd_.reset();
    return;
  }
  odd_ = std::make_unique<Odd>();
  odd_->how = std::move(quirks);
}

// The status of an SMP that is not carried out.
std::optional<uint16_t> SimDevice::QuirkStatus(const wire::Smp& smp) {
  const uint32_t busy_every = odd_->how.busy_every;
  if (busy_every != 0 && ++odd_->served % busy_every == 0) return wire::kStatusBusy;
  const auto& refused =
      smp.method == Method::kGet ? odd_->how.refused_gets : odd_->how.refused_sets;
  const auto found = refused.find(smp.attribute);
  return found == refused.end() ? std::nullopt : std::optional(found->second);
}

uint16_t SimDevice::ServeStale(Instant now, PortNum ingress, wire::Smp& smp, SmaEffects& effects) {
  uint32_t block = smp.modifier;
  if (smp.attribute == AttributeId::kPortInfo) {
    block &= ~wire::kSmSupportsExtendedSpeeds;
    if (!IsSwitch() && block == 0) block = ingress.value();
  }
  const BlockKey key{smp.attribute, block, IsSwitch() ? PortNum() : ingress};
  wire::Smp read = smp;
  read.method = Method::kGet;
  const uint16_t readable = Get(ingress, read);
  const auto kept = odd_->stale.find(key);
  if (kept != odd_->stale.end()) {
    if (now < kept->second.until) {
      read.data = kept->second.data;
    } else {
      odd_->stale.erase(kept);
    }
  }
  const uint16_t status = smp.method == Method::kGet ? readable : Set(ingress, smp, effects);
  if (status != wire::kStatusOk) return status;
  smp.data = read.data;
  if (smp.method == Method::kSet && readable == wire::kStatusOk) {
    odd_->stale.insert_or_assign(key, Stale{read.data, now + odd_->how.stale_reads});
  }
  return status;
}

// What the firmware makes of an answer with status 0.
void SimDevice::Disguise(Instant now, wire::Smp& answer) {
  const Quirks& how = odd_->how;
  ++odd_->answers;
  if (answer.attribute == AttributeId::kPortInfo) {
    PortInfo info = PortInfo::Decode(answer.data);
    if (how.hides_extended_speeds && (answer.modifier & wire::kSmSupportsExtendedSpeeds) == 0) {
      info.link_speed_ext_active = info.link_speed_ext_supported = info.link_speed_ext_enabled = 0;
      info.link_speed_ext_active2 = info.link_speed_ext_supported2 = 0;
      info.link_speed_ext_enabled2 = 0;
    }
    if (how.volatile_reserved) info.reserved[52] = static_cast<uint8_t>(odd_->answers << 5);
    info.Encode(answer.data);
  } else if (answer.attribute == AttributeId::kSwitchInfo && how.volatile_reserved) {
    answer.data.back() = static_cast<uint8_t>(odd_->answers);
  } else if (answer.attribute == AttributeId::kSwitchPortStateTable &&
             how.stale_state_table > Duration::zero()) {
    ShowOldStates(now, answer);
  }
}

void SimDevice::ShowOldStates(Instant now, wire::Smp& answer) {
  auto& old =
      odd_->old_states.try_emplace(answer.modifier, Odd::OldStates{answer.data}).first->second;
  if (old.shown == answer.data) {
    old.since = kNever;
    return;
  }
  old.since = std::min(old.since, now);
  if (now - old.since >= odd_->how.stale_state_table) old = {answer.data};
  answer.data = old.shown;
}

void SimDevice::RestoreIgnored(const PortInfo& registers, PortInfo& wanted) const {
  const IgnoredPortInfoFields& ignored = odd_->how.ignored;
  if (ignored.subnet_timeout) wanted.subnet_timeout = registers.subnet_timeout;
  if (ignored.m_key_lease_period) wanted.m_key_lease_period = registers.m_key_lease_period;
  if (ignored.partition_enforcement) {
    wanted.partition_enforcement_inbound = registers.partition_enforcement_inbound;
    wanted.partition_enforcement_outbound = registers.partition_enforcement_outbound;
  }
  if (ignored.error_thresholds) {
    wanted.local_phy_errors = registers.local_phy_errors;
    wanted.overrun_errors = registers.overrun_errors;
  }
  if (ignored.link_speed_enabled) {
    wanted.link_speed_enabled = registers.link_speed_enabled;
    wanted.link_speed_ext_enabled = registers.link_speed_ext_enabled;
    wanted.link_speed_ext_enabled2 = registers.link_speed_ext_enabled2;
  }
  if (ignored.hoq_life) wanted.hoq_life = registers.hoq_life;
  if (ignored.vl_stall_count) wanted.vl_stall_count = registers.vl_stall_count;
  if (ignored.operational_vls) wanted.operational_vls = registers.operational_vls;
  if (ignored.neighbor_mtu) wanted.neighbor_mtu = registers.neighbor_mtu;
}

}  // namespace fabricd::sim
