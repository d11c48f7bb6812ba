// SPDX-License-Identifier: Apache-2.0
// SmpRequest and Completion: the input and the output of the TransactionEngine.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/ids.h"
#include "mad/request_context.h"
#include "mad/wire/smp.h"

namespace fabricd::mad {

// The caller's dense number for the addressed device, used by the limits. Below kMaxDevices.
using DeviceId = uint32_t;
inline constexpr DeviceId kMaxDevices = 1u << 22;

// 0 first (event handling), 1 normal, 2 background.
inline constexpr uint8_t kPriorities = 3;

// The attempts of one request, where those of EngineOptions do not fit.
struct Pace {
  Duration timeout{};  // Of each attempt.
  uint32_t retries = 0;
};

struct SmpRequest {
  wire::Method method = wire::Method::kGet;  // kGet or kSet.
  wire::AttributeId attribute = wire::AttributeId::kNone;
  uint32_t modifier = 0;
  MKey m_key;
  // The port may have one of these instead: each timeout goes on to the next, and then starts over.
  // Each is tried at least once.
  std::vector<MKey> other_keys;
  wire::DirectedPath path;                        // Directed route (the default).
  std::optional<Lid> lid;                         // Set: LID routed instead.
  std::optional<wire::DirectedPath> alternative;  // Tried after repeated timeouts.
  wire::SmpData data{};
  DeviceId device = 0;
  RequestContext context;    // Returned in the completion.
  std::optional<Pace> pace;  // nullopt: as EngineOptions say.
  uint8_t priority = 1;      // Below kPriorities. First in, first out per device and priority.
  // The device may drop it as unknown, so that no response says nothing about the device.
  bool may_be_unknown = false;
};

struct Completion {
  enum class Outcome : uint8_t {
    kResponse,    // `response` and `status` are valid; status may be an error.
    kTimedOut,    // No attempt got a response, or the device was given up first.
    kSendFailed,  // The last attempt could not be sent.
    kCancelled,   // Dropped before it was ever sent.
  };
  RequestContext context;
  Outcome outcome = Outcome::kTimedOut;
  bool sent = false;  // Some attempt was sent, so a Set may have taken effect.
  uint32_t attempts = 0;
  wire::Method method = wire::Method::kGet;  // Of the request.
  wire::AttributeId attribute = wire::AttributeId::kNone;
  uint32_t modifier = 0;
  DeviceId device = 0;
  bool may_be_unknown = false;  // SmpRequest's.
  wire::Smp response;
  uint16_t status = 0;           // MADHeader.Status without the D bit.
  wire::DirectedPath path_used;  // Of the attempt with the response, or of the last one.
  // One of SmpRequest::other_keys: the one that got the response.
  std::optional<MKey> found_key;
};

}  // namespace fabricd::mad
