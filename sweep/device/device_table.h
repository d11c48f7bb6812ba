// SPDX-License-Identifier: Apache-2.0
// sweep/device: what is known and desired of each device beyond the snapshot.
//
// DeviceTable: how to reach each node (directed route and M_Key), and what it was confirmed to hold
// (AppliedState). Owned by the core.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "common/time.h"
#include "fabric/snapshot.h"
#include "mad/transaction_engine.h"
#include "sweep/device/applied_state.h"
#include "sweep/device/key_search.h"
#include "sweep/interface/options.h"

namespace fabricd::sweep {

// Device numbers for the engine where there is no node index: devices behind a probed link, and
// requesters. They only spread the engine's limits. A node index that large would share a limit,
// which is harmless.
inline constexpr mad::DeviceId kAskerDevice = 59'999;
inline constexpr mad::DeviceId kProbeDevices = 60'000, kProbeDeviceCount = 4'096;

class DeviceTable {
 public:
  // `own`: the port of this SM. Its Gets of SMInfo name it, because such a requester needs no
  // SM_Key (KeyProof).
  explicit DeviceTable(const SmOptions& options, Guid own = {})
      : options_(&options), own_(own), search_(options) {}

  bool Has(NodeIndex node) const;
  const wire::DirectedPath& PathTo(NodeIndex node) const;
  void SetPath(NodeIndex node, const wire::DirectedPath& path);
  void SetAlternative(NodeIndex node, const wire::DirectedPath& path);
  // A device responded along this route. If that was the alternative, it becomes the first choice.
  // `found_key`: as in mad::Completion.
  void NoteAnswer(mad::DeviceId device, const wire::DirectedPath& way,
                  std::optional<MKey> found_key = std::nullopt);
  // The route to a port of a CA. Each port of a CA is an end port: it has its own M_Key, P_KeyTable
  // Gets and Sets name no port (IBA vol 1 §14.2.5.7), and devices refuse PortInfo Sets through the
  // other port.
  void SetPortPath(PortRef port, const wire::DirectedPath& path);
  // Null: PathTo(port.node) leads to the port.
  const wire::DirectedPath* FurtherPathTo(PortRef port) const;
  // The GUID of an end port, and so which M_Keys it may have. Until this is called, requests carry
  // the configured one. Where several are possible, the others are tried after timeouts.
  void SetPossibleMKeys(PortRef port, Guid port_guid);
  // The M_Key that a PortInfo showed; 0: it showed none.
  void SetMKey(PortRef port, MKey key);
  // A Set will give the port this key. Until SetMKey() shows it, the port may have either.
  void ExpectMKey(PortRef port, MKey key);
  // Those that it may have, the likeliest first. Empty: it was never asked.
  std::vector<MKey> KeysOf(PortRef port) const;
  // Of this SM's own port.
  std::vector<MKey> OwnKeys() const;
  // For nodes of which only the cable is known. Remove() tells it who is gone.
  KeySearch& search() { return search_; }
  MKey ConfiguredMKey(Guid port_guid) const;
  MKey MKeyOf(NodeIndex node) const { return MKeyOf(PortRef{node, PortNum(0)}); }
  MKey MKeyOf(PortRef port) const;
  void Remove(NodeIndex node);
  // Whether the SwitchPortStateTable of a switch shows its ports as they are.
  enum class TableTrust : uint8_t { kUnknown, kRight, kWrong };
  TableTrust table_trust(NodeIndex node) const {
    return Has(node) ? devices_[node.value()].table_trust : TableTrust::kUnknown;
  }
  void SetTableTrust(NodeIndex node, TableTrust trust) {
    if (Has(node)) devices_[node.value()].table_trust = trust;
  }
  // What PortInfo has shown of a port since the SwitchPortStateTable of the switch was last read.
  struct SeenChange {
    PortNum port;
    uint8_t state = 0;
  };
  void NoteChange(NodeIndex node, SeenChange change) {
    if (Has(node)) devices_[node.value()].seen_change = change;
  }
  // The last of them. nullopt: none.
  std::optional<SeenChange> TakeSeenChange(NodeIndex node) {
    return Has(node) ? std::exchange(devices_[node.value()].seen_change, std::nullopt)
                     : std::nullopt;
  }
  // Since when a node that stays does not respond. nullopt: it responds.
  std::optional<Instant> UnresponsiveSince(NodeIndex node) const;
  void SetUnresponsiveSince(NodeIndex node, std::optional<Instant> since);

  mad::SmpRequest Get(NodeIndex node, wire::AttributeId attribute, uint32_t modifier) const;
  template <typename Attribute>
  mad::SmpRequest Set(NodeIndex node, uint32_t modifier, const Attribute& value) const {
    mad::SmpRequest request = Get(node, Attribute::kAttribute, modifier);
    request.method = wire::Method::kSet;
    value.Encode(request.data);
    return request;
  }
  // The same for an attribute of one port. At a CA the request goes through that port.
  mad::SmpRequest Get(PortRef port, wire::AttributeId attribute, uint32_t modifier) const;
  // SMInfo of the node at the end of `path`. It may be no SM, so the request carries no M_Key.
  mad::SmpRequest GetSmInfo(const wire::DirectedPath& path, mad::DeviceId device) const;
  template <typename Attribute>
  mad::SmpRequest Set(PortRef port, uint32_t modifier, const Attribute& value) const {
    mad::SmpRequest request = Get(port, Attribute::kAttribute, modifier);
    request.method = wire::Method::kSet;
    value.Encode(request.data);
    return request;
  }

  // True: a forwarding switch has appeared or come back, and its LFT was neither read nor written.
  bool HasUnreadTables(const fabric::FabricSnapshot& snapshot) const;
  AppliedState& applied() { return applied_; }
  const AppliedState& applied() const { return applied_; }

 private:
  // The M_Keys that an end port may have. More than one: each may be the one.
  using Keys = std::vector<MKey>;
  struct KeyState {
    Keys keys;
    bool shown = false;  // By a PortInfo.
    Guid port_guid;
  };
  struct FurtherPort {
    PortNum port;
    wire::DirectedPath path;
    KeyState key;
  };
  struct Device {
    bool present = false;
    wire::DirectedPath path;
    std::optional<wire::DirectedPath> alternative;
    KeyState key;
    std::vector<FurtherPort> further_ports;  // Of a CA: those not on `path`.
    std::optional<Instant> unresponsive_since;
    TableTrust table_trust = TableTrust::kUnknown;
    std::optional<SeenChange> seen_change;
  };
  Device& At(NodeIndex node);
  FurtherPort* FindFurther(PortRef port);
  KeyState& KeyOf(PortRef port);
  const Keys& KnownKeysOf(PortRef port) const;
  void PutKeys(const Keys& keys, mad::SmpRequest& request) const;

  const SmOptions* options_;
  Guid own_;
  std::vector<Device> devices_;  // [NodeIndex]
  KeySearch search_;
  AppliedState applied_;
};

}  // namespace fabricd::sweep
