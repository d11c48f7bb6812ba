// SPDX-License-Identifier: Apache-2.0
#include "sim/shared/master_watch.h"

#include <fmt/format.h>

namespace fabricd::sim {

void MasterWatch::Update() {
  const std::vector<State> states = states_();
  nodes_.resize(states.size());
  for (size_t i = 0; i < states.size(); ++i) {
    Mastership& node = nodes_[i];
    const bool rises =
        states[i].is_master && (!node.state.is_master || node.state.process != states[i].process);
    // It lives, and has given the subnet away.
    const bool yields =
        node.state.is_master && !states[i].is_master && node.state.process == states[i].process;
    if (rises) node = {states[i], ++begun_};
    node.state = states[i];
    if (!yields) continue;
    for (Mastership& other : nodes_)
      if (other.superseded_by == i) other.superseded_by = kNobody;
  }
}

void MasterWatch::Look(Instant now, bool apart) {
  if (apart_ && !apart) together_since_ = now;
  apart_ = apart;
  Update();
}

void MasterWatch::OnServed(const Served& served) {
  if (served.request.method != wire::Method::kSet ||
      served.request.attribute == wire::AttributeId::kSmInfo)
    return;
  Update();
  for (size_t i = 0; i < nodes_.size(); ++i) {
    Mastership& node = nodes_[i];
    if (node.state.host != served.sender) continue;
    if (node.superseded_by != kNobody) {
      ++late_sets_;
      const bool is_excused =
          apart_ || (together_since_ != Instant::min() && served.at - together_since_ < kAwareness);
      if (++node.late == kBatch + 1 && !is_excused)
        say_(fmt::format(
            "more than {} Sets of node {} reach devices after the first one of node "
            "{}, the last is of {}",
            kBatch, i, node.superseded_by, wire::AttributeName(served.request.attribute)));
    } else if (!std::exchange(node.has_written, true)) {
      ++masterships_;
      for (size_t other = 0; other < nodes_.size(); ++other)
        if (nodes_[other].number != 0 && nodes_[other].number < node.number)
          nodes_[other].superseded_by = i;
    }
  }
}

}  // namespace fabricd::sim
