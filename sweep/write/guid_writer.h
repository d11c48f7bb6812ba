// SPDX-License-Identifier: Apache-2.0
// GuidWriter: GUIDInfo, the alias GUIDs of end ports (selected by port_guids.h).
#pragma once

#include <utility>

#include <absl/container/flat_hash_map.h>

#include "sweep/write/attribute_writer.h"
#include "sweep/write/port_guids.h"

namespace fabricd::sweep {

class GuidWriter final : public QueuedWriter {
 public:
  static constexpr std::array kWorks{Work::kReadGuids, Work::kSetGuids};

  // `ground` must outlive this. `queue` receives reads that a response makes necessary.
  GuidWriter(const ProgramGround& ground, WorkQueue& queue)
      : QueuedWriter(ground),
        queue_(queue),
        guids_(ground.desired.guids, *ground.desired.snapshot, ground.devices.applied()) {}

  void List(ProgramStage stage, WorkQueue& queue) override;
  std::optional<mad::SmpRequest> Next(const WorkItem& item) override;
  void OnAnswer(const WorkItem& item, const mad::Completion& completion) override;
  [[nodiscard]] static bool OnLateAnswer(const LateAnswer& late);

 private:
  void ListReads(WorkQueue& queue);

  WorkQueue& queue_;
  const PortGuids guids_;
  absl::flat_hash_map<std::pair<PortRef, uint16_t>, wire::GuidInfo> wanted_;  // By block.
};

}  // namespace fabricd::sweep
