// SPDX-License-Identifier: Apache-2.0
// daemon/settings: how the configuration and the files it names become options of the parts.
//
// The files that a configuration names, judged as a running daemon would read them. Any thread.
#pragma once

#include <vector>

#include "config/config.h"
#include "config/load.h"

namespace fabricd::daemon {

// What is wrong with them, file by file; each message names its file. Lines that are left out, with
// a warning in the log, are no faults.
std::vector<config::Fault> JudgeFiles(const config::Config& config);

}  // namespace fabricd::daemon
