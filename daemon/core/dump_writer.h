// SPDX-License-Identifier: Apache-2.0
// DumpWriter: writes the dumps of the newest view to --dump-dir, on a thread of its own.
//   core ──► files    capacity 1: one that waits writes the newest view
#pragma once

#include <functional>
#include <map>
#include <string>

#include <absl/status/statusor.h>

#include "daemon/base/worker.h"

namespace fabricd::daemon {

class DumpWriter {
 public:
  // File name → text.
  using Dumps = std::function<absl::StatusOr<std::map<std::string, std::string>>()>;

  // `folder` empty: nothing is written. `make` is called on the thread.
  DumpWriter(std::string folder, Dumps make);

  // There is a view to be written.
  void Post();
  void Stop() { files_.Stop(); }

 private:
  void Write() const;

  const std::string folder_;
  const Dumps make_;
  Worker<std::function<void()>> files_;
};

}  // namespace fabricd::daemon
