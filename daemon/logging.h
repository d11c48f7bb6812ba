// SPDX-License-Identifier: Apache-2.0
// spdlog, set up once: to journald when systemd connected our stderr to it, else to stderr.
#pragma once

#include "config/config.h"
#include "sweep/events.h"

namespace fabricd::daemon {

void SetUpLogging(config::LogLevel level);
void SetLogLevel(config::LogLevel level);
void Write(const sweep::LogRecord& record);

// One line on a terminal that is rewritten while a big sweep runs; nothing where stderr is no
// terminal.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine() { Clear(); }
  void Show(const std::string& text);
  void Clear();

 private:
  const bool is_terminal_;
  bool shown_ = false;
};

}  // namespace fabricd::daemon
