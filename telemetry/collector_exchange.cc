// SPDX-License-Identifier: Apache-2.0
// Collector: requests as they go out, and what comes back.
#include <algorithm>

#include "telemetry/collector.h"

namespace fabricd::telemetry {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kFirstTimeout = milliseconds(500), kLongestTimeout = seconds(4);
// The transport tells of a timeout by itself; this is for one that does not.
constexpr Duration kTimeoutSlack = seconds(2);
constexpr uint8_t kUnresponsiveAfter = 3;

}  // namespace

std::optional<GmpTarget> Collector::TargetOf(NodeIndex index, const NextAsk& next) const {
  const fabric::Node* node = snapshot_->node(index);
  if (node == nullptr) return std::nullopt;
  const Device& device = devices_[index.value()];
  GmpTarget target;
  if (device.redirect && !IsSmp(next.ask) && !IsVendorGmp(next.ask)) {
    target.lid = device.redirect->lid;
    target.qpn = device.redirect->qpn;
    target.qkey = device.redirect->q_key;
    target.sl = device.redirect->sl;
    return target;
  }
  if (node->IsSwitch()) {
    target.lid = node->ports.empty() ? Lid() : node->ports[0].info.lid;
  } else {
    for (const auto& [ref, port] : node->LinkPorts()) {
      if (target.lid) break;
      if (IsOfPort(next.ask) && ref.port != next.port) continue;
      if (IsPolled(*node, ref.port)) target.lid = port.info.lid;
    }
  }
  return target.lid ? std::optional(target) : std::nullopt;
}

Duration Collector::TimeoutOf(const Device& device, bool is_repeat) const {
  const Duration response = Duration(int64_t{4096} << device.response_time_value);
  Duration timeout = std::clamp(2 * response, kFirstTimeout, kLongestTimeout);
  if (is_repeat) timeout = std::min(2 * timeout, kLongestTimeout);
  return timeout;
}

bool Collector::Send(NodeIndex node, const NextAsk& next, Instant now, Effects& effects) {
  const std::optional<GmpTarget> target = TargetOf(node, next);
  if (!target) return false;
  Device& device = devices_[node.value()];
  Request request;
  request.device = node.value();
  request.ask = next.ask;
  request.port = next.port;
  request.is_repeat = next.is_repeat;
  request.is_voided = load_.writing;
  request.sent = now;
  const Duration timeout = TimeoutOf(device, next.is_repeat);
  request.deadline = now + timeout + kTimeoutSlack;
  const TransactionId id = window_.Open(request);
  device.Begin({next.ask, next.port});
  ++stats_.requests;
  ++stats_.requests_by_ask[static_cast<size_t>(next.ask)];
  effects.send.push_back(MakeRequest(next.ask, next.port, *target, id, timeout));
  return true;
}

// ---- what comes back

void Collector::On(const mad::IncomingMad& event, Instant now, Effects& effects) {
  if (event.payload.size() < wire::kMadBytes) return;
  const std::span<const uint8_t, wire::kMadBytes> bytes(event.payload.data(), wire::kMadBytes);
  const wire::MadHeader header = wire::MadHeader::Decode(bytes);
  const std::optional<Request> request = window_.Close(header.tid());
  if (!request) {
    ++stats_.unexpected;
    return;
  }
  if (event.kind == mad::IncomingMad::Kind::kReceived) {
    OnResponse(*request, event, now, effects);
  } else {
    OnNoResponse(*request, event.kind == mad::IncomingMad::Kind::kTimedOut, ToMillis(now));
  }
}

void Collector::On(const SendFailed& event, Instant now, Effects& /*effects*/) {
  const std::optional<Request> request = window_.Close(event.id);
  if (!request) return;
  if (event.for_good) {
    OnNoResponse(*request, false, ToMillis(now));
    return;
  }
  window_.OnLoss();
  full_until_ = now + kTurnStep;
  Device& device = devices_[request->device];
  device.End(request->ask, request->port);
  if (IsSmp(request->ask)) smp_in_flight_ = false;
  device.Repeat({request->ask, request->port, request->is_repeat});
  Queue(NodeIndex(request->device));
}

void Collector::OnResponse(const Request& request, const mad::IncomingMad& mad, Instant now,
                           Effects& effects) {
  const NodeIndex node(request.device);
  const PortRef port{node, request.port};
  const Millis at = ToMillis(now);
  Device& device = devices_[request.device];
  device.End(request.ask, request.port);
  if (IsSmp(request.ask)) smp_in_flight_ = false;
  ++stats_.responses;
  ++stats_.responses_by_ask[static_cast<size_t>(request.ask)];
  window_.OnResponse();
  if (IsOfPort(request.ask) && !records_.Has(port)) return;  // Gone since.
  const bool was_unresponsive = device.in_a_row != 0;
  device.in_a_row = 0;
  Reading reading;
  reading.round_trip =
      static_cast<Millis>(std::chrono::duration_cast<milliseconds>(now - request.sent).count());
  reading.at = std::max<Millis>(1, ToMillis(request.sent + (now - request.sent) / 2));
  reading.interval = schedule_.interval();
  const FollowUp follow =
      TakeResponse(request.ask, port,
                   std::span<const uint8_t, wire::kMadBytes>(mad.payload.data(), wire::kMadBytes),
                   reading, device, records_);
  switch (follow.verdict) {
    case FollowUp::Verdict::kEntered: device.SetPresent(request.ask); break;
    case FollowUp::Verdict::kRepeat:
      if (!request.is_repeat) device.Repeat({request.ask, request.port, true});
      break;
    case FollowUp::Verdict::kRedirected:
      WantOfDevice(node, AskSet::Of({Ask::kClassPortInfo}), at);
      break;
    case FollowUp::Verdict::kRefused:
      ++stats_.refused;
      ++stats_.refused_by_ask[static_cast<size_t>(request.ask)];
      OnAbsent(request, IsMandatory(request.ask) ? Absence::kRefused : Absence::kUnsupported, at);
      break;
    case FollowUp::Verdict::kForeign: ++stats_.unexpected; break;
  }
  if (request.ask == Ask::kVendorKey && follow.verdict == FollowUp::Verdict::kEntered) {
    // It answers this one and no other of its class: somebody has set its key.
    for (size_t i = 0; i < kAsks; ++i) {
      const Ask ask = static_cast<Ask>(i);
      if (IsVendorGmp(ask) && ask != Ask::kVendorKey) device.SetAbsent(ask, Absence::kKeyed, at);
    }
  }
  if (follow.is_worth_watching) Watch(port, at);
  if (follow.is_bad_sample) ++stats_.bad_samples;
  if (follow.epoch && *follow.epoch != EpochCause::kFirstSeen) {
    if (*follow.epoch != EpochCause::kLinkReplaced) ++stats_.resets;
    effects.epochs.push_back({port, *follow.epoch});
  }
  WantOfDevice(node, follow.of_device, at);
  if (!follow.of_port.IsEmpty()) Want(port, follow.of_port, at);
  if (!follow.of_far_end.IsEmpty()) {
    const fabric::Port* own = snapshot_->port(port);
    if (own != nullptr && !own->peer.IsNone() && records_.Has(own->peer)) {
      Want(own->peer, follow.of_far_end, at);
    }
  }
  if (request.ask == Ask::kClassPortInfo || was_unresponsive || IsMandatory(request.ask)) {
    NoteDevice(node, at);
  }
  Queue(node);
  LeavePass(device, at);
}

void Collector::OnNoResponse(const Request& request, bool is_loss, Millis now) {
  Device& device = devices_[request.device];
  device.End(request.ask, request.port);
  if (IsSmp(request.ask)) smp_in_flight_ = false;
  ++stats_.timeouts;
  ++stats_.timeouts_by_ask[static_cast<size_t>(request.ask)];
  if (request.is_voided) {
    ++stats_.voided;
    Queue(NodeIndex(request.device));
    LeavePass(device, now);
    return;
  }
  const bool is_probe = device.IsProbe(request.ask);
  if (is_loss && !is_probe && device.in_a_row == 0 && device.knows_capabilities) window_.OnLoss();
  if (!request.is_repeat && is_loss && state_ == State::kPolling && !IsSmp(request.ask)) {
    device.Repeat({request.ask, request.port, true});
  } else {
    if (IsMandatory(request.ask) && device.in_a_row < 0xFF) ++device.in_a_row;
    if (IsMandatory(request.ask) && is_loss) EnterTimeout(request, now);
    OnAbsent(request, Absence::kNoAnswer, now);
  }
  Queue(NodeIndex(request.device));
  LeavePass(device, now);
}

// Of a port whose peer responds: then it is not the path that is bad. What a switch does not
// respond to is nothing of one of its links.
void Collector::EnterTimeout(const Request& request, Millis now) {
  const NodeIndex index(request.device);
  const fabric::Node* node = snapshot_->node(index);
  if (node == nullptr || node->IsSwitch()) return;
  for (const auto& [ref, port] : node->LinkPorts()) {
    const bool is_asked = !request.port || request.port == ref.port;
    if (!is_asked || !IsPolled(*node, ref.port) || !records_.Has(ref)) continue;
    if (port.peer.IsNone()) return;
    const Device& other = devices_[port.peer.node.value()];
    if (other.knows_capabilities && other.in_a_row == 0) {
      records_.Device(index).incidents.Add(ref.port, Incident::kTimeout, now);
    }
    return;
  }
}

void Collector::OnAbsent(const Request& request, Absence why, Millis now) {
  Device& device = devices_[request.device];
  const NodeIndex node(request.device);
  if (device.redirect && IsMandatory(request.ask)) {
    // Where it pointed to may have moved.
    device.redirect.reset();
    WantOfDevice(node, AskSet::Of({Ask::kClassPortInfo}), now);
    return;
  }
  if (!IsMandatory(request.ask)) {
    device.SetAbsent(request.ask, why, now);
    const bool asks_key = IsVendorGmp(request.ask) && request.ask != Ask::kVendorKey;
    if (asks_key && why == Absence::kNoAnswer)
      WantOfDevice(node, AskSet::Of({Ask::kVendorKey}), now);
  } else if (why == Absence::kRefused) {
    device.SetAbsent(request.ask, why, now);
    if (request.ask == Ask::kClassPortInfo) device.ForgetAll();
  } else if (request.ask == Ask::kClassPortInfo || device.in_a_row >= kUnresponsiveAfter) {
    device.SetAbsent(Ask::kClassPortInfo, why, now);
    device.knows_capabilities = false;
    device.ForgetAll();
  }
  NoteDevice(node, now);
}

// Copies what readers want to know of the device.
void Collector::NoteDevice(NodeIndex node, Millis now) {
  const Device& device = devices_[node.value()];
  DeviceRecord& record = records_.Device(node);
  record.knows_capabilities = device.knows_capabilities;
  record.redirected = device.redirect.has_value();
  record.capability_mask = device.capability_mask;
  record.capability_mask2 = device.capability_mask2;
  record.responds = device.knows_capabilities && device.in_a_row == 0;
  if (record.responds) record.answered_at = now;
  for (size_t i = 0; i < kAsks; ++i) {
    record.absences[i] = device.last_absence(static_cast<Ask>(i));
  }
  if (device.vendor != Absence::kNone) return;
  // What is not asked for, as what says that it is there has not been answered.
  Absence registers = device.last_absence(Ask::kVendorInfo);
  if (device.knows_registers && !device.has_registers) registers = Absence::kUnsupported;
  for (size_t i = 0; i < kAsks; ++i) {
    const Ask ask = static_cast<Ask>(i);
    if (record.absences[i] != Absence::kNone) continue;
    if (IsRegister(ask)) record.absences[i] = registers;
    if (!IsSmp(ask) || device.HasAnswered(Ask::kSmpInfo)) continue;
    const Absence smp = device.last_absence(Ask::kSmpInfo);
    record.absences[i] = smp != Absence::kNone ? smp : device.last_absence(Ask::kVendorInfo);
  }
}

}  // namespace fabricd::telemetry
