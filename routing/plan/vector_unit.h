// SPDX-License-Identifier: Apache-2.0
// Which vector unit of x86-64 the inner loops over bytes use. It is chosen when the program runs,
// so that one binary serves every machine; whichever it is, the results have the same bytes.
#pragma once

namespace fabricd::routing {

enum class VectorUnit { kNone, kAvx2, kAvx512Vbmi };
bool HasVectorUnit(VectorUnit unit);
VectorUnit BestVectorUnit();
// The best of this machine, unless a test has asked for another.
VectorUnit UnitInUse();
// For tests and benchmarks: not while anything is being computed. REQUIRES: HasVectorUnit(unit).
void UseVectorUnit(VectorUnit unit);

}  // namespace fabricd::routing
