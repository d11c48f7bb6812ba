// SPDX-License-Identifier: Apache-2.0
// Watch: judges every MAD of the managers as it happens: Sets that change nothing, LIDs that move,
// windows, two masters at work.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include "sim/fabric/mad_faults.h"
#include "sim/fabric/sim_fabric.h"

namespace fabricd::sim {

struct WatchOptions {
  uint32_t device_limit = 2;    // Requests in flight to one device, as EngineOptions has it.
  uint32_t window_max = 128;    // To all of them.
  bool lids_are_stable = true;  // False: managers with stores of their own may disagree.
  // Two masters may be unaware of each other for this long after they can talk again.
  Duration awareness = std::chrono::seconds(30);
  // The same from the very start; where few MADs are lost they have no excuse.
  Duration first_awareness{};
  // Less than any standby needs to find its master dead.
  Duration takeover_min = std::chrono::seconds(2);
};

// Set it as the fabric's observer before the first MAD.
class Watch : public SimObserver {
 public:
  Watch(const SimFabric& fabric, WatchOptions options) : fabric_(fabric), options_(options) {}

  void OnSend(Instant now, PortRef host, const mad::OutgoingMad& mad) override;
  void OnServed(const Served& served) override;
  void OnDelivery(const Delivery& delivery) override;

  // A new fabricd runs on this port from now on: it knows nothing, and nothing is in flight. Others
  // are watched, but not checked.
  void OnRestart(PortRef host);
  // From now on these two can, or cannot, reach each other's SM.
  void SetApart(Instant now, bool apart);

  // "checker: what", at most 100.
  const std::vector<std::string>& faults() const { return faults_; }
  // Of all MADs sent, with times and senders: equal for equal runs.
  uint64_t digest() const { return digest_; }
  uint64_t sets() const { return sets_; }
  uint64_t mads() const { return mads_; }

 private:
  struct Key {  // A register block of a device.
    NodeIndex node;
    PortNum port;
    wire::AttributeId attribute;
    uint32_t modifier;
    friend bool operator==(const Key&, const Key&) = default;
    template <typename H>
    friend H AbslHashValue(H hash, const Key& key) {
      return H::combine(std::move(hash), key.node, key.port, key.attribute, key.modifier);
    }
  };
  struct Flying {
    NodeIndex device;
    std::optional<wire::DirectedPath> path;
    wire::Method method = wire::Method::kGet;
    wire::AttributeId attribute = wire::AttributeId::kNone;
    uint32_t modifier = 0;
    Instant sent = Instant::min();  // This attempt.
    wire::SmpData data{};           // As sent.
    Instant end = Instant::max();   // Of its timeout.
    // Of a Set: the same is in flight by another path, and not answered.
    bool is_repeat = false;
    // It does not count: its path no longer leads to the device, or was given up for another; or it
    // has timed out.
    bool cut_off = false;
    // What goes to whoever is there: over a cable, or back along the route of an SM's request.
    bool IsProbe() const {
      return attribute == wire::AttributeId::kNodeInfo ||
             (attribute == wire::AttributeId::kSmInfo && method == wire::Method::kGet);
    }
  };
  struct Program {
    bool is_checked = false;
    absl::flat_hash_map<uint64_t, Flying> flying;  // By TransactionID.
    absl::flat_hash_map<NodeIndex, uint32_t> at_device;
    size_t cut_off = 0;  // Of `flying`.
    // What was answered, with no answer delivered yet, by TransactionID; then what the program was
    // last told.
    absl::flat_hash_map<uint64_t, Key> answers;
    struct Told {
      wire::SmpData data;
      Instant at;
    };
    absl::flat_hash_map<Key, Told> told;
    absl::flat_hash_set<uint64_t> sent_sets;    // TransactionIDs: a second copy is a retry.
    absl::flat_hash_set<uint64_t> served_sets;  // TransactionIDs: a second copy is the network's.
    Instant last_set = Instant::min();
  };

  void Fault(std::string text);
  void CheckLids(const Served& served, PortNum number);
  void ForgetUnanswered(const mad::IncomingMad& mad, NodeIndex device, Program& program);
  static void ForgetAboveTop(const Key& key, const wire::SmpData& data, Program& program);
  bool SaysTablesAreLost(const Key& key, const wire::SmpData& data) const;
  void CheckIdle(const Served& served, const Key& key, const Program& program);
  void CheckWriters(Instant now, PortRef host);
  static void CutOff(Program& program, Flying& flying);
  static void NoteRepeat(Program& program, const Flying& repeat);
  static bool IsRepeatedSet(const Program& program, const Flying& set);
  static void NoteGivenUp(Program& program, const Flying& latest);
  void NoteCutOff(PortRef host, Program& program);
  static void NoteTimedOut(Instant now, Program& program);
  NodeIndex DestinationOf(PortRef host, const std::optional<wire::DirectedPath>& path) const;

  const SimFabric& fabric_;
  const WatchOptions options_;
  std::vector<std::string> faults_;
  uint64_t digest_ = 0, sets_ = 0, mads_ = 0;
  std::map<PortRef, Program> programs_;
  absl::flat_hash_map<Guid, Lid> lid_of_;
  absl::flat_hash_map<Lid, Guid> owner_of_;
  Instant together_since_ = Instant::min();
  bool apart_ = false;
  PortRef last_setter_;
  struct Writer {
    PortRef host;
    Instant at;
  };
  absl::flat_hash_map<Key, Writer> writers_;  // Which program has changed it last.
};

}  // namespace fabricd::sim
