// SPDX-License-Identifier: Apache-2.0
// absl::Status with fmt messages. Messages: lower case, name what and where, no trailing period.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <fmt/format.h>

namespace fabricd {

template <typename... Args>
[[nodiscard]] absl::Status MakeStatus(absl::StatusCode code, fmt::format_string<Args...> format,
                                      Args&&... args) {
  return absl::Status(code, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
[[nodiscard]] absl::Status InvalidArgument(fmt::format_string<Args...> format, Args&&... args) {
  return MakeStatus(absl::StatusCode::kInvalidArgument, format, std::forward<Args>(args)...);
}
template <typename... Args>
[[nodiscard]] absl::Status NotFound(fmt::format_string<Args...> format, Args&&... args) {
  return MakeStatus(absl::StatusCode::kNotFound, format, std::forward<Args>(args)...);
}
template <typename... Args>
[[nodiscard]] absl::Status Unavailable(fmt::format_string<Args...> format, Args&&... args) {
  return MakeStatus(absl::StatusCode::kUnavailable, format, std::forward<Args>(args)...);
}
template <typename... Args>
[[nodiscard]] absl::Status FailedPrecondition(fmt::format_string<Args...> format, Args&&... args) {
  return MakeStatus(absl::StatusCode::kFailedPrecondition, format, std::forward<Args>(args)...);
}
template <typename... Args>
[[nodiscard]] absl::Status Internal(fmt::format_string<Args...> format, Args&&... args) {
  return MakeStatus(absl::StatusCode::kInternal, format, std::forward<Args>(args)...);
}

// Debian's absl::string_view is not std::string_view (DESIGN §5); this is the one bridge.
inline std::string Message(const absl::Status& status) {
  return std::string(status.message().data(), status.message().size());
}

}  // namespace fabricd

#define FABRICD_RETURN_IF_ERROR(expression)                                   \
  do {                                                                        \
    if (::absl::Status status_ = (expression); !status_.ok()) return status_; \
  } while (false)
