// SPDX-License-Identifier: Apache-2.0
// The files that a configuration names.
#pragma once

#include <fstream>
#include <sstream>
#include <string>

#include <absl/status/statusor.h>
#include <spdlog/spdlog.h>

#include "common/status.h"

namespace fabricd::daemon {

inline absl::StatusOr<std::string> ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return NotFound("{}: cannot be read", path);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

// Logs the lines that a parser left out.
template <typename Parsed>
void WarnSkipped(const std::string& path, const Parsed& parsed) {
  for (const auto& line : parsed.skipped) spdlog::warn("{}:{}: {}", path, line.line, line.reason);
}

}  // namespace fabricd::daemon
