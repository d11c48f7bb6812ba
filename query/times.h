// SPDX-License-Identifier: Apache-2.0
// Times of requests and answers. google::protobuf::util::TimeUtil throws for what is outside of the
// years 1 to 9999, and overflows: what a client sends, and what comes of it, passes here. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include <absl/status/statusor.h>
#include <google/protobuf/util/time_util.h>

#include "query/status.h"

namespace fabricd::query {

// Milliseconds since 1970. What has no timestamp gets the nearest one.
inline google::protobuf::Timestamp ToTimestamp(int64_t ms) {
  using google::protobuf::util::TimeUtil;
  return TimeUtil::MillisecondsToTimestamp(
      std::clamp(ms, TimeUtil::kTimestampMinSeconds * 1000, TimeUtil::kTimestampMaxSeconds * 1000));
}

// A Duration or a Timestamp of a request in milliseconds; INVALID_ARGUMENT names the field. At most
// some 10,000 years either way, so that it can be added to the time that it is.
template <typename Time>
absl::StatusOr<int64_t> ToMilliseconds(const char* field, const Time& time) {
  constexpr int64_t kMostSeconds = 315'576'000'000;
  if (time.seconds() < -kMostSeconds || time.seconds() > kMostSeconds ||
      std::abs(int64_t{time.nanos()}) > 999'999'999)
    return BadField(field, fmt::format("{} s and {} ns are no time", time.seconds(), time.nanos()));
  return time.seconds() * 1000 + time.nanos() / 1'000'000;
}

}  // namespace fabricd::query
