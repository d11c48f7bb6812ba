// SPDX-License-Identifier: Apache-2.0
// StageSequencer: the order of the stages of a run. A run over the whole fabric configures ports
// while the plan is computed. A run after a change writes tables before ports, because traffic
// waits for tables and not for new ports. If only the members of multicast groups have changed,
// only trees are written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sweep/write/work.h"

namespace fabricd::sweep {

enum class RunKind : uint8_t { kWholeFabric, kChange, kTreesOnly, kReadOnly };

class StageSequencer {
 public:
  explicit StageSequencer(RunKind kind);

  ProgramStage stage() const { return order_[position_]; }
  bool done() const { return stage() == ProgramStage::kDone; }
  // REQUIRES: !done().
  void Advance() { ++position_; }
  // Whether this stage has ended. False for a stage that the run does not have.
  bool HasPassed(ProgramStage stage) const;

 private:
  std::span<const ProgramStage> order_;
  size_t position_ = 0;
};

}  // namespace fabricd::sweep
