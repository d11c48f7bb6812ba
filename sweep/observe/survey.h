// SPDX-License-Identifier: Apache-2.0
// Survey: finds what has changed at some switches, and reads no others. It reads the states of
// their ports (by SwitchPortStateTable, or else PortInfo of each port), unlinks ports that are
// down, lets the explorer probe ports that came up, and removes nodes that no link leads to any
// more. Edits go into the builder as they are found.
//
// Near switches are read before far ones. The lost links that they report give the far ones a
// working route before they are read. If the switch at the other end of a lost link is
// unresponsive, its other neighbours are read too, because their traps may have been lost with it.
//
// Losses are reported at once. HasChanges() may be true long before done(), because the timeouts of
// unresponsive devices keep a survey open.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include "sweep/observe/explorer.h"
#include "sweep/observe/findings.h"
#include "sweep/observe/state_tables.h"
#include "sweep/observe/suspects.h"

namespace fabricd::sweep {

class Survey {
 public:
  // All references must outlive this. `local` is the SM's port. `place` is the run number in the
  // contexts of the requests.
  Survey(const Ground& ground, Explorer& explorer, PortRef local, uint16_t place);

  void Start(SurveyTask task, Instant now);
  void OnCompletion(const mad::Completion& completion, Instant now);
  // Call after each batch of completions, and at NextDeadline().
  void Advance(Instant now);
  Instant NextDeadline() const;

  // Something was lost, and the remaining responses are late; or the survey is done and found a
  // change.
  bool HasChanges(Instant now) const;
  // All findings since the last call.
  SurveyChanges TakeChanges();
  bool done() const;
  // Port states are being read and are not late: more changes may be found.
  bool IsReading(Instant now) const {
    return (!levels_.empty() || reads_out() > 0) && now < level_deadline_;
  }
  // The node waits to be read, or is being read.
  bool IsAt(NodeIndex node) const;
  const SurveyTask& task() const { return task_; }
  // For a switch of task().switches, after done(): whether anything was found there.
  bool Changed(NodeIndex node) const { return changed_.contains(node); }
  std::vector<Unread> TakeUnread() { return std::move(unread_); }

 private:
  enum class Ask : uint8_t { kSwitchInfo, kCleared, kStates, kPort, kLink, kDescription, kConfirm };

  void Submit(mad::SmpRequest request, Ask ask, PortRef subject);
  void LoseKnown(NodeIndex node);
  void ReleaseLevels(Instant now);
  void ReadSwitch(NodeIndex node);
  void ExploreAgain(NodeIndex node, Instant now);
  void ReadPorts(NodeIndex node);
  void ReadAllPorts(NodeIndex node);
  void ReadPort(PortRef port, Ask ask);
  void OnSwitchInfo(NodeIndex node, const mad::Completion& completion, Instant now);
  void OnStates(NodeIndex node, const mad::Completion& completion);
  void OnPort(PortRef port, const mad::Completion& completion, Instant now);
  void OnLink(PortRef port, const mad::Completion& completion, Instant now);
  void OnDescription(NodeIndex node, const mad::Completion& completion);
  void OnConfirm(PortRef port, const mad::Completion& completion, Instant now);
  void Lose(PortRef port, PortRef peer);
  void OnUnresponsive(NodeIndex node);
  void Touch(NodeIndex node);
  void Explore(PortRef port, Instant now);
  void Repath();
  void AskPeers(Instant now);
  void CrossExamine(NodeIndex silent);
  size_t reads_out() const { return outstanding_ - confirms_out_; }

  const Ground& ground_;
  Explorer& explorer_;
  const PortRef local_;
  const uint16_t place_;

  SurveyTask task_;
  std::map<uint16_t, std::vector<NodeIndex>> levels_;  // Hops → switches to read.
  Instant level_deadline_ = kNever;                    // When the next level starts in any case.
  size_t outstanding_ = 0;                             // All requests, including confirmations.
  size_t confirms_out_ = 0;
  absl::flat_hash_map<NodeIndex, uint32_t> reads_of_;  // Number of pending reads; no entry: none.
  // Peers of lost links.
  struct Peers {
    std::vector<PortRef> unread;
    absl::flat_hash_set<PortRef> asked;
    Instant deadline = kNever;
  };
  Peers peers_;
  absl::flat_hash_set<NodeIndex> examined_, asked_managements_;
  std::vector<NodeIndex> silent_;  // Switches that did not respond.
  Instant advanced_{};             // Time of the last Advance().
  absl::flat_hash_set<NodeIndex> changed_;
  StateTables tables_;
  Findings found_;
  std::vector<Unread> unread_;
};

}  // namespace fabricd::sweep
