// SPDX-License-Identifier: Apache-2.0
// Findings: the changes that surveys and explorations have found. Edits go into the builder at
// once; the routes of devices are updated by Repath().
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sweep/observe/ground.h"

namespace fabricd::sweep {

struct SurveyChanges {
  PortRef about, peer;             // The first link that changed; `peer` may be none.
  std::vector<NodeIndex> touched;  // Nodes that the programmer must check.
  std::vector<NodeIndex> gone, come;
  // A heavy sweep is due, because a survey cannot resolve it; the reason. Empty: none is due.
  std::string needs_sweep;
  // Another SM was found there: the election comes before any programming.
  bool meets_sm = false;

  bool empty() const { return touched.empty() && gone.empty() && needs_sweep.empty(); }
};

class Findings {
 public:
  explicit Findings(const Ground& ground) : ground_(ground) {}

  void Touch(NodeIndex node) { changes.touched.push_back(node); }
  // The first reported link is kept.
  void NoteFirst(PortRef port, PortRef peer);
  // The port has lost its link. Returns true if `peer` is a switch port that may not report it yet.
  bool Lose(PortRef port, PortRef peer);
  // Reroutes devices that were reached over a lost link, and removes nodes that no link leads to.
  // `moved` is called for each node whose route has changed. `local` is the SM's port.
  using Moved = std::function<void(NodeIndex node, const wire::DirectedPath& from,
                                   const wire::DirectedPath& to)>;
  void Repath(PortRef local, const Moved& moved);
  SurveyChanges Take();

  SurveyChanges changes;
  bool lost_something = false;  // Since the last Take().
  bool paths_dirty = false;

 private:
  void Remove(NodeIndex node);

  const Ground& ground_;
};

}  // namespace fabricd::sweep
