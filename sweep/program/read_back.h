// SPDX-License-Identifier: Apache-2.0
// ReadBack: checks whether devices still hold what they were confirmed to hold. Any host with the
// M_Key can write a table, a Set may arrive late, and firmware may lose an entry. Neither traps nor
// PortStateChange report these.
//
// It reads tables while the core is idle, at most kInFlight at once: a sample after each light
// sweep (AddSample), and everything that discovery did not read after a requested heavy sweep
// (AddAll). It never writes. The values that were read become the confirmed ones (DeviceTable,
// SnapshotBuilder), so that the next Programmer repairs a difference like any other. If one table
// of a device differs, its other tables are read too, so that one run repairs them all.
//
// A device that keeps differing is rewritten at growing intervals. Samples skip it for kFirstWait
// after a difference, then for twice as long each time, up to kLongestWait, until it has been
// correct for as long. So a device whose responses prove nothing, or that another SM writes to,
// costs at most one repair per kLongestWait. Requested heavy sweeps always read it. Until the
// samples have found it correct for that long, a device that differed more than once is a problem.
//
// Samples take at most AuditOptions::rate SMPs in a second. Without `repairs`, a difference is
// reported and the confirmed values stay, so nothing is written.
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
  // In each sample: LFT blocks per switch; and other tables, one per switch but at least
  // kLeastOthers.
  static constexpr size_t kBlocksOfSwitch = 2, kLeastOthers = 16;
  static constexpr Duration kFirstWait = std::chrono::seconds(20);
  static constexpr Duration kLongestWait = std::chrono::hours(1);

  // References must outlive this.
  ReadBack(fabric::SnapshotBuilder& builder, DeviceTable& devices, mad::TransactionEngine& engine,
           const AuditOptions& options)
      : builder_(builder), devices_(devices), engine_(engine), options_(options) {}

  // Adds the next tables in rotation. `lanes`: SLtoVL mappings and VL arbitration are programmed.
  void AddSample(std::shared_ptr<const fabric::FabricSnapshot> snapshot, bool lanes, Instant now);
  // Adds all tables except those that discovery reads: P_Keys, GUIDs and PortInfo of end ports.
  void AddAll(std::shared_ptr<const fabric::FabricSnapshot> snapshot, bool lanes);
  // These commands are finished when the added tables have been read and repaired.
  void Hold(std::vector<uint64_t> commands);

  bool reads_all() const { return all_; }  // What AddAll() has added is not read completely.
  bool empty() const { return waiting_.empty() && in_flight_.empty(); }
  // Something was added since the last TakeResult(), and all of it has been read.
  bool HasResult() const { return begun_ && empty(); }
  // Submits some requests.
  void Feed(Instant now);
  // When Feed() may submit more, where the rate held it up; kNever: it did not.
  Instant next_feed() const { return next_feed_; }
  // Other work starts: tables in flight are read again later. The caller drops the requests that
  // the engine has queued.
  void Pause();
  // Drops everything. Returns the held commands.
  std::vector<uint64_t> Drop();

  // False: the completion is from before a Pause() or Drop(). Ignore it.
  bool IsMine(const mad::Completion& completion) const { return completion.context.run == run_; }
  // REQUIRES: IsMine().
  void OnCompletion(const mad::Completion& completion);

  struct Result {
    bool all = false;  // AddAll() was called.
    size_t tables_read = 0;
    std::vector<NodeIndex> differing;         // Sorted. To be repaired.
    std::vector<NodeIndex> drifting;          // Sorted. They have differed more than once.
    std::vector<fabric::FabricEvent> events;  // One per device and kind of table.
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
    kSettings  // What fabricd sets in PortInfo.
  };
  struct Table {
    PortRef port;
    uint16_t block = 0;  // For VL tables: VlTable::in_out.
    Kind kind = Kind::kForwarding;
    uint8_t position = 0;  // kMulticast
  };
  struct Difference {
    uint32_t blocks = 0, entries = 0;
    Table first;
    wire::SmpData held{}, shown{};  // Of the first.
  };
  struct Pace {
    Instant until;
    Duration wait{};
    uint32_t times = 0;
  };

  static VlTable VlTableOf(const Table& table);
  static wire::AttributeId AttributeOf(Kind kind);
  static wire::SmpData Canonical(Kind kind, const wire::SmpData& data);
  static wire::SmpData SettingsIn(const wire::PortInfo& info);
  static uint32_t EntriesDiffering(Kind kind, const wire::SmpData& a, const wire::SmpData& b);
  void AddForwarding(const fabric::Node& node, std::vector<Table>& tables);
  // All except LFTs.
  void AddOthers(const fabric::Node& node, std::vector<Table>& tables) const;
  void AddOthersOfEndPorts(const fabric::Node& node, std::vector<Table>& tables) const;
  void AddInTurn(std::vector<std::vector<Table>> by_node);
  bool Rests(NodeIndex node, Instant now) const;
  mad::SmpRequest RequestFor(const Table& table) const;
  // The confirmed content. nullopt: not known, or a Set is in flight.
  std::optional<wire::SmpData> Held(const Table& table);
  void Take(const Table& table, const wire::SmpData& data);
  void OnDifference(const Table& table, uint32_t entries, const wire::SmpData& held,
                    const wire::SmpData& shown);
  bool TakeToken(Instant now);
  fabric::FabricEvent EventOf(NodeIndex node, Kind kind, const Difference& difference,
                              uint32_t times, Instant now) const;

  fabric::SnapshotBuilder& builder_;
  DeviceTable& devices_;
  mad::TransactionEngine& engine_;
  const AuditOptions& options_;
  double tokens_ = 0;  // SMPs of samples that may be sent now.
  Instant tokens_at_{};
  Instant next_feed_ = kNever;
  std::deque<Table> waiting_;
  std::map<uint32_t, Table> in_flight_;  // By number.
  uint32_t next_number_ = 0;
  uint16_t run_ = 0;
  bool begun_ = false, all_ = false;
  // Of the last AddSample() or AddAll().
  std::shared_ptr<const fabric::FabricSnapshot> snapshot_;
  bool vls_ = false;
  uint32_t turn_ = 0;       // Rotation of the LFT samples.
  uint32_t next_node_ = 0;  // The next node for samples of other tables.
  std::vector<uint64_t> commands_;
  size_t tables_read_ = 0;
  std::map<std::pair<NodeIndex, Kind>, Difference> differences_;
  std::map<NodeIndex, Pace> paces_;
};

}  // namespace fabricd::sweep
