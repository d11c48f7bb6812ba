// SPDX-License-Identifier: Apache-2.0
// AdaptiveRoutingReader: reads whether adaptive routing is on (ARInfo), once for each mastership,
// from switches that another SM may have set up: those that have a LinearFDBTop. GeneralInfo comes
// first, because a switch is not sent what it does not know. It writes nothing.
//
// What a switch shows of its LFT while adaptive routing is on proves nothing, so all its blocks
// are written once (AppliedLft::Distrust).
#pragma once

#include "sweep/write/attribute_writer.h"

namespace fabricd::sweep {

class AdaptiveRoutingReader final : public QueuedWriter {
 public:
  static constexpr std::array kWorks{Work::kReadCapabilities, Work::kReadAdaptiveRouting};

  // `ground` must outlive this. `queue` receives reads that a response makes necessary.
  AdaptiveRoutingReader(const ProgramGround& ground, WorkQueue& queue)
      : QueuedWriter(ground), queue_(queue) {}

  void List(ProgramStage stage, WorkQueue& queue) override;
  std::optional<mad::SmpRequest> Next(const WorkItem& item) override;
  void OnAnswer(const WorkItem& item, const mad::Completion& completion) override;
  [[nodiscard]] static bool OnLateAnswer(const LateAnswer&) { return false; }  // It sends no Set.

 private:
  WorkQueue& queue_;
};

}  // namespace fabricd::sweep
