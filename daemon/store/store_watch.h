// SPDX-License-Identifier: Apache-2.0
// StoreWatch: notices when the store begins or ceases to refuse writes. Pure; one thread.
#pragma once

#include <optional>
#include <string>

#include <absl/status/status.h>

#include "common/status.h"

namespace fabricd::daemon {

class StoreWatch {
 public:
  // What to log of a change since the last call; nullopt: there was none. A refusal for another
  // reason is one.
  std::optional<std::string> Look(const absl::Status& writable) {
    if (writable.code() == last_) return std::nullopt;
    last_ = writable.code();
    return writable.ok() ? "changes are stored again" : Refusal(writable);
  }

  static std::string Refusal(const absl::Status& writable) {
    return "changes are refused, routing goes on: " + Message(writable);
  }

 private:
  absl::StatusCode last_ = absl::StatusCode::kOk;
};

}  // namespace fabricd::daemon
