// SPDX-License-Identifier: Apache-2.0
// ReadBack: whether devices still hold what they were confirmed to hold. Any host that has the
// M_Key can write a table, a Set may arrive late, firmware may lose an entry: no trap tells of
// these, nor does PortStateChange.
//
// It reads tables while the core is idle, at most kInFlight at once: a sample after each light
// sweep (AddSample), all that discovery did not read after a heavy sweep that was asked for
// (AddAll). It writes nothing. What was read is taken for what the device holds (DeviceTable,
// SnapshotBuilder), so that the next Programmer repairs a difference like any other. Where one
// table of a device differs the others are read as well, so that it is repaired in one run.
//
// A device that keeps differing is written to ever more seldom: samples leave it alone for
// kFirstWait after a difference, then for twice as long each time, up to kLongestWait, until it was
// found right for as long. So a device whose answers prove nothing, or one that another SM writes
// to, costs at most one repair in kLongestWait. Heavy sweeps read it whenever they are asked for.
//
// Owned by the core.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "fabric/event.h"
#include "fabric/snapshot_builder.h"
#include "mad/transaction_engine.h"
#include "sweep/device/device_table.h"

namespace fabricd::sweep {

class ReadBack {
 public:
  static constexpr size_t kInFlight = 8;
  // Of each switch, in each sample; of all other tables one for each switch, at least kLeastOthers.
  static constexpr size_t kBlocksOfSwitch = 2, kLeastOthers = 16;
  static constexpr Duration kFirstWait = std::chrono::seconds(20);
  static constexpr Duration kLongestWait = std::chrono::hours(1);

  // References must outlive this.
  ReadBack(fabric::SnapshotBuilder& builder, DeviceTable& devices, mad::TransactionEngine& engine)
      : builder_(builder), devices_(devices), engine_(engine) {}

  // The next of all tables in turn. `lanes`: SL to VL mappings and VL arbitration are programmed.
  void AddSample(std::shared_ptr<const fabric::FabricSnapshot> snapshot, bool lanes, Instant now);
  // Without what discovery reads: P_Keys, GUIDs and PortInfo of end ports.
  void AddAll(std::shared_ptr<const fabric::FabricSnapshot> snapshot, bool lanes);
  // These are finished when what was added has been read, and repaired.
  void Hold(std::vector<uint64_t> commands);

  bool empty() const { return waiting_.empty() && in_flight_.empty(); }
  // Something was added since the last TakeResult().
  bool HasResult() const { return begun_ && empty(); }
  // Hands some requests to the engine.
  void Feed();
  // Something else is done now: what is in flight is read again later. The caller drops what the
  // engine has queued.
  void Pause();
  // Nothing is left to be read. Returns the commands that were held.
  std::vector<uint64_t> Drop();

  // False: from before a Pause() or Drop(), not to be counted here.
  bool IsMine(const mad::Completion& completion) const { return completion.context.run == run_; }
  // REQUIRES: IsMine().
  void OnCompletion(const mad::Completion& completion);

  struct Result {
    bool all = false;  // AddAll() was among what asked for it.
    size_t tables_read = 0;
    std::vector<NodeIndex> differing;         // Sorted.
    std::vector<fabric::FabricEvent> events;  // For each of them and each kind of table.
    std::vector<uint64_t> commands;
  };
  // REQUIRES: HasResult().
  Result TakeResult(Instant now);

 private:
  enum class Kind : uint8_t {
    kForwarding,
    kMulticast,
    kEndPortKeys,
    kSwitchKeys,
    kGuids,
    kMap,
    kArbitration,
    kIdentity  // What an end port's PortInfo says of its LID and its SM.
  };
  struct Table {
    PortRef port;
    uint16_t block = 0;  // Of lanes: VlTable::in_out.
    Kind kind = Kind::kForwarding;
    uint8_t position = 0;  // kMulticast
  };
  struct Difference {
    uint32_t blocks = 0, entries = 0;
  };
  struct Pace {
    Instant until;
    Duration wait{};
    uint32_t times = 0;
  };

  static VlTable VlTableOf(const Table& table);
  static wire::AttributeId AttributeOf(Kind kind);
  static wire::SmpData Canonical(Kind kind, const wire::SmpData& data);
  static uint32_t EntriesDiffering(Kind kind, const wire::SmpData& a, const wire::SmpData& b);
  void AddForwarding(const fabric::Node& node, std::vector<Table>& tables);
  // All but forwarding tables.
  void AddOthers(const fabric::Node& node, std::vector<Table>& tables) const;
  void AddOthersOfEndPorts(const fabric::Node& node, std::vector<Table>& tables) const;
  void AddInTurn(std::vector<std::vector<Table>> by_node);
  bool Rests(NodeIndex node, Instant now) const;
  mad::SmpRequest RequestFor(const Table& table) const;
  // What the device was confirmed to hold; nullopt: not known, or a Set is under way.
  std::optional<wire::SmpData> Held(const Table& table);
  void Take(const Table& table, const wire::SmpData& data);
  void OnDifference(const Table& table, uint32_t entries);
  fabric::FabricEvent EventOf(NodeIndex node, Kind kind, const Difference& difference,
                              uint32_t times, Instant now) const;

  fabric::SnapshotBuilder& builder_;
  DeviceTable& devices_;
  mad::TransactionEngine& engine_;
  std::deque<Table> waiting_;
  std::map<uint32_t, Table> in_flight_;  // By number.
  uint32_t next_number_ = 0;
  uint16_t run_ = 0;
  bool begun_ = false, all_ = false;
  // Of what was added last.
  std::shared_ptr<const fabric::FabricSnapshot> snapshot_;
  bool vls_ = false;
  uint32_t turn_ = 0;       // Of the samples of forwarding tables.
  uint32_t next_node_ = 0;  // Whose other tables come next.
  std::vector<uint64_t> commands_;
  size_t tables_read_ = 0;
  std::map<std::pair<NodeIndex, Kind>, Difference> differences_;
  std::map<NodeIndex, Pace> paces_;
};

}  // namespace fabricd::sweep
