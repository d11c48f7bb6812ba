// SPDX-License-Identifier: Apache-2.0
// TreePush: which writes make the switches hold the multicast tables of a plan, in an order in
// which no mixture of old and new entries has a loop. A loop of multicast multiplies packets until
// the links are full, so the rule is strict:
//
//   an MLID that loses entries and gains others first loses them on all switches, and gains only
//   when all of that is confirmed.
//
// In the first wave each switch holds entries of the old tree, in the second of the new one: a part
// of a tree, either way, and a part of what was proved free of deadlock. An MLID that only gains,
// or only loses, is written at once, if old trees of one MLID may stand beside new ones of another,
// as they may where all follow one order of the switches. Where they may not (`together` is false),
// nothing is gained anywhere before all that is to be lost is confirmed. Where a switch does not
// confirm what it is to lose, the MLIDs whose new tree it belongs to gain nothing in this run; to
// all others it is out of reach, since nobody has an entry that leads there.
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
  // What differs now from `target`. Looks at the tables of all switches of the snapshot.
  // `together`: old trees and new ones may stand beside each other, each by itself.
  TreePush(std::shared_ptr<const routing::MulticastPlan> target,
           const fabric::FabricSnapshot& snapshot, const DeviceTable& devices, bool together);

  // Counts as sent. nullopt: none may be sent until an answer comes, or all are.
  std::optional<Write> Next(const DeviceTable& devices);
  void OnAnswer(NodeIndex node, Place place, bool ok);

  bool done() const { return ready_.empty() && outstanding_ == 0 && wave_ != Wave::kLose; }
  size_t size() const { return size_; }
  size_t sent() const { return sent_; }
  // Writes that were not confirmed, or not sent because of one.
  size_t failures() const { return failures_; }
  // It may still hold entries that it was to lose: no link of it may be brought up.
  bool IsUnsafe(NodeIndex node) const { return unsafe_.contains(node); }

 private:
  enum class Wave : uint8_t { kLose, kGain };
  struct Difference {
    NodeIndex node;
    Place place;
    Block wanted{};
    Block first{};  // What it is to hold after the first wave.
  };
  void Collect(const fabric::Node& node, const DeviceTable& devices);
  void Gain();

  std::shared_ptr<const routing::MulticastPlan> target_;
  bool together_ = true;
  std::vector<Difference> differences_;
  std::vector<Write> ready_;                      // Last first.
  std::set<std::pair<NodeIndex, Place>> failed_;  // In the first wave.
  std::set<NodeIndex> unsafe_;
  Wave wave_ = Wave::kGain;
  size_t size_ = 0, sent_ = 0, outstanding_ = 0, failures_ = 0;
};

}  // namespace fabricd::sweep
