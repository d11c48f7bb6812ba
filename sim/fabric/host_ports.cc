// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric/host_ports.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/check.h"
#include "common/status.h"
#include "mad/wire/mad_header.h"
#include "sim/fabric/global_header.h"
#include "sim/fabric/mad_bytes.h"

namespace fabricd::sim {
namespace {

using wire::ManagementClass;
using wire::Method;

// As the kernel does for every request, so that two programs on a port cannot take each other's
// answers.
void SetTransactionIdHigh(std::vector<uint8_t>& mad, uint32_t high) {
  for (size_t i = 0; i < 4; ++i) {
    mad[kMadTransactionIdAt + i] = static_cast<uint8_t>(high >> (24 - 8 * i));
  }
}

bool IsResponse(const std::vector<uint8_t>& mad) {
  return (mad[kMadMethodAt] & wire::kResponseBit) != 0 ||
         mad[kMadMethodAt] == static_cast<uint8_t>(Method::kTrapRepress);
}

uint8_t ClassOf(mad::Agent agent) {
  switch (agent) {
    case mad::Agent::kSmpDirected: return static_cast<uint8_t>(ManagementClass::kSubnDirectedRoute);
    case mad::Agent::kSmpLid: return static_cast<uint8_t>(ManagementClass::kSubnLidRouted);
    case mad::Agent::kSubnAdm: return static_cast<uint8_t>(ManagementClass::kSubnAdm);
    case mad::Agent::kPerf: return static_cast<uint8_t>(ManagementClass::kPerf);
    case mad::Agent::kVendor: return static_cast<uint8_t>(ManagementClass::kVendor);
  }
  return 0;
}

}  // namespace

HostPorts::HostPorts(bool reports_events, SimNodes& nodes, EventQueue& queue, SimStats& stats)
    : reports_events_(reports_events),
      nodes_(nodes),
      queue_(queue),
      stats_(stats),
      rmpp_(queue, stats) {}

HostPorts::Host* HostPorts::FindHost(PortRef port) {
  const auto found = hosts_.find(port);
  return found == hosts_.end() ? nullptr : found->second.get();
}

void HostPorts::Attach(PortRef port) {
  std::unique_ptr<Host>& host = hosts_[port];
  if (host != nullptr) return;
  host = std::make_unique<Host>();
  host->id = next_host_id_++;
}

void HostPorts::Detach(PortRef port) {
  hosts_.erase(port);
  rmpp_.Forget(port);
  std::erase_if(delivered_, [&](const Delivery& delivery) { return delivery.host == port; });
}

bool HostPorts::IsSm(PortRef port) const {
  const auto found = hosts_.find(port);
  return found != hosts_.end() && found->second->is_sm;
}

void HostPorts::SetIsSm(PortRef port, bool is_sm) {
  Host* host = FindHost(port);
  FABRICD_CHECK(host != nullptr, "no program is attached to node {} port {}", port.node, port.port);
  host->is_sm = is_sm;
}

void HostPorts::RestoreIsSm(NodeIndex node) {
  for (const auto& [port, host] : hosts_) {
    if (port.node == node && host->is_sm) nodes_.Port(port).info.capability_mask |= wire::kCapIsSm;
  }
}

absl::StatusOr<HostPorts::Sent> HostPorts::Send(PortRef from, mad::OutgoingMad mad) {
  Host* host = FindHost(from);
  if (!host)
    return FailedPrecondition("no program is attached to node {} port {}", from.node, from.port);
  FABRICD_RETURN_IF_ERROR(RmppModel::CheckPayload(mad));
  if (mad.payload[kMadClassAt] != ClassOf(mad.agent)) {
    return InvalidArgument("management class 0x{:02x} sent through another class's agent",
                           mad.payload[kMadClassAt]);
  }
  const bool wants_answer = mad.timeout > Duration::zero() && !IsResponse(mad.payload);
  if (!IsResponse(mad.payload)) {
    SetTransactionIdHigh(mad.payload, host->id << 8 | static_cast<uint32_t>(mad.agent));
  }
  const uint64_t id = TransactionIdOf(mad.payload);
  const uint32_t serial = queue_.NextSerial();
  if (wants_answer) {
    const auto [at, inserted] = host->waiting.try_emplace(id);
    if (!inserted) return InvalidArgument("transaction id 0x{:x} is waiting already", id);
    at->second = Waiting{mad.agent, mad.to, {}, mad.payload[kMadClassAt], serial};
    std::copy_n(mad.payload.begin(), at->second.header.size(), at->second.header.begin());
  }
  const wire::PortInfo& info = nodes_.Port(from).info;
  Sent sent;
  Packet& packet = sent.packet;
  packet.at = from;
  packet.directed = mad.agent == mad::Agent::kSmpDirected;
  if (!packet.directed) {
    packet.slid = Lid(static_cast<uint16_t>(info.lid.value() | mad.to.path_bits));
    packet.dlid = mad.to.lid;
    packet.qpn = mad.to.qpn;
    packet.qkey = mad.to.qkey;
    packet.sl = mad.to.sl;
    packet.pkey = nodes_.Device(from.node).PKeyAt(from.port, mad.to.pkey_index);
  }
  if (!packet.directed && mad.to.global) {
    const SimPort& port = nodes_.Device(from.node).port(from.port);
    packet.global_header =
        MakeGlobalHeader(*mad.to.global, GidAt(port, mad.to.global->gid_index), mad.payload.size());
  }
  packet.segments = rmpp_.Segment(mad);
  if (packet.segments > 0) packet.retries = mad.retries;
  if (packet.segments > 0 && !wants_answer) packet.unacknowledged = rmpp_.Await(from, mad);
  if (observer_ != nullptr) observer_->OnSend(queue_.now(), from, mad);
  packet.bytes = std::move(mad.payload);
  if (wants_answer) sent.request = Request{from, id, serial, mad.timeout};
  return sent;
}

void HostPorts::StartTimeOut(const Request& request) {
  const Host* host = FindHost(request.host);
  if (host == nullptr) return;
  const auto found = host->waiting.find(request.id);
  if (found == host->waiting.end() || found->second.serial != request.serial) return;
  queue_.Schedule({queue_.now() + request.timeout, Event::Kind::kTimeOut, request.host, request.id,
                   request.serial});
}

void HostPorts::TakeDeliveries(std::vector<Delivery>& out) {
  out.insert(out.end(), std::make_move_iterator(delivered_.begin()),
             std::make_move_iterator(delivered_.end()));
  delivered_.clear();
}

void HostPorts::Run(const Event& event) {
  if (event.kind == Event::Kind::kTimeOut) {
    TimeOut(event);
  } else if (std::optional<mad::IncomingMad> lost = rmpp_.Run(event)) {
    Deliver({queue_.now(), event.port, std::move(*lost)});
  }
}

void HostPorts::TimeOut(const Event& event) {
  Host* host = FindHost(event.port);
  if (host == nullptr) return;  // Its program has ended.
  const auto found = host->waiting.find(event.id);
  if (found == host->waiting.end() || found->second.serial != event.serial) return;
  mad::IncomingMad incoming;
  incoming.kind = mad::IncomingMad::Kind::kTimedOut;
  incoming.agent = found->second.agent;
  incoming.from = found->second.to;
  const auto& header = found->second.header;
  incoming.payload.resize(wire::kMadBytes);
  std::copy(header.begin(), header.end(), incoming.payload.begin());
  host->waiting.erase(found);
  ++stats_.timed_out;
  Deliver({queue_.now(), event.port, std::move(incoming)});
}

void HostPorts::Deliver(Delivery delivery) {
  if (observer_ != nullptr) observer_->OnDelivery(delivery);
  delivered_.push_back(std::move(delivery));
}

void HostPorts::OnPortEvent(PortRef port, mad::LocalPortEvent::Kind kind) {
  if (reports_events_ && IsAttached(port)) Deliver({queue_.now(), port, mad::LocalPortEvent{kind}});
}

void HostPorts::Receive(PortRef at, Packet&& packet) {
  Host* host = FindHost(at);
  if (!host) {
    ++stats_.lost_nobody;
    return;
  }
  std::optional<mad::GlobalRoute> global;
  if (!packet.global_header.empty()) {
    global = AnswerRoute(packet.global_header, nodes_.Device(at.node).port(at.port));
    if (!global) {
      ++stats_.lost_nobody;
      return;
    }
  }
  rmpp_.Acknowledge(packet.unacknowledged);
  const bool response = (packet.method() & wire::kResponseBit) != 0;
  if (response) {
    const auto found = host->waiting.find(TransactionIdOf(packet.bytes));
    if (found == host->waiting.end() ||
        found->second.management_class != packet.management_class()) {
      ++stats_.unmatched_responses;
      return;
    }
    host->waiting.erase(found);
  }
  mad::IncomingMad incoming;
  switch (static_cast<ManagementClass>(packet.management_class())) {
    case ManagementClass::kSubnDirectedRoute: incoming.agent = mad::Agent::kSmpDirected; break;
    case ManagementClass::kSubnLidRouted: incoming.agent = mad::Agent::kSmpLid; break;
    case ManagementClass::kSubnAdm: incoming.agent = mad::Agent::kSubnAdm; break;
    case ManagementClass::kPerf: incoming.agent = mad::Agent::kPerf; break;
    case ManagementClass::kVendor: incoming.agent = mad::Agent::kVendor; break;
    default: ++stats_.lost_nobody; return;
  }
  incoming.from.lid = packet.slid;
  incoming.from.qpn = packet.IsSmp() ? 0 : packet.source_qpn;
  incoming.from.qkey = packet.IsSmp() ? 0 : 0x80010000;
  incoming.from.sl = packet.sl;
  incoming.from.pkey_index = packet.pkey_index;
  incoming.from.global = global;
  incoming.payload = std::move(packet.bytes);
  Deliver({queue_.now(), at, std::move(incoming)});
}

}  // namespace fabricd::sim
