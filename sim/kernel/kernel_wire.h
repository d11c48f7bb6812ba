// SPDX-License-Identifier: Apache-2.0
// sim/kernel: the kernel's own HCAs (the module kernel/simib) on a simulated fabric.
//
// KernelWire: a SimFabric as the wire of simib. It takes and gives the frames of
// kernel/simib_wire.h: each HCA port that the module has is cabled to a host port of the fabric,
// what it sends enters there and is forwarded by the tables that were programmed, and what reaches
// that host port goes to the module. Pure: no files, no clock; used by one thread.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/status/status.h>

#include "common/time.h"
#include "sim/fabric/sim_fabric.h"

namespace fabricd::sim {

// A port of one of the module's HCAs.
struct KernelPort {
  uint16_t hca = 0;
  uint8_t port = 1;
  friend auto operator<=>(const KernelPort&, const KernelPort&) = default;
};

class KernelWire {
 public:
  using Frame = std::vector<uint8_t>;
  // Host ports by name, as SimFabric::FindHostPort takes it. A port that is not in it gets the host
  // port with its own GUID, else the next one that is free.
  using Places = std::map<KernelPort, std::string>;

  // The fabric must outlive it.
  KernelWire(SimFabric& fabric, Places places);

  // A frame from the module. kInvalidArgument: it is malformed; kNotFound: the fabric has no place
  // for a port of a new HCA.
  [[nodiscard]] absl::Status Take(Instant now, std::span<const uint8_t> frame);
  // Runs the fabric to `now` and appends the frames for the module.
  void Advance(Instant now, std::vector<Frame>& frames);
  Instant next_event() const { return fabric_.next_event(); }

  // Which host port each port of the module sits on.
  const std::map<KernelPort, PortRef>& places() const { return bound_; }

  // Frames that make something happen to an HCA, see enum simib_type.
  static Frame Fatal(uint16_t hca);
  static Frame Remove(uint16_t hca);
  // `node_guid`: another HCA takes its place; none: the one that was removed is back.
  static Frame Add(uint16_t hca, std::optional<Guid> node_guid = std::nullopt);
  // As the module says it of an HCA that is unregistered.
  static Frame Gone(uint16_t hca);
  static Frame Trap(KernelPort port, uint16_t number);
  // `counter`: of enum simib_counter.
  static Frame Count(KernelPort port, uint32_t counter, uint64_t increment);

 private:
  // What the module was notified of last of a port's link.
  struct LinkReport {
    bool up = false;
    uint32_t training = 0;
  };
  absl::Status TakeHello(Instant now, uint16_t hca, std::span<const uint8_t> body);
  absl::Status Bind(Instant now, KernelPort port, Guid guid);
  PortRef PlaceFor(KernelPort port, Guid guid, absl::Status& status) const;
  absl::Status TakePortState(Instant now, PortRef at, std::span<const uint8_t> body);
  absl::Status TakePacket(Instant now, PortRef at, std::span<const uint8_t> body);
  void TakeGone(Instant now, uint16_t hca);
  void TellLink(KernelPort port, PortRef at, std::vector<Frame>& frames);

  SimFabric& fabric_;
  const Places places_;
  std::map<KernelPort, PortRef> bound_;
  absl::flat_hash_map<PortRef, KernelPort> ports_;
  std::map<KernelPort, LinkReport> link_reports_;
  std::vector<Delivery> deliveries_;  // Scratch.
  std::vector<OutsideArrival> arrivals_;
};

}  // namespace fabricd::sim
