// SPDX-License-Identifier: Apache-2.0
// TreeProgrammer: the Programmer's part that reads and writes multicast tables. It makes requests
// and takes answers; what is in flight, given up or silent is the Programmer's business.
//
// Read is what may be of use: blocks that groups take; up to MulticastFDBTop where the switch has
// one; else on from block 0 to the first that is empty, since SMs give the lowest MLIDs first. That
// holds for switches without a LinearFDBTop too: trees may have been written to one between the
// time that it started anew and the time that this was seen. Written are the blocks that differ
// (tree_push.h) and MulticastFDBTop where the switch has one: before the blocks where it rises,
// after them where it falls, and not at all while there are no entries and it was never set.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "fabric/snapshot_builder.h"
#include "mad/transaction_engine.h"
#include "sweep/device/device_table.h"
#include "sweep/program/tree_push.h"

namespace fabricd::sweep {

class TreeProgrammer {
 public:
  // What the Programmer keeps of a request in its context: 16 and 8 bits.
  struct Tag {
    uint16_t block = 0;
    uint8_t kind_and_position = 0;
  };
  struct Request {
    NodeIndex node;
    Tag tag;
    mad::SmpRequest smp;
  };
  enum class Answer : uint8_t { kTaken, kFailed, kRefused };  // kRefused: with other values.

  // Both must outlive this.
  TreeProgrammer(fabric::SnapshotBuilder& builder, DeviceTable& devices)
      : builder_(builder), devices_(devices) {}

  // `groups_end`: one more than the highest block that a group takes.
  void ListReads(const fabric::FabricSnapshot& snapshot, uint16_t groups_end);
  // Takes all entries away, for a while: each MulticastFDBTop stays.
  void Withdraw(const fabric::FabricSnapshot& snapshot);
  // `together`: as TreePush has it. REQUIRES: done().
  void Write(std::shared_ptr<const routing::MulticastPlan> plan,
             const fabric::FabricSnapshot& snapshot, bool together);
  // nullopt: nothing until an answer comes, or all was sent.
  std::optional<Request> Next();
  // Every request has to come back here, sent or not.
  Answer OnCompletion(NodeIndex node, Tag tag, const mad::Completion* completion);
  // Of a Programmer that is gone.
  static void NoteLate(NodeIndex node, Tag tag, const mad::Completion& completion,
                       DeviceTable& devices);
  bool done() const;

  size_t failures() const { return push_.failures(); }
  size_t position() const { return push_.sent(); }
  size_t size() const { return push_.size(); }
  size_t blocks_written() const { return blocks_written_; }
  bool IsUnsafe(NodeIndex node) const { return push_.IsUnsafe(node); }

 private:
  enum class Kind : uint8_t { kTop, kRead, kWrite };
  struct Read {
    NodeIndex node;
    routing::MulticastPlace place;
  };
  static Tag TagOf(Kind kind, routing::MulticastPlace place) {
    return {place.block, static_cast<uint8_t>(static_cast<unsigned>(kind) << 4 | place.position)};
  }
  static Kind KindOf(Tag tag) { return static_cast<Kind>(tag.kind_and_position >> 4); }
  static routing::MulticastPlace PlaceOf(Tag tag) {
    return {tag.block, static_cast<uint8_t>(tag.kind_and_position & 0xF)};
  }
  void ListReadsOf(const fabric::Node& node, uint16_t groups_end);
  void OnRead(NodeIndex node, routing::MulticastPlace place, const routing::MulticastBlock& block);
  std::optional<Request> NextTop(std::deque<NodeIndex>& nodes);

  fabric::SnapshotBuilder& builder_;
  DeviceTable& devices_;
  std::deque<Read> reads_;
  std::shared_ptr<const routing::MulticastPlan> plan_;
  TreePush push_;
  std::deque<NodeIndex> tops_to_raise_, tops_to_lower_;
  size_t outstanding_ = 0, blocks_written_ = 0;
};

}  // namespace fabricd::sweep
