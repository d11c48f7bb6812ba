// SPDX-License-Identifier: Apache-2.0
// A history as a plot of text. Pure.
#pragma once

#include <string>

#include "fabric/v1/telemetry_service.pb.h"

namespace fabricd::cli {

struct PlotStyle {
  size_t width = 80;      // Of a line, characters; less than 40 counts as 40.
  bool is_ascii = false;  // Without block characters.
};
// Data sent and received in Gb/s and the wait share, each above its own scale; a step that was not
// read is a gap, marked at the bottom line.
std::string PlotHistory(const ::fabric::v1::GetPortHistoryResponse& history,
                        const PlotStyle& style);

}  // namespace fabricd::cli
