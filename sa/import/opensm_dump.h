// SPDX-License-Identifier: Apache-2.0
// sa/import: what clients left with another SM.
//
// OpenSM's dump of its Subnet Administration (opensm-sa.dump, which its option sa_db_file names):
// one record a line, with fields in a fixed order. Pure.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "sa/state/client_state.h"
#include "sa/wire/line_fault.h"

namespace fabricd::sa {

template <typename T>
struct Dumped {
  size_t line = 0;
  T value;
};

struct OpensmDump {
  // Members have no requester where their record says that another port joined them.
  std::vector<Dumped<Group>> groups;
  std::vector<Dumped<Service>> services;
  std::vector<Dumped<Subscription>> subscriptions;
  std::vector<Dumped<fabric::AliasBlock>> aliases;
  // By line. With any of them the dump is not to be used.
  std::vector<LineFault> faults;
  bool ok() const { return faults.empty(); }
};

inline constexpr size_t kMostDumpFaults = 1000;

// All faults are found, not only the first.
OpensmDump ParseOpensmDump(std::string_view text);

}  // namespace fabricd::sa
