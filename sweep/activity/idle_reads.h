// SPDX-License-Identifier: Apache-2.0
// IdleReads: reads that run only while the core is idle: read-back of written tables (ReadBack),
// and VL tables that clients request (LaneReader). Both pause as soon as other work starts, and
// continue when the core is idle again.
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
  // Both must outlive this.
  IdleReads(const Ground& ground, const ObservedFabric& observed)
      : ground_(ground),
        observed_(observed),
        read_back_(ground.builder, ground.devices, ground.engine, ground.options.audit) {}

  // ---- read-back of written tables

  // AddSample: a sample of the written tables. AddAll: every table that discovery does not read.
  // `commands` are finished with the result. `uses_vls`: VL tables are included.
  void AddSample(bool uses_vls, std::vector<uint64_t> commands, Instant now);
  void AddAll(bool uses_vls, std::vector<uint64_t> commands);
  // All is being read back.
  bool reads_all() const { return read_back_.reads_all(); }
  // Call after each batch of completions. `may`: no other activity is under way.
  std::optional<ReadBack::Result> AdvanceReadBack(bool may, Instant now);
  void OnReadBack(const mad::Completion& completion);
  // The next time that AdvanceReadBack() has work even if nothing else happens.
  Instant NextDeadline() const { return read_back_.empty() ? kNever : read_back_.next_feed(); }

  // ---- VL tables

  void WantVlTables(const std::vector<NodeIndex>& nodes);
  // Call after each batch of completions. `may`: no other activity is under way. `uses_vls`: the
  // plan uses VL tables, so all that were read are kept. Returns true once all requested tables
  // have been read or given up.
  bool AdvanceVlTables(bool may, bool uses_vls);
  void OnVlTables(const mad::Completion& completion);

  // Drops all reads, including those in flight. Returns the commands that wait for a result.
  std::vector<uint64_t> Drop();

 private:
  void CancelQueued(Activity activity);
  void ReportDrifting(const std::vector<NodeIndex>& nodes);
  void StartVlTables(bool uses_vls);

  const Ground ground_;
  const ObservedFabric& observed_;
  ReadBack read_back_;
  std::unique_ptr<LaneReader> reader_;
  std::set<NodeIndex> wanted_;  // Nodes whose VL tables have been requested.
  uint16_t run_ = 0;            // Number of the reader, to recognise its completions.
};

}  // namespace fabricd::sweep
