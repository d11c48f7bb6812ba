// SPDX-License-Identifier: Apache-2.0
// LftWriter: LinearForwardingTables. Reads the unknown blocks, lists the differences from the plan
// and writes them. If no table carries traffic yet, writes go in any order, otherwise in the order
// of the PushPlan.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_set.h>

#include "routing/transition/push_plan.h"
#include "sweep/interface/switch_tables.h"
#include "sweep/write/attribute_writer.h"
#include "sweep/write/table_push.h"

namespace fabricd::sweep {

class LftWriter final : public QueuedWriter {
 public:
  static constexpr std::array kWorks{Work::kReadLft, Work::kSetLft};

  enum class Phase : uint8_t {
    kUnlisted,   // There is no plan yet.
    kNeedOrder,  // Tables that may carry traffic differ from the plan. SetOrder() must follow.
    kWriting,
    kDone,
  };

  // `ground` must outlive this.
  explicit LftWriter(const ProgramGround& ground) : QueuedWriter(ground) {}

  // Lists the differences from the plan. Without a plan there are none. REQUIRES: kUnlisted.
  void ListWrites();
  void SetOrder(routing::PushPlan push);
  // Another plan takes the place of one of which nothing was written.
  void ListAgain() {
    if (phase_ == Phase::kNeedOrder) phase_ = Phase::kUnlisted;
  }
  // The next write. nullopt: none before the next response, or all were sent.
  std::optional<OrderedRequest> NextWrite();
  // Ends the stage if all writes got a response. REQUIRES: kWriting.
  void EndIfAnswered();

  void List(ProgramStage stage, WorkQueue& queue) override;
  std::optional<mad::SmpRequest> Next(const WorkItem& item) override;
  bool IsBusy(const WorkItem& item) const override;
  void OnAnswer(const WorkItem& item, const mad::Completion& completion) override;
  [[nodiscard]] static bool OnLateAnswer(const LateAnswer& late);

  Phase phase() const { return phase_; }
  // What is to be written: of switches without tables from the beginning, else before the order is
  // known. Null: nothing. Another object where the order writes other blocks too.
  const std::shared_ptr<const TableWrites>& listed() const { return listed_; }
  size_t size() const { return push_.size(); }
  size_t sent() const { return push_.sent(); }
  size_t blocks_written() const { return blocks_written_; }
  size_t switches_written() const { return written_.size(); }

 private:
  void AnnounceLost();
  void Announce(const std::vector<routing::TableWrite>& writes);
  void ListReadsOf(const fabric::Node& node, WorkQueue& queue);
  std::vector<routing::TableWrite> Differences() const;
  wire::LinearForwardingTable BlockOf(const routing::TableWrite& write) const;
  bool IsReady(NodeIndex node) const;
  bool WasReplaced(NodeIndex node) const;
  std::optional<OrderedRequest> Write(const routing::TableWrite& write);

  TablePush push_;
  std::shared_ptr<const TableWrites> listed_;
  Phase phase_ = Phase::kUnlisted;
  size_t blocks_written_ = 0;
  absl::flat_hash_set<NodeIndex> written_;
};

}  // namespace fabricd::sweep
