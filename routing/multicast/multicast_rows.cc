// SPDX-License-Identifier: Apache-2.0
#include "routing/multicast/multicast_rows.h"

#include <algorithm>
#include <map>
#include <utility>

#include "fabric/multicast_groups.h"

namespace fabricd::routing {
namespace {

using SharedTree = std::shared_ptr<const MulticastTree>;
using Entry = MulticastRow::Entry;

constexpr size_t kEntries = std::tuple_size_v<MulticastBlock>;
constexpr unsigned kPorts = 16;

unsigned EntryOf(Lid mlid) { return unsigned{mlid.value()} - fabric::kFirstMulticastLid.value(); }
uint16_t BlockOf(const SharedTree& tree) {
  return static_cast<uint16_t>(EntryOf(tree->mlid) / kEntries);
}

// The trees of one block number: [first, last).
struct Span {
  std::vector<SharedTree>::const_iterator first, last;
  bool operator==(const Span& other) const {
    return std::equal(first, last, other.first, other.last);
  }
};
std::map<uint16_t, Span> ByBlock(const std::vector<SharedTree>& trees) {
  std::map<uint16_t, Span> spans;
  for (auto at = trees.begin(); at != trees.end();) {
    const uint16_t block = BlockOf(*at);
    auto end = std::find_if(at, trees.end(), [&](const auto& t) { return BlockOf(t) != block; });
    spans[block] = {at, end};
    at = end;
  }
  return spans;
}

// The blocks of one block number.
std::map<std::pair<NodeIndex, uint8_t>, MulticastBlock> Fill(const Span& span) {
  std::map<std::pair<NodeIndex, uint8_t>, MulticastBlock> blocks;
  for (auto tree = span.first; tree != span.last; ++tree)
    for (PortRef port : (*tree)->ports) {
      const auto position = static_cast<uint8_t>(port.port.value() / kPorts);
      uint16_t& mask = blocks[{port.node, position}][EntryOf((*tree)->mlid) % kEntries];
      mask = static_cast<uint16_t>(mask | 1u << port.port.value() % kPorts);
    }
  return blocks;
}

class RowMaker {
 public:
  explicit RowMaker(const MulticastPlan* before) : before_(before) {}

  void Add(NodeIndex node, MulticastPlace place, std::shared_ptr<const MulticastBlock> block) {
    if (node.value() >= rows_.size()) rows_.resize(node.value() + size_t{1});
    rows_[node.value()].emplace_back(place, std::move(block));
  }
  void AddNew(NodeIndex node, MulticastPlace place, const MulticastBlock& block) {
    const MulticastRow* row = before_ ? before_->Row(node) : nullptr;
    if (row != nullptr)
      for (const Entry& entry : row->blocks)
        if (entry.first == place && *entry.second == block) return Add(node, place, entry.second);
    Add(node, place, std::make_shared<const MulticastBlock>(block));
  }
  // All blocks of one block number as they were.
  void Keep(uint16_t block) {
    for (uint32_t i = 0; i < before_->rows.size(); ++i)
      for (size_t b = 0; before_->rows[i] && b < before_->rows[i]->blocks.size(); ++b)
        if (const Entry& entry = before_->rows[i]->blocks[b]; entry.first.block == block)
          Add(NodeIndex(i), entry.first, entry.second);
  }
  std::vector<std::shared_ptr<const MulticastRow>> Take() {
    std::vector<std::shared_ptr<const MulticastRow>> rows(rows_.size());
    for (uint32_t i = 0; i < rows_.size(); ++i) {
      if (rows_[i].empty()) continue;
      std::sort(rows_[i].begin(), rows_[i].end());
      const MulticastRow* old = before_ ? before_->Row(NodeIndex(i)) : nullptr;
      rows[i] = old != nullptr && old->blocks == rows_[i]
                    ? before_->rows[i]
                    : std::make_shared<const MulticastRow>(MulticastRow{std::move(rows_[i])});
    }
    return rows;
  }

 private:
  const MulticastPlan* before_;
  std::vector<std::vector<Entry>> rows_;  // [NodeIndex]
};

Lid TopOf(const MulticastPlan& plan) {
  unsigned top = kNoMulticastTop.value();
  for (const SharedTree& tree : plan.trees)
    if (!tree->ports.empty())
      top = fabric::kFirstMulticastLid.value() + (BlockOf(tree) + 1u) * unsigned{kEntries} - 1;
  return Lid(static_cast<uint16_t>(std::min<unsigned>(top, fabric::kLastMulticastLid.value())));
}

}  // namespace

MulticastPlan PlanOfTrees(std::vector<SharedTree> trees, const MulticastPlan* before) {
  const auto old = before ? ByBlock(before->trees) : std::map<uint16_t, Span>();
  RowMaker rows(before);
  for (const auto& [block, span] : ByBlock(trees)) {
    const auto was = old.find(block);
    if (was != old.end() && was->second == span) {
      rows.Keep(block);
      continue;
    }
    for (const auto& [where, masks] : Fill(span))
      rows.AddNew(where.first, {block, where.second}, masks);
  }
  MulticastPlan plan{std::move(trees), rows.Take()};
  plan.top = TopOf(plan);
  return plan;
}

MulticastPlan PlanOfRows(std::vector<std::shared_ptr<const MulticastRow>> rows) {
  std::map<unsigned, std::vector<PortRef>> ports;  // By entry.
  for (uint32_t i = 0; i < rows.size(); ++i)
    for (size_t b = 0; rows[i] && b < rows[i]->blocks.size(); ++b) {
      const auto& [place, block] = rows[i]->blocks[b];
      for (unsigned entry = 0; entry < kEntries; ++entry)
        for (unsigned bit = 0; bit < kPorts; ++bit)
          if ((*block)[entry] >> bit & 1)
            ports[place.block * unsigned{kEntries} + entry].push_back(
                {NodeIndex(i), PortNum(static_cast<uint8_t>(place.position * kPorts + bit))});
    }
  MulticastPlan plan;
  for (auto& [entry, of_entry] : ports) {
    std::sort(of_entry.begin(), of_entry.end());
    const Lid mlid(static_cast<uint16_t>(fabric::kFirstMulticastLid.value() + entry));
    plan.trees.push_back(
        std::make_shared<const MulticastTree>(MulticastTree{mlid, std::move(of_entry), {}}));
  }
  plan.rows = std::move(rows);
  plan.top = TopOf(plan);
  return plan;
}

}  // namespace fabricd::routing
