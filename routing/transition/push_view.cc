// SPDX-License-Identifier: Apache-2.0
#include "routing/transition/push_view.h"

namespace fabricd::routing {
namespace {

constexpr size_t kBlocks = 0x10000 / Row::kBlock;
constexpr size_t kBlocksInPage = Row::kPage / Row::kBlock;

constexpr std::array<uint8_t, Row::kBlock> MakeEmpty() {
  std::array<uint8_t, Row::kBlock> entries{};
  for (uint8_t& entry : entries) entry = kNoRoute;
  return entries;
}
constexpr std::array<uint8_t, Row::kBlock> kEmpty = MakeEmpty();

}  // namespace

PushView::PushView(const PushInput& input)
    : links_(input.links),
      tables_(input.applied),
      applied_(input.links.size(), nullptr),
      desired_(input.links.size(), nullptr),
      unsure_blocks_(kBlocks, 0) {
  for (uint32_t s = 0; s < links_.size(); ++s) {
    const NodeIndex node = links_.node(s);
    if (!links_.IsAlive(s)) continue;
    if (node.value() < tables_.rows.size() && tables_.rows[node.value()].size() > 0)
      applied_[s] = &tables_.rows[node.value()];
    if (!input.desired.HasRow(node)) continue;
    desired_[s] = input.desired.rows[node.value()].get();
    Compare(s);
  }
  AddUnsure();
  std::sort(changed_.begin(), changed_.end(), [](const Changed& a, const Changed& b) {
    return std::tie(a.block, a.at) < std::tie(b.block, b.at);
  });
}

const uint8_t* PushView::BlockOf(const Row* row, uint32_t block) {
  return row && block < row->blocks() ? row->block(block) : kEmpty.data();
}

void PushView::Compare(uint32_t s) {
  const Row& to = *desired_[s];
  for (uint32_t block = 0; block < to.blocks(); ++block) {
    if (applied_[s] && applied_[s]->SharesPage(to, block / kBlocksInPage) &&
        applied_[s]->size() >= to.size()) {
      block = static_cast<uint32_t>((block / kBlocksInPage + 1) * kBlocksInPage - 1);
      continue;
    }
    if (const uint64_t lids = DifferenceMask(Applied(s, block), to.block(block)))
      changed_.push_back({static_cast<uint16_t>(block), s, lids});
  }
}

// What may differ from the plan is written, also where the last confirmed entry agrees with it.
void PushView::AddUnsure() {
  for (const AppliedTables::Unsure& block : tables_.unsure) {
    const uint32_t s = links_.number(block.node);
    if (s == LinkMap::kNone || !links_.IsAlive(s)) continue;
    unsure_.push_back({block.block, s, block.maybe.data()});
    unsure_blocks_[block.block] = 1;
    const uint64_t lids = DifferenceMask(block.maybe.data(), Desired(s, block.block));
    if (!desired_[s] || lids == 0) continue;
    const auto known = std::find_if(changed_.begin(), changed_.end(), [&](const Changed& changed) {
      return changed.block == block.block && changed.at == s;
    });
    if (known != changed_.end())
      known->lids |= lids;
    else
      changed_.push_back({block.block, s, lids});
  }
  std::sort(unsure_.begin(), unsure_.end());
}

void PushView::FindArriving(uint32_t block, uint32_t i, bool desired,
                            std::vector<uint8_t>& arrives) const {
  arrives.assign(links_.size(), 0);
  const LidPlace place = links_.place(size_t{block} * Row::kBlock + i);
  if (place.IsNowhere()) return;
  const auto may_take = [&](uint32_t s, uint8_t port) {
    bool takes = desired && Desired(s, block)[i] == port;
    ForEachOld(s, block, i, [&](uint8_t old) { takes |= old == port; });
    return takes;
  };
  std::vector<uint32_t> open;
  const auto reach = [&](uint32_t s, uint8_t port) {
    if (arrives[s] || !may_take(s, port)) return;
    arrives[s] = 1;
    open.push_back(s);
  };
  reach(place.at, place.port);
  while (!open.empty()) {
    const uint32_t s = open.back();
    open.pop_back();
    for (uint32_t port = 1; port < links_.ports(s); ++port)
      if (const FarEnd far = links_.Ports(s)[port]; far.IsSwitch())
        reach(far.head, static_cast<uint8_t>(far.port));
  }
}

}  // namespace fabricd::routing
