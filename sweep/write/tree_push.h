// SPDX-License-Identifier: Apache-2.0
// TreePush: the writes that bring the multicast tables to a plan, in an order in which no transient
// state has a loop. A multicast loop multiplies packets until the links are full, so the rule is
// strict: an MLID that loses entries and gains others first loses them on all switches. It gains
// entries only when all losses are confirmed.
//
// In the first wave each switch holds entries of the old tree, in the second of the new one. Either
// is a part of a tree, and so a part of a verified, deadlock-free state. An MLID that only gains,
// or only loses, is written at once, if old trees of one MLID may exist beside new ones of another.
// They may if all follow one switch order. Otherwise (`together` is false) no entry is gained
// before all losses are confirmed. If a switch does not confirm its losses, the MLIDs whose new
// tree it belongs to gain nothing in this run. No other tree reaches that switch, because no entry
// leads to it.
//
// It writes whole blocks (32 MLIDs by 16 ports), each at most twice.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "fabric/snapshot.h"
#include "routing/plan/multicast_plan.h"
#include "sweep/device/device_table.h"

namespace fabricd::sweep {

class TreePush {
 public:
  using Block = routing::MulticastBlock;
  using Place = routing::MulticastPlace;
  struct Write {
    NodeIndex node;
    Place place;
    Block bytes{};
  };

  TreePush() = default;
  // Computes the differences from `target` on all switches of the snapshot. `together`: old trees
  // of one MLID may exist beside new ones of another.
  TreePush(std::shared_ptr<const routing::MulticastPlan> target,
           const fabric::FabricSnapshot& snapshot, const DeviceTable& devices, bool together);

  // The write counts as sent. nullopt: none may be sent before the next response, or all were sent.
  std::optional<Write> Next(const DeviceTable& devices);
  void OnAnswer(NodeIndex node, Place place, bool ok);

  bool done() const { return ready_.empty() && outstanding_ == 0 && wave_ != Wave::kLose; }
  size_t size() const { return size_; }
  size_t sent() const { return sent_; }
  // Writes that were not confirmed, or not sent because of one.
  size_t failures() const { return failures_; }
  // The switch may still hold entries that should be removed, so none of its links may be brought
  // up.
  bool IsUnsafe(NodeIndex node) const { return unsafe_.contains(node); }

 private:
  enum class Wave : uint8_t { kLose, kGain };
  struct Difference {
    NodeIndex node;
    Place place;
    Block wanted{};
    Block first{};  // The content after the first wave.
  };
  void Collect(const fabric::Node& node, const DeviceTable& devices);
  void Gain();

  std::shared_ptr<const routing::MulticastPlan> target_;
  bool together_ = true;
  std::vector<Difference> differences_;
  std::vector<Write> ready_;                      // In reverse order.
  std::set<std::pair<NodeIndex, Place>> failed_;  // In the first wave.
  std::set<NodeIndex> unsafe_;
  Wave wave_ = Wave::kGain;
  size_t size_ = 0, sent_ = 0, outstanding_ = 0, failures_ = 0;
};

}  // namespace fabricd::sweep
