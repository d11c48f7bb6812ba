// SPDX-License-Identifier: Apache-2.0
// DumpWriter: writes dump files of the newest view into a folder, on its own thread.
//   core ──► files    one job may wait; when it runs, it writes the newest view of that time
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

  // Requests that the newest view is written.
  void Post();
  void Stop() { files_.Stop(); }

 private:
  void Write() const;

  const std::string folder_;
  const Dumps make_;
  Worker<std::function<void()>> files_;
};

}  // namespace fabricd::daemon
