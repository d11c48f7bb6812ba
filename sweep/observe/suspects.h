// SPDX-License-Identifier: Apache-2.0
// Suspects: the switches to survey, and when. Traps, light sweeps, timeouts and failed writes all
// end here, so that many reports of one change cause one survey.
//
// The first report opens a short window that collects related reports (each neighbour of a failed
// switch reports it). Further reports do not extend the window, so none waits for ever. A switch
// that keeps reporting without a change is surveyed at growing intervals: a storm of traps costs
// one survey a second. After 200 surveys of a switch within ten seconds, as of a device that
// returns old values for long, the pauses grow from 0.1 s to 5 s, even if each survey finds a
// change. A survey without a change is repeated once after a few seconds, because devices may
// return old values for a while.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include "common/ids.h"
#include "common/time.h"

namespace fabricd::sweep {

// The scope of one survey.
struct SurveyTask {
  std::vector<NodeIndex> switches;   // Read all ports of these. Sorted.
  std::vector<PortRef> ports;        // Switch ports to probe through. Sorted.
  std::vector<PortRef> links;        // Switch ports whose state is read. Sorted.
  std::vector<NodeIndex> described;  // Switches whose NodeDescription is read. Sorted.
  std::string cause;                 // Of the first report.
  Instant since = kNever;            // Of the first report.
  // Read and program the ports again in full, not only their states.
  bool thorough = false;
};

class Suspects {
 public:
  // `window`: how long reports are collected. Must outlive this.
  explicit Suspects(const Duration& window) : window_(window) {}

  void Add(NodeIndex node, const std::string& cause, Instant now, bool thorough = false);
  void AddPort(PortRef port, const std::string& cause, Instant now);
  // When the first report is due. kNever: there are none.
  Instant due() const;
  // Takes all reports that are due. Switches that another survey reads (`is_at`) become due again
  // after another window: two surveys of one switch could see its changes in different orders.
  using IsAt = std::function<bool(NodeIndex node)>;
  SurveyTask Take(const IsAt& is_at, Instant now);
  // The survey of the node has ended. `changed`: it found something there.
  void OnLooked(NodeIndex node, bool changed, Instant now);
  // Drops everything: a heavy sweep reads it.
  void Clear() {
    reports_.clear();
    paces_.clear();
    looked_twice_.clear();
  }

 private:
  struct Report {
    PortRef port;  // Port 0: the whole switch.
    std::string cause;
    Instant since, due;
    bool is_second = false;  // The repeated survey after one without a change.
    bool thorough = false;
  };
  struct Pace {
    uint32_t vain = 0;   // Surveys without a change, in a row.
    uint32_t looks = 0;  // Surveys since `counted_from`.
    Instant counted_from{}, last{};
    Instant until{};  // No survey before this.
  };
  void AddReport(PortRef port, const std::string& cause, bool thorough, Instant now);

  const Duration& window_;
  absl::flat_hash_map<PortRef, Report> reports_;  // At most one for each port.
  absl::flat_hash_map<NodeIndex, Pace> paces_;    // Of surveyed switches.
  absl::flat_hash_set<NodeIndex> looked_twice_;   // Being surveyed for the second time.
};

}  // namespace fabricd::sweep
