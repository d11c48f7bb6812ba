// SPDX-License-Identifier: Apache-2.0
// Transport: the interface that sends whole MADs and delivers whole MADs and timeouts.
// UmadTransport uses the kernel (hardware, or ibsim under its preload shim), sim::SimTransport the
// in-process fabric.
//
// Threads: Send may be called from any thread (the core sends SMPs, SA threads send responses). The
// sink is called on the transport's receive threads, which receive nothing until it returns.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <absl/status/status.h>

#include "common/check.h"
#include "common/gid.h"
#include "common/ids.h"
#include "common/time.h"
#include "mad/wire/mad_header.h"

namespace fabricd::mad {

// The registered agent that sends or receives a MAD. SMP agents share one umad handle, the SA has a
// second and telemetry a third. So neither a storm of queries nor a thousand counter reads at once
// delays SMP responses, and counter reads do not delay queries.
enum class Agent : uint8_t {
  kSmpDirected,
  kSmpLid,
  kSubnAdm,
  kPerf,    // GMPs of class 0x04 version 1.
  kVendor,  // GMPs of class 0x0A version 1 (wire/vendor_mad.h).
};

// What a GRH adds to an address (IBA vol 1 §8.3), seen from the own port: of a MAD that came, what
// its answer is to carry. A client that sends a GRH takes no answer without one.
struct GlobalRoute {
  Gid gid;                // Of the other end.
  uint8_t gid_index = 0;  // Of the own GID, in the port's GUIDInfo.
  uint8_t hop_limit = 0;
  uint8_t traffic_class = 0;
  uint32_t flow_label = 0;
  friend bool operator==(const GlobalRoute&, const GlobalRoute&) = default;
};

struct Address {
  Lid lid = kPermissiveLid;  // For directed routes: the permissive LID.
  uint32_t qpn = 0;          // 0 SMPs, 1 GMPs
  uint32_t qkey = 0;         // 0x80010000 for GMPs
  ServiceLevel sl;
  uint16_t pkey_index = 0;
  uint8_t path_bits = 0;
  std::optional<GlobalRoute> global = std::nullopt;
  friend bool operator==(const Address&, const Address&) = default;
};

struct OutgoingMad {
  Agent agent = Agent::kSmpDirected;
  Address to;
  // Of a request: the timeout of this attempt, never zero: with 0 the kernel keeps no match and
  // would drop the response (DESIGN §3). Zero for all else. Of a response under RMPP it would be
  // how long the kernel waits for an acknowledgement before it sends the window again; but up to
  // 2 s, Linux 6.1 waits for ever after the first acknowledgement, and returns the response as
  // kTimedOut even when all of it has arrived. With zero it waits 2 s each time, and the last
  // acknowledgement ends it.
  Duration timeout{};
  // 256 bytes, or more for an RMPP payload that the kernel segments.
  std::vector<uint8_t> payload;  // SMPs and single-segment GMPs: exactly wire::kMadBytes.
  // Of a response under RMPP: how often a window is sent again without an acknowledgement that
  // makes progress. The first one after that many ends the payload. Zero for all else: requests are
  // repeated by who sends them.
  uint32_t retries = 0;
};

struct IncomingMad {
  enum class Kind : uint8_t { kReceived, kTimedOut, kSendFailed };
  Kind kind = Kind::kReceived;
  Agent agent = Agent::kSmpDirected;
  Address from;
  // kTimedOut, kSendFailed: the request as sent. Only its 24 header bytes are valid, because the
  // kernel does not return the rest, which is zero. At least wire::kMadBytes.
  std::vector<uint8_t> payload;
};

// The local port's asynchronous events (libibverbs on hardware).
struct LocalPortEvent {
  enum class Kind : uint8_t {
    kPortActive,
    kPortDown,
    kLidChange,
    kPKeyChange,
    kSmChange,
    kClientReregister,
    kDeviceRemoved
  };
  Kind kind = Kind::kPortDown;
};

// REQUIRES: payload.size() >= wire::kMadBytes.
inline std::span<const uint8_t, wire::kMadBytes> WholeMad(const std::vector<uint8_t>& payload) {
  FABRICD_CHECK(payload.size() >= wire::kMadBytes, "a MAD of {} bytes", payload.size());
  return std::span<const uint8_t, wire::kMadBytes>(payload.data(), wire::kMadBytes);
}

using Incoming = std::variant<IncomingMad, LocalPortEvent>;

struct LocalPort {
  std::string device;  // "mlx5_0", "sim"
  PortNum port{1};
  Guid port_guid;
  Guid node_guid;
};

class Transport {
 public:
  // A burst: MADs that arrived together, at least one. May be moved from.
  using Sink = std::function<void(std::span<Incoming>)>;
  virtual ~Transport() = default;

  // Registers the agents and starts the receive threads.
  [[nodiscard]] virtual absl::Status Start(Sink sink) = 0;
  // Ends the receive threads. The sink is not called afterwards.
  virtual void Stop() = 0;
  // kUnavailable: not now (no room), or never, see AgentStatus().
  [[nodiscard]] virtual absl::Status Send(const OutgoingMad& mad) = 0;
  // Between Start and Stop: kUnavailable with the reason if the port does not offer this agent.
  // Only telemetry's agents may be missing; without the others Start fails.
  [[nodiscard]] virtual absl::Status AgentStatus(Agent) const { return absl::OkStatus(); }
  // Not OK once the port is lost for good, with the cause: its device was removed, failed, or can
  // no longer be read. A Stop and Start may bring it back. Any thread.
  [[nodiscard]] virtual absl::Status PortStatus() const { return absl::OkStatus(); }
  // Sets PortInfo.CapabilityMask.IsSM of the local port, for as long as `is_sm` is true.
  [[nodiscard]] virtual absl::Status SetIsSm(bool is_sm) = 0;
  virtual LocalPort local_port() const = 0;
};

}  // namespace fabricd::mad
