// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric/device_agents.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "sim/fabric/global_header.h"

namespace fabricd::sim {
namespace {

using wire::AttributeId;
using wire::Method;

constexpr size_t kBaseVersionAt = 0;
constexpr size_t kClassVersionAt = 2;

}  // namespace

DeviceAgents::DeviceAgents(SimNodes& nodes, EventQueue& queue, TrapSender& traps, HostPorts& hosts,
                           LinkModel& links, SimStats& stats)
    : nodes_(nodes),
      queue_(queue),
      traps_(traps),
      hosts_(hosts),
      links_(links),
      stats_(stats),
      busy_until_(nodes.index_end()),
      gmps_busy_until_(nodes.index_end()),
      vl15_busy_until_(nodes.index_end()) {}

Duration DeviceAgents::EnqueueAt(Instant& busy_until, Duration delay) {
  const Instant now = queue_.now();
  const Instant ready = std::max(now + delay, busy_until);
  if (ready <= now) return Duration::zero();
  busy_until = ready;
  return ready - now;
}

Duration DeviceAgents::Enqueue(NodeIndex node) {
  return EnqueueAt(busy_until_[node.value()], nodes_.Device(node).answer_delay());
}

std::optional<Duration> DeviceAgents::EnqueueVl15(NodeIndex node) {
  const Quirks* quirks = nodes_.Device(node).quirks();
  if (quirks == nullptr || quirks->vl15_queue == 0) return Duration::zero();
  Instant& busy_until = vl15_busy_until_[node.value()];
  if (busy_until - queue_.now() > quirks->vl15_service * quirks->vl15_queue) return std::nullopt;
  busy_until = std::max(busy_until, queue_.now()) + quirks->vl15_service;
  return busy_until - queue_.now();
}

Duration DeviceAgents::EnqueueGmp(NodeIndex node) {
  return EnqueueAt(gmps_busy_until_[node.value()], nodes_.Performance(node).options().answer_delay);
}

bool DeviceAgents::Answer(Packet& packet, PortNum ingress) {
  const std::span<uint8_t, wire::kMadBytes> bytes(packet.bytes.data(), wire::kMadBytes);
  std::optional<wire::Smp> smp = wire::Smp::Decode(bytes);
  if (!smp) return false;
  SimDevice& node = nodes_.Device(packet.at.node);
  std::optional<wire::Smp> request;
  if (observer_ != nullptr) request = *smp;
  const AttributeId attribute = smp->attribute;
  const Method method = smp->method;
  const SimPort& management = node.port(node.ManagementPort(ingress));
  Serve(packet, ingress, *smp);
  Count(attribute, method, *smp);
  ApplyEffects(packet.at.node);
  if (!effects_.reply) {
    if (effects_.m_key_violation) {
      ++stats_.lost_m_key;
      traps_.RaiseBadMKey({packet.at.node, node.ManagementPort(ingress)}, packet, *smp);
    }
    return false;
  }
  if (observer_ != nullptr) {
    const PortRef sender = packet.origin ? packet.at : packet.from;
    observer_->OnServed(
        {queue_.now(), sender, {packet.at.node, ingress}, *request, *smp, effects_.changed});
  }
  smp->returning = packet.directed;
  smp->Encode(bytes);
  packet.origin = true;
  packet.at.port = packet.directed ? ingress : node.ManagementPort(ingress);
  packet.hops = 0;
  if (!packet.directed) {
    packet.dlid = packet.slid;
    packet.slid = management.info.lid;
  }
  return true;
}

bool DeviceAgents::AnswerGmp(Packet& packet) {
  if (packet.qkey != PerformanceAgent::kQKey) {
    ++stats_.lost_nobody;
    return false;
  }
  const SimDevice& node = nodes_.Device(packet.at.node);
  const PortNum end_port = node.ManagementPort(packet.at.port);
  const std::span<uint8_t, wire::kMadBytes> bytes(packet.bytes.data(), wire::kMadBytes);
  const wire::MadHeader header = wire::MadHeader::Decode(bytes);
  wire::MadBytes request;
  if (observer_ != nullptr) std::copy(bytes.begin(), bytes.end(), request.begin());
  SimStats::Attribute& counts = stats_.gmps[{static_cast<uint8_t>(header.management_class),
                                             static_cast<uint16_t>(header.attribute)}];
  if (header.method == Method::kGet) ++counts.gets;
  if (header.method == Method::kSet) ++counts.sets;
  if (!nodes_.Performance(packet.at.node)
           .Answer({queue_.now(), node, end_port, packet.qpn,
                    [this](NodeIndex index) -> const SimDevice& { return nodes_.Device(index); }},
                   bytes)) {
    ++stats_.gmps_dropped;
    return false;
  }
  if (wire::MadHeader::Decode(bytes).status != wire::kStatusOk) ++counts.refused;
  if (observer_ != nullptr) {
    wire::MadBytes answer;
    std::copy(bytes.begin(), bytes.end(), answer.begin());
    observer_->OnGmpServed({queue_.now(), {packet.at.node, end_port}, request, answer});
  }
  packet.origin = true;
  packet.at.port = end_port;
  packet.hops = 0;
  std::swap(packet.slid, packet.dlid);
  std::swap(packet.source_qpn, packet.qpn);
  SwapGids(packet.global_header);
  packet.pkey = node.PKeyAt(end_port, packet.pkey_index);
  return true;
}

// Turns the SMP into its response, where there is one; effects_ has what follows.
void DeviceAgents::Serve(const Packet& packet, PortNum ingress, wire::Smp& smp) {
  SimDevice& node = nodes_.Device(packet.at.node);
  const SimPort& management = node.port(node.ManagementPort(ingress));
  effects_.Clear();
  if (packet.bytes[kBaseVersionAt] != 1 || packet.bytes[kClassVersionAt] != 1) {
    smp.status = wire::kStatusBadVersion;
    smp.method = Method::kGetResp;
    effects_.reply = true;
  } else if (smp.attribute == AttributeId::kSmInfo && management.scripted_sm &&
             smp.method == Method::kGet) {
    management.scripted_sm->Encode(smp.data);
    smp.method = Method::kGetResp;
    smp.status = wire::kStatusOk;
    effects_.reply = true;
  } else {
    const Method method = smp.method;
    node.Answer(queue_.now(), ingress, smp, effects_);
    if (effects_.unknown_attribute) {
      nodes_.Performance(packet.at.node).AnswerSmp(node, ingress, method, smp);
    }
  }
}

void DeviceAgents::Count(AttributeId attribute, Method method, const wire::Smp& answer) {
  SimStats::Attribute& counts = stats_.smps[attribute];
  if (method == Method::kGet) ++counts.gets;
  if (method == Method::kSet) ++counts.sets;
  if (effects_.reply && answer.status != wire::kStatusOk) {
    ++counts.refused;
  } else if (method == Method::kSet && effects_.reply && !effects_.changed) {
    ++counts.idle_sets;
  }
}

void DeviceAgents::ApplyEffects(NodeIndex node) {
  if (effects_.changed) nodes_.NoteChange();
  for (const LinkRequest& request : effects_.links) {
    links_.RequestPhysicalState({node, request.port}, request.to);
  }
  for (mad::LocalPortEvent::Kind kind : effects_.events) {
    hosts_.OnPortEvent({node, effects_.events_port}, kind);
  }
  if (effects_.repressed) traps_.Repress(node, *effects_.repressed);
}

}  // namespace fabricd::sim
