// SPDX-License-Identifier: Apache-2.0
// sim/device: one simulated device: its agents and registers.
//
// SimDevice: the registers of one simulated CA, switch or router and its subnet management agent
// (SMA, IBA vol 1 §14.2-14.4). It answers one SMP at a time as hardware would: legal transitions
// only, status 0x1C for bad values and blocks, M_Key check. Links, time and routing belong to
// SimFabric. Pure: no threads, no clock; used by one thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "common/port_numbers.h"
#include "common/time.h"
#include "fabric/snapshot.h"
#include "mad/transport.h"
#include "mad/wire/node_info.h"
#include "mad/wire/port_info.h"
#include "mad/wire/port_info_extended.h"
#include "mad/wire/sm_info.h"
#include "mad/wire/smp.h"
#include "mad/wire/switch_info.h"
#include "mad/wire/tables.h"
#include "sim/device/quirks.h"

namespace fabricd::sim {

// What the topology does not say about the devices.
struct DeviceOptions {
  bool keep_lids = true;  // LIDs and LMCs of the topology are the initial registers, as in ibsim.
  uint16_t linear_fdb_cap = 0xC000;
  uint16_t multicast_fdb_cap = 0x1000;
  uint16_t ca_partition_cap = 128;    // P_Keys
  bool limited_default_key = false;   // The P_Key that ports wake up with: 0x7FFF, not 0xFFFF.
  uint16_t switch_partition_cap = 8;  // Of port 0.
  uint16_t partition_enforcement_cap = 32;  // Of a switch's external ports.
  uint8_t vl_cap = 4;                       // VL0-7
  uint8_t mtu_cap = 5;                      // 4096 bytes
  uint8_t guid_cap = 32;
  // Switches take a whole SL to VL mapping in one Set.
  bool optimized_sl_to_vl = false;
};

inline constexpr uint16_t kFirstMulticastLid = kMaxUnicastLid.value() + 1;

// A link of this device that its SMA wants changed, after the response has left (PortInfo Set of
// PortState DOWN or of PortPhysicalState).
struct LinkRequest {
  PortNum port;
  wire::PortPhysicalState to;  // kPolling (retrain), kSleep or kDisabled
};

// What answering an SMP had for consequences outside the device's registers.
struct SmaEffects {
  bool reply = false;    // False: the SMP is dropped (M_Key) or needs no answer (TrapRepress).
  bool changed = false;  // A Set that altered a register.
  bool unknown_attribute = false;     // Refused as one that the SMA does not have.
  bool m_key_violation = false;       // The SMP was dropped for its M_Key: trap 256 is due.
  std::optional<uint64_t> repressed;  // TransactionID of an accepted TrapRepress.
  std::vector<LinkRequest> links;
  // Asynchronous events for a program on this port.
  std::vector<mad::LocalPortEvent::Kind> events;
  PortNum events_port;

  // As made anew, but the vectors keep their storage.
  void Clear() {
    reply = changed = unknown_attribute = m_key_violation = false;
    repressed.reset();
    links.clear();
    events.clear();
  }
};

// What a switch forwards by while it says that adaptive routing is on: as nothing is public of the
// tables behind that, the LFT of when it was switched on.
enum class ShadowLft : uint8_t {
  kNone,
  kUntilWritten,  // Each block until its next Set.
  kForever,       // Until it is switched off.
};

struct SimPort {
  Guid guid;            // CA ports, switch port 0.
  wire::PortInfo info;  // As a Get answers it.
  wire::LinkSpeed rated_speed = wire::LinkSpeed::kUnknown;
  uint8_t rated_width = 0;  // lanes
  PortRef cable;            // The socket at the other end; none: no cable.
  bool plugged = false;
  uint32_t training = 0;  // Serial of the training under way.
  Instant m_key_lease_end = kNever;
  std::optional<wire::SmInfo> scripted_sm;  // A foreign SM played by the simulator.
  // Empty: as after power-up.
  std::unique_ptr<wire::PortInfoExtended> extended;
  std::vector<wire::PKeyTable> pkeys;
  std::vector<wire::GuidInfo> guids;
  std::map<uint8_t, wire::VlArbitrationTable> vl_arbitration;  // By table 1-4.
};

class SimDevice {
 public:
  SimDevice(const fabric::Node& node, const DeviceOptions& options);

  bool IsSwitch() const { return info_.node_type == wire::NodeType::kSwitch; }
  Guid guid() const { return info_.node_guid; }
  const std::string& description() const { return description_; }
  const wire::NodeInfo& node_info() const { return info_; }  // port_guid, local_port unset.
  const wire::SwitchInfo& switch_info() const { return switch_info_; }
  bool enhanced_port0() const { return switch_info_.enhanced_port0; }
  PortNum last_port() const { return PortNum(info_.num_ports); }
  // All that exist: 0..n of a switch, 1..n of the others; those that a link can be at.
  PortNumbers AllPorts() const { return {PortNum(IsSwitch() ? 0 : 1), last_port()}; }
  PortNumbers LinkPorts() const { return {PortNum(1), last_port()}; }
  bool HasPort(PortNum port) const { return port.value() < ports_.size(); }
  // REQUIRES: HasPort(port).
  const SimPort& port(PortNum port) const { return ports_[port.value()]; }
  SimPort& mutable_port(PortNum port) { return ports_[port.value()]; }
  // The port whose LID, M_Key and MasterSMLID govern `port`: itself, port 0 on a switch.
  PortNum ManagementPort(PortNum port) const { return IsSwitch() ? PortNum(0) : port; }
  bool OwnsLid(PortNum port, Lid lid) const;

  // Where it forwards a unicast LID to: 255 above LinearFDBTop and where nothing was written. A Get
  // shows something else where it has a shadow.
  uint8_t LftPort(Lid lid) const;
  // Where a packet for `mlid` that came in by `ingress` goes, never back there: the MFT's ports, or
  // the default multicast port where the table does not reach so far. Ports that exist, in order.
  std::vector<PortNum> MulticastPorts(Lid mlid, PortNum ingress) const;
  // The entry at this index; 0 where there is none.
  PKey PKeyAt(PortNum port, uint16_t index) const;
  // The first entry that lets an end port take a packet of this P_Key: the same partition, and not
  // both limited members (IBA vol 1 §10.9.3).
  std::optional<uint16_t> PKeyIndexFor(PortNum port, PKey packet) const;
  // Whether a switch port that enforces partitions lets the P_Key pass. Membership is not regarded:
  // the table is that of the end port behind it, which judges by its own.
  bool PartitionPasses(PortNum port, PKey packet) const;
  // A block of a table as a Get answers it.
  wire::LinearForwardingTable LftBlock(uint16_t block) const;
  wire::MulticastForwardingTable MftBlock(uint8_t position, uint16_t block) const;
  wire::PKeyTable PKeyBlock(PortNum port, uint16_t block) const;
  wire::SlToVlMappingTable SlToVl(PortNum in, PortNum out) const;
  // PortInfoExtended as a Get answers it.
  wire::PortInfoExtended Fec(PortNum port) const;
  size_t lft_blocks_stored() const { return lft_.size() / wire::LinearForwardingTable::kEntries; }

  // A transition by the link layer (not one that a Set asked for): sets PortStateChange.
  void NotePortStateChange() { switch_info_.port_state_change = true; }
  // Registers as after power-up, LIDs and tables lost; cables stay.
  void Reset();

  // ARInfo says that it is on, unless it is kNone. Lost with power.
  void SetAdaptiveRouting(ShadowLft mode);
  bool HasAdaptiveRouting() const { return shadow_mode_ != ShadowLft::kNone; }

  void SetQuirks(Quirks quirks);
  // How much later than it comes an SMP is to be given to Answer.
  const Quirks* quirks() const { return odd_ ? &odd_->how : nullptr; }
  bool is_unresponsive() const { return odd_ && odd_->how.unresponsive; }
  bool blocks_directed() const { return odd_ && odd_->how.blocks_directed; }
  Duration answer_delay() const { return odd_ ? odd_->how.answer_delay : Duration::zero(); }

  // Answers `smp`, which reached the SMA through `ingress` (0: from this switch's own port 0): on
  // reply it is turned into the response. REQUIRES: a request or a TrapRepress.
  void Answer(Instant now, PortNum ingress, wire::Smp& smp, SmaEffects& effects);

 private:
  // By attribute, block and, on a CA, port.
  using BlockKey = std::tuple<wire::AttributeId, uint32_t, PortNum>;
  struct Stale {
    wire::SmpData data;
    Instant until;
  };
  struct Odd {
    Quirks how;
    uint32_t served = 0;  // Of those that busy_every counts.
    std::map<BlockKey, Stale> stale;
    uint32_t answers = 0;
    // By block of SwitchPortStateTable: what is shown, and since when something else is so.
    struct OldStates {
      wire::SmpData shown;
      Instant since = kNever;
    };
    std::map<uint32_t, OldStates> old_states;
  };
  uint16_t Serve(Instant now, PortNum ingress, wire::Smp& smp, SmaEffects& effects);
  // sim_device_quirks.cc. REQUIRES: odd_.
  std::optional<uint16_t> QuirkStatus(const wire::Smp& smp);
  uint16_t ServeStale(Instant now, PortNum ingress, wire::Smp& smp, SmaEffects& effects);
  void Disguise(Instant now, wire::Smp& answer);
  void ShowOldStates(Instant now, wire::Smp& answer);
  void RestoreIgnored(const wire::PortInfo& registers, wire::PortInfo& wanted) const;
  bool PassesMKey(Instant now, PortNum ingress, const wire::Smp& smp);
  bool Supports(wire::AttributeId attribute, wire::Method method) const;
  uint16_t Get(PortNum ingress, wire::Smp& smp) const;
  uint16_t Set(PortNum ingress, wire::Smp& smp, SmaEffects& effects);
  uint16_t GetBlock(PortNum ingress, wire::Smp& smp) const;
  uint16_t SetPortInfo(PortNum ingress, wire::Smp& smp, SmaEffects& effects);
  uint16_t SetPortInfoExtended(PortNum ingress, wire::Smp& smp, SmaEffects& effects);
  uint16_t SetSwitchInfo(wire::Smp& smp, SmaEffects& effects);
  uint16_t SetPKeyTable(PortNum ingress, wire::Smp& smp, SmaEffects& effects);
  uint16_t SetGuidInfo(PortNum ingress, wire::Smp& smp, SmaEffects& effects);
  uint16_t SetVlArbitration(PortNum ingress, wire::Smp& smp, SmaEffects& effects);
  uint16_t SetSlToVl(PortNum ingress, const wire::Smp& smp, SmaEffects& effects);
  uint16_t SetLft(const wire::Smp& smp, SmaEffects& effects);
  uint16_t SetMft(const wire::Smp& smp, SmaEffects& effects);
  // Ports and blocks that a modifier names; nullopt or false where there is none.
  std::optional<PortNum> PortOfModifier(PortNum ingress, uint32_t modifier) const;
  size_t PKeyCap(PortNum port) const;
  size_t PKeysStored(PortNum port) const;
  std::optional<std::pair<PortNum, uint16_t>> PKeyBlockOf(PortNum ingress, uint32_t modifier) const;
  std::optional<PortNum> VlArbitrationPort(PortNum ingress, uint32_t modifier) const;
  bool SlToVlExists(uint32_t modifier) const;
  bool LftBlockExists(uint32_t modifier) const;
  bool MftBlockExists(uint32_t modifier) const;
  void PowerUpPort(PortNum port);
  void PowerUpSwitch();

  DeviceOptions options_;
  wire::NodeInfo info_;
  std::string description_;
  wire::SwitchInfo switch_info_;
  bool enhanced_port0_ = false;
  std::vector<SimPort> ports_;
  std::unique_ptr<Odd> odd_;  // Null: none.
  std::vector<uint8_t> lft_;  // Grown to the last block written.
  ShadowLft shadow_mode_ = ShadowLft::kNone;
  std::vector<std::optional<wire::LinearForwardingTable>> shadow_;  // By block.
  std::map<uint32_t, wire::MulticastForwardingTable> mft_;          // By modifier.
  std::map<uint32_t, wire::SlToVlMappingTable>
      sl_to_vl_;  // By modifier (in << 8 | out; a CA's is its port).
};

}  // namespace fabricd::sim
