// SPDX-License-Identifier: Apache-2.0
// VerdictSource: who concludes something of what telemetry has read. A verdict engine implements
// it; tests have a double.
#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "common/ids.h"
#include "common/time.h"
#include "fabric/snapshot.h"
#include "routing/plan/plan.h"
#include "telemetry/view.h"

namespace fabricd::sim {

// A verdict that stands.
struct Concluded {
  // The end that it accuses, or one end of the link that it is about. By GUID: NodeIndex means one
  // thing in the view and another in the simulated fabric.
  Guid node;
  PortNum port;
  std::string verdict;  // "NOISY_PHY", …
  std::string culprit;  // "cable", …; may be empty.
  // False: it only informs (SUSPECT, VICTIM, UNKNOWN, and what has a common cause).
  bool is_actionable = true;
  // What would follow where hosts are cordoned by themselves: "cordon", or "recommend" and which
  // guard refused more. No part of its identity: it may change while the verdict stands.
  std::string action = {}, refused_by = {};

  auto Key() const { return std::tie(node, port, verdict, culprit, is_actionable); }
  friend bool operator==(const Concluded& a, const Concluded& b) { return a.Key() == b.Key(); }
  friend bool operator<(const Concluded& a, const Concluded& b) { return a.Key() < b.Key(); }
};

// What many links have in common, and stands.
struct CommonCauseFound {
  std::string cause;      // "SWITCH_RESTART", …
  std::string about;      // A device, a link, a kind of device; "" where it is the fabric.
  std::string text = {};  // In words, with numbers, which may change. No part of its identity.
  auto Key() const { return std::tie(cause, about); }
  friend bool operator==(const CommonCauseFound& a, const CommonCauseFound& b) {
    return a.Key() == b.Key();
  }
  friend bool operator<(const CommonCauseFound& a, const CommonCauseFound& b) {
    return a.Key() < b.Key();
  }
};

// A host that would be cordoned, without anybody being asked.
struct HeldHost {
  std::string host;
  std::string verdict = {}, port = {};  // Of the first link. No part of its identity.
  friend bool operator==(const HeldHost& a, const HeldHost& b) { return a.host == b.host; }
  friend bool operator<(const HeldHost& a, const HeldHost& b) { return a.host < b.host; }
};

// All that stands at one time, of each kind in any order.
struct Looked {
  std::vector<Concluded> verdicts;
  std::vector<CommonCauseFound> findings;
  std::vector<HeldHost> holds;
};

class VerdictSource {
 public:
  virtual ~VerdictSource() = default;
  // The tables that fabricd has planned, of nodes of that fabric. Called before Look() where there
  // are some.
  virtual void OnTables(const fabric::FabricSnapshot& /*snapshot*/,
                        const routing::RoutingPlan& /*plan*/) {}
  // Called once in an interval of polling, with a new view.
  virtual Looked Look(const telemetry::TelemetryView& view, Instant now) = 0;
  // fabricd has started again: the next view begins with nothing.
  virtual void OnRestart(Instant /*now*/) {}
};

}  // namespace fabricd::sim
