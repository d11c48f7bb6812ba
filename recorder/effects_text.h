// SPDX-License-Identifier: Apache-2.0
// The output of the core, as a digest to compare two runs, and as lines of text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "recorder/key_aliases.h"
#include "sweep/interface/events.h"

namespace fabricd::recorder {

// Digest of all effects with an external result: MADs, questions by kind and id, events, outcomes
// of commands, and the generation of the view. `aliases`: of the recording. Null: the keys are
// aliases already.
uint64_t DigestOf(const sweep::Effects& effects, KeyAliases* aliases);

// The event on one line; the effects, one line for each.
std::string TextOf(const sweep::Event& event);
std::vector<std::string> LinesOf(const sweep::Effects& effects);

}  // namespace fabricd::recorder
