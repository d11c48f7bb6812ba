// SPDX-License-Identifier: Apache-2.0
// IdleReads: what is read while nothing else is done: tables that were written (ReadBack), and VL
// tables that clients ask for (LaneReader). Both give way at once: what is left is read when the
// core is idle again.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "sweep/device/lane_reader.h"
#include "sweep/observe/observed_fabric.h"
#include "sweep/program/read_back.h"

namespace fabricd::sweep {

class IdleReads {
 public:
  // All outlive this.
  IdleReads(const Ground& ground, const ObservedFabric& observed)
      : ground_(ground),
        observed_(observed),
        read_back_(ground.builder, ground.devices, ground.engine) {}

  // ---- tables that were written

  // A sample of them, or all that discovery does not read. The commands are finished with the
  // result. `uses_vls`: VL tables are written too.
  void AddSample(bool uses_vls, std::vector<uint64_t> commands, Instant now);
  void AddAll(bool uses_vls, std::vector<uint64_t> commands);
  // Call after each batch of completions. `may`: nothing else is done.
  std::optional<ReadBack::Result> AdvanceReadBack(bool may, Instant now);
  void OnReadBack(const mad::Completion& completion);

  // ---- VL tables

  void WantVlTables(const std::vector<NodeIndex>& nodes);
  // The same. `uses_vls`: the plan does, so what was read is kept. True: all that were wanted have
  // been read, as far as devices answer.
  bool AdvanceVlTables(bool may, bool uses_vls);
  void OnVlTables(const mad::Completion& completion);

  // Nothing is left to be read, and what is in flight is dropped. Returns the commands that wait.
  std::vector<uint64_t> Drop();

 private:
  void CancelQueued(Activity activity);
  void StartVlTables(bool uses_vls);

  const Ground ground_;
  const ObservedFabric& observed_;
  ReadBack read_back_;
  std::unique_ptr<LaneReader> reader_;
  std::set<NodeIndex> wanted_;  // Nodes whose VL tables are to be read.
  uint16_t run_ = 0;            // Of the reader.
};

}  // namespace fabricd::sweep
