// SPDX-License-Identifier: Apache-2.0
// `tech-support`: all that a fabricd tells, in one archive for those who are to find out why.
#pragma once

#include <string>

#include "cli/verbs/globals.h"

namespace fabricd::cli {

// Writes `path`, a tar archive of JSON documents, OpenSM's dump files, partitions.conf and
// ibnetdiscover's text; what could not be had is told in its errors.txt. kFailure: not written;
// kUnavailable: nobody answers at all.
Result TechSupport(Client& client, const Globals& globals, const std::string& path,
                   const std::string& own_version);

}  // namespace fabricd::cli
