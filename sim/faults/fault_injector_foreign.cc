// SPDX-License-Identifier: Apache-2.0
// Tables and counters that a program which is no subnet manager writes, from a host on which none
// sits.
#include <fmt/format.h>

#include "common/check.h"
#include "common/status.h"
#include "mad/wire/tables.h"
#include "sim/faults/directed_path.h"
#include "sim/faults/draw.h"
#include "sim/faults/fault_injector.h"

namespace fabricd::sim {
namespace {

enum Kind : uint64_t { kForwarding, kForwardingEntry, kMulticast, kPKeys, kKinds };

// Every LID by port 1; or one of them nowhere.
wire::LinearForwardingTable Corrupted(const SimDevice& device, uint16_t block, Kind kind,
                                      Rng& rng) {
  wire::LinearForwardingTable table = device.LftBlock(block);
  if (kind == kForwarding)
    table.port.fill(1);
  else
    table.port[rng.Below(table.port.size())] = wire::LinearForwardingTable::kNoPath;
  return table;
}

}  // namespace

void FaultInjector::PlanForeignWrite() {
  const Instant at = SomeTime();
  const uint64_t kind = rng_.Below(kKinds);
  const uint64_t seed = rng_.Next();
  simulation_.At(at, [this, kind, seed] { WriteSomeTable(kind, seed); });
}

void FaultInjector::WriteSomeTable(uint64_t kind, uint64_t seed) {
  if (stopped_) return;
  Rng rng(seed);
  SimFabric& fabric = simulation_.fabric();
  PortRef host = places_.SomeFreeHost(rng);
  // Where a manager was, the checkers take its MADs for a manager's.
  for (int tries = 0; places_.IsDeserted(host) && tries < 8; ++tries)
    host = places_.SomeFreeHost(rng);
  const NodeIndex node = kind == kPKeys ? places_.SomeFreeHost(rng).node : OneOf(Switches(), rng);
  const SimDevice& device = *fabric.device(node);
  const auto path = FindPath(fabric, host, node);
  if (!path) return;
  wire::Smp smp;
  smp.method = wire::Method::kSet;
  smp.m_key = device.port(device.IsSwitch() ? PortNum(0) : PortNum(1)).info.m_key;
  if (kind == kMulticast) {
    smp.attribute = wire::AttributeId::kMulticastForwardingTable;  // All members are gone.
  } else if (kind == kPKeys) {
    smp.attribute = wire::AttributeId::kPKeyTable;  // So are all keys.
  } else {
    smp.attribute = wire::AttributeId::kLinearForwardingTable;
    smp.modifier = static_cast<uint32_t>(rng.Below(device.switch_info().linear_fdb_top / 64 + 1u));
    Corrupted(device, static_cast<uint16_t>(smp.modifier), static_cast<Kind>(kind), rng)
        .Encode(smp.data);
  }
  smp.tid = TransactionId(next_foreign_id_++);
  smp.path = *path;
  mad::OutgoingMad mad;
  mad.timeout = std::chrono::milliseconds(200);
  mad.payload.resize(wire::kMadBytes);
  smp.Encode(std::span<uint8_t, wire::kMadBytes>(mad.payload.data(), wire::kMadBytes));
  // It waits for no answer, and is gone before somebody else can sit there.
  fabric.Attach(host);
  const absl::Status sent = fabric.Send(simulation_.now(), host, std::move(mad));
  FABRICD_CHECK(sent.ok(), "{}", Message(sent));
  fabric.Detach(simulation_.now(), host);
  note_(fmt::format("a program on {} writes {} {} of {}", places_.NameOf(host),
                    wire::AttributeName(smp.attribute), smp.modifier, places_.NameOf(node)));
}

// As perfquery -R does at one end of a cable.
void FaultInjector::PlanCounterClear() {
  PortRef port = OneOf(places_.cables(), rng_);
  if (rng_.Chance(0.5)) port = simulation_.fabric().device(port.node)->port(port.port).cable;
  simulation_.At(SomeTime(), [this, port] {
    if (!stopped_ && simulation_.fabric().ClearCounters(simulation_.now(), port).ok())
      note_(fmt::format("another program clears the counters of {}", places_.NameOf(port)));
  });
}

}  // namespace fabricd::sim
