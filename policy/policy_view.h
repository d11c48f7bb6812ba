// SPDX-License-Identifier: Apache-2.0
// What policy/ shows: published with each FabricView, read on any thread. Immutable.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/time.h"
#include "fabric/event.h"
#include "policy/action_record.h"
#include "policy/hold.h"

namespace fabricd::policy {

// kInEffect: what the hold wants is so: tables written and confirmed, and for a drain the packets
// under way waited out; the port down. A cordon is in effect at once.
enum class HoldState : uint8_t { kPending, kInEffect };

struct HoldStatus {
  Hold hold;
  HoldState state = HoldState::kPending;
  std::string note;  // Why it is pending, or what it could not do ("its target is not there").
};

// A link with a penalty.
struct DampedLink {
  PortRef a, b;        // a < b
  double penalty = 0;  // At `at`; it halves every half-life.
  Instant at;
  uint32_t flaps = 0;        // Since the penalty was last 0.
  bool suppressed = false;   // To be avoided by routes.
  bool needed = false;       // Suppressed, and used all the same: nothing else is left.
  Instant release = kNever;  // When it comes back if it stays quiet; kNever: it is not suppressed.
  std::string reason;
};

enum class ConditionMode : uint8_t { kObserve, kRecommend, kEnforce };

// Of conditions, stable: scripts filter by them.
// Chatty, Flapping, NoisyPhy and SlowReceiver are verdicts about links.
inline constexpr std::array<std::string_view, 8> kConditionTypes = {
    "Chatty",     "Flapping",  "LinkFlapping", "NoisyPhy",
    "NoisyTraps", "SetErrors", "SlowReceiver", "Unresponsive"};

// Something that is wrong by a rule, with the numbers that say so (DESIGN: verdicts).
struct Condition {
  std::string type;  // One of kConditionTypes.
  std::string subject;
  Guid node;
  PortNum port;
  std::string message;  // One sentence: what, how much, in what window, against what threshold.
  std::vector<std::pair<std::string, std::string>> evidence;
  ConditionMode mode = ConditionMode::kRecommend;
  HoldKind recommended = HoldKind::kCordon;
  uint64_t hold = 0;      // Of fabricd's own making; 0: none.
  std::string held_back;  // kEnforce: why there is none ("budget of 10 used up", …).
  Instant since;
};

// A node that was on the fabric since the start and is not now.
struct GoneNode {
  Guid node;
  bool is_switch = false;
  std::string description;
  std::vector<HeldPort> facing;  // The ports that it was linked to last.
  Instant since;
};

struct PolicyView {
  std::vector<HoldStatus> holds;      // By id.
  std::vector<DampedLink> damped;     // By `a`.
  std::vector<Condition> conditions;  // By type, then node, then port.
  std::vector<GoneNode> gone;         // By GUID.
  ActionRecord actions;               // To be stored.
};

}  // namespace fabricd::policy
