// SPDX-License-Identifier: Apache-2.0
// FABRICD_CHECK: detects programming errors. Always on; aborts with the facts (DESIGN §6 a). Never
// used for errors of devices, operators or files.
#pragma once

#include <string>

#include <fmt/format.h>

namespace fabricd {

[[noreturn]] void CheckFailed(const char* file, int line, const char* condition,
                              const std::string& facts);

}  // namespace fabricd

#define FABRICD_CHECK(condition, ...)                                                        \
  do {                                                                                       \
    if (!(condition)) [[unlikely]]                                                           \
      ::fabricd::CheckFailed(__FILE__, __LINE__, #condition, ::fmt::format("" __VA_ARGS__)); \
  } while (false)
