// SPDX-License-Identifier: Apache-2.0
#include "routing/plan/vector_unit.h"

#include <atomic>

#include "common/check.h"

namespace fabricd::routing {
namespace {

std::atomic<VectorUnit>& InUse() {
  static std::atomic<VectorUnit> unit{BestVectorUnit()};
  return unit;
}

}  // namespace

bool HasVectorUnit(VectorUnit unit) {
#if defined(__x86_64__)
  if (unit == VectorUnit::kAvx2) return __builtin_cpu_supports("avx2");
  if (unit == VectorUnit::kAvx512Vbmi)
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("popcnt");
#endif
  return unit == VectorUnit::kNone;
}

VectorUnit BestVectorUnit() {
  for (VectorUnit unit : {VectorUnit::kAvx512Vbmi, VectorUnit::kAvx2})
    if (HasVectorUnit(unit)) return unit;
  return VectorUnit::kNone;
}

VectorUnit UnitInUse() { return InUse().load(std::memory_order_relaxed); }

void UseVectorUnit(VectorUnit unit) {
  FABRICD_CHECK(HasVectorUnit(unit));
  InUse() = unit;
}

}  // namespace fabricd::routing
