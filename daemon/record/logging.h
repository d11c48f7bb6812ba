// SPDX-License-Identifier: Apache-2.0
// spdlog, set up once: to journald when systemd connected our stderr to it, else to stderr, by a
// thread of its own and within the bounds of log_writer.h and log_gate.h. At level debug nothing is
// held back.
#pragma once

#include <string>

#include "config/config.h"
#include "sweep/interface/events.h"

namespace fabricd::daemon {

void SetUpLogging(config::LogLevel level);
// Writes what waits. What is logged afterwards goes nowhere.
void EndLogging();
void SetLogLevel(config::LogLevel level);
void Write(const sweep::LogRecord& record);

// The line below the log while a big sweep runs; empty: none. Nothing where stderr is no terminal.
void ShowProgress(const std::string& text);

}  // namespace fabricd::daemon
