// SPDX-License-Identifier: Apache-2.0
// What a simulated manager has logged, for a failing test's message.
#pragma once

#include <string>

#include "sim/simulation/simulation.h"

namespace fabricd::test {

inline std::string LogOf(const sim::Manager& manager) {
  std::string text;
  for (const sweep::LogRecord& record : manager.log) text += record.text + '\n';
  return text;
}

}  // namespace fabricd::test
