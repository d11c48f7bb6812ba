// SPDX-License-Identifier: Apache-2.0
// Why a verdict was given, for an operator, on one screen: culprit, remedy, the rows that are
// raised, what is below its limits, and what was not measured.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "policy/verdict/link_verdict.h"
#include "policy/verdict/verdict_book.h"

namespace fabricd::policy {

// As operators know the ends: "node12/mlx5_3", "leaf1/7".
struct EndNames {
  std::string_view a, b;
};

// At most 28 lines of at most 100 columns. `standing` is as of `now`.
std::string WhyText(const LinkEvidence& link, const LinkVerdict& verdict,
                    const std::optional<Standing>& standing, Instant now, const EndNames& names);

// The same in one sentence, at most 500 bytes: the reason of a hold, the message of a condition.
std::string VerdictSentence(const LinkVerdict& verdict, const EndNames& names);

}  // namespace fabricd::policy
