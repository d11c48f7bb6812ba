// SPDX-License-Identifier: Apache-2.0
// ChannelDependencyGraph: the dependencies of channels on each VL in transient states, where each
// table has entries of the applied tables or of a plan. A channel is one link in one direction,
// named here by its receiving end. All switches count as sources, and all LIDs as destinations.
//
// A switch that is written has no path to one that is still to be written for the same LID
// (push_plan.h): a new entry is followed by a new one, an old entry by any, but not by one whose
// new path passes the old entry's switch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "routing/plan/block_mask.h"
#include "routing/plan/parallel.h"
#include "routing/transition/push_view.h"

namespace fabricd::routing {

// How far the update of a LID is.
// kStep: each of its entries by itself, by AddStep().
enum class Phase : uint8_t { kOld, kMixed, kNew, kWithdrawn, kStep };

// What changes of one block number, and its LIDs that are done or taken away.
struct BlockChange {
  uint16_t block;
  const PushView::Changed *begin, *end;
  uint64_t lids = 0, fresh = 0, withdrawn = 0;
  // By what changes: LIDs that its old entry brings nowhere. Of those in `cleared` such entries are
  // taken away. Null: not asked for.
  const uint64_t* dead = nullptr;
  uint64_t cleared = 0;

  Phase PhaseOf(uint32_t i) const {
    return fresh >> i & 1 ? Phase::kNew : withdrawn >> i & 1 ? Phase::kWithdrawn : Phase::kOld;
  }
  // As it is while it is written.
  Phase Moving(uint32_t i) const { return withdrawn >> i & 1 ? Phase::kNew : Phase::kMixed; }
};
// By block; they point into `view`.
std::vector<BlockChange> ChangesByBlock(const PushView& view);
// One more than the highest block that any LID has or any write is to.
size_t BlocksOf(const PushView& view);

class ChannelDependencyGraph {
 public:
  // Without dependencies. Both must outlive this.
  ChannelDependencyGraph(const PushInput& input, const PushView& view);
  // Of all LIDs, those of `changes` in their present phase.
  static ChannelDependencyGraph Of(const PushInput& input, const PushView& view,
                                   const std::vector<BlockChange>& changes, Parallel& parallel);
  // Of every transient state while all differences are written.
  static ChannelDependencyGraph OfAnyTime(const PushInput& input, const PushView& view,
                                          Parallel& parallel);

  // LIDs of a block in which nothing changes.
  void Add(uint32_t block);
  void Add(const BlockChange& change) {
    Add(change, ~uint64_t{0}, [&](uint32_t i) { return change.PhaseOf(i); });
  }
  void AddMoving(const BlockChange& change, uint64_t lids) {
    Add(change, lids, [&](uint32_t i) { return change.Moving(i); });
  }
  void Merge(const ChannelDependencyGraph& other);
  // Packets that enter a switch by one port leave it by another, on every VL.
  void AddTurn(NodeIndex node, PortNum in, PortNum out);
  // One LID, some of whose changed entries are written ([switch] 2), being written (1) or not yet
  // (0).
  void AddStep(const BlockChange& change, uint32_t i, const std::vector<uint8_t>& step) {
    step_ = &step;
    Add(change, Bit(i), [](uint32_t) { return Phase::kStep; });
    step_ = nullptr;
  }

  size_t size() const { return bits_.size(); }
  bool IsFreeOfCycles() const { return Sorted().has_value(); }
  // All channels, each before those that it depends on; none where there is a dependency cycle.
  std::optional<std::vector<size_t>> Sorted() const;
  // Their numbers, by receiving switch and port.
  size_t ChannelOf(uint32_t lane, uint32_t s, uint8_t port) const {
    return (size_t{lane} * links_->size() + s) * ports_ + port;
  }
  // Calls visit(port) for each port of the receiving switch that the channel depends on.
  template <typename Visit>
  void ForEachOut(size_t channel, Visit&& visit) const {
    for (size_t word = 0; word < words_; ++word)
      ForEachBit(bits_[channel * words_ + word],
                 [&](uint32_t bit) { visit(static_cast<uint8_t>(word * 64 + bit)); });
  }

 private:
  static constexpr uint64_t Bit(uint32_t i) { return uint64_t{1} << i; }

  template <typename Visit>
  void ForEachValue(uint32_t s, uint32_t block, uint32_t i, Phase phase, Visit&& visit) const {
    const bool changes = changed_[s] & Bit(i);
    if (changes && phase == Phase::kWithdrawn) return;
    if (changes && phase == Phase::kStep)
      phase = (*step_)[s] == 0 ? Phase::kOld : (*step_)[s] == 1 ? Phase::kMixed : Phase::kNew;
    if (changes && phase != Phase::kNew && !(cleared_[s] & Bit(i)))
      view_->ForEachOld(s, block, i, visit);
    if (!changes || phase != Phase::kOld) visit(view_->Desired(s, block)[i]);
  }
  template <typename PhaseOf>
  void Add(const BlockChange& change, uint64_t lids, PhaseOf&& phase_of) {
    for (auto one = change.begin; one != change.end; ++one) {
      changed_[one->at] = one->lids;
      if (change.dead) cleared_[one->at] = change.dead[one - change.begin] & change.cleared;
    }
    ForEachBit(lids, [&](uint32_t i) { AddLid(change.block, i, phase_of(i)); });
    for (auto one = change.begin; one != change.end; ++one)
      changed_[one->at] = cleared_[one->at] = 0;
  }
  template <typename AddBlock>
  static ChannelDependencyGraph Sum(const PushInput& input, const PushView& view,
                                    const std::vector<BlockChange>& changes, Parallel& parallel,
                                    AddBlock&& add);
  template <typename Visit>
  void ForEachNext(size_t channel, Visit&& visit) const {
    const size_t lane = channel / (size_t{links_->size()} * ports_);
    const auto s = static_cast<uint32_t>(channel / ports_ % links_->size());
    ForEachOut(channel, [&](uint8_t out) {
      const FarEnd far = links_->far(s, out);
      visit(ChannelOf(static_cast<uint32_t>(lane), far.head, static_cast<uint8_t>(far.port)));
    });
  }
  bool IsOld(uint32_t s, uint32_t block, uint32_t i, uint8_t out) const;
  bool IsAhead(uint32_t s, uint32_t from, uint32_t block, uint32_t i) const;
  void AddLid(uint32_t block, uint32_t i, Phase phase);
  void FindLanes(uint32_t block, uint32_t i, Phase phase);

  const PushInput* input_;
  const PushView* view_;
  const LinkMap* links_;
  const std::vector<uint8_t>* step_ = nullptr;
  uint32_t ports_ = 1;
  size_t words_ = 1;
  uint8_t lanes_ = 1;
  std::vector<uint64_t> bits_;     // [(lane * switches + switch) * ports + port] * words
  std::vector<uint64_t> changed_;  // [switch] Of the block that is being added,
  std::vector<uint64_t> cleared_;  // and those of them that were taken away.
  std::vector<uint64_t> on_;       // [switch] VLs.
};

}  // namespace fabricd::routing
