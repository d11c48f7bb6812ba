// SPDX-License-Identifier: Apache-2.0
// Verdicts as conditions: a bad verdict about a link stands beside what rules have found, so that
// readiness, listings and pages show both the same way.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fabric/names.h"
#include "policy/policy_view.h"
#include "query/verdict_view.h"

namespace fabricd::query {

// "NoisyPhy", "Flapping", "SlowReceiver", "Chatty"; of other verdicts "".
std::string_view ConditionTypeOf(policy::Verdict verdict);

// Of a host's link about the host port, else about the end that is accused. None of SUSPECT,
// VICTIM and UNKNOWN. `map` may be null.
std::vector<policy::Condition> ConditionsOf(const VerdictView& verdicts,
                                            const fabric::NodeNameMap* map);

// `policy` with these conditions too; the same where there are none.
std::shared_ptr<const policy::PolicyView> WithVerdicts(
    std::shared_ptr<const policy::PolicyView> policy, const VerdictView& verdicts,
    const fabric::NodeNameMap* map);

}  // namespace fabricd::query
