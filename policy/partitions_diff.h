// SPDX-License-Identifier: Apache-2.0
// What changes from one set of partitions to another, for people. Pure.
#pragma once

#include <string>
#include <vector>

#include "policy/partitions.h"

namespace fabricd::policy {

// By partition, lines like "+ 0x0001 tenant-a: 0x0002c90300000001=full": "-" was so, "+" is to be
// so, "~" other order. Empty: the two are equal.
std::vector<std::string> DiffPartitions(const Partitions& before, const Partitions& after);

}  // namespace fabricd::policy
