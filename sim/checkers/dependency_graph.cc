// SPDX-License-Identifier: Apache-2.0
#include "sim/checkers/dependency_graph.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "common/check.h"

namespace fabricd::sim {

DependencyGraph::DependencyGraph(size_t switches, size_t ports)
    : ports_(ports),
      peer_(switches * ports, kNone),
      active_(switches * ports, 0),
      count_(switches * ports * ports, 0),
      place_(switches * ports),
      came_from_(switches * ports, kNone) {
  std::iota(place_.begin(), place_.end(), 0);
}

bool DependencyGraph::Stands(const Edge& edge) const {
  return active_[edge.from] && active_[edge.to] &&
         count_[size_t{edge.from} * ports_ + PortOf(edge.to)] > 0;
}

template <typename Visit>
void DependencyGraph::ForEachNext(Channel channel, Visit&& visit) const {
  if (peer_[channel] == kNone) return;
  const auto head = static_cast<Channel>(SwitchOf(peer_[channel]) * ports_);
  for (size_t out = 1; out < ports_; ++out)
    if (count_[size_t{channel} * ports_ + out] > 0 && active_[head + out])
      visit(static_cast<Channel>(head + out));
}

template <typename Visit>
void DependencyGraph::ForEachBefore(Channel channel, Visit&& visit) const {
  const auto tail = static_cast<Channel>(SwitchOf(channel) * ports_);
  const uint8_t out = PortOf(channel);
  for (size_t in = 1; in < ports_; ++in) {
    const Channel from = peer_[tail + in];
    if (from != kNone && active_[from] && count_[size_t{from} * ports_ + out] > 0) visit(from);
  }
}

void DependencyGraph::Arrange() {
  std::vector<uint32_t> waiting(place_.size(), 0);
  for (size_t at = 0; at < count_.size(); ++at) {
    const auto from = static_cast<Channel>(at / ports_);
    if (count_[at] > 0 && peer_[from] != kNone)
      ++waiting[Of(SwitchOf(peer_[from]), static_cast<uint8_t>(at % ports_))];
  }
  std::vector<Channel> free;
  for (Channel c = 0; c < waiting.size(); ++c)
    if (waiting[c] == 0) free.push_back(c);
  uint32_t next = 0;
  std::fill(place_.begin(), place_.end(), kNone);
  while (!free.empty()) {
    const Channel c = free.back();
    free.pop_back();
    place_[c] = next++;
    if (peer_[c] == kNone) continue;
    for (size_t out = 1; out < ports_; ++out) {
      if (CountOf(c, static_cast<uint8_t>(out)) == 0) continue;
      const Channel to = Of(SwitchOf(peer_[c]), static_cast<uint8_t>(out));
      if (--waiting[to] == 0) free.push_back(to);
    }
  }
  // Those in a circle and behind it take what places are left, and are judged anew.
  for (Channel c = 0; c < place_.size(); ++c) {
    if (place_[c] != kNone) continue;
    place_[c] = next++;
    if (active_[c]) ForEachNext(c, [&](Channel after) { fresh_.push_back({c, after}); });
  }
}

void DependencyGraph::Count(Channel from, uint8_t out, int change) {
  if (out == 0 || out >= ports_ || peer_[from] == kNone) return;
  uint32_t& count = CountOf(from, out);
  FABRICD_CHECK(change > 0 || count > 0, "channel {} to port {} taken back twice", from, out);
  count += static_cast<uint32_t>(change);
  if (change > 0 && count == 1) fresh_.push_back({from, Of(SwitchOf(peer_[from]), out)});
}

void DependencyGraph::SetActive(Channel channel, bool active) {
  if (std::exchange(active_[channel], active ? 1 : 0) == (active ? 1 : 0) || !active) return;
  ForEachNext(channel, [&](Channel next) { fresh_.push_back({channel, next}); });
  ForEachBefore(channel, [&](Channel before) { fresh_.push_back({before, channel}); });
}

std::vector<DependencyGraph::Channel> DependencyGraph::TakeCircle() {
  std::vector<Channel> circle;
  // Those that closed a circle then may have a place now, or close a new one with others.
  for (const Edge& edge : std::exchange(standing_, {})) {
    std::vector<Channel> found = Insert(edge);
    if (found.empty()) continue;
    standing_.push_back(edge);
    if (circle.empty() && HasFresh(found)) circle = std::move(found);
  }
  for (const Edge& edge : fresh_) {
    std::vector<Channel> found = Insert(edge);
    if (found.empty()) continue;
    standing_.push_back(edge);
    if (circle.empty()) circle = std::move(found);
  }
  fresh_.clear();
  return circle;
}

bool DependencyGraph::HasFresh(const std::vector<Channel>& circle) const {
  for (size_t i = 0; i < circle.size(); ++i) {
    const Edge edge{circle[i], circle[(i + 1) % circle.size()]};
    if (std::find(fresh_.begin(), fresh_.end(), edge) != fresh_.end()) return true;
  }
  return false;
}

// Makes the order agree with an edge that falls, or returns the circle that it closes. (A circle
// leaves the order as it is: while it stands, another one may be overlooked.)
std::vector<DependencyGraph::Channel> DependencyGraph::Insert(Edge edge) {
  const uint32_t low = place_[edge.to], high = place_[edge.from];
  if (!Stands(edge) || high < low) return {};
  std::vector<Channel> circle = WayBack(edge.to, edge.from);
  if (!circle.empty()) return circle;
  std::vector<Channel> ahead = std::move(ahead_), behind{edge.from};
  came_from_[edge.from] = edge.from;
  for (size_t next = 0; next < behind.size(); ++next) {
    ForEachBefore(behind[next], [&](Channel before) {
      if (place_[before] < low || place_[before] > high || came_from_[before] != kNone) return;
      came_from_[before] = behind[next];
      behind.push_back(before);
    });
  }
  for (Channel c : ahead) came_from_[c] = kNone;
  for (Channel c : behind) came_from_[c] = kNone;
  const auto by_place = [&](Channel a, Channel b) { return place_[a] < place_[b]; };
  std::sort(ahead.begin(), ahead.end(), by_place);
  std::sort(behind.begin(), behind.end(), by_place);
  behind.insert(behind.end(), ahead.begin(), ahead.end());
  std::vector<uint32_t> places;
  for (Channel c : behind) places.push_back(place_[c]);
  std::sort(places.begin(), places.end());
  for (size_t i = 0; i < behind.size(); ++i) place_[behind[i]] = places[i];
  return {};
}

// A way of dependencies from `from` to `to`, whose place is higher, over places in between; none:
// ahead_ is what `from` leads to there, marked in came_from_.
std::vector<DependencyGraph::Channel> DependencyGraph::WayBack(Channel from, Channel to) {
  const uint32_t low = place_[from], high = place_[to];
  ahead_ = {from};
  came_from_[from] = from;
  for (size_t next = 0; next < ahead_.size() && came_from_[to] == kNone; ++next) {
    ForEachNext(ahead_[next], [&](Channel after) {
      if (place_[after] < low || place_[after] > high || came_from_[after] != kNone) return;
      came_from_[after] = ahead_[next];
      ahead_.push_back(after);
    });
  }
  if (came_from_[to] == kNone) return {};
  std::vector<Channel> way{to};
  while (way.back() != from) way.push_back(came_from_[way.back()]);
  std::reverse(way.begin(), way.end());
  for (Channel c : ahead_) came_from_[c] = kNone;
  return way;
}

}  // namespace fabricd::sim
