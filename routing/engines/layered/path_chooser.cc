// SPDX-License-Identifier: Apache-2.0
#include "routing/engines/layered/path_chooser.h"

#include <algorithm>
#include <utility>

namespace fabricd::routing {
namespace {

constexpr size_t kFanBytes = size_t{40} << 20;  // Of fans that are kept.

}  // namespace

PathChooser::PathChooser(const SwitchGraph& graph, const ChannelGraph& channels, const Order& order,
                         const TargetList& targets, const Settings& settings,
                         const std::vector<ChannelOrder>& orders, Paths& paths)
    : graph_(graph),
      channels_(channels),
      targets_(targets),
      settings_(settings),
      position_(order),
      orders_(orders),
      paths_(paths),
      from_top_(graph.size()),
      bundle_load_(graph.neighbors.size(), 0),
      bundle_best_(graph.neighbors.size()),
      cost_(graph.size()),
      weight_(graph.size()) {
  for (uint32_t n = 0; n < graph.neighbors.size(); ++n)
    bundle_best_[n] = graph.neighbors[n].first_cable;
  for (uint32_t s = 0; s < graph.size(); ++s) from_top_[graph.size() - 1 - order[s]] = s;
  fans_.resize(graph.size());
  lowest_limit_ = graph.lid_limit.empty()
                      ? kNone
                      : *std::min_element(graph.lid_limit.begin(), graph.lid_limit.end());
}

// Sequences that jump from switch to switch come back to each: fans are kept as long as they do not
// take much memory.
const Fan& PathChooser::MakeFan(const Target& target) {
  std::vector<uint8_t> blocked;
  if (target.lid >= lowest_limit_) blocked = SwitchesWithout(graph_, target.lid);
  Fan& fan = blocked.empty() && fan_bytes_ < kFanBytes ? fans_[target.at] : other_fan_;
  fan_ = &fan;
  fan_steps_ += graph_.size();
  if (fan.at == target.at && (&fan != &other_fan_ || blocked == blocked_)) return fan;
  if (&fan == &other_fan_) blocked_ = blocked;
  fan_steps_ += graph_.neighbors.size();
  if (settings_.up_down)
    fan.MakeUpDown(graph_, position_, from_top_, target.at, blocked);
  else
    fan.MakeShortest(graph_, target.at, blocked);
  if (&fan != &other_fan_) fan_bytes_ += fan.Bytes();
  return fan;
}

template <typename Class>
void PathChooser::ChooseBy(uint32_t t, uint8_t* out, Class&& class_of) {
  for (size_t i = 1; i < fan_->order.size(); ++i) {
    const uint32_t s = fan_->order[i];
    uint32_t best = kNone, best_class = kNone;
    uint64_t least = 0;
    for (uint32_t k = fan_->first[i]; k < fan_->first[i + 1]; ++k) {
      const uint32_t n = fan_->candidates[k];
      const uint64_t cost = bundle_load_[n] + cost_[graph_.neighbors[n].head];
      const uint32_t its_class = class_of(s, n);
      if (best != kNone && (its_class > best_class || (its_class == best_class && cost >= least)))
        continue;
      best = n, best_class = its_class, least = cost;
    }
    cost_[s] = least;
    out[s] = channels_.OutOf(CableOf(t, s, best));
  }
}

// The next hop of every switch, near to far.
void PathChooser::Choose(uint32_t t) {
  if (fan_->order.empty()) return;
  uint8_t* out = &paths_.Out(t, 0);
  out[fan_->at] = kDeliver;
  cost_[fan_->at] = 0;
  switch (settings_.preference) {
    case Preference::kLoad:
      if (!targets_.sibling.empty())
        return ChooseBy(t, out, [&](uint32_t s, uint32_t n) { return Used(t, s, n); });
      return ChooseBy(t, out, [](uint32_t, uint32_t) { return 0u; });
    case Preference::kClass:
      return ChooseBy(t, out, [&](uint32_t, uint32_t n) { return settings_.arc_class[n]; });
    case Preference::kExisting:
      return ChooseBy(t, out, [&](uint32_t, uint32_t n) {
        const uint8_t next = out[graph_.neighbors[n].head];
        return next == kDeliver || orders_[0].Has(bundle_best_[n], next) ? 0u : 1u;
      });
  }
}

// The least loaded of a bundle's cables; of those that the fewest earlier LIDs of the same port
// have taken at `s`.
uint32_t PathChooser::CableOf(uint32_t t, uint32_t s, uint32_t n) const {
  const Neighbor& bundle = graph_.neighbors[n];
  if (targets_.sibling.empty() || bundle.cable_count == 1) return bundle_best_[n];
  std::vector<uint32_t> taken(bundle.cable_count, 0);
  for (uint32_t other = targets_.sibling[t]; other != Target::kNoTwin;
       other = targets_.sibling[other]) {
    const uint8_t out = paths_.Out(other, s);
    if (out < kDeliver && channels_.neighbor[channels_.Of(s, out)] == n)
      ++taken[channels_.Of(s, out) - bundle.first_cable];
  }
  uint32_t best = 0;
  for (uint32_t i = 1; i < bundle.cable_count; ++i)
    if (std::pair(taken[i], paths_.load[bundle.first_cable + i]) <
        std::pair(taken[best], paths_.load[bundle.first_cable + best]))
      best = i;
  return bundle.first_cable + best;
}

// How many earlier LIDs of the same port leave `s` by this bundle's next cable.
uint32_t PathChooser::Used(uint32_t t, uint32_t s, uint32_t n) const {
  uint32_t used = 0;
  for (uint32_t other = targets_.sibling[t]; other != Target::kNoTwin;
       other = targets_.sibling[other]) {
    const uint8_t out = paths_.Out(other, s);
    used += out < kDeliver && channels_.neighbor[channels_.Of(s, out)] == n;
  }
  return used;
}

// Loads of the paths just chosen; entries without traffic stay as they are, marked by weight 0.
void PathChooser::Weigh(uint32_t t) {
  const uint8_t* out = &paths_.out[size_t{t} * paths_.switches];
  std::copy(graph_.hosts.begin(), graph_.hosts.end(), weight_.begin());
  for (size_t i = fan_->order.size(); i-- > 1;) {
    const uint32_t s = fan_->order[i];
    if (weight_[s] == 0) continue;
    const uint32_t c = channels_.Of(s, out[s]);
    weight_[channels_.head[c]] += weight_[s];
    AddLoad(c, weight_[s]);
  }
}

void PathChooser::AddLoad(uint32_t channel, uint32_t weight) {
  paths_.load[channel] += weight;
  const uint32_t n = channels_.neighbor[channel];
  const Neighbor& bundle = graph_.neighbors[n];
  uint32_t best = bundle.first_cable;
  for (uint32_t i = 1; i < bundle.cable_count; ++i)
    if (paths_.load[bundle.first_cable + i] < paths_.load[best]) best = bundle.first_cable + i;
  bundle_best_[n] = best;
  bundle_load_[n] = paths_.load[best];
}

}  // namespace fabricd::routing
