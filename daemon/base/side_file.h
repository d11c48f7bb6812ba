// SPDX-License-Identifier: Apache-2.0
// The files that a configuration names.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

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

// As ReadText() of the file that `key` of the configuration names. kInvalidArgument: it cannot be
// read, is no regular file, or has more than `most` bytes; the message begins with the key.
inline absl::StatusOr<std::string> ReadFileOf(const char* key, const std::string& path,
                                              size_t most = size_t{64} << 20) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (error) return InvalidArgument("{}: {}: cannot be read: {}", key, path, error.message());
  if (size > most) return InvalidArgument("{}: {}: more than {} bytes", key, path, most);
  auto text = ReadText(path);
  if (!text.ok()) return InvalidArgument("{}: {}", key, Message(text.status()));
  return text;
}

// Logs the lines that a parser left out.
template <typename Parsed>
void WarnSkipped(const std::string& path, const Parsed& parsed) {
  for (const auto& line : parsed.skipped) spdlog::warn("{}:{}: {}", path, line.line, line.reason);
}

}  // namespace fabricd::daemon
