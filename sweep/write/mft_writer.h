// SPDX-License-Identifier: Apache-2.0
// MftWriter: multicast forwarding tables, and MulticastFDBTop of switches that have one.
//
// Read is what may be of use: blocks that groups take; up to MulticastFDBTop where the switch has
// one; else on from block 0 to the first that is empty, since SMs give the lowest MLIDs first. That
// holds for switches without a LinearFDBTop too: trees may have been written to one between the
// time that it restarted and the time that this was seen. Written are the blocks that differ
// (tree_push.h) and MulticastFDBTop: before the blocks where it rises, after them where it falls,
// and not at all while there are no entries and it was never set.
#pragma once

#include <deque>
#include <memory>
#include <optional>

#include "sweep/write/attribute_writer.h"
#include "sweep/write/restart_watch.h"
#include "sweep/write/tree_push.h"

namespace fabricd::sweep {

class MftWriter final : public AttributeWriter {
 public:
  static constexpr std::array kWorks{Work::kReadMft, Work::kSetMft, Work::kSetMftTop};

  // Both must outlive this.
  MftWriter(const ProgramGround& ground, RestartWatch& restarts)
      : AttributeWriter(ground), restarts_(restarts) {}

  // Takes all entries away for a while, before the plan is written: they may not fit both it and
  // the one before. Each MulticastFDBTop stays.
  void WantWithdrawal() { withdrawal_ = Withdrawal::kWanted; }
  void BeginWithdrawal();
  bool WantsWithdrawal() const { return withdrawal_ == Withdrawal::kWanted; }
  // True: nothing is left that is to go before the plan is written.
  bool IsWithdrawn();
  // The trees that go with the plan; null: what the tables hold may stay. `together`: as TreePush
  // has it. REQUIRES: all reads have ended.
  void SetTarget(std::shared_ptr<const routing::MulticastPlan> trees, bool together);
  bool has_target() const { return has_target_; }

  void List(ProgramStage stage, WorkQueue& queue) override;
  // nullopt: nothing until an answer comes, or all was sent.
  std::optional<OrderedRequest> NextRequest();
  void OnAnswer(const WorkItem& item, const mad::Completion& completion) override;
  [[nodiscard]] static bool OnLateAnswer(const LateAnswer& late);

  // Nothing is to be sent, and everything is answered.
  bool done() const;
  // All entries are as wanted. REQUIRES: done().
  bool IsComplete() const { return has_target_ && failures_ + push_.failures() == 0; }
  size_t position() const { return push_.sent(); }
  size_t size() const { return push_.size(); }
  size_t blocks_written() const { return blocks_written_; }
  // It may still hold entries that it was to lose: no link of it may be brought up.
  bool IsUnsafe(NodeIndex node) const { return push_.IsUnsafe(node); }

 private:
  struct Read {
    NodeIndex node;
    routing::MulticastPlace place;
  };
  enum class Answer : uint8_t { kTaken, kFailed, kContradicted };
  enum class Withdrawal : uint8_t { kNone, kWanted, kUnderWay };

  static WorkItem ItemOf(Work work, NodeIndex node, routing::MulticastPlace place) {
    return {node, place.block, PortNum(place.position), work};
  }
  static routing::MulticastPlace PlaceOf(const WorkItem& item) {
    return {item.block, item.port.value()};
  }
  static void TakeLate(const LateAnswer& late);
  void ListReadsOf(const fabric::Node& node);
  std::optional<OrderedRequest> Next();
  std::optional<OrderedRequest> NextTop(std::deque<NodeIndex>& nodes);
  std::optional<OrderedRequest> NextBlock();
  // `completion` null: it was not sent.
  Answer Take(const WorkItem& item, const mad::Completion* completion);
  Answer TakeBlock(const WorkItem& item, const mad::Completion* completion);
  void OnRead(const WorkItem& item, const routing::MulticastBlock& block);

  RestartWatch& restarts_;
  std::deque<Read> reads_;
  std::shared_ptr<const routing::MulticastPlan> plan_;
  TreePush push_;
  std::deque<NodeIndex> tops_to_raise_, tops_to_lower_;
  bool has_target_ = false;
  Withdrawal withdrawal_ = Withdrawal::kNone;
  size_t outstanding_ = 0, blocks_written_ = 0;
  size_t failures_ = 0;  // Beside those of push_.
};

}  // namespace fabricd::sweep
