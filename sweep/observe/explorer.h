// SPDX-License-Identifier: Apache-2.0
// Explorer: discovers the nodes behind ports that came up, for all surveys. It runs one Discovery
// at a time, limited to those ports: of two that met at one new node, each would assume it known.
// Ports that come up during a discovery wait for the next one.
//
// A site that is switched on brings thousands of nodes within minutes. Each would cost a block on
// every switch, so nodes that were never seen before are gathered: the first are reported at once,
// later ones once every kGatherTime. Any other finding is reported at once, together with the
// gathered nodes.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "sweep/observe/discovery.h"
#include "sweep/observe/findings.h"

namespace fabricd::sweep {

class Explorer {
 public:
  static constexpr Duration kGatherTime = std::chrono::seconds(1);

  explicit Explorer(const Ground& ground) : ground_(ground), found_(ground) {}

  // The port is up, and the node behind it is unknown or uncertain. `cause` and `since` are those
  // of the report.
  void Add(PortRef port, const std::string& cause, Instant since, Instant now);
  void OnCompletion(const mad::Completion& completion, Instant now);
  // Changes that surveys find during a discovery.
  void OnLinkLost(PortRef port);
  void OnMoved(NodeIndex node, const wire::DirectedPath& from, const wire::DirectedPath& to);

  // Call after each batch of completions, and at NextDeadline(). `reading`: surveys may add more
  // ports soon, and are waited for briefly. `local` is the SM's port.
  void Advance(PortRef local, bool reading, Instant now);
  Instant NextDeadline() const;
  // True: no request is pending or waiting, and all findings were taken.
  bool idle() const { return !discovery_ && next_.empty() && !HasFound(); }

  // Something was found; it may still be gathered.
  bool HasFound() const { return !found_.changes.empty(); }
  // As of the last Advance(): there are findings, and they need not wait.
  bool HasChanges() const { return HasFound() && !gathers_; }
  SurveyChanges TakeChanges();
  // The node was found and is programmed when the gathering ends.
  bool Gathers(NodeIndex node) const { return gathers_ && node.value() >= known_end_; }
  // The cause of the findings.
  const std::string& cause() const { return cause_; }
  Instant since() const { return since_; }
  std::vector<Unread> TakeUnread() { return std::exchange(unread_, {}); }
  // Switches whose ports must be read: they report PortStateChange, or lost a link here.
  std::vector<NodeIndex> TakeSuspects() { return std::exchange(suspects_, {}); }

 private:
  void Start(PortRef local, Instant now);
  void Finish(PortRef local, Instant now);
  std::vector<PortRef> PortsAskedBy(const Discovery& done) const;
  bool IsToBeRead(NodeIndex dirty, Instant now);
  void NoteArrivals(const Discovery& done);

  const Ground& ground_;

  struct Request {
    std::vector<PortRef> ports;
    std::string cause;
    Instant since = kNever;
    bool empty() const { return ports.empty(); }
  };
  Request next_, now_;
  Instant start_at_ = kNever;  // When the next discovery starts even if surveys are reading.
  std::unique_ptr<Discovery> discovery_;
  uint32_t known_end_ = 0;  // The first index of nodes that were first seen since TakeChanges().
  Findings found_;
  bool only_arrivals_ = true;  // All findings are nodes that were never seen before.
  bool gathers_ = false;       // They are not reported yet.
  Instant next_arrivals_{};    // When they may be reported.
  Instant advanced_{};         // Time of the last Advance().
  std::string cause_;
  Instant since_ = kNever;
  std::vector<Unread> unread_;
  std::vector<NodeIndex> suspects_;
  // Time of the last read because of PortStateChange.
  absl::flat_hash_map<NodeIndex, Instant> dirty_;
};

}  // namespace fabricd::sweep
