// SPDX-License-Identifier: Apache-2.0
// routing/engines/core: what all engines share between the graph and the finished plan.
//
// PlanBuilder: what all engines share between the graphs and the finished plan: rows in parallel,
// switches with small tables, rows taken over from the previous plan. Used by one computation.
#pragma once

#include <deque>
#include <memory>
#include <string_view>
#include <vector>

#include "routing/engines/core/row_writer.h"
#include "routing/engines/core/slots.h"
#include "routing/graph/graph.h"
#include "routing/graph/hop_costs.h"
#include "routing/graph/levels.h"
#include "routing/graph/order.h"
#include "routing/plan/engine.h"
#include "routing/plan/parallel.h"

namespace fabricd::routing {

// The tables of one graph, by switch number.
struct WrittenTables {
  const SwitchGraph* graph;
  Slots slots;
  std::vector<std::shared_ptr<Row>> rows;         // May share pages with the previous plan's.
  std::vector<std::vector<Lid>> unserved, moved;  // As RowLosses has them.
};

class PlanBuilder {
 public:
  PlanBuilder(const RoutingInput& input, std::string_view engine);

  const std::vector<SwitchGraph>& graphs() const { return graphs_; }
  Parallel& parallel() { return parallel_; }
  void AddNote(std::string note) { plan_.notes.push_back(std::move(note)); }

  // As the previous plan has them, where they still fit.
  Levels FindLevels(const SwitchGraph& graph) const {
    return routing::FindLevels(graph, Remembered());
  }
  // The best order, or the one that the previous plan remembers.
  ChosenOrder ChooseOrder(const SwitchGraph& graph, const Levels& levels, bool ranks_given = false);
  // The slots that AddTables will go by.
  Slots FindSlots(const SwitchGraph& graph, const Levels& levels) const;

  // Writes the rows of all switches of one of graphs(). `order` is empty for an engine without one;
  // `costs` are those with nothing blocked. LIDs beyond a switch's LinearFDBCap are led round it
  // and what only it could serve is exempt. The engine may change the rows of the result before
  // Finish(), above all where `moved` says that they are open to choice.
  WrittenTables& AddTables(const SwitchGraph& graph, const Levels& levels, const Order& order,
                           const HopCosts& costs);
  // The same with an index of the engine's own for each destination: any numbers, not necessarily
  // without gaps or all different.
  WrittenTables& AddTables(const SwitchGraph& graph, const Levels& levels,
                           const std::vector<Destination>& destinations, const Order& order,
                           const HopCosts& costs);
  // Moves entries of tables that AddTables() made, by the policy of the options (balance.h).
  void BalanceTables(WrittenTables& tables, const Levels& levels, const Order& order,
                     const HopCosts& costs);
  // Rows that the engine wrote, [switch], of row_size() entries, and what is not in them on
  // purpose. `order` is empty where the ways follow none.
  void AddRows(const SwitchGraph& graph, const Order& order, std::vector<std::shared_ptr<Row>> rows,
               const std::vector<std::vector<Lid>>& unserved);
  // Service levels that the engine wrote, [switch], of row_size() entries, all below `lanes`.
  void AddServiceLevels(const SwitchGraph& graph, uint8_t lanes,
                        std::vector<std::shared_ptr<Row>> rows);
  size_t row_size() const { return row_size_; }
  // The builder is empty afterwards.
  RoutingPlan Finish();

 private:
  // Null where all of it is there: then the fabric speaks for itself, whatever was planned before.
  const TreeLayout* Remembered() const { return remembered_; }
  void KeepLayout();
  void KeepOrder();
  Order RememberedOrder(const SwitchGraph& graph) const;
  void AddOrder(const SwitchGraph& graph, const Order& order);
  void AddExempt(const SwitchGraph& graph, const std::vector<std::vector<Lid>>& unserved);
  void WriteRows(const std::deque<TableWriter>& bands, WrittenTables& tables);
  void KeepRows(const SwitchGraph& graph, std::vector<std::shared_ptr<Row>>& rows);

  const RoutingInput& input_;
  Parallel parallel_;
  std::vector<SwitchGraph> graphs_;
  size_t row_size_;
  uint32_t positions_ = 0;       // Given to switches so far.
  bool ordered_ = true;          // All graphs so far.
  std::vector<uint8_t> placed_;  // [NodeIndex] Has a position.
  bool load_known_ = true;       // Of all graphs that were balanced.
  double worst_load_ = 0;        // Of those, times the bound.
  std::deque<WrittenTables> written_;
  const TreeLayout* remembered_ = nullptr;
  TreeLayout layout_;  // Of the graphs so far.
  RoutingPlan plan_;
};

}  // namespace fabricd::routing
