// SPDX-License-Identifier: Apache-2.0
// fabricctl's verbs about holds and readiness.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/verbs/commands.h"

namespace fabricd::cli {

// cordon, drain, isolate, disable and their inverses.
struct HoldVerb {
  const char* verb;
  const char* inverse;
  pb::HoldKind kind;
  const char* done;    // "cordoned"
  const char* undone;  // "uncordoned"
  const char* help;
  const char* inverse_help;
};
const std::vector<HoldVerb>& HoldVerbs();

struct HoldOptions {
  std::vector<std::string> words;  // [host|hca|switch|port|link] NAME…, hostlists.
  std::string reason, owner, request_id;
  std::optional<Timeout> ttl;
  bool soft = false, force = false, dry_run = false, wait = false;
};
Result MakeHolds(Client& client, const Globals& globals, const HoldVerb& verb,
                 const HoldOptions& options);

// Bounces the link of each port: a disable, with the guards of one, that is lifted as soon as it is
// in effect, and then waits until the link is ACTIVE again. Should this program end in between, the
// disable expires by itself. kRefused where a disable stands already: it is not lifted.
// `options.ttl` and `options.soft` do not count.
Result ResetPorts(Client& client, const Globals& globals, HoldOptions options);

struct UnholdOptions {
  std::vector<std::string> words;
  std::string owner;
  bool all_owners = false, ignore_not_found = false, wait = false;
};
Result LiftHolds(Client& client, const Globals& globals, const HoldVerb& verb,
                 const UnholdOptions& options);

struct ClearOptions {
  std::vector<std::string> ports;  // Hostlists.
  std::string reason;
  bool dry_run = false;
};
// Forgets that the links at these ports have flapped. Fine where they have not.
Result ClearDamping(Client& client, const Globals& globals, const ClearOptions& options);

Result Acknowledge(Client& client, const Globals& globals, const std::vector<std::string>& ids);
// kFailure when a host is not READY.
// `allow_unseen`: hosts that the fabric has never had do not count.
Result ShowReadiness(Client& client, const Globals& globals, const std::vector<std::string>& hosts,
                     bool allow_unseen);

// Until `condition` holds of every host (ready or condition=FabricReady, held, in-effect, released)
// or hold (in-effect, acknowledged, deleted), or the timeout ends: kUnavailable.
Result WaitHosts(Client& client, const std::vector<std::string>& hosts,
                 const std::string& condition, Timeout timeout);
Result WaitHolds(Client& client, const std::vector<std::string>& ids, const std::string& condition,
                 Timeout timeout);

}  // namespace fabricd::cli
