// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace fabricd::sim {

// Errors per received bit at one end of a link, each of the three counted on its own.
struct BitErrorRates {
  double raw = 0;        // Before forward error correction.
  double effective = 0;  // After it.
  double symbol = 0;     // After retransmission too: SymbolErrorCounter.
  friend bool operator==(const BitErrorRates&, const BitErrorRates&) = default;
};

}  // namespace fabricd::sim
