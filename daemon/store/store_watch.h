// SPDX-License-Identifier: Apache-2.0
// StoreWatch: notices when the store begins or ceases to refuse writes. Pure; one thread. The
// problem StoreUnavailable of `get sm` is the same.
#pragma once

#include <optional>
#include <string>

#include <absl/status/status.h>

#include "common/status.h"
#include "fabric/event.h"

namespace fabricd::daemon {

class StoreWatch {
 public:
  // The event of a change since the last call; nullopt: there was none. A refusal for another
  // reason is one.
  std::optional<fabric::FabricEvent> Look(const absl::Status& writable) {
    if (writable.code() == last_) return std::nullopt;
    last_ = writable.code();
    fabric::FabricEvent event;
    event.type = writable.ok() ? "ConditionCleared" : "ConditionRaised";
    event.severity = writable.ok() ? fabric::Severity::kInfo : fabric::Severity::kError;
    event.subject = "store";
    event.message = writable.ok() ? "changes are stored again" : Refusal(writable);
    event.facts = {{"condition", "StoreUnavailable"}};
    return event;
  }

  static std::string Refusal(const absl::Status& writable) {
    return "changes are refused, routing goes on: " + Message(writable);
  }

 private:
  absl::StatusCode last_ = absl::StatusCode::kOk;
};

}  // namespace fabricd::daemon
