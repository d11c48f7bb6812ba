// SPDX-License-Identifier: Apache-2.0
// Survey: finds out what has changed at some switches and nowhere else. It reads the states of
// their ports (one SwitchPortStateTable where the switch has it, else PortInfo of each), cuts what
// has gone down, asks who is behind what has come up (Discovery, beyond those ports only), and
// drops what nothing leads to any more. Edits go into the builder as they are found.
//
// Near switches are read before far ones: what they tell of dead links gives the far ones a route
// that works before they are asked. Where a switch at the other end of a lost link is silent, its
// other neighbours are asked for their ends, since their traps may have been lost with it.
//
// What is lost is news at once: HasNews() may be true long before done(), for devices that died
// keep a survey waiting for their time-outs.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include "sweep/discovery.h"
#include "sweep/suspects.h"

namespace fabricd::sweep {

struct SurveyNews {
  PortRef about, peer;      // The first link of it; `peer` may be none.
  bool links_rose = false;  // Somebody stands behind a port where nobody was known before.
  // Nodes that have to be looked at by the programmer. Sorted.
  std::vector<NodeIndex> touched;
  std::vector<NodeIndex> gone, come;  // Sorted.
  // What one look does not settle: a heavy sweep is due; why.
  std::string needs_sweep;
  // Another SM stands there: who is master comes before anything is programmed.
  bool meets_sm = false;

  bool empty() const { return touched.empty() && gone.empty() && needs_sweep.empty(); }
};

class Survey {
 public:
  // All references must outlive this. `local` is the SM's port; cookies of the discovery inside
  // have another base.
  Survey(fabric::SnapshotBuilder& builder, DeviceTable& devices, mad::TransactionEngine& engine,
         ProblemList& problems, const CoreOptions& options, PortRef local, uint64_t cookie_base,
         uint64_t discovery_cookie_base);

  void Start(SurveyTask task, Instant now);
  void OnCompletion(const mad::Completion& completion, Instant now);
  void OnDiscoveryCompletion(const mad::Completion& completion, Instant now);
  void OnTimer(Instant now) { Advance(now); }
  // Call after each batch of completions.
  void Advance(Instant now);
  Instant NextDeadline() const;

  // Something was lost, and what is still out is late.
  bool HasNews(Instant now) const;
  // All that was found since the last call.
  SurveyNews TakeNews();
  bool done() const;
  const SurveyTask& task() const { return task_; }
  // Of `task().switches`, after done(): whether anything was found there.
  bool Changed(NodeIndex node) const { return changed_.contains(node); }
  std::vector<Unread> TakeUnread() { return std::move(unread_); }

 private:
  enum class Ask : uint8_t { kSwitchInfo, kClear, kStates, kPort, kConfirm };

  void Submit(mad::SmpRequest request, Ask ask, PortRef subject);
  void LoseKnown(NodeIndex node);
  void ReleaseLevels(Instant now);
  void ReadSwitch(NodeIndex node);
  void ExploreAgain(NodeIndex node);
  void ReadPorts(NodeIndex node);
  void ReadPort(PortRef port, Ask ask);
  void OnSwitchInfo(NodeIndex node, const mad::Completion& completion);
  void OnStates(NodeIndex node, const mad::Completion& completion);
  void OnPort(PortRef port, const mad::Completion& completion);
  void OnConfirm(PortRef port, const mad::Completion& completion);
  void Lose(PortRef port, PortRef peer);
  void NoteFirst(PortRef port, PortRef peer);
  void Touch(NodeIndex node);
  void Repath();
  void Remove(NodeIndex node);
  void AskPeers(Instant now);
  void CrossExamine(NodeIndex silent);
  void Explore(Instant now);
  void FinishExploring();
  size_t reads_out() const { return outstanding_ - confirms_out_; }

  fabric::SnapshotBuilder& builder_;
  DeviceTable& devices_;
  mad::TransactionEngine& engine_;
  ProblemList& problems_;
  const CoreOptions& options_;
  const PortRef local_;
  const uint64_t cookie_base_, discovery_cookie_base_;

  SurveyTask task_;
  std::map<uint16_t, std::vector<NodeIndex>> levels_;  // Hops → switches to be read.
  Instant level_deadline_ = kNever;                    // When the next level starts anyway.
  size_t outstanding_ = 0;                             // Confirms included.
  size_t confirms_out_ = 0;
  bool paths_dirty_ = false;
  std::vector<PortRef> rose_;         // To be explored.
  std::vector<PortRef> unconfirmed_;  // Far ends of lost links, to be asked; then asked:
  absl::flat_hash_set<PortRef> asked_peers_;
  Instant confirm_deadline_ = kNever;
  absl::flat_hash_set<NodeIndex> examined_, asked_managements_, found_dirty_;
  std::vector<NodeIndex> silent_;  // Switches that do not answer.
  absl::flat_hash_set<NodeIndex> changed_;
  std::unique_ptr<Discovery> explorer_;
  std::vector<PortRef> exploring_;
  SurveyNews news_;
  bool lost_something_ = false;  // Since the last TakeNews().
  std::vector<Unread> unread_;
};

}  // namespace fabricd::sweep
