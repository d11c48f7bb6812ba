// SPDX-License-Identifier: Apache-2.0
#include "common/check.h"

#include <cstdio>
#include <cstdlib>

namespace fabricd {

void CheckFailed(const char* file, int line, const char* condition, const std::string& facts) {
  std::fprintf(stderr, "%s:%d: check failed: %s %s\n", file, line, condition, facts.c_str());
  std::abort();
}

}  // namespace fabricd
