// SPDX-License-Identifier: Apache-2.0
// What another node has stored of its verdicts, as it is shown beside it: SUSPECT, BAD and
// RECOVERING, with what people have said of them. It has no evidence, so each is stale, and counts
// are of these alone.
#pragma once

#include <cstdint>
#include <memory>

#include "daemon/verdicts/verdict_keeper.h"
#include "policy/verdict/verdict_rows.h"
#include "query/verdict_view.h"

namespace fabricd::daemon {

// `number`: of the view.
std::shared_ptr<const query::VerdictView> ViewOfStored(const policy::StoredVerdicts& stored,
                                                       const VerdictOptions& options,
                                                       const VerdictInputs& inputs,
                                                       uint64_t number);

}  // namespace fabricd::daemon
