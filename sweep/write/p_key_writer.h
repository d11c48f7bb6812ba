// SPDX-License-Identifier: Apache-2.0
// PKeyWriter: P_KeyTables of end ports, and of the switch ports that enforce partitions for them
// (computed by port_keys.h).
#pragma once

#include <utility>

#include <absl/container/flat_hash_map.h>

#include "sweep/write/attribute_writer.h"
#include "sweep/write/port_keys.h"

namespace fabricd::sweep {

class PKeyWriter final : public QueuedWriter {
 public:
  static constexpr std::array kWorks{Work::kReadPKeys, Work::kSetPKeys};

  // `ground` must outlive this.
  explicit PKeyWriter(const ProgramGround& ground)
      : QueuedWriter(ground),
        keys_(ground.desired.keys, ground.desired.ports.local, *ground.desired.snapshot,
              ground.devices.applied()) {}

  void List(ProgramStage stage, WorkQueue& queue) override;
  std::optional<mad::SmpRequest> Next(const WorkItem& item) override;
  void OnAnswer(const WorkItem& item, const mad::Completion& completion) override;
  [[nodiscard]] static bool OnLateAnswer(const LateAnswer& late);

  const PortKeys& keys() const { return keys_; }

 private:
  // The blocks of an end port, or of a switch's external port. Empty: there is no such port.
  static AppliedState::PKeyBlocks& BlocksOf(PortRef port, const fabric::SnapshotBuilder& builder,
                                            DeviceTable& devices);
  void ListReads(WorkQueue& queue);
  void ListWrongKeys(WorkQueue& queue);

  const PortKeys keys_;
  absl::flat_hash_map<std::pair<PortRef, uint16_t>, wire::PKeyTable> wanted_;  // By block.
};

}  // namespace fabricd::sweep
