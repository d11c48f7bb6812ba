// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric/sim_fabric.h"

#include <algorithm>

#include "common/check.h"
#include "common/number_text.h"
#include "common/status.h"
#include "mad/wire/mad_header.h"

namespace fabricd::sim {
namespace {

using wire::ManagementClass;
using wire::Method;

constexpr size_t kMethodAt = 3;
constexpr size_t kClassAt = 1;
constexpr size_t kTransactionIdAt = 8;

uint64_t TransactionIdOf(const std::vector<uint8_t>& mad) {
  uint64_t id = 0;
  for (size_t i = 0; i < 8; ++i) id = id << 8 | mad[kTransactionIdAt + i];
  return id;
}

// As the kernel does for every request, so that two programs on a port cannot take each other's
// answers.
void SetTransactionIdHigh(std::vector<uint8_t>& mad, uint32_t high) {
  for (size_t i = 0; i < 4; ++i) {
    mad[kTransactionIdAt + i] = static_cast<uint8_t>(high >> (24 - 8 * i));
  }
}

bool IsResponse(const std::vector<uint8_t>& mad) {
  return (mad[kMethodAt] & wire::kResponseBit) != 0 ||
         mad[kMethodAt] == static_cast<uint8_t>(Method::kTrapRepress);
}

uint8_t ClassOf(mad::Agent agent) {
  switch (agent) {
    case mad::Agent::kSmpDirected: return static_cast<uint8_t>(ManagementClass::kSubnDirectedRoute);
    case mad::Agent::kSmpLid: return static_cast<uint8_t>(ManagementClass::kSubnLidRouted);
    case mad::Agent::kSubnAdm: return static_cast<uint8_t>(ManagementClass::kSubnAdm);
    case mad::Agent::kPerf: return static_cast<uint8_t>(ManagementClass::kPerf);
  }
  return 0;
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// "node2" before "node10": runs of digits compare as numbers.
bool NaturalLess(const std::string& a, const std::string& b) {
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (!IsDigit(a[i]) || !IsDigit(b[j])) {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i, ++j;
      continue;
    }
    while (i < a.size() && a[i] == '0') ++i;
    while (j < b.size() && b[j] == '0') ++j;
    size_t end_a = i, end_b = j;
    while (end_a < a.size() && IsDigit(a[end_a])) ++end_a;
    while (end_b < b.size() && IsDigit(b[end_b])) ++end_b;
    if (end_a - i != end_b - j) return end_a - i < end_b - j;
    if (const int order = a.compare(i, end_a - i, b, j, end_b - j)) return order < 0;
    i = end_a, j = end_b;
  }
  return a.size() - i < b.size() - j;
}

// "0x…", "S-…", "H-…", "R-…" or 16 bare hex digits.
std::optional<Guid> ParseGuid(const std::string& text) {
  size_t at = 0;
  if (text.rfind("0x", 0) == 0 || text.rfind("S-", 0) == 0 || text.rfind("H-", 0) == 0 ||
      text.rfind("R-", 0) == 0) {
    at = 2;
  } else if (text.size() != 16) {
    return std::nullopt;
  }
  const auto value = ParseNumber<uint64_t>(std::string_view(text).substr(at), 16);
  return value ? std::optional(Guid(*value)) : std::nullopt;
}

}  // namespace

uint64_t SimStats::sets() const {
  uint64_t sum = 0;
  for (const auto& [attribute, counts] : smps) sum += counts.sets;
  return sum;
}

uint64_t SimStats::gets() const {
  uint64_t sum = 0;
  for (const auto& [attribute, counts] : smps) sum += counts.gets;
  return sum;
}

SimFabric::SimFabric(const fabric::FabricSnapshot& topology, SimOptions options)
    : options_(std::move(options)), rng_(options_.seed) {
  nodes_.resize(topology.node_index_end());
  topology.ForEachNode([this](const fabric::Node& node) {
    nodes_[node.index.value()].device = std::make_unique<SimDevice>(node, options_.device);
    by_guid_.emplace(node.guid(), node.index);
    by_description_[node.description].push_back(node.index);
  });
  // The links are found trained, as on a fabric whose cables were plugged before.
  for (uint32_t index = 0; index < nodes_.size(); ++index) {
    if (!nodes_[index].device) continue;
    for (size_t port = 1; port <= nodes_[index].device->last_port().value(); ++port) {
      const PortRef ref{NodeIndex(index), PortNum(static_cast<uint8_t>(port))};
      if (Port(ref).plugged) TryTrain(ref, Duration::zero());
    }
  }
}

SimFabric::~SimFabric() = default;

PortRef SimFabric::DefaultHostPort() const {
  PortRef best;
  bool best_linked = false;
  for (uint32_t index = 0; index < nodes_.size(); ++index) {
    const SimDevice* candidate = nodes_[index].device.get();
    if (!candidate || candidate->node_info().node_type != wire::NodeType::kChannelAdapter) continue;
    for (uint8_t number = 1; number <= candidate->last_port().value(); ++number) {
      const bool linked = candidate->port(PortNum(number)).plugged;
      bool better = best.IsNone() || (linked && !best_linked);
      if (!better && linked == best_linked && best.node.value() != index) {
        const SimDevice& other = Device(best.node);
        better =
            NaturalLess(candidate->description(), other.description()) ||
            (candidate->description() == other.description() && candidate->guid() < other.guid());
      }
      if (better) {
        best = {NodeIndex(index), PortNum(number)};
        best_linked = linked;
      }
    }
  }
  return best;
}

absl::StatusOr<NodeIndex> SimFabric::FindNode(const std::string& name) const {
  if (const auto found = by_description_.find(name); found != by_description_.end()) {
    if (found->second.size() == 1) return found->second.front();
    std::string guids;
    for (NodeIndex node : found->second) {
      guids += fmt::format("{}{}", guids.empty() ? "" : ", ", Device(node).guid());
    }
    return InvalidArgument("{} nodes are called '{}': {}", found->second.size(), name, guids);
  }
  if (const auto guid = ParseGuid(name)) {
    if (const auto found = by_guid_.find(*guid); found != by_guid_.end()) return found->second;
  }
  return NotFound("no node '{}' in the simulated fabric", name);
}

absl::StatusOr<PortRef> SimFabric::FindHostPort(const std::string& name) const {
  absl::StatusOr<NodeIndex> node = FindNode(name);
  std::optional<uint8_t> number;
  const size_t slash = name.rfind('/');
  if (!node.ok() && slash != std::string::npos) {
    number = ParseNumber<uint8_t>(std::string_view(name).substr(slash + 1));
    if (number) node = FindNode(name.substr(0, slash));
  }
  if (!node.ok()) return node.status();
  const SimDevice& found = Device(*node);
  const uint8_t first = found.IsSwitch() ? 0 : 1;
  const uint8_t last = found.IsSwitch() ? 0 : found.last_port().value();
  const uint8_t port = number.value_or(first);
  if (port < first || port > last) {
    return NotFound("'{}' has no end port {}", found.description(), port);
  }
  return PortRef{*node, PortNum(port)};
}

SimFabric::Host* SimFabric::FindHost(PortRef port) {
  const auto found = host_of_.find(port);
  return found == host_of_.end() ? nullptr : found->second;
}

void SimFabric::Attach(PortRef port) {
  FABRICD_CHECK(PortExists(port) && Device(port.node).ManagementPort(port.port) == port.port,
                "node {} port {} is no end port", port.node, port.port);
  if (FindHost(port)) return;
  auto host = std::make_unique<Host>();
  host->port = port;
  host->id = next_host_id_++;
  host_of_[port] = host.get();
  hosts_.push_back(std::move(host));
}

void SimFabric::Detach(Instant now, PortRef port) {
  Host* host = FindHost(port);
  if (host == nullptr) return;
  RunDue(now);
  if (host->is_sm) SetIsSm(now, port, false);
  host_of_.erase(port);
  std::erase_if(hosts_, [&](const auto& each) { return each->port == port; });
  std::erase_if(delivered_, [&](const Delivery& delivery) { return delivery.host == port; });
}

void SimFabric::SetLinkLoss(PortRef port, double loss) {
  for (PortRef end : {port, Port(port).cable}) {
    if (end.IsNone()) continue;
    if (loss > 0)
      link_loss_[end] = loss;
    else
      link_loss_.erase(end);
  }
}

void SimFabric::SetIsSm(Instant now, PortRef port, bool is_sm) {
  Host* host = FindHost(port);
  FABRICD_CHECK(host != nullptr, "no program is attached to node {} port {}", port.node, port.port);
  host->is_sm = is_sm;
  SetIsSmBit(now, port, is_sm);
}

void SimFabric::SetScriptedSm(Instant now, PortRef port, std::optional<wire::SmInfo> sm) {
  Port(port).scripted_sm = sm;
  SetIsSmBit(now, port, sm.has_value());
}

void SimFabric::SetIsSmBit(Instant now, PortRef port, bool is_sm) {
  now_ = std::max(now_, now);
  wire::PortInfo& info = Port(port).info;
  const uint32_t before = info.capability_mask;
  info.capability_mask = is_sm ? before | wire::kCapIsSm : before & ~wire::kCapIsSm;
  if (info.capability_mask != before) RaiseTrap({port, wire::kTrapCapabilityMaskChanged});
}

absl::Status SimFabric::Send(Instant now, PortRef from, mad::OutgoingMad mad) {
  RunDue(now);
  Host* host = FindHost(from);
  if (!host)
    return FailedPrecondition("no program is attached to node {} port {}", from.node, from.port);
  FABRICD_RETURN_IF_ERROR(CheckPayload(mad));
  if (mad.payload[kClassAt] != ClassOf(mad.agent)) {
    return InvalidArgument("management class 0x{:02x} sent through another class's agent",
                           mad.payload[kClassAt]);
  }
  const bool wants_answer = mad.timeout > Duration::zero() && !IsResponse(mad.payload);
  if (!IsResponse(mad.payload)) {
    SetTransactionIdHigh(mad.payload, host->id << 8 | static_cast<uint32_t>(mad.agent));
  }
  const uint64_t id = TransactionIdOf(mad.payload);
  const uint32_t serial = next_serial_++;
  if (wants_answer) {
    const auto [at, inserted] = host->waiting.try_emplace(id);
    if (!inserted) return InvalidArgument("transaction id 0x{:x} is waiting already", id);
    at->second = Waiting{mad.agent, mad.to, {}, mad.payload[kClassAt], serial};
    std::copy_n(mad.payload.begin(), at->second.header.size(), at->second.header.begin());
  }
  const wire::PortInfo& info = Port(from).info;
  Packet packet;
  packet.at = from;
  packet.directed = mad.agent == mad::Agent::kSmpDirected;
  if (!packet.directed) {
    packet.slid = Lid(static_cast<uint16_t>(info.lid.value() | mad.to.path_bits));
    packet.dlid = mad.to.lid;
    packet.sl = mad.to.sl;
    packet.pkey = Device(from.node).PKeyAt(from.port, mad.to.pkey_index);
  }
  Segment(mad, packet);
  if (packet.segments > 0 && !wants_answer) AwaitAcknowledge(*host, mad, packet);
  if (observer_ != nullptr) observer_->OnSend(now_, from, mad);
  packet.bytes = std::move(mad.payload);
  Carry(std::move(packet));
  RunDue(now_);
  if (wants_answer) {
    const auto found = host->waiting.find(id);
    if (found != host->waiting.end() && found->second.serial == serial) {
      Schedule({now_ + mad.timeout, Event::Kind::kTimeOut, from, id, serial});
    }
  }
  return absl::OkStatus();
}

void SimFabric::Advance(Instant now, std::vector<Delivery>& out) {
  RunDue(now);
  out.insert(out.end(), std::make_move_iterator(delivered_.begin()),
             std::make_move_iterator(delivered_.end()));
  delivered_.clear();
}

Instant SimFabric::next_event() const {
  if (!delivered_.empty()) return delivered_.front().at;
  const Event* next = NextEvent();
  return next == nullptr ? kNever : next->at;
}

std::vector<mad::IncomingMad> SimFabric::Exchange(Instant now, PortRef host, mad::OutgoingMad mad) {
  FABRICD_CHECK(mad.timeout > Duration::zero() && mad.payload.size() >= wire::kMadBytes,
                "Exchange takes a request with a time-out");
  const uint32_t id = static_cast<uint32_t>(TransactionIdOf(mad.payload));
  const size_t older = delivered_.size();
  const absl::Status sent = Send(now, host, std::move(mad));
  FABRICD_CHECK(sent.ok(), "{}", Message(sent));
  std::vector<mad::IncomingMad> arrived;
  std::vector<Delivery> others(
      std::make_move_iterator(delivered_.begin()),
      std::make_move_iterator(delivered_.begin() + static_cast<ptrdiff_t>(older)));
  delivered_.erase(delivered_.begin(), delivered_.begin() + static_cast<ptrdiff_t>(older));
  for (bool answered = false; !answered;) {
    for (Delivery& delivery : delivered_) {
      auto* incoming = std::get_if<mad::IncomingMad>(&delivery.what);
      if (answered || delivery.host != host || !incoming) {
        others.push_back(std::move(delivery));
        continue;
      }
      const bool closes = incoming->kind != mad::IncomingMad::Kind::kReceived ||
                          (incoming->payload[kMethodAt] & wire::kResponseBit) != 0;
      answered = closes && static_cast<uint32_t>(TransactionIdOf(incoming->payload)) == id;
      arrived.push_back(std::move(*incoming));
    }
    delivered_.clear();
    if (answered) break;
    const Event* next = NextEvent();
    FABRICD_CHECK(next != nullptr, "a waiting request has no time-out event");
    RunDue(next->at);
  }
  delivered_ = std::move(others);
  return arrived;
}

void SimFabric::Schedule(Event event) {
  std::vector<Event>& heap = event.kind == Event::Kind::kTimeOut ? time_outs_ : events_;
  event.sequence = next_sequence_++;
  heap.push_back(event);
  std::push_heap(heap.begin(), heap.end());
}

const SimFabric::Event* SimFabric::NextEvent() const {
  if (time_outs_.empty()) return events_.empty() ? nullptr : &events_.front();
  const bool event = !events_.empty() && time_outs_.front() < events_.front();
  return event ? &events_.front() : &time_outs_.front();
}

void SimFabric::RunDue(Instant now) {
  for (const Event* next = NextEvent(); next != nullptr && next->at <= now; next = NextEvent()) {
    const Event event = *next;
    std::vector<Event>& heap = event.kind == Event::Kind::kTimeOut ? time_outs_ : events_;
    std::pop_heap(heap.begin(), heap.end());
    heap.pop_back();
    now_ = std::max(now_, event.at);
    RunEvent(event);
  }
  now_ = std::max(now_, now);
}

void SimFabric::RunEvent(const Event& event) {
  switch (event.kind) {
    case Event::Kind::kArrive: {
      Packet packet = std::move(in_flight_[event.id]);
      free_slots_.push_back(static_cast<uint32_t>(event.id));
      Carry(std::move(packet));
      return;
    }
    case Event::Kind::kTimeOut: TimeOut(event); return;
    case Event::Kind::kLinkRequest:
      SetPhysical(event.port, static_cast<wire::PortPhysicalState>(event.id));
      return;
    case Event::Kind::kTrain:
      if (Port(event.port).training == event.serial) FinishTraining(event.port);
      return;
    case Event::Kind::kRebooted: FinishBoot(event.port.node); return;
    case Event::Kind::kTrap: RunTrap(event); return;
    case Event::Kind::kNoAcknowledge: ReportUnacknowledged(event); return;
  }
}

void SimFabric::TimeOut(const Event& event) {
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
  Deliver({now_, event.port, std::move(incoming)});
}

void SimFabric::Deliver(Delivery delivery) {
  if (observer_ != nullptr) observer_->OnDelivery(delivery);
  delivered_.push_back(std::move(delivery));
}

void SimFabric::DeliverEvent(PortRef port, mad::LocalPortEvent::Kind kind) {
  if (FindHost(port)) Deliver({now_, port, mad::LocalPortEvent{kind}});
}

void SimFabric::DeliverToHost(Packet packet, Host* host) {
  if (!IsAdmitted(packet)) return;
  if (!host) {
    ++stats_.lost_nobody;
    return;
  }
  Acknowledge(packet);
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
    default: ++stats_.lost_nobody; return;
  }
  incoming.from.lid = packet.slid;
  incoming.from.qpn = packet.IsSmp() ? 0 : 1;
  incoming.from.qkey = packet.IsSmp() ? 0 : 0x80010000;
  incoming.from.sl = packet.sl;
  incoming.from.pkey_index = packet.pkey_index;
  incoming.payload = std::move(packet.bytes);
  Deliver({now_, host->port, std::move(incoming)});
}

}  // namespace fabricd::sim
