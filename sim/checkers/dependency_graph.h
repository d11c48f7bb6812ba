// SPDX-License-Identifier: Apache-2.0
// DependencyGraph: the channel dependencies that forwarding tables make on one lane, counted, so
// that they can be followed entry by entry, and judged at each step. A channel is one cable in one
// direction, named by the port of the switch that sends on it. A packet that came by channel `from`
// and leaves its head by port `out` makes the channel of that port a dependency of `from`; a lane
// can deadlock only if its dependencies make a circle (Dally and Seitz 1987).
//
// Only dependencies between active channels count. An order of the channels is kept in which every
// dependency rises (Pearce and Kelly 2006), so that most are judged by one comparison. It is the
// checkers' own: routing has another for what it plans.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fabricd::sim {

class DependencyGraph {
 public:
  using Channel = uint32_t;
  static constexpr uint32_t kNone = 0xFFFFFFFF;

  // Ports are numbered 0 .. ports-1 on each switch.
  DependencyGraph(size_t switches, size_t ports);

  Channel Of(size_t at, uint8_t port) const { return static_cast<Channel>(at * ports_ + port); }
  size_t SwitchOf(Channel channel) const { return channel / ports_; }
  uint8_t PortOf(Channel channel) const { return static_cast<uint8_t>(channel % ports_); }

  // Where the cable at `channel` ends: the channel of the port there, in the other direction.
  // REQUIRES: no dependency is counted, and none was.
  void SetCable(Channel channel, Channel peer) { peer_[channel] = peer; }
  // A new order that all counted dependencies agree with, active or not, as far as there is one.
  void Arrange();

  void Add(Channel from, uint8_t out) { Count(from, out, 1); }
  void Remove(Channel from, uint8_t out) { Count(from, out, -1); }
  void SetActive(Channel channel, bool active);

  // Channels of a circle that what came since the last call has closed, in the order in which they
  // wait; empty: it has closed none. A circle that is open again by now is none.
  std::vector<Channel> TakeCircle();

 private:
  struct Edge {
    Channel from, to;
    friend bool operator==(const Edge&, const Edge&) = default;
  };
  void Count(Channel from, uint8_t out, int change);
  uint32_t& CountOf(Channel from, uint8_t out) { return count_[size_t{from} * ports_ + out]; }
  bool Stands(const Edge& edge) const;
  // Calls visit(channel) for each active one that waits behind `channel`, or before which it waits.
  template <typename Visit>
  void ForEachNext(Channel channel, Visit&& visit) const;
  template <typename Visit>
  void ForEachBefore(Channel channel, Visit&& visit) const;
  bool HasFresh(const std::vector<Channel>& circle) const;
  std::vector<Channel> Insert(Edge edge);
  std::vector<Channel> WayBack(Channel from, Channel to);

  size_t ports_;
  std::vector<Channel> peer_;    // [channel]
  std::vector<char> active_;     // [channel]
  std::vector<uint32_t> count_;  // [channel * ports_ + out]
  std::vector<uint32_t> place_;  // [channel] All different.
  std::vector<Edge> fresh_;      // Not judged yet.
  std::vector<Edge> standing_;   // Have closed circles, and have no place in the order yet.
  std::vector<Channel> came_from_, ahead_;  // Of one search.
};

}  // namespace fabricd::sim
