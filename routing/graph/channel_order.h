// SPDX-License-Identifier: Apache-2.0
// ChannelOrder: the channel dependencies of one lane, kept free of cycles while they are added one
// by one (an incremental topological order: Pearce and Kelly, "A dynamic topological sort algorithm
// for directed acyclic graphs", JEA 11, 2006). A channel is one cable in one direction; packets
// that came by channel c and want channel d next make d a dependency of c, and a lane can deadlock
// only if its dependencies make a cycle (Dally and Seitz 1987).
//
// A dependency that was refused is refused for ever, since those that stand against it are only
// ever added to: so each is searched for at most once a lane and later costs one bit test.
// Not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "routing/graph/graph.h"
#include "routing/graph/hop_costs.h"

namespace fabricd::routing {

// The cables of a graph in each direction. A channel's number is that of its cable in
// SwitchGraph::cables, so those of one sending switch are neighbours in number; its place among
// them is the "out" by which the other parts name it in one byte.
struct ChannelGraph {
  ChannelGraph() = default;  // For others to fill.
  explicit ChannelGraph(const SwitchGraph& graph);

  uint32_t size() const { return static_cast<uint32_t>(tail.size()); }
  uint32_t out_count(uint32_t s) const { return begin[s + 1] - begin[s]; }
  uint32_t Of(uint32_t s, uint8_t out) const { return begin[s] + out; }
  uint8_t OutOf(uint32_t channel) const {
    return static_cast<uint8_t>(channel - begin[tail[channel]]);
  }

  std::vector<uint32_t> begin;       // [switch] First channel it sends on; one more at the end.
  std::vector<uint32_t> tail, head;  // [channel] Sending and receiving switch.
  std::vector<uint32_t> reverse;     // [channel] The other direction of the cable.
  std::vector<uint32_t> neighbor;    // [channel] Its bundle in SwitchGraph::neighbors.
};

// The place of each channel ([channel], all different) in which every up*/down* way of the order
// only rises: rising arcs by their tail, then falling arcs by their tail from the top.
std::vector<uint32_t> UpDownPlaces(const ChannelGraph& channels, const Order& order);

class ChannelOrder {
 public:
  // `channels` must outlive this.
  ChannelOrder(const ChannelGraph& channels, std::vector<uint32_t> places);

  // `out` is the next channel's place at the head of `channel`.
  bool Has(uint32_t channel, uint8_t out) const { return exists_[Word(channel, out)] & Bit(out); }
  bool Refuses(uint32_t channel, uint8_t out) const {
    return refused_[Word(channel, out)] & Bit(out);
  }
  // Whether it agrees with the present order, that is, adding it costs nothing.
  bool Agrees(uint32_t channel, uint8_t out) const {
    return place_[channel] < place_[channels_->Of(channels_->head[channel], out)];
  }
  // Whether the dependency is there afterwards; false: it would close a cycle.
  bool Add(uint32_t channel, uint8_t out) {
    const size_t word = Word(channel, out);
    if (exists_[word] & Bit(out)) return true;
    return !(refused_[word] & Bit(out)) && Insert(channel, out, true);
  }
  // The same for a dependency that may be taken back by Remove, like others since some moment: a
  // refusal may be due to one of those, and is not remembered.
  bool AddForNow(uint32_t channel, uint8_t out) {
    return Has(channel, out) || (!Refuses(channel, out) && Insert(channel, out, false));
  }
  void Remove(uint32_t channel, uint8_t out) { exists_[Word(channel, out)] &= ~Bit(out); }

  // Whether some dependency ever went against the order given at the start.
  bool HasMoved() const { return moved_; }
  uint64_t searches() const { return searches_; }
  // Channels and neighbours of channels that searches have looked at.
  uint64_t steps() const { return steps_; }

 private:
  static uint64_t Bit(uint8_t out) { return uint64_t{1} << (out % 64); }
  size_t Word(uint32_t channel, uint8_t out) const { return size_t{channel} * words_ + out / 64; }
  bool Insert(uint32_t channel, uint8_t out, bool remember);
  bool FindAhead(uint32_t from, uint32_t last_place, uint32_t forbidden);
  void FindBehind(uint32_t from, uint32_t first_place);
  void Rearrange();

  const ChannelGraph* channels_;
  size_t words_;                            // Of 64 outs each, for one channel.
  std::vector<uint64_t> exists_, refused_;  // [channel * words_]
  std::vector<uint32_t> place_;             // [channel]
  std::vector<uint8_t> seen_;               // [channel] During one search.
  std::vector<uint32_t> ahead_, behind_;    // Found by one search.
  std::vector<uint32_t> open_, free_;       // Scratch.
  bool moved_ = false;
  uint64_t searches_ = 0, steps_ = 0;
};

}  // namespace fabricd::routing
