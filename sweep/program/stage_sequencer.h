// SPDX-License-Identifier: Apache-2.0
// StageSequencer: the order of the stages of a run. What a device that took long has to be set
// first differs. Where everything is looked at, ports are configured while the plan is computed.
// After a change, tables come before ports: traffic waits for tables, not for ports that come up.
// Where only the members of multicast groups have changed, nothing but trees is written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sweep/write/work.h"

namespace fabricd::sweep {

enum class RunKind : uint8_t { kWholeFabric, kChange, kTreesOnly };

class StageSequencer {
 public:
  explicit StageSequencer(RunKind kind);

  ProgramStage stage() const { return order_[position_]; }
  bool done() const { return stage() == ProgramStage::kDone; }
  // REQUIRES: !done().
  void Advance() { ++position_; }
  // Whether this stage has ended. False of one that the run does not have.
  bool HasPassed(ProgramStage stage) const;

 private:
  std::span<const ProgramStage> order_;
  size_t position_ = 0;
};

}  // namespace fabricd::sweep
