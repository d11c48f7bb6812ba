// SPDX-License-Identifier: Apache-2.0
// What is known of ports without their counters: states and rates, names and neighbours.
#pragma once

#include "daemon/http/port_rows.h"
#include "daemon/http/series_text.h"
#include "fabric/names.h"
#include "sweep/interface/view.h"

namespace fabricd::http {

// `rows`: of the view's snapshot.
void WritePorts(const PortRows& rows, SeriesText& out);
// The series that names and neighbours are joined by.
void WriteNames(const sweep::FabricView& view, const PortRows& rows,
                const fabric::NodeNameMap& names, SeriesText& out);

}  // namespace fabricd::http
