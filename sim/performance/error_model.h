// SPDX-License-Identifier: Apache-2.0
// What one physical quantity, the raw bit error rate of a receiver, makes of the error rates that
// its registers show.
//
// The model: bits go wrong independently of each other. A Reed-Solomon code of n symbols of m bits
// that corrects t of them fails where more than t are wrong; with p = 1 - (1 - raw)^m the number of
// wrong ones is Poisson with mean n p. A block that fails has t + 1 wrong bits, so that
// effective = P(more than t) (t + 1) / (n m). Link-level retransmission of the low-latency codes
// leaves one error in 1000, the ratio of the limits that the vendor documents for effective and
// symbol BER (reference/telemetry-and-adaptive.md §2.6); elsewhere symbol = effective. Without FEC
// all three are the raw rate. Pure.
#pragma once

#include "mad/wire/registers.h"
#include "sim/performance/bit_error_rates.h"

namespace fabricd::sim {

// From which symbol BER on a link is bad, whatever its FEC: what severities are multiples of.
inline constexpr double kSymbolErrorLimit = 1e-14;

// `raw` in [0, 1].
BitErrorRates BehindFec(double raw, wire::PddrFecMode fec);
// The raw rate that leaves this symbol BER; the highest of the model where none does.
double RawRateFor(double symbol, wire::PddrFecMode fec);
// What a module of that temperature makes of a good cable: 1e-7 up to 70 degrees Celsius, and twice
// as much for every two degrees more. Forward error correction hides it up to some 90 degrees.
double RawRateAt(double celsius);

}  // namespace fabricd::sim
