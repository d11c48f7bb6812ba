// SPDX-License-Identifier: Apache-2.0
#include "routing/proof/change_proof.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "routing/plan/block_mask.h"
#include "routing/plan/no_index.h"
#include "routing/plan/node_name.h"

namespace fabricd::routing {
namespace {

constexpr size_t kBlocks = 0x10000 / Row::kBlock;

bool PairLess(const ExemptPair& a, const ExemptPair& b) {
  return std::tie(a.source_switch, a.destination) < std::tie(b.source_switch, b.destination);
}

const Row* RowOf(const RoutingPlan& plan, NodeIndex node) {
  return plan.HasRow(node) ? plan.rows[node.value()].get() : nullptr;
}
uint8_t Entry(const Row* row, uint32_t lid) {
  return row && lid < row->size() ? (*row)[lid] : kNoRoute;
}
uint64_t Equal(const Row* row, uint32_t block, uint8_t value) {
  return row && block < row->blocks() ? EqualMask(row->block(block), value) : 0;
}

// Sorted pairs of a plan, with a quick answer for LIDs that are in none.
class PairSet {
 public:
  explicit PairSet(const std::vector<ExemptPair>& pairs) : pairs_(pairs) {
    for (const ExemptPair& pair : pairs)
      lids_[pair.destination.value() / 64] |= uint64_t{1} << pair.destination.value() % 64;
  }
  bool Has(NodeIndex node, uint32_t lid) const {
    if (!(lids_[lid / 64] >> lid % 64 & 1)) return false;
    return std::binary_search(pairs_.begin(), pairs_.end(),
                              ExemptPair{node, Lid(static_cast<uint16_t>(lid))}, PairLess);
  }
  uint64_t lids(uint32_t block) const { return lids_[block]; }

 private:
  const std::vector<ExemptPair>& pairs_;
  std::array<uint64_t, kBlocks> lids_{};  // [block] In any pair.
};

class ChangeJudge {
 public:
  explicit ChangeJudge(const PlanChange& change)
      : change_(change),
        links_(change.links),
        plan_(change.plan),
        pending_(change.plan.pending),
        old_pending_(change.old_plan.pending),
        exempt_(change.plan.exempt) {}

  std::optional<std::string> Run() {
    if (!CheckFrame() || !CheckOrder()) return fault_;
    CheckPorts();
    CheckDiff();
    CheckNewSwitches();
    CheckLids();
    CheckPending();
    return fault_;
  }

 private:
  template <typename... Args>
  bool Fail(fmt::format_string<Args...> format, Args&&... args) {
    if (!fault_) fault_ = fmt::format(format, std::forward<Args>(args)...);
    return false;
  }
  std::string Name(uint32_t s) const { return NodeName(links_.snapshot(), links_.node(s)); }
  bool IsUp(uint32_t from, uint32_t to) const { return position_[to] > position_[from]; }
  const Row* RowAt(uint32_t s) const { return RowOf(plan_, links_.node(s)); }

  bool CheckFrame() {
    for (Lid lid : plan_.stale)
      if (!links_.place(lid.value()).IsNowhere())
        return Fail("LID {} can be reached from some switches only", lid);
    const size_t least = std::max<size_t>(links_.lid_end(), 1);
    for (uint32_t s = 0; s < links_.size(); ++s) {
      const Row* row = RowAt(s);
      if (links_.IsAlive(s) != (row != nullptr)) return Fail("switch {}: table", Name(s));
      const bool known = least <= change_.old_plan.lid_top.value() + size_t{1} &&
                         row == RowOf(change_.old_plan, links_.node(s));
      if (row && !known && (row->size() < least || row->size() % Row::kBlock != 0))
        return Fail("switch {}: size of the table", Name(s));
    }
    if (!std::includes(change_.old_plan.exempt.begin(), change_.old_plan.exempt.end(),
                       plan_.exempt.begin(), plan_.exempt.end(), PairLess))
      return Fail("a pair is newly exempt");
    return std::is_sorted(plan_.pending.begin(), plan_.pending.end(), PairLess) ||
           Fail("pending pairs out of order");
  }

  // The switches that both plans know stand in the same order, and all have a place of their own.
  bool CheckOrder() {
    if (plan_.order.size() < links_.snapshot().node_index_end()) return Fail("no order");
    if (change_.old_plan.order.empty()) return Fail("no order before");
    position_.resize(links_.size());
    for (uint32_t s = 0; s < links_.size(); ++s) position_[s] = plan_.order[links_.node(s).value()];
    if (change_.changes.come.empty() && plan_.order == change_.old_plan.order) return true;
    std::vector<uint32_t> sorted;
    for (uint32_t s = 0; s < links_.size(); ++s)
      if (links_.IsAlive(s)) sorted.push_back(s);
    std::sort(sorted.begin(), sorted.end(),
              [&](uint32_t a, uint32_t b) { return position_[a] < position_[b]; });
    const Row* known = nullptr;
    uint32_t below = 0;
    for (size_t i = 0; i < sorted.size(); ++i) {
      const NodeIndex node = links_.node(sorted[i]);
      if (i > 0 && position_[sorted[i]] == position_[sorted[i - 1]])
        return Fail("switch {}: position of another", Name(sorted[i]));
      if (!change_.old_plan.HasRow(node)) continue;
      const uint32_t was = change_.old_plan.order[node.value()];
      if (known && was <= below) return Fail("switch {}: position changed", Name(sorted[i]));
      known = RowOf(change_.old_plan, node);
      below = was;
    }
    return true;
  }

  // Entries on ports that lead elsewhere now.
  void CheckPorts() {
    for (const LinkChanges::Port& port : change_.changes.ports) {
      const Row* row = links_.IsAlive(port.at) ? RowAt(port.at) : nullptr;
      for (uint32_t block = 0; row && block < row->blocks(); ++block) {
        const uint64_t lids = Equal(row, block, port.port);
        ForEachBit(lids, [&](uint32_t i) { CheckEntry(port.at, block * 64 + i); });
        if (lids && port.after.IsSwitch() && IsUp(port.at, port.after.head))
          CheckTurned(port.at, block, lids);
      }
    }
  }

  void CheckDiff() {
    const std::vector<ChangedBlock>& blocks = change_.diff.blocks;
    for (size_t b = 0; b < blocks.size(); ++b) {
      constexpr size_t kBatch = 32;
      if (b % kBatch == 0) FetchAhead(&blocks[b], std::min(kBatch, blocks.size() - b));
      const ChangedBlock& changed = blocks[b];
      const uint32_t s = links_.number(changed.node);
      if (s == kNone || !links_.IsAlive(s)) continue;
      const Row* row = RowAt(s);
      const Row* old = RowOf(change_.old_plan, changed.node);
      uint64_t turned = 0;
      ForEachBit(changed.lids, [&](uint32_t i) {
        const uint32_t lid = changed.block * 64u + i;
        CheckEntry(s, lid);
        const FarEnd is = links_.far(s, Entry(row, lid));
        if (!is.IsSwitch() || !IsUp(s, is.head)) return;
        const FarEnd was =
            s < change_.old_links.size() ? change_.old_links.far(s, Entry(old, lid)) : FarEnd{};
        if (!was.IsSwitch() || !IsUp(s, was.head)) turned |= uint64_t{1} << i;
      });
      if (turned) CheckTurned(s, changed.block, turned);
    }
  }

  // Asks memory for the entries that the first changed one of each block leads to.
  void FetchAhead(const ChangedBlock* blocks, size_t count) const {
    std::array<const Row*, 32> next{};
    for (size_t b = 0; b < count; ++b) {
      const uint32_t s = links_.number(blocks[b].node);
      if (s == kNone || !links_.IsAlive(s)) continue;
      const auto first = static_cast<uint32_t>(__builtin_ctzll(blocks[b].lids));
      const FarEnd far = links_.far(s, Entry(RowAt(s), blocks[b].block * 64u + first));
      next[b] = far.IsSwitch() ? RowAt(far.head) : nullptr;
      if (next[b]) __builtin_prefetch(next[b]->PlaceOfBlock(blocks[b].block));
    }
    for (size_t b = 0; b < count; ++b)
      if (next[b] && blocks[b].block < next[b]->blocks())
        __builtin_prefetch(next[b]->block(blocks[b].block));
  }

  // Entries that rise now: nobody above may lead down to them.
  void CheckTurned(uint32_t s, uint32_t block, uint64_t lids) {
    for (uint32_t port = 1; port < links_.ports(s); ++port) {
      const FarEnd far = links_.Ports(s)[port];
      if (!far.IsSwitch() || IsUp(far.head, s)) continue;
      const uint64_t found = Equal(RowAt(far.head), block, far.port) & lids;
      if (found)
        Fail("LID {} rises at switch {} after it fell to it from switch {}",
             block * 64 + static_cast<uint32_t>(__builtin_ctzll(found)), Name(s), Name(far.head));
    }
  }

  void CheckNewSwitches() {
    for (uint32_t s : change_.changes.come)
      for (uint32_t lid = 1; lid < links_.lid_end(); ++lid) CheckEntry(s, lid);
  }

  void CheckLids() {
    for (const LinkChanges::LidMove& move : change_.changes.lids) {
      const uint32_t lid = move.lid.value();
      if (move.after.IsNowhere()) {
        if (!IsStale(move.lid)) Fail("LID {} hangs nowhere and is not stale", lid);
        const uint32_t at = move.before.at;
        if (!move.before.IsNowhere() && links_.IsAlive(at)) CheckEntry(at, lid);
        continue;
      }
      for (uint32_t s = 0; s < links_.size(); ++s)
        if (links_.IsAlive(s)) CheckEntry(s, lid);
    }
    for (Lid lid : change_.old_plan.stale)
      if (links_.place(lid.value()).IsNowhere() && !IsStale(lid))
        Fail("LID {} is stale no more, yet hangs nowhere", lid);
  }
  bool IsStale(Lid lid) const {
    return std::binary_search(plan_.stale.begin(), plan_.stale.end(), lid);
  }

  // Who leads to a pair that is newly pending has to be pending as well, and who is pending no more
  // has to arrive.
  void CheckPending() {
    for (size_t i = 0; i < plan_.pending.size();) {
      const NodeIndex node = plan_.pending[i].source_switch;
      const uint32_t s = links_.number(node), block = plan_.pending[i].destination.value() / 64u;
      uint64_t lids = 0;
      for (; i < plan_.pending.size() && plan_.pending[i].source_switch == node &&
             plan_.pending[i].destination.value() / 64u == block;
           ++i) {
        const uint32_t lid = plan_.pending[i].destination.value();
        if (!old_pending_.Has(node, lid)) lids |= uint64_t{1} << lid % 64;
      }
      if (lids && s != kNone && links_.IsAlive(s)) CheckWaiters(s, block, lids);
    }
    for (const ExemptPair& pair : change_.old_plan.pending) {
      const uint32_t s = links_.number(pair.source_switch), lid = pair.destination.value();
      if (s != kNone && links_.IsAlive(s) && !pending_.Has(pair.source_switch, lid))
        CheckEntry(s, lid);
    }
  }
  void CheckWaiters(uint32_t s, uint32_t block, uint64_t lids) {
    for (uint32_t port = 1; port < links_.ports(s); ++port) {
      const FarEnd far = links_.Ports(s)[port];
      if (!far.IsSwitch()) continue;
      ForEachBit(Equal(RowAt(far.head), block, far.port) & lids, [&](uint32_t i) {
        const uint32_t lid = block * 64 + i;
        if (!pending_.Has(links_.node(far.head), lid) && !links_.place(lid).IsNowhere())
          Fail("switch {}: LID {} is led to switch {}, where it is pending", Name(far.head), lid,
               Name(s));
      });
    }
  }

  bool Rises(uint32_t s, uint32_t lid) const {
    const FarEnd far = links_.far(s, Entry(RowAt(s), lid));
    return far.IsSwitch() && IsUp(s, far.head);
  }

  // One entry and the next one.
  bool CheckEntry(uint32_t s, uint32_t lid) {
    const uint8_t out = Entry(RowAt(s), lid);
    const LidPlace to = links_.place(lid);
    if (!to.IsNowhere() && s == to.at && out == to.port) return true;
    if (out != kNoRoute && to.IsNowhere() && !IsStale(Lid(static_cast<uint16_t>(lid))))
      return Fail("switch {}: a route to LID {}, which hangs nowhere", Name(s), lid);
    const FarEnd far = links_.far(s, out);
    if (out == 0 || far.head == FarEnd::kEndPort)
      return Fail("switch {}: LID {} is delivered to port {}", Name(s), lid, out);
    if (far.IsSwitch() && !IsUp(s, far.head) && (far.head == s || Rises(far.head, lid)))
      return Fail("switch {}: LID {} falls to switch {} and rises there", Name(s), lid,
                  Name(far.head));
    if (to.IsNowhere() || pending_.Has(links_.node(s), lid)) return true;
    if (out == kNoRoute)
      return exempt_.Has(links_.node(s), lid) ||
             Fail("switch {}: no route to LID {}", Name(s), lid);
    if (!far.IsSwitch()) return Fail("switch {}: LID {} leaves by dead port {}", Name(s), lid, out);
    const uint8_t next = Entry(RowAt(far.head), lid);
    const bool home = far.head == to.at && next == to.port;
    if (!home &&
        (!links_.far(far.head, next).IsSwitch() || pending_.Has(links_.node(far.head), lid)))
      return Fail("switch {}: LID {} is led to switch {}, which has no way", Name(s), lid,
                  Name(far.head));
    return true;
  }

  const PlanChange& change_;
  const LinkMap& links_;
  const RoutingPlan& plan_;
  const PairSet pending_, old_pending_, exempt_;
  std::vector<uint32_t> position_;  // [switch]
  std::optional<std::string> fault_;
};

}  // namespace

std::optional<std::string> FindChangeFault(const PlanChange& change) {
  return ChangeJudge(change).Run();
}

VerifyReport ProveChange(const PlanChange& change, const fabric::LidTable& lids, int threads) {
  if (FindChangeFault(change)) return Verify(change.links.snapshot(), lids, change.plan, threads);
  VerifyReport report;
  report.ok = report.deadlock_free = true;
  return report;
}

}  // namespace fabricd::routing
