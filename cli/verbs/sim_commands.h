// SPDX-License-Identifier: Apache-2.0
// fabricctl's verbs about a simulated fabric: its cables, what its ports count, its time.
#pragma once

#include <string>
#include <vector>

#include "cli/verbs/globals.h"

namespace fabricd::cli {

Result SimUnlink(Client& client, const std::string& port);
Result SimLink(Client& client, const std::string& port);
Result SimConnect(Client& client, const std::string& a, const std::string& b);
Result SimReboot(Client& client, const std::string& node);
Result SimLinks(Client& client, const Globals& globals);

// Each word is COUNTER=N, raw-ber=RATE, effective-ber=RATE, symbol-ber=RATE, temperature=CELSIUS or
// "clear". kUsage names the first that is none, or comes twice. What counters there are the daemon
// knows.
Result ReadSimErrors(const std::vector<std::string>& words, simpb::SetErrorsRequest* request);
Result SimErrors(Client& client, const std::string& port, const std::vector<std::string>& words);
// `node` empty: all.
Result SimPma(Client& client, const std::string& node, const std::string& options);
Result SimClock(Client& client, double rate);
// `hosts`: hostlists. `load`: of what each port can send, above 0 to 1.
struct SimTrafficOptions {
  std::string name, pattern;
  std::vector<std::string> hosts;
  double load = 1;
};
Result SimTrafficStart(Client& client, const SimTrafficOptions& options);
Result SimTrafficStop(Client& client, const std::string& name);
Result SimTrafficList(Client& client, const Globals& globals);

}  // namespace fabricd::cli
