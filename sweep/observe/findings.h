// SPDX-License-Identifier: Apache-2.0
// Findings: what surveys and explorations have found to be other than was known. Edits go into the
// builder as they are made; the devices' routes follow with Repath().
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sweep/observe/ground.h"

namespace fabricd::sweep {

struct SurveyChanges {
  PortRef about, peer;             // The first link of it; `peer` may be none.
  std::vector<NodeIndex> touched;  // Nodes that have to be looked at by the programmer.
  std::vector<NodeIndex> gone, come;
  // What one look does not settle: a heavy sweep is due; why.
  std::string needs_sweep;
  // Another SM stands there: who is master comes before anything is programmed.
  bool meets_sm = false;

  bool empty() const { return touched.empty() && gone.empty() && needs_sweep.empty(); }
};

class Findings {
 public:
  explicit Findings(const Ground& ground) : ground_(ground) {}

  void Touch(NodeIndex node) { changes.touched.push_back(node); }
  // The first link that is named stays.
  void NoteFirst(PortRef port, PortRef peer);
  // The port has no link any more. True: `peer` is a port of a switch that may not know it yet.
  bool Lose(PortRef port, PortRef peer);
  // Routes over what was lost go elsewhere, and what nothing leads to is removed. `moved` is told
  // of each node that had another route. `local` is the SM's port.
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
