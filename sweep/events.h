// SPDX-License-Identifier: Apache-2.0
// What goes into the core and what comes out: values only (DESIGN §1). The core never calls
// anybody.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <absl/status/status.h>

#include "common/ids.h"
#include "mad/transport.h"
#include "routing/replan.h"
#include "sweep/options.h"
#include "sweep/view.h"

namespace fabricd::sweep {

// ---- in

struct StartEvent {};  // Begin: discover, elect, and so on.
struct TimerEvent {};  // Time has passed; NextDeadline() has come.
struct LidsPersisted {
  uint64_t id = 0;
  absl::Status status;
};
struct PlanReady {
  uint64_t id = 0;
  routing::ReplanResult result;
};
// What CheckCables() said of the plan's snapshot. Comes after the plan, which does not wait for it.
struct CablesChecked {
  uint64_t id = 0;  // Of the ComputePlan.
  std::vector<Problem> problems;
};
struct SweepCommand {
  uint64_t command = 0;  // Handed back in Effects::finished.
  bool heavy = true;
};
// A validated reload: a heavy sweep follows and works with these. The windows of the transaction
// engine
// (`smp`) keep their values until a restart.
struct OptionsChanged {
  CoreOptions options;
};
using Event = std::variant<StartEvent, TimerEvent, mad::IncomingMad, mad::LocalPortEvent,
                           LidsPersisted, PlanReady, CablesChecked, SweepCommand, OptionsChanged>;

// ---- out

struct LidRecord {
  Guid port_guid;
  Lid base;
  uint8_t lmc = 0;
  friend bool operator==(const LidRecord&, const LidRecord&) = default;
};

enum class LogLevel : uint8_t { kDebug, kInfo, kWarning, kError };
struct LogRecord {
  LogLevel level = LogLevel::kInfo;
  std::string text;
};

struct PersistLids {
  uint64_t id = 0;
  std::vector<LidRecord> records;
};
// Two answers are due: PlanReady, then CablesChecked.
struct ComputePlan {
  uint64_t id = 0;
  std::shared_ptr<const fabric::FabricSnapshot> snapshot;
  std::shared_ptr<const fabric::LidTable> lids;
  routing::RoutingOptions options;
  std::shared_ptr<const routing::RouteState> before;  // May be null.
  bool settle = true;  // False: the least change of `before` will do for now.
};
struct FinishedCommand {
  uint64_t command = 0;
  absl::Status status;
};

// Everything Step asks of the shell. There is no order to keep between `persist` and `send` within
// one batch: the core itself sends nothing that needs a record before LidsPersisted has come back
// for it.
struct Effects {
  std::vector<mad::OutgoingMad> send;
  std::optional<PersistLids> persist;
  std::optional<ComputePlan> compute;
  std::shared_ptr<const FabricView> publish;
  std::vector<FinishedCommand> finished;
  std::vector<LogRecord> log;
  std::optional<bool> set_is_sm;
};

}  // namespace fabricd::sweep
