// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/dumps.h"

#include "common/status.h"
#include "routing/plan/plan_dumps.h"

namespace fabricd::daemon {

absl::StatusOr<std::map<std::string, std::string>> DumpView(const sweep::FabricView& view) {
  if (view.plan == nullptr) return Unavailable("no routing plan has been made yet");
  std::map<std::string, std::string> files;
  routing::WriteDumps(
      *view.snapshot, *view.lids, *view.plan, *view.multicast, view.sm.port.node,
      [&files](std::string_view name) { return fabric::AppendTo(files[std::string(name)]); });
  return files;
}

}  // namespace fabricd::daemon
