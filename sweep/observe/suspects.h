// SPDX-License-Identifier: Apache-2.0
// Suspects: the switches whose ports have to be looked at, and when. Traps, light sweeps, time-outs
// and failed writes all end here, so that what tells of one change many times is looked at once.
//
// The first report opens a short window, in which those that belong to it come together (a switch
// that dies is reported by each neighbour); the window's end does not move, so nothing starves. A
// switch that keeps reporting while nothing is found is looked at ever more seldom: a storm of
// traps costs one look a second. Where something is found over and over, as in a device that shows
// old values for long, it is ten looks a second in the end. After a vain look comes one more a few
// seconds later, since devices may show old values for a while.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include "common/ids.h"
#include "common/time.h"

namespace fabricd::sweep {

// What one survey is to look at.
struct SurveyTask {
  std::vector<NodeIndex> switches;  // All ports of these. Sorted.
  std::vector<PortRef> ports;       // Ports of switches whose far end is to be asked. Sorted.
  std::vector<PortRef> links;       // Ports of switches whose state alone is to be read. Sorted.
  std::string cause;                // Of the first report.
  Instant since = kNever;           // Of the first report.
  // Read all that is known of the ports, not only whether they are up, and program them again.
  bool thorough = false;
};

class Suspects {
 public:
  // How long reports are gathered.
  explicit Suspects(const Duration& window) : window_(window) {}

  void Add(NodeIndex node, const std::string& cause, Instant now, bool thorough = false);
  void AddPort(PortRef port, const std::string& cause, Instant now);
  // kNever: there are none.
  Instant due() const;
  // All that are due, but for switches at which somebody `is_at`: what two read at once they would
  // see in two orders. Those are due again after another window.
  using IsAt = std::function<bool(NodeIndex node)>;
  SurveyTask Take(const IsAt& is_at, Instant now);
  // What came of it.
  void OnLooked(NodeIndex node, bool changed, Instant now);
  // All was looked at.
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
    bool is_second = false;  // Nothing was found at first.
    bool thorough = false;
  };
  struct Pace {
    uint32_t vain = 0;   // Looks in a row.
    uint32_t looks = 0;  // Since `counted_from`.
    Instant counted_from{}, last{};
    Instant until{};  // Not looked at before.
  };
  void AddReport(PortRef port, const std::string& cause, bool thorough, Instant now);

  const Duration& window_;
  absl::flat_hash_map<PortRef, Report> reports_;  // At most one for each port.
  absl::flat_hash_map<NodeIndex, Pace> paces_;    // Of switches that were looked at.
  absl::flat_hash_set<NodeIndex> looked_twice_;   // In the survey under way.
};

}  // namespace fabricd::sweep
