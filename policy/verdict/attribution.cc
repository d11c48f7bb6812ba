// SPDX-License-Identifier: Apache-2.0
#include "policy/verdict/attribution.h"

#include <algorithm>

namespace fabricd::policy {
namespace {

constexpr std::string_view kSwap = "reseat, then swap the cable or module; then the receiver's end";

bool IsReceiveError(Row row) {
  return row == Row::kSymbolBer || row == Row::kEffectiveBer || row == Row::kUncorrectable ||
         row == Row::kLocalPhysical || row == Row::kLinkIntegrity;
}

struct Pattern {
  std::span<const EvidenceRow> rows;
  bool Has(Row row, Side side, Level least = Level::kSuspect) const {
    return std::any_of(rows.begin(), rows.end(), [&](const EvidenceRow& each) {
      return each.row == row && each.side == side && each.IsAtLeast(least);
    });
  }
  bool HasErrors(Side side) const {
    return std::any_of(rows.begin(), rows.end(), [&](const EvidenceRow& each) {
      return IsReceiveError(each.row) && each.side == side && each.IsAtLeast(Level::kSuspect);
    });
  }
};

// How many symbol errors an end has to have of those of the other, so that both directions are bad.
// Ends are read at different times: until the rarer ones make a row of their own they are one
// burst.
constexpr uint64_t kComparable = 5;

// Errors of the end that make no row yet, but are as many as those of the other end.
bool HasComparableErrors(const LinkEvidence& link, Side side) {
  const EndEvidence& own = side == Side::kA ? link.a : link.b;
  const EndEvidence& other = side == Side::kA ? link.b : link.a;
  if (own.has_registers != other.has_registers) return false;  // They count different things.
  const WindowCount* few = own.Find(Signal::kSymbolErrors, Window::k7500s);
  const WindowCount* many = other.Find(Signal::kSymbolErrors, Window::k7500s);
  if (few == nullptr || many == nullptr || few->is_saturated) return false;
  return few->count >= 2 && few->count * kComparable >= many->count;
}

// The device at an end, where the whole of it is meant.
Culprit DeviceAt(const LinkEvidence& link, Side side) {
  const EndRole role = (side == Side::kA ? link.a : link.b).role;
  if (role == EndRole::kHost) return Culprit::kHost;
  return role == EndRole::kOther ? Culprit::kUnknown : Culprit::kSwitch;
}

Attribution OneDirection(const LinkEvidence& link, Side receiver) {
  const Side sender = receiver == Side::kA ? Side::kB : Side::kA;
  // A monitor of the signal raises alarm where errors are received, whoever makes them.
  if ((receiver == Side::kA ? link.a : link.b).is_unhealthy)
    return {Culprit::kReceiver, receiver,
            "errors in one direction, and its receiver says that it is unhealthy",
            "the receiver's module or device, then the cable"};
  if ((sender == Side::kA ? link.a : link.b).is_unhealthy)
    return {Culprit::kTransmitter, sender,
            "errors in one direction, and its sender says that it is unhealthy",
            "the sender's module or device, then the cable"};
  const EndRole role = (sender == Side::kA ? link.a : link.b).role;
  if (role == EndRole::kHost)
    return {Culprit::kTransmitter, sender, "errors only where the switch receives",
            "the host's module or adapter, then the cable"};
  if (role == EndRole::kLeaf)
    return {Culprit::kCable, receiver, "errors only where the host receives", kSwap};
  return {Culprit::kCable, receiver, "errors in one direction only", kSwap};
}

// Culprits that errors in one direction name.
bool IsOfSignal(Culprit culprit) {
  return culprit == Culprit::kTransmitter || culprit == Culprit::kReceiver ||
         culprit == Culprit::kCable;
}

// Why the devices say that the link was down.
Attribution OfLinkDowns(const LinkEvidence& link) {
  using Blame = LinkDownReport::Blame;
  const auto blame = [](const EndEvidence& end) {
    return end.last_down && !end.last_down->is_intentional ? end.last_down->blame : Blame::kUnknown;
  };
  const Blame a = blame(link.a), b = blame(link.b);
  const std::string_view why = "devices report which end took the link down";
  const std::string_view remedy = "the device named, its firmware and driver";
  if (a == Blame::kRemote && b == Blame::kRemote)
    return {Culprit::kCable, Side::kLink, "each end blames the other for link downs", kSwap};
  if (a != Blame::kRemote && b != Blame::kLocal && (a == Blame::kLocal || b == Blame::kRemote))
    return {DeviceAt(link, Side::kA), Side::kA, why, remedy};
  if (b != Blame::kRemote && a != Blame::kLocal && (b == Blame::kLocal || a == Blame::kRemote))
    return {DeviceAt(link, Side::kB), Side::kB, why, remedy};
  return {Culprit::kUnknown, Side::kLink, "link downs that no device explains", kSwap};
}

}  // namespace

std::string_view CulpritName(Culprit culprit) {
  switch (culprit) {
    case Culprit::kNone: return "none";
    case Culprit::kCable: return "cable";
    case Culprit::kTransmitter: return "transmitter";
    case Culprit::kReceiver: return "receiver";
    case Culprit::kSwitch: return "switch";
    case Culprit::kHost: return "host";
    case Culprit::kUnknown: return "unknown";
  }
  return "?";
}

Attribution AttributeErrors(const LinkEvidence& link, std::span<const EvidenceRow> rows) {
  const Pattern pattern{rows};
  const bool at_a = pattern.HasErrors(Side::kA), at_b = pattern.HasErrors(Side::kB);
  if (at_a && at_b) {
    const bool hot =
        pattern.Has(Row::kTemperature, Side::kA) && pattern.Has(Row::kTemperature, Side::kB);
    return {
        Culprit::kCable, Side::kLink,
        hot ? "errors in both directions, and both modules are hot" : "errors in both directions",
        hot ? "airflow, then the modules" : "reseat, then swap the cable or both modules"};
  }
  for (const Side receiver : {Side::kA, Side::kB}) {
    if (!(receiver == Side::kA ? at_a : at_b)) continue;
    if (HasComparableErrors(link, receiver == Side::kA ? Side::kB : Side::kA))
      return {Culprit::kCable, Side::kLink, "errors in both directions", kSwap};
    return OneDirection(link, receiver);
  }
  for (const Side side : {Side::kA, Side::kB}) {
    const Side sender = side == Side::kA ? Side::kB : Side::kA;
    if (pattern.Has(Row::kMalformed, side))
      return {DeviceAt(link, sender), sender, "its peer receives malformed packets",
              "firmware of the sender, then the device"};
    if (!pattern.Has(Row::kOverrun, side)) continue;
    if (DeviceAt(link, sender) == Culprit::kHost)
      return {Culprit::kHost, sender, "it sends more than it has credits for",
              "firmware of the adapter"};
    return {Culprit::kReceiver, side, "its buffers overrun", "firmware of the receiver"};
  }
  for (const Side side : {Side::kA, Side::kB})
    if (pattern.Has(Row::kTemperature, side, Level::kStrong))
      return {Culprit::kCable, side, "a module above its alarm limit", "airflow, then the module"};
  const Attribution downs =
      pattern.Has(Row::kLinkDowns, Side::kLink) ? OfLinkDowns(link) : Attribution();
  if (downs.culprit != Culprit::kNone && downs.culprit != Culprit::kUnknown) return downs;
  for (const Side side : {Side::kA, Side::kB}) {
    if (!pattern.Has(Row::kDeviceVerdict, side)) continue;
    if ((side == Side::kA ? link.a : link.b).is_unhealthy)
      return {DeviceAt(link, side), side, "the device says that it is unhealthy",
              "the port it names"};
    return {Culprit::kCable, side, "an alarm about the signal that is received", kSwap};
  }
  if (pattern.Has(Row::kBelowCapability, Side::kLink))
    return {Culprit::kCable, Side::kLink, "fewer or slower physical lanes than both ends have",
            kSwap};
  for (const Side side : {Side::kA, Side::kB})
    if (pattern.Has(Row::kTemperature, side))
      return {Culprit::kCable, side, "a hot module", "airflow, then the module"};
  if (downs.culprit != Culprit::kNone) return downs;
  return {Culprit::kUnknown, Side::kLink, "no pattern", "watch it"};
}

Attribution AttributeLinkDowns(const LinkEvidence& link, std::span<const EvidenceRow> rows) {
  const Attribution reported = OfLinkDowns(link);
  return reported.culprit != Culprit::kUnknown ? reported : AttributeErrors(link, rows);
}

Attribution AttributeToHost(const LinkEvidence& link, std::string_view reason,
                            std::string_view remedy) {
  if (link.a.role == EndRole::kHost) return {Culprit::kHost, Side::kA, reason, remedy};
  if (link.b.role == EndRole::kHost) return {Culprit::kHost, Side::kB, reason, remedy};
  return {Culprit::kUnknown, Side::kLink, reason, remedy};
}

Accusation Accuse(const Attribution& attribution, HeldPort a, HeldPort b) {
  Accusation accusation{attribution.culprit, {}, attribution.reason, attribution.remedy};
  if (attribution.side == Side::kA) accusation.end = a;
  if (attribution.side == Side::kB) accusation.end = b;
  return accusation;
}

Accusation Join(const Accusation& before, const Accusation& now) {
  const auto is_open = [](const Accusation& each) {
    return each.culprit == Culprit::kNone || each.culprit == Culprit::kUnknown;
  };
  const auto is_whole_link = [](const Accusation& each) {
    return each.culprit == Culprit::kCable && each.end == HeldPort();
  };
  if (is_open(now)) return is_open(before) && now.culprit != Culprit::kNone ? now : before;
  if (is_open(before) || is_whole_link(now)) return now;
  if (is_whole_link(before)) return before;
  const bool is_same_end = before.end == now.end;
  if (!IsOfSignal(before.culprit) || !IsOfSignal(now.culprit)) {
    if (is_same_end) return before;
    return {Culprit::kUnknown, HeldPort(), "evidence accuses both ends", kSwap};
  }
  // What is sent at one end is received at the other.
  const bool is_same_part =
      (before.culprit == Culprit::kTransmitter) == (now.culprit == Culprit::kTransmitter);
  if (is_same_end == is_same_part) return before;
  return {Culprit::kCable, HeldPort(), "errors in both directions, one after the other", kSwap};
}

}  // namespace fabricd::policy
