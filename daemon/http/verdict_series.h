// SPDX-License-Identifier: Apache-2.0
// What is concluded of links, as series. Absent is not healthy: where nothing is assessed, or was
// not for ten intervals, no series says how many links are HEALTHY.
#pragma once

#include <cstddef>

#include "daemon/http/series_text.h"
#include "fabric/names.h"
#include "query/verdict_view.h"

namespace fabricd::http {

// Links, roots of congestion and common causes that have series of their own: more of them at once
// are not worked through one by one. All are counted.
inline constexpr size_t kMostLinkVerdicts = 1000, kMostRootSeries = 100, kMostCauseSeries = 100;

// `now`: on the clock of VerdictView::at.
void WriteVerdicts(const query::VerdictView& view, const fabric::NodeNameMap& names, Instant now,
                   SeriesText& out);

}  // namespace fabricd::http
