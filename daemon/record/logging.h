// SPDX-License-Identifier: Apache-2.0
// Sets up spdlog once: to journald if systemd connected stderr to it, otherwise to stderr, by a
// separate thread and within the limits of log_writer.h and log_gate.h. At level debug nothing is
// left out.
#pragma once

#include <string>

#include "config/config.h"
#include "sweep/interface/events.h"

namespace fabricd::daemon {

void SetUpLogging(config::LogLevel level);
// Writes the queued lines. Lines logged afterwards are discarded.
void EndLogging();
void SetLogLevel(config::LogLevel level);
void Write(const sweep::LogRecord& record);

// The line below the log during a long sweep. Empty: none. Ignored if stderr is no terminal.
void ShowProgress(const std::string& text);

}  // namespace fabricd::daemon
