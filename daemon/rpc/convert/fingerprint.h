// SPDX-License-Identifier: Apache-2.0
// What makes two requests with one request_id the same request. Pure; the same in all versions, for
// it is stored.
#pragma once

#include <cstdint>
#include <string>

#include <google/protobuf/message.h>

namespace fabricd::rpc {

// Of all that was asked for, apart from the request_id itself, `validate_only`, and a `ttl`, which
// counts from when it is sent. `owner`: who asks, where the request leaves it out. Never 0.
uint64_t FingerprintOf(const google::protobuf::Message& request, const std::string& owner = {});

}  // namespace fabricd::rpc
