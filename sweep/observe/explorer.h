// SPDX-License-Identifier: Apache-2.0
// Explorer: finds out who stands behind ports that came up, for all surveys. One Discovery at a
// time, beyond those ports only: two that met at a newcomer would each take it for known. What
// rises meanwhile is next.
//
// A site that is switched on brings thousands of nodes within minutes. Each would cost a block on
// every switch, so those that were never seen before are gathered: the first are reported at once,
// later ones once every kGatherTime. Whatever else is found is reported at once, and they with it.
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

  // The port is up, and who is behind it is not known, or not for sure. The report that led here.
  void Add(PortRef port, const std::string& cause, Instant since, Instant now);
  void OnCompletion(const mad::Completion& completion, Instant now);
  // What surveys find meanwhile.
  void OnLinkLost(PortRef port);
  void OnMoved(NodeIndex node, const wire::DirectedPath& from, const wire::DirectedPath& to);

  // Call after each batch of completions, and at NextDeadline(). `reading`: surveys may be about to
  // add more, and are waited for a little. `local` is the SM's port.
  void Advance(PortRef local, bool reading, Instant now);
  Instant NextDeadline() const;
  // Nothing is asked, or waits to be, or was found and not taken.
  bool idle() const { return !discovery_ && next_.empty() && !HasFound(); }

  // Something was found, although it may be gathered still.
  bool HasFound() const { return !found_.changes.empty(); }
  // As of the last Advance().
  bool HasChanges() const { return HasFound() && !gathers_; }
  SurveyChanges TakeChanges();
  // It was found, and is to be programmed once its gathering has ended.
  bool Gathers(NodeIndex node) const { return gathers_ && node.value() >= known_end_; }
  // Of what the changes are about.
  const std::string& cause() const { return cause_; }
  Instant since() const { return since_; }
  std::vector<Unread> TakeUnread() { return std::exchange(unread_, {}); }
  // Switches whose ports have to be read: they show PortStateChange, or lost a link here.
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
  Instant start_at_ = kNever;  // When the next one starts although surveys are reading.
  std::unique_ptr<Discovery> discovery_;
  uint32_t known_end_ =
      0;  // Node indices from here on are of nodes first seen since TakeChanges().
  Findings found_;
  bool only_arrivals_ = true;  // What was found is of nodes that were never seen before.
  bool gathers_ = false;       // And their time has not come.
  Instant next_arrivals_{};    // When it comes.
  Instant advanced_{};         // By the last Advance().
  std::string cause_;
  Instant since_ = kNever;
  std::vector<Unread> unread_;
  std::vector<NodeIndex> suspects_;
  absl::flat_hash_map<NodeIndex, Instant> dirty_;  // When they were found so and then read.
};

}  // namespace fabricd::sweep
